//! Congestion control over a bottleneck of 10 Mbit/s with a round trip of 50 ms.

use std::time::Duration;

use aether_rudp::{Channel, Settings};

use crate::support::pair::{CLIENT, SERVER};
use crate::support::{Bottleneck, Faults, Link, Pair};

const BYTES_PER_SECOND: u64 = 1_250_000;
const DELAY: Duration = Duration::from_millis(25);

/// Several servers that send as much as they can over one bottleneck.
struct Shared {
    now: Duration,
    flows: Vec<Pair>,
    up: Link,
    down: Link,
    /// Bytes that have arrived, by flow.
    arrived: Vec<usize>,
}

impl Shared {
    fn new(flows: usize, queue_bytes: u64, faults: Faults) -> Shared {
        let settings = Settings { queue_bytes_max: 200_000, ..Settings::default() };
        let mut down = Link::new(2, DELAY, faults);
        down.bottleneck = Some(Bottleneck { bytes_per_second: BYTES_PER_SECOND, queue_bytes });
        Shared {
            now: Duration::from_secs(1),
            flows: (0..flows).map(|_| Pair::with_settings(settings)).collect(),
            up: Link::new(1, DELAY, Faults::default()),
            down,
            arrived: vec![0; flows],
        }
    }

    fn run(&mut self, time: Duration) {
        let end = self.now + time;
        while self.now < end {
            self.deliver();
            self.transmit();
            let timers = self.flows.iter().flat_map(|pair| [pair.client.next_timeout(), pair.server.next_timeout()]);
            let next = timers.chain([self.up.next_arrival(), self.down.next_arrival()]).flatten().min();
            self.now = next.unwrap_or(end).clamp(self.now, end);
        }
    }

    fn deliver(&mut self) {
        // The port is the index of the flow.
        while let Some(mut datagram) = self.up.receive(self.now) {
            let flow = &mut self.flows[usize::from(datagram.from.port())];
            flow.server.handle(self.now, CLIENT, &mut datagram.bytes, &mut |_, _| {}).expect("an authentic packet");
        }
        while let Some(mut datagram) = self.down.receive(self.now) {
            let index = usize::from(datagram.to.port());
            let arrived = &mut self.arrived[index];
            let mut take = |_, message: &[u8]| *arrived += message.len();
            self.flows[index].client.handle(self.now, SERVER, &mut datagram.bytes, &mut take).expect("a new packet");
        }
    }

    fn transmit(&mut self) {
        let mut datagram = Vec::new();
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let mut address = CLIENT;
            address.set_port(index as u16);
            while flow.server.send(Channel::ReliableOrdered, &[0; 1_000]).is_ok() {}
            while flow.client.poll_transmit(self.now, &mut datagram).is_some() {
                self.up.send(self.now, address, SERVER, &datagram);
                datagram.clear();
            }
            while flow.server.poll_transmit(self.now, &mut datagram).is_some() {
                self.down.send(self.now, SERVER, address, &datagram);
                datagram.clear();
            }
        }
    }

    /// Share of the bottleneck's rate that arrived as messages.
    fn utilization(&mut self, time: Duration) -> f64 {
        let before: usize = self.arrived.iter().sum();
        self.run(time);
        let arrived = self.arrived.iter().sum::<usize>() - before;
        arrived as f64 / (BYTES_PER_SECOND as f64 * time.as_secs_f64())
    }

    fn loss(&self) -> f64 {
        self.down.dropped as f64 / self.down.sent as f64
    }
}

#[test]
fn one_connection_uses_a_link_and_does_not_flood_its_queue() {
    // A queue of one round trip, of a half, and of two.
    for queue_bytes in [62_500, 31_250, 125_000] {
        let mut shared = Shared::new(1, queue_bytes, Faults::default());
        shared.run(Duration::from_secs(2));
        let utilization = shared.utilization(Duration::from_secs(8));
        assert!(utilization >= 0.8, "{queue_bytes} bytes of queue: {utilization}");
        assert!(shared.loss() <= 0.02, "{queue_bytes} bytes of queue: {} lost", shared.loss());
    }
}

#[test]
fn a_new_connection_is_fast_within_a_second() {
    let mut shared = Shared::new(1, 62_500, Faults::default());
    let utilization = shared.utilization(Duration::from_secs(1));
    assert!(utilization >= 0.5, "{utilization}");
}

#[test]
fn two_connections_share_a_link() {
    let mut shared = Shared::new(2, 62_500, Faults::default());
    shared.run(Duration::from_secs(5));
    shared.arrived.fill(0);
    let utilization = shared.utilization(Duration::from_secs(20));
    assert!(utilization >= 0.8, "{utilization}");
    assert!(shared.loss() <= 0.02, "{} lost", shared.loss());
    let (less, more) = (shared.arrived[0].min(shared.arrived[1]), shared.arrived[0].max(shared.arrived[1]));
    assert!(less * 3 >= more, "{less} and {more} bytes");
}

#[test]
fn random_loss_does_not_stop_a_connection() {
    // One in twenty is lost: the window stays small, but never below its minimum per round trip.
    let mut shared = Shared::new(1, 62_500, Faults { loss: 50, ..Faults::default() });
    let utilization = shared.utilization(Duration::from_secs(10));
    assert!(utilization >= 0.05, "{utilization}");
}
