//! Reliable events.

use crate::support::{Chat, Client, Scene, read_all, settings};
use aether_wire::{ErrorCode, PlayerId, ServerMessage, Tick};

fn say(text: &str) -> Chat {
    Chat { text: text.to_owned() }
}

fn texts(client: &Client) -> Vec<String> {
    client.chats().into_iter().map(|(_, text)| text).collect()
}

#[test]
fn an_event_reaches_one_some_or_all_and_nobody_else() {
    let mut scene = Scene::new(settings());
    let mut clients: Vec<_> = ["ann", "ben", "cleo"].map(|name| scene.join(name)).into();
    scene.next(|room| {
        room.send(PlayerId(1), &say("one"));
        room.send_to(&[PlayerId(1), PlayerId(3)], &say("some"));
        room.broadcast(&say("all"));
        room.send(PlayerId(99), &say("nobody"));
    });
    scene.tick();
    read_all(&mut clients);
    let received: Vec<_> = clients.iter().map(texts).collect();
    assert_eq!(received, [vec!["one", "some", "all"], vec!["all"], vec!["some", "all"]]);
}

#[test]
fn events_come_in_order_and_carry_their_tick() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let first = Tick(scene.room.now().0 + 1);
    for round in 0..3 {
        scene.next(move |room| {
            room.broadcast(&say(&format!("a{round}")));
            room.broadcast(&say(&format!("b{round}")));
        });
        scene.tick();
    }
    ann.read();
    let expected: Vec<_> =
        (0..3).flat_map(|round| ["a", "b"].map(|letter| (Tick(first.0 + round), format!("{letter}{round}")))).collect();
    assert_eq!(ann.chats(), expected);
}

#[test]
fn the_events_of_a_tick_are_there_before_its_state() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    let body = ann.possession().unwrap();
    for round in 1..=5 {
        scene.put(body, [round as f32, 0.0]);
        scene.next(|room| room.broadcast(&say("moved")));
        scene.tick();
        // A client that takes the state of a tick can also take its events.
        ann.read_reliable();
        let event_tick = ann.chats().last().unwrap().0;
        ann.read();
        assert_eq!(ann.mirror.tick(), event_tick);
    }
}

#[test]
fn a_message_is_answered_and_what_it_caused_comes_before_the_answer() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    ann.reliable.clear();
    ann.chat(1, "hello");
    ann.chat(2, "again");
    scene.tick();
    ann.read();
    let kinds: Vec<_> = ann.reliable.iter().map(|message| message.name()).collect();
    assert_eq!(kinds, ["event", "ack", "event", "ack"]);
    assert_eq!(ann.ack(1).unwrap().error, None);
    assert_eq!(ann.ack(2).unwrap().error, None);
    assert_eq!(scene.totals().messages, 2);
}

#[test]
fn a_message_with_number_zero_is_not_answered() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    // Commands with the number zero are not answered.
    ann.chat(0, "hello");
    scene.tick();
    ann.read();
    assert_eq!(texts(&ann), ["hello"]);
    let acks = ann.reliable.iter().filter(|message| matches!(&***message, ServerMessage::Ack(_))).count();
    assert_eq!(acks, 0);
}

#[test]
fn acting_on_a_foreign_entity_is_rejected_as_if_it_did_not_exist() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    scene.play(1, &mut [&mut ann, &mut ben]);
    let (own, others) = (ann.possession().unwrap(), ben.possession().unwrap());
    ann.poke(1, own);
    ann.poke(2, others);
    ann.poke(3, aether_wire::EntityId { slot: 12_345, generation: 0 });
    ann.poke(4, aether_wire::EntityId { generation: own.generation + 1, ..own });
    scene.play(1, &mut [&mut ann]);
    assert_eq!(ann.ack(1).unwrap().error, None);
    let refused = ann.ack(2).unwrap().error.unwrap();
    assert_eq!(refused.code, ErrorCode::NotFound);
    assert_eq!(ann.ack(3).unwrap().error.as_ref(), Some(&refused));
    assert_eq!(ann.ack(4).unwrap().error.as_ref(), Some(&refused));
    assert_eq!(scene.totals().refused, 3);
}
