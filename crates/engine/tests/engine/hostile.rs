//! Clients that send arbitrary messages.

use crate::cases;
use crate::support::{Client, Scene, Secret, join_request, read_all, settings};
use aether_engine::{JoinRequest, Permissions, RoomSettings};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, ClientTime, CommandSeq, EntityId, FieldValues, Fragment, GameBody, GameMessage, Hello, InputBytes,
    InputPayload, InputSeq, Inputs, MessageId, MovementDelta, PacketSeq, Ping, PlaygroundClear, PlaygroundSpawn,
    PlaygroundStress, SpawnRequest, StateAck, Tick, Vector2, ViewTick,
};
use proptest::collection::vec;
use proptest::prelude::*;

const TICKS: usize = 200;

fn number() -> impl Strategy<Value = f32> {
    prop_oneof![
        any::<f32>(),
        -1_500.0f32..1_500.0,
        prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38, -0.0, f32::MIN_POSITIVE]),
    ]
}

fn entity() -> impl Strategy<Value = EntityId> {
    let slot = prop_oneof![0u32..40, any::<u32>()];
    (slot, prop_oneof![Just(0u16), any::<u16>()]).prop_map(|(slot, generation)| EntityId { slot, generation })
}

fn count() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..50, any::<u32>(), Just(u32::MAX)]
}

fn state_ack() -> impl Strategy<Value = StateAck> {
    (count(), any::<u64>()).prop_map(|(latest, before)| StateAck::new(PacketSeq(latest), before))
}

fn payload() -> impl Strategy<Value = InputPayload> {
    prop_oneof![
        8 => vec(any::<u8>(), 0..=32).prop_map(|bytes| InputPayload::Packed(InputBytes::new(&bytes).unwrap())),
        1 => Just(InputPayload::Fields(FieldValues::default())),
    ]
}

prop_compose! {
    fn inputs()(
        first_seq in count(),
        payloads in vec(payload(), 0..20),
        ack in state_ack(),
        tick in count(),
        fraction in any::<u8>(),
    ) -> ClientMessage {
        let view = ViewTick { tick: Tick(tick), fraction };
        ClientMessage::Inputs(Inputs { first_seq: InputSeq(first_seq), payloads: payloads.into(), ack, view })
    }
}

fn game_message() -> impl Strategy<Value = ClientMessage> {
    let packed = (prop_oneof![0u16..4, any::<u16>()], vec(any::<u8>(), 0..100))
        .prop_map(|(code, payload)| GameBody::Packed { code, payload });
    let named = Just(GameBody::Named { feature: String::new(), action: String::new(), fields: FieldValues::default() });
    (count(), prop_oneof![4 => packed, 1 => named])
        .prop_map(|(seq, body)| ClientMessage::Game(GameMessage { seq: CommandSeq(seq), body }))
}

fn movement() -> impl Strategy<Value = ClientMessage> {
    (entity(), count(), number(), number(), any::<u64>()).prop_map(|(entity, seq, dx, dy, time)| {
        let client_time = ClientTime(time);
        ClientMessage::MovementDelta(MovementDelta { entity, seq: InputSeq(seq), dx, dy, client_time })
    })
}

fn command() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        (count(), proptest::option::of((number(), number()))).prop_map(|(seq, position)| {
            let position = position.map(|(x, y)| Vector2 { x, y });
            ClientMessage::SpawnRequest(SpawnRequest { seq: CommandSeq(seq), position })
        }),
        (count(), number(), number(), number()).prop_map(|(seq, x, y, rotation)| {
            let kind = "x".repeat(seq as usize % 100);
            ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq: CommandSeq(seq), kind, x, y, rotation })
        }),
        count().prop_map(|seq| ClientMessage::PlaygroundClear(PlaygroundClear { seq: CommandSeq(seq) })),
        (count(), count(), any::<bool>()).prop_map(|(seq, count, rotate)| {
            ClientMessage::PlaygroundStress(PlaygroundStress { seq: CommandSeq(seq), count, rotate })
        }),
    ]
}

fn stray() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        Just(ClientMessage::Hello(Hello::default())),
        any::<u32>().prop_map(|tick| ClientMessage::Ping(Ping { client_time: ClientTime(0), tick: Tick(tick) })),
        Just(ClientMessage::Heartbeat),
        Just(ClientMessage::ManifestRequest),
        Just(ClientMessage::SchemaRequest),
        Just(ClientMessage::Leave),
        (any::<u32>(), any::<u16>(), any::<u16>(), vec(any::<u8>(), 0..50)).prop_map(
            |(message, index, total, bytes)| {
                ClientMessage::Fragment(Fragment { message: MessageId(message), index, total, bytes })
            }
        ),
    ]
}

fn any_message() -> impl Strategy<Value = ClientMessage> {
    prop_oneof![
        6 => inputs(),
        3 => state_ack().prop_map(ClientMessage::Ack),
        4 => game_message(),
        4 => movement(),
        4 => command(),
        1 => stray(),
    ]
}

/// A hostile client that joins again whenever it is closed.
struct Attacker {
    request: JoinRequest,
    order: DeliveryOrder,
    client: Option<Client>,
}

impl Attacker {
    fn new(name: &str, order: DeliveryOrder, playground: bool) -> Self {
        let permissions = Permissions { playground, ..Permissions::default() };
        Attacker { request: JoinRequest { permissions, ..join_request(name) }, order, client: None }
    }

    fn send(&mut self, scene: &mut Scene, messages: &[ClientMessage], reads: bool) {
        if self.client.as_ref().is_none_or(|client| client.closed().is_some()) {
            self.client = Some(scene.join_as(self.request.clone(), self.order));
        }
        let Some(client) = &mut self.client else { return };
        for message in messages {
            let _ = client.endpoint.push(message.clone());
        }
        if reads {
            while client.endpoint.next_state().is_some() {}
            client.read_reliable();
        }
    }
}

fn crowded() -> RoomSettings {
    RoomSettings { entities_max: 60, players_max: 8, rewind_ticks: 10, ..settings() }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn whatever_hostile_clients_send_the_others_play_on(
        ticks in vec((vec(any_message(), 0..5), vec(any_message(), 0..5), any::<bool>()), TICKS),
    ) {
        let mut scene = Scene::new(crowded());
        let mut honest = [scene.join("ann"), scene.join_as(join_request("ben"), DeliveryOrder::Unordered)];
        let mut attackers =
            [Attacker::new("mallory", DeliveryOrder::Ordered, false), Attacker::new("trudy", DeliveryOrder::Unordered, false)];
        for (round, (first, second, reads)) in ticks.iter().enumerate() {
            attackers[0].send(&mut scene, first, *reads);
            attackers[1].send(&mut scene, second, !*reads);
            for client in &honest {
                client.push(round as u32 + 1, &[if round % 2 == 0 { 1.0 } else { -0.5 }]);
            }
            scene.tick();
            read_all(&mut honest);
            prop_assert!(scene.room.world().len() <= 60);
            prop_assert!(scene.room.players() <= 4);
        }
        for _ in 0..60 {
            scene.tick();
            read_all(&mut honest);
        }
        let world = scene.room.world();
        for client in &honest {
            prop_assert_eq!(client.closed(), None);
            prop_assert_eq!(client.own_place(), Some([10.0 * client.player.0 as f32 + TICKS as f32 / 4.0, 0.0]));
            prop_assert!(scene.agrees_with(client));
            let others = world.each::<Secret>().filter(|(id, _)| world.owner(*id) != Some(client.player));
            prop_assert_eq!(others.filter(|(id, _)| client.ever.contains(id)).count(), 0);
        }
        prop_assert_eq!(scene.totals().movement_speed, 0);
    }

    #[test]
    fn whatever_developers_send_the_limits_hold(ticks in vec(vec(any_message(), 0..8), 50)) {
        let mut scene = Scene::new(crowded());
        let mut developer = Attacker::new("dev", DeliveryOrder::Ordered, true);
        let mut ann = scene.join("ann");
        for messages in &ticks {
            developer.send(&mut scene, messages, true);
            scene.play(1, &mut [&mut ann]);
            prop_assert!(scene.room.world().len() <= 60);
        }
        scene.play(10, &mut [&mut ann]);
        prop_assert_eq!(ann.closed(), None);
        prop_assert!(scene.agrees_with(&ann));
    }
}

#[test]
fn no_message_of_a_client_changes_its_interest_radius() {
    // Its metadata goes only to the game.
    let mut scene = Scene::new(settings());
    let far = scene.spawn_at([700.0, 0.0]);
    let metadata = [("viewRadius", "100000")].into();
    let mut eve = scene.join_as(JoinRequest { metadata, ..join_request("eve") }, DeliveryOrder::Ordered);
    eve.push_seeing(1, 0.0, ViewTick { tick: Tick(u32::MAX), fraction: 255 });
    scene.play(5, &mut [&mut eve]);
    assert!(!eve.ever.contains(&far));
    assert!(!ClientMessage::NAMES.iter().any(|name| name.contains("view") || name.contains("radius")));
}

#[test]
fn messages_for_the_connection_are_counted_and_ignored() {
    let mut scene = Scene::new(settings());
    let mut eve = scene.join("eve");
    eve.read();
    eve.reliable.clear();
    let fragment = Fragment { message: MessageId(1), index: 9, total: 0, bytes: vec![1; 900] };
    let named = GameBody::Named { feature: "own".to_owned(), action: "do".to_owned(), fields: FieldValues::default() };
    for message in [
        ClientMessage::Hello(Hello::default()),
        ClientMessage::Ping(Ping::default()),
        ClientMessage::ManifestRequest,
        ClientMessage::SchemaRequest,
        ClientMessage::Fragment(fragment),
        ClientMessage::Game(GameMessage { seq: CommandSeq(1), body: named }),
    ] {
        eve.send(message);
    }
    scene.play(1, &mut [&mut eve]);
    assert_eq!(scene.totals().unexpected, 6);
    assert_eq!((eve.reliable.len(), eve.closed()), (0, None));
}

#[test]
fn an_acknowledgement_of_what_was_never_sent_changes_nothing() {
    let mut scene = Scene::new(settings());
    let mut eve = scene.join_as(join_request("eve"), DeliveryOrder::Unordered);
    let entity = scene.spawn_at([12.0, 0.0]);
    for latest in [1_000, u32::MAX] {
        eve.send(ClientMessage::Ack(StateAck::new(PacketSeq(latest), u64::MAX)));
        scene.tick();
    }
    scene.put(entity, [13.0, 0.0]);
    scene.play(30, &mut [&mut eve]);
    assert!(scene.agrees_with(&eve));
}
