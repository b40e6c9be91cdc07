//! State of the world that a bot has received, and its timing.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use aether_bits::{ReadError, Schema};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{InputSeq, PacketSeq, StateAck, Tick};

/// Largest number of stored send times of inputs: more than are in flight.
const INPUTS_MAX: usize = 256;

/// Header bytes of a packet that a light bot reads: tick, sequence and input acknowledgement.
const HEADER_BYTES: usize = 8;

/// Timing of a state packet.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct PacketTiming {
    /// Deviation of the arrival interval from the tick interval.
    pub(crate) jitter: Option<Duration>,
    /// Latencies of the inputs that this packet is the first to include.
    pub(crate) input_to_state: Vec<Duration>,
}

/// State that a bot has received on one connection.
pub(crate) struct BotState {
    /// `None` for a light bot.
    mirror: Option<Mirror>,
    seconds_per_tick: f64,
    received: StateAck,
    newest: Option<(Tick, Instant)>,
    input_ack: InputSeq,
    inputs_sent: VecDeque<(InputSeq, Instant)>,
}

impl BotState {
    /// Creates an empty state. Without a schema only packet headers are read.
    pub(crate) fn new(schema: Option<&Schema>, delivery_order: DeliveryOrder, tick_hz: u32) -> Self {
        let seconds_per_tick = 1.0 / f64::from(tick_hz.max(1));
        let mirror =
            schema.map(|schema| Mirror::builder().described(schema).build(delivery_order, seconds_per_tick as f32));
        Self {
            mirror,
            seconds_per_tick,
            received: StateAck::NONE,
            newest: None,
            input_ack: InputSeq(0),
            inputs_sent: VecDeque::new(),
        }
    }

    /// Applies a state packet.
    pub(crate) fn apply(&mut self, packet: &[u8], now: Instant) -> Result<PacketTiming, ReadError> {
        let (tick, input_ack) = match &mut self.mirror {
            Some(mirror) => {
                let applied = mirror.apply(packet)?;
                if applied.stale {
                    return Ok(PacketTiming::default());
                }
                self.received = mirror.acknowledgement();
                (applied.tick, applied.input_ack)
            }
            None => self.read_header(packet)?,
        };
        let mut timing = PacketTiming::default();
        if self.newest.is_none_or(|(newest, _)| tick > newest) {
            timing.jitter = self.newest.map(|(newest, at)| {
                let expected = Duration::from_secs_f64(f64::from(tick.since(newest)) * self.seconds_per_tick);
                now.duration_since(at).abs_diff(expected)
            });
            self.newest = Some((tick, now));
        }
        while self.inputs_sent.front().is_some_and(|(seq, _)| *seq <= input_ack) {
            let sent = self.inputs_sent.pop_front();
            timing.input_to_state.extend(sent.map(|(_, at)| now.duration_since(at)));
        }
        self.input_ack = self.input_ack.max(input_ack);
        Ok(timing)
    }

    /// Records the send time of an input.
    pub(crate) fn record_input(&mut self, seq: InputSeq, now: Instant) {
        if self.inputs_sent.len() == INPUTS_MAX {
            self.inputs_sent.pop_front();
        }
        self.inputs_sent.push_back((seq, now));
    }

    /// Acknowledgement of the received packets.
    pub(crate) fn acknowledgement(&self) -> StateAck {
        self.received
    }

    /// Newest tick of which anything has arrived.
    pub(crate) fn tick(&self) -> Tick {
        self.newest.map_or(Tick::ZERO, |(tick, _)| tick)
    }

    /// Age of the newest state.
    pub(crate) fn age(&self, now: Instant) -> Option<Duration> {
        self.newest.map(|(_, at)| now.duration_since(at))
    }

    fn read_header(&mut self, packet: &[u8]) -> Result<(Tick, InputSeq), ReadError> {
        let head: [u8; HEADER_BYTES] =
            packet.get(..HEADER_BYTES).and_then(|head| head.try_into().ok()).ok_or(ReadError::Overrun)?;
        let [a, b, c, d, sequence_low, sequence_high, input_low, input_high] = head;
        let sequence = expand(u16::from_le_bytes([sequence_low, sequence_high]), self.received.latest().0);
        let input_ack = expand(u16::from_le_bytes([input_low, input_high]), self.input_ack.0);
        self.received.record(PacketSeq(sequence));
        Ok((Tick(u32::from_le_bytes([a, b, c, d])), InputSeq(input_ack)))
    }
}

/// Returns the number nearest to `near` with these low 16 bits.
fn expand(low: u16, near: u32) -> u32 {
    near.wrapping_add_signed(i32::from(low.wrapping_sub(near as u16) as i16))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(tick: u32, sequence: u16, input_ack: u16) -> Vec<u8> {
        let mut bytes = tick.to_le_bytes().to_vec();
        bytes.extend_from_slice(&sequence.to_le_bytes());
        bytes.extend_from_slice(&input_ack.to_le_bytes());
        // Empty, and the last of its snapshot.
        bytes.push(1);
        bytes
    }

    #[test]
    fn light_and_full_states_measure_the_same() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for schema in [None, Some(Schema::default())] {
            let mut state = BotState::new(schema.as_ref(), DeliveryOrder::Unordered, 20);
            assert_eq!(state.age(at(0)), None);
            assert_eq!(state.apply(&packet(10, 1, 0), at(0)), Ok(PacketTiming::default()));
            state.record_input(InputSeq(1), at(10));
            state.record_input(InputSeq(2), at(20));
            let late = state.apply(&packet(11, 3, 2), at(60)).expect("a valid packet");
            assert_eq!(late.jitter, Some(Duration::from_millis(10)));
            assert_eq!(late.input_to_state, [Duration::from_millis(50), Duration::from_millis(40)]);
            let overtaken = state.apply(&packet(10, 2, 2), at(61)).expect("a valid packet");
            assert_eq!(overtaken, PacketTiming::default());
            assert_eq!((state.tick(), state.age(at(70))), (Tick(11), Some(Duration::from_millis(10))));
            assert_eq!(state.acknowledgement(), StateAck::new(PacketSeq(3), 0b11));
            assert!(state.apply(&[1, 2, 3], at(80)).is_err());
        }
    }

    #[test]
    fn unacknowledged_inputs_are_bounded() {
        let now = Instant::now();
        let mut state = BotState::new(None, DeliveryOrder::Ordered, 20);
        for seq in 1..=1_000 {
            state.record_input(InputSeq(seq), now);
        }
        assert_eq!(state.inputs_sent.len(), INPUTS_MAX);
    }
}
