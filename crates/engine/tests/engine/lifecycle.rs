//! Joins, leaves and the end of a room.

use crate::support::{Call, Scene, Scoreboard, Yard, join_request, settings};
use aether_engine::authority::MovementRules;
use aether_engine::{BuildError, MAILBOX_MAX, NoObserver, Room, RoomSettings, RoomStatus};
use aether_replication::DeliveryOrder;
use aether_wire::{ClientMessage, CloseReason, ErrorCode, PlayerId, ServerMessage, Tick};
use std::sync::mpsc;

#[test]
fn a_rejected_join_gets_the_reason() {
    let mut scene = Scene::new(settings());
    let endpoint = scene.handle.join(join_request("stranger"), DeliveryOrder::Ordered).unwrap();
    assert_eq!(endpoint.admission(), None, "nothing is decided before the tick");
    scene.tick();
    let rejection = endpoint.admission().unwrap().as_ref().unwrap_err();
    assert_eq!((rejection.code, rejection.message.as_str()), (ErrorCode::JoinRefused, "no strangers in this yard"));
    assert_eq!((scene.totals().joins, scene.totals().joins_refused), (0, 1));
    assert_eq!(scene.room.players(), 0);
    assert_eq!(scene.room.game().calls, []);
    assert!(endpoint.next_state().is_none());
}

#[test]
fn a_full_room_rejects_joins_until_a_player_leaves() {
    let mut scene = Scene::new(RoomSettings { players_max: 2, ..settings() });
    let endpoints: Vec<_> =
        (0..3).map(|_| scene.handle.join(join_request("player"), DeliveryOrder::Ordered).unwrap()).collect();
    scene.tick();
    let codes: Vec<_> = endpoints
        .iter()
        .map(|endpoint| endpoint.admission().unwrap().as_ref().err().map(|rejection| rejection.code))
        .collect();
    assert_eq!(codes, [None, None, Some(ErrorCode::RoomFull)]);
    assert_eq!(scene.totals().joins_refused, 1);
    endpoints[0].push(ClientMessage::Leave).unwrap();
    scene.tick();
    scene.join("late");
    assert_eq!(scene.room.players(), 2);
}

#[test]
fn the_possession_comes_before_the_state_of_its_tick() {
    let mut scene = Scene::new(settings());
    let mut client = scene.join("ann");
    let message = client.endpoint.next_reliable().unwrap();
    let ServerMessage::Possession(possession) = &*message else { panic!("{message:?}") };
    assert_eq!(possession.tick, Tick(1));
    client.read();
    assert_eq!(client.packet_ticks, [Tick(1)]);
    assert_eq!(client.place(possession.entity), Some([10.0, 0.0]));
    assert_eq!(scene.room.world().owner(possession.entity), Some(client.player));
}

#[test]
fn what_the_game_spawned_at_the_beginning_is_there_for_everyone() {
    let mut scene = Scene::new(settings());
    let mut client = scene.join("ann");
    client.read();
    let (board, _) = scene.room.world().each::<Scoreboard>().next().unwrap();
    assert_eq!(client.mirror.get::<Scoreboard>(board), Some(&Scoreboard { round: 1 }));
}

#[test]
fn player_ids_follow_the_order_of_joining_and_are_never_reused() {
    let mut scene = Scene::new(settings());
    let first = scene.join("ann");
    let second = scene.join("ben");
    first.send(ClientMessage::Leave);
    scene.tick();
    let third = scene.join("cleo");
    assert_eq!([first.player, second.player, third.player], [PlayerId(1), PlayerId(2), PlayerId(3)]);
}

#[test]
fn a_leave_closes_the_connection_and_despawns_the_possession() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let mut ben = scene.join("ben");
    scene.play(1, &mut [&mut ann, &mut ben]);
    let body = ann.possession().unwrap();
    assert!(ben.mirror.contains(body));
    ann.send(ClientMessage::Leave);
    scene.play(1, &mut [&mut ben]);
    assert_eq!(ann.closed(), Some(CloseReason::Left));
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Leave(ann.player, CloseReason::Left)));
    assert!(!scene.room.world().contains(body));
    assert!(!ben.mirror.contains(body), "the others see it go in the same tick");
    assert_eq!(scene.totals().leaves, 1);
    assert_eq!(ben.closed(), None);
}

#[test]
fn a_dropped_connection_leaves_at_once_without_resume() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    ann.read();
    let (player, body) = (ann.player, ann.possession().unwrap());
    drop(ann);
    scene.tick();
    assert_eq!(scene.room.players(), 0);
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Leave(player, CloseReason::Left)));
    assert!(!scene.room.world().contains(body));
}

#[test]
fn a_kicked_player_leaves_at_the_next_tick() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    let ben = scene.join("ben");
    let player = ann.player;
    scene.next(move |room| room.kick(player));
    scene.tick();
    assert_eq!(scene.room.players(), 2);
    scene.tick();
    assert_eq!(ann.closed(), Some(CloseReason::Kicked));
    assert_eq!(ben.closed(), None);
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Leave(player, CloseReason::Kicked)));
}

#[test]
fn an_entity_given_to_another_player_stays_after_a_leave() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let ben = scene.join("ben");
    ann.read();
    let (body, heir) = (ann.possession().unwrap(), ben.player);
    scene.next(move |room| room.world.set_owner(body, Some(heir)));
    scene.tick();
    drop(ann);
    scene.tick();
    assert!(scene.room.world().contains(body));
}

#[test]
fn a_room_that_ends_closes_everyone_and_ticks_no_more() {
    let mut scene = Scene::new(settings());
    let mut ann = scene.join("ann");
    let ben = scene.join("ben");
    scene.handle.end().unwrap();
    assert_eq!(scene.tick(), RoomStatus::Ended);
    assert_eq!([ann.closed(), ben.closed()], [Some(CloseReason::RoomEnded); 2]);
    assert_eq!(scene.room.game().calls.last(), Some(&Call::Terminate));
    ann.read();
    assert_eq!(ann.chats().last().unwrap().1, "good night", "the last events of the game still arrive");
    let (tick, hash, totals) = (scene.room.now(), scene.room.hash(), *scene.totals());
    ben.push(1, &[1.0]);
    assert_eq!(scene.tick(), RoomStatus::Ended);
    assert_eq!((scene.room.now(), scene.room.hash(), *scene.totals()), (tick, hash, totals));
}

#[test]
fn a_game_can_end_its_room() {
    let mut scene = Scene::new(settings());
    let ann = scene.join("ann");
    scene.next(|room| room.end());
    assert_eq!(scene.tick(), RoomStatus::Ended);
    assert_eq!(ann.closed(), Some(CloseReason::RoomEnded));
}

#[test]
fn a_join_after_the_end_is_not_left_waiting() {
    let mut scene = Scene::new(settings());
    scene.handle.end().unwrap();
    scene.tick();
    let late = scene.handle.join(join_request("late"), DeliveryOrder::Ordered);
    scene.tick();
    let notified = late.map_or(true, |endpoint| endpoint.admission().is_some() || endpoint.closing().is_some());
    assert!(notified, "a join that is neither rejected nor closed would wait forever");
}

#[test]
fn the_label_is_the_games_to_set() {
    let mut scene = Scene::new(settings());
    assert_eq!(scene.room.label(), "round 1");
    scene.next(|room| {
        assert_eq!(room.label(), "round 1");
        room.set_label("finals");
    });
    scene.tick();
    assert_eq!(scene.room.label(), "finals");
}

#[test]
fn a_signal_reaches_the_game_and_its_reply_comes_back() {
    let mut scene = Scene::new(settings());
    let (sender, replies) = mpsc::sync_channel(2);
    scene.handle.signal(vec![1, 2, 3], sender.clone()).unwrap();
    scene.handle.signal(vec![4, 5], sender).unwrap();
    assert!(replies.try_recv().is_err());
    scene.tick();
    assert_eq!(replies.try_iter().collect::<Vec<_>>(), [vec![3, 2, 1], vec![5, 4]]);
    assert_eq!(scene.room.label(), "round 3");
}

#[test]
fn a_signal_whose_sender_stopped_waiting_harms_nothing() {
    let mut scene = Scene::new(settings());
    let (sender, replies) = mpsc::sync_channel(0);
    drop(replies);
    scene.handle.signal(vec![1], sender).unwrap();
    scene.tick();
    assert_eq!(scene.room.game().calls, [Call::Signal(vec![1])]);
}

#[test]
fn a_full_mailbox_is_an_error_and_empties_with_the_next_tick() {
    let mut scene = Scene::new(settings());
    let (sender, _replies) = mpsc::sync_channel(MAILBOX_MAX);
    for _ in 0..MAILBOX_MAX {
        scene.handle.signal(Vec::new(), sender.clone()).unwrap();
    }
    assert!(scene.handle.signal(Vec::new(), sender.clone()).is_err());
    assert!(scene.handle.join(join_request("ann"), DeliveryOrder::Ordered).is_err());
    scene.tick();
    assert!(scene.handle.join(join_request("ann"), DeliveryOrder::Ordered).is_ok());
}

#[test]
fn a_room_starts_from_a_checkpoint() {
    let mut scene = Scene::new(settings());
    scene.next(|room| room.world.each_mut::<Scoreboard>(|_, board| board.round = 7));
    scene.tick();
    let checkpoint = scene.room.checkpoint().unwrap();
    let mut room = Room::builder(Yard::default(), settings()).checkpoint(checkpoint).build().unwrap();
    room.tick(&mut NoObserver);
    let rounds: Vec<_> = room.world().each::<Scoreboard>().map(|(_, board)| board.round).collect();
    assert_eq!(rounds, [7], "restore is called instead of init");
    assert_eq!(room.label(), "round 7");
}

#[test]
fn a_rejected_checkpoint_fails_the_build() {
    let result = Room::builder(Yard::default(), settings()).checkpoint(vec![1, 2, 3]).build();
    let Err(BuildError::Checkpoint(rejection)) = result else { panic!("the checkpoint was accepted") };
    assert_eq!(rejection.message, "two bytes are expected");
}

#[test]
fn the_defaults_are_those_of_the_plain_spatial_room() {
    let RoomSettings { tick_hz, entities_max, catch_up_max, bounds, interest, .. } = RoomSettings::default();
    assert_eq!((tick_hz, entities_max, catch_up_max), (40, 300, 8));
    assert_eq!((bounds.min, bounds.max), ([-1000.0; 2], [1000.0; 2]));
    assert_eq!(interest.unwrap().radius, 200.0);
    assert_eq!(MovementRules::default().speed_max, 5.0);
    assert_eq!(RoomSettings::default().validate(), Ok(()));
}

#[test]
fn invalid_settings_fail_the_build_with_the_problem() {
    let wrong = [
        (RoomSettings { tick_hz: 0, ..settings() }, "tick_hz must be from 1 to 128"),
        (RoomSettings { tick_hz: 129, ..settings() }, "tick_hz must be from 1 to 128"),
        (RoomSettings { snapshot_hz: 0, ..settings() }, "snapshot_hz must divide tick_hz"),
        (RoomSettings { snapshot_hz: 3, ..settings() }, "snapshot_hz must divide tick_hz"),
        (RoomSettings { entities_max: 0, ..settings() }, "entities_max must be at least 1"),
        (RoomSettings { inputs_burst: 0, ..settings() }, "inputs_per_tick and inputs_burst must be at least 1"),
        (RoomSettings { snapshot_bytes_max: 1 << 20, ..settings() }, "snapshot_bytes_max must be from 200 to 57600"),
    ];
    for (settings, sentence) in wrong {
        let Err(BuildError::Settings(error)) = Room::builder(Yard::default(), settings).build() else {
            panic!("a room was built although {sentence}")
        };
        assert_eq!(error.0, sentence);
    }
}
