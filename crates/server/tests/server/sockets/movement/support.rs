//! A client of the sandbox that proposes the movement of its ship.

use aether_replication::{DeliveryOrder, Mirror};
use aether_sandbox_rules::{Scoreboard, Ship, Shot, Thing};
use aether_testkit_server::{Encoding, JSON, PROTOBUF, TRANSPORTS, TestPlayer, TestServer, TransportKind, until};
use aether_wire::{
    ClientMessage, ClientTime, Correction, EntityId, ErrorNotice, Hello, InputSeq, JsonSnapshot, MovementDelta,
    ServerMessage, Snapshot,
};
use std::collections::BTreeMap;

/// Distance that a position may differ by: half a step of the replicated position, and rounding.
pub const SNAP: f32 = 0.011;

/// Kinds of violations, as the metric names them.
const KINDS: [&str; 7] = [
    "movement_not_finite",
    "movement_sequence",
    "movement_rate",
    "movement_teleport",
    "movement_speed",
    "movement_acceleration",
    "movement_bounds",
];

/// Returns every transport with every encoding.
pub fn links() -> [(TransportKind, Encoding); 4] {
    let [first, second] = TRANSPORTS;
    [(first, JSON), (first, PROTOBUF), (second, JSON), (second, PROTOBUF)]
}

/// A count of room events, of all rooms.
pub fn events(server: &TestServer, kind: &str) -> u64 {
    server.metric("aether_room_events_total", &[("kind", kind)]) as u64
}

/// Counted violations by kind, without kinds that have none.
pub fn violations(server: &TestServer) -> BTreeMap<&'static str, u64> {
    let count = |kind| (kind, events(server, kind));
    KINDS.into_iter().map(count).filter(|(_, count)| *count > 0).collect()
}

/// Waits until the violations are counted, and all corrections with them.
pub async fn until_counted(server: &TestServer, expected: &BTreeMap<&'static str, u64>) {
    let corrections = expected.values().sum::<u64>();
    until(&format!("{corrections} corrections"), || events(server, "corrections") >= corrections).await;
    assert_eq!((&violations(server), events(server, "corrections")), (expected, corrections));
}

/// A player that proposes the movement of its ship.
pub struct Flyer {
    pub player: TestPlayer,
    pub ship: EntityId,
    /// Newest position of the ship that a snapshot had.
    pub position: [f32; 2],
    /// Newest movement that a snapshot acknowledged.
    pub acknowledged: InputSeq,
    /// Positions of the visible things.
    pub things: BTreeMap<EntityId, [f32; 2]>,
    /// Corrections that arrived while waiting for something else.
    pub corrections: Vec<Correction>,
    /// Error notices, likewise.
    pub notices: Vec<ErrorNotice>,
    seq: u32,
    mirror: Mirror,
}

impl Flyer {
    /// Joins the sandbox and waits for the position of the ship.
    pub async fn join(server: &TestServer, link: (TransportKind, Encoding)) -> Flyer {
        Flyer::join_with(server, link, &server.hello("sandbox")).await
    }

    pub async fn join_with(
        server: &TestServer,
        (transport, encoding): (TransportKind, Encoding),
        hello: &Hello,
    ) -> Flyer {
        let mut player = server.join(transport, encoding, hello).await;
        let order = match transport {
            TransportKind::WebTransport | TransportKind::Udp => DeliveryOrder::Unordered,
            _ => DeliveryOrder::Ordered,
        };
        let mirror = Mirror::builder().component::<Ship>().component::<Thing>().component::<Shot>();
        let mirror = mirror.component::<Scoreboard>().build(order, 1.0 / 40.0);
        let ship = player.possession().await;
        let mut flyer = Flyer {
            player,
            ship,
            position: [f32::NAN; 2],
            acknowledged: InputSeq(0),
            things: BTreeMap::new(),
            corrections: Vec::new(),
            notices: Vec::new(),
            seq: 0,
            mirror,
        };
        flyer.read_until("its ship", |flyer| !flyer.position[0].is_nan()).await;
        flyer
    }

    /// Returns a movement of an entity with the next number.
    pub fn movement(&mut self, entity: EntityId, [dx, dy]: [f32; 2]) -> MovementDelta {
        self.seq += 1;
        MovementDelta { entity, seq: InputSeq(self.seq), dx, dy, client_time: ClientTime(1_000 * u64::from(self.seq)) }
    }

    /// Proposes a movement with the next number, without waiting. Returns the number.
    pub async fn propose(&mut self, delta: [f32; 2]) -> InputSeq {
        let movement = self.movement(self.ship, delta);
        self.player.send(ClientMessage::MovementDelta(movement)).await;
        movement.seq
    }

    /// Proposes a movement and waits until a snapshot has it.
    pub async fn step(&mut self, delta: [f32; 2]) {
        let seq = self.propose(delta).await;
        self.read_until("an acknowledged movement", |flyer| flyer.acknowledged >= seq).await;
    }

    /// Waits for a correction.
    pub async fn correction(&mut self) -> Correction {
        self.read_until("a correction", |flyer| !flyer.corrections.is_empty()).await;
        self.corrections.remove(0)
    }

    /// Waits for an error notice.
    pub async fn notice(&mut self) -> ErrorNotice {
        self.read_until("an error", |flyer| !flyer.notices.is_empty()).await;
        self.notices.remove(0)
    }

    /// Reads messages until a condition holds.
    pub async fn read_until(&mut self, what: &str, holds: impl Fn(&Flyer) -> bool) {
        while !holds(self) {
            let message = self.player.wait(what, Some).await;
            self.apply(message).await;
        }
    }

    async fn apply(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Correction(correction) => self.corrections.push(correction),
            ServerMessage::Error(notice) => self.notices.push(notice),
            ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => self.apply_json(&snapshot),
            ServerMessage::Snapshot(Snapshot::Packed(packet)) => {
                self.mirror.apply(&packet).expect("it can be read");
                self.acknowledged = self.mirror.input_ack();
                if let Some(ship) = self.mirror.get::<Ship>(self.ship) {
                    self.position = ship.position;
                }
                let thing = |id| Some((id, self.mirror.get::<Thing>(id)?.position));
                self.things = self.mirror.entities().filter_map(thing).collect();
                self.player.send(ClientMessage::Ack(self.mirror.acknowledgement())).await;
            }
            _ => {}
        }
    }

    fn apply_json(&mut self, snapshot: &JsonSnapshot) {
        let position = |fields: &BTreeMap<String, serde_json::Value>| {
            serde_json::from_value(fields["position"].clone()).expect("a position is two numbers")
        };
        self.acknowledged = snapshot.local_ack_seq;
        self.things.retain(|id, _| !snapshot.removed.contains(id));
        for thing in snapshot.features.get("things").into_iter().flatten() {
            self.things.insert(thing.id, position(&thing.fields.0));
        }
        for ship in snapshot.features.get("movement").into_iter().flatten() {
            if ship.id == self.ship {
                self.position = position(&ship.fields.0);
            }
        }
    }
}

/// Returns whether two positions are equal but for snapping.
pub fn is_same(a: [f32; 2], b: [f32; 2]) -> bool {
    a.iter().zip(b).all(|(a, b)| (a - b).abs() <= SNAP)
}
