//! Messages between bots, and the number of expected deliveries.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aether_wire::{ClientMessage, CommandSeq, GameBody, GameMessage};

/// Code of the bots' messages.
const CODE: u16 = 1;

/// First bytes of a message, which distinguish it from messages of other clients.
const MAGIC: [u8; 4] = *b"load";

/// Message with its sender and send time, padded to `bytes`. It requests no answer.
pub(crate) fn stamped_message(sent_at: Duration, bot: u32, bytes: usize) -> ClientMessage {
    let mut payload = Vec::with_capacity(bytes);
    payload.extend_from_slice(&MAGIC);
    payload.extend_from_slice(&bot.to_le_bytes());
    payload.extend_from_slice(&(sent_at.as_micros() as u64).to_le_bytes());
    payload.resize(bytes.max(payload.len()), 0);
    ClientMessage::Game(GameMessage { seq: CommandSeq(0), body: GameBody::Packed { code: CODE, payload } })
}

/// Reads the sender and the send time of a message. `None` if it is not from a bot.
pub(crate) fn read_stamp(body: &GameBody) -> Option<(u32, Duration)> {
    let GameBody::Packed { code: CODE, payload } = body else { return None };
    let rest = payload.strip_prefix(&MAGIC)?;
    let (bot, rest) = rest.split_first_chunk()?;
    let (sent_us, _) = rest.split_first_chunk()?;
    Some((u32::from_le_bytes(*bot), Duration::from_micros(u64::from_le_bytes(*sent_us))))
}

/// Number of bots in each room.
pub(crate) struct BotRooms {
    counts: Vec<AtomicU32>,
    per_room: u32,
}

impl BotRooms {
    pub(crate) fn new(bots: u32, per_room: u32) -> Self {
        Self { counts: (0..bots.div_ceil(per_room)).map(|_| AtomicU32::new(0)).collect(), per_room }
    }

    /// Label of a bot's room.
    pub(crate) fn label(&self, bot: u32) -> String {
        format!("load-{}", bot / self.per_room)
    }

    /// Counts a bot as present until the returned value is dropped.
    pub(crate) fn enter(&self, bot: u32) -> Presence<'_> {
        let room = &self.counts[(bot / self.per_room) as usize];
        room.fetch_add(1, Ordering::Relaxed);
        Presence { room }
    }

    /// Number of bots in all rooms.
    pub(crate) fn total(&self) -> u32 {
        self.counts.iter().map(|room| room.load(Ordering::Relaxed)).sum()
    }
}

/// Presence of a bot in a room.
pub(crate) struct Presence<'a> {
    room: &'a AtomicU32,
}

impl Presence<'_> {
    /// Number of other bots in the room.
    pub(crate) fn other_bots(&self) -> u64 {
        u64::from(self.room.load(Ordering::Relaxed).saturating_sub(1))
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.room.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_can_be_read() {
        for bytes in [0, 16, 32] {
            let ClientMessage::Game(message) = stamped_message(Duration::from_micros(1_234), 56, bytes) else {
                panic!("it is a game message")
            };
            assert_eq!(read_stamp(&message.body), Some((56, Duration::from_micros(1_234))));
            let GameBody::Packed { payload, .. } = message.body else { panic!("it is packed") };
            assert_eq!(payload.len(), bytes.max(16));
        }
        assert_eq!(read_stamp(&GameBody::Packed { code: CODE, payload: vec![0; 32] }), None);
        assert_eq!(read_stamp(&GameBody::Packed { code: CODE, payload: b"load".to_vec() }), None);
    }

    #[test]
    fn other_bots_of_a_room_are_counted() {
        let rooms = BotRooms::new(5, 2);
        let (first, other) = (rooms.enter(0), rooms.enter(4));
        assert_eq!((first.other_bots(), other.other_bots(), rooms.total()), (0, 0, 2));
        let second = rooms.enter(1);
        assert_eq!((first.other_bots(), second.other_bots(), rooms.total()), (1, 1, 3));
        drop(second);
        assert_eq!(first.other_bots(), 0);
        assert_eq!([0, 1, 2, 4].map(|bot| rooms.label(bot)), ["load-0", "load-0", "load-1", "load-2"]);
    }
}
