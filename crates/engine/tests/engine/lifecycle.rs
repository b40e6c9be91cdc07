//! Coming in, going, and the end of a room.

use crate::support::{Call, Scene, Scoreboard, Yard, joiner, settings};
use aether_engine::authority::MovementRules;
use aether_engine::{BuildError, MAILBOX_MAX, NoObserver, Room, RoomSettings, RoomStatus};
use aether_replication::DeliveryOrder;
use aether_wire::{ClientMessage, CloseReason, ErrorCode, PlayerId, ServerMessage, Tick};
use std::sync::mpsc;

#[test]
fn a_joiner_whom_the_game_refuses_learns_why() {
    let mut scene = Scene::new(settings());
    let link = scene.handle.join(joiner("stranger"), DeliveryOrder::Ordered).unwrap();
    assert_eq!(link.admission(), None, "nothing is decided before the tick");
    scene.tick();
    let refusal = link.admission().unwrap().as_ref().unwrap_err();
    assert_eq!((refusal.code, refusal.message.as_str()), (ErrorCode::JoinRefused, "no strangers in this yard"));
    assert_eq!((scene.totals().joins, scene.totals().joins_refused), (0, 1));
    assert_eq!(scene.room.players(), 0);
    assert_eq!(scene.room.game().calls, []);
    assert!(link.next_state().is_none());
}

#[test]
fn a_full_room_refuses_and_has_a_place_again_when_someone_leaves() {
    let mut scene = Scene::new(RoomSettings { players_max: 2, ..settings() });
    let links: Vec<_> = (0..3).map(|_| scene.handle.join(joiner("player"), DeliveryOrder::Ordered).unwrap()).collect();
    scene.tick();
    let codes: Vec<_> =
        links.iter().map(|link| link.admission().unwrap().as_ref().err().map(|refusal| refusal.code)).collect();
    assert_eq!(codes, [None, None, Some(ErrorCode::RoomFull)]);
    assert_eq!(scene.totals().joins_refused, 1);
    links[0].push(ClientMessage::Leave).unwrap();
    scene.tick();
    scene.join("late");
    assert_eq!(scene.room.players(), 2);
}

#[test]
fn the_possession_comes_before_the_state_of_its_tick() {
    let mut scene = Scene::new(settings());
    let mut client = scene.join("ann");
    let message = client.link.next_reliable().unwrap();
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
fn players_get_numbers_in_the_order_in_which_they_came_and_none_twice() {
    let mut scene = Scene::new(settings());
    let first = scene.join("ann");
    let second = scene.join("ben");
    first.send(ClientMessage::Leave);
    scene.tick();
    let third = scene.join("cleo");
    assert_eq!([first.player, second.player, third.player], [PlayerId(1), PlayerId(2), PlayerId(3)]);
}

#[test]
fn who_leaves_is_closed_and_the_possession_ends() {
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
fn a_link_that_is_dropped_takes_its_player_out_at_once_where_nobody_may_resume() {
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
fn a_kicked_player_is_gone_at_the_next_tick() {
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
fn what_a_player_left_to_another_stays() {
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
    assert_eq!(ann.chats().last().unwrap().1, "good night", "what the game said last still arrives");
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
fn who_comes_after_the_end_is_not_left_waiting() {
    let mut scene = Scene::new(settings());
    scene.handle.end().unwrap();
    scene.tick();
    let late = scene.handle.join(joiner("late"), DeliveryOrder::Ordered);
    scene.tick();
    let told = late.map_or(true, |link| link.admission().is_some() || link.closing().is_some());
    assert!(told, "the link is neither refused nor closed, and would wait for ever");
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
fn a_mailbox_that_is_full_says_so_and_empties_with_the_next_tick() {
    let mut scene = Scene::new(settings());
    let (sender, _replies) = mpsc::sync_channel(MAILBOX_MAX);
    for _ in 0..MAILBOX_MAX {
        scene.handle.signal(Vec::new(), sender.clone()).unwrap();
    }
    assert!(scene.handle.signal(Vec::new(), sender.clone()).is_err());
    assert!(scene.handle.join(joiner("ann"), DeliveryOrder::Ordered).is_err());
    scene.tick();
    assert!(scene.handle.join(joiner("ann"), DeliveryOrder::Ordered).is_ok());
}

#[test]
fn a_room_starts_again_from_its_checkpoint() {
    let mut scene = Scene::new(settings());
    scene.next(|room| room.world.each_mut::<Scoreboard>(|_, board| board.round = 7));
    scene.tick();
    let checkpoint = scene.room.checkpoint().unwrap();
    let mut room = Room::builder(Yard::default(), settings()).checkpoint(checkpoint).build().unwrap();
    room.tick(&mut NoObserver);
    let rounds: Vec<_> = room.world().each::<Scoreboard>().map(|(_, board)| board.round).collect();
    assert_eq!(rounds, [7], "restore stands in for init");
    assert_eq!(room.label(), "round 7");
}

#[test]
fn a_checkpoint_that_the_game_does_not_accept_builds_no_room() {
    let result = Room::builder(Yard::default(), settings()).checkpoint(vec![1, 2, 3]).build();
    let Err(BuildError::Checkpoint(refusal)) = result else { panic!("the checkpoint was accepted") };
    assert_eq!(refusal.message, "two bytes are expected");
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
fn settings_that_cannot_work_build_no_room_and_say_what_is_wrong() {
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
