//! Stored profiles of players.

use crate::support::{all_seen, blobs, grow, join, number, stage};
use aether::prelude::*;
use aether_arena_rules::{Label, Paint, Records};
use aether_arena_server::{BOARD, COLLECTION, Profile, TOP, records_of};

/// Returns the requests that a room made since the last call.
fn requests(stage: &crate::support::Stage) -> Vec<(RequestId, Request)> {
    let handle = stage.room().handle();
    std::iter::from_fn(|| handle.next_request()).collect()
}

fn bytes_of(profile: Profile) -> Vec<u8> {
    match profile.save("ann") {
        Request::Write { value, .. } => value,
        other => panic!("unexpected request: {other:?}"),
    }
}

#[test]
fn a_profile_is_read_on_joining_and_written_on_leaving() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let asked = requests(&stage);
    let read = asked.iter().find(|(_, request)| *request == Profile::load("ann")).expect("it is requested").0;
    let stored = Profile { hue: 77, best: 25 };
    stage.room().handle().answer(read, Answer::Value(Some(bytes_of(stored)))).expect("the mailbox has room");
    stage.tick(2);
    let labels = all_seen::<Label>(&stage, ann);
    assert_eq!(labels.iter().map(|label| label.hue).collect::<Vec<_>>(), [77], "it has the stored colour");
    stage.send_message(ann, &Paint { hue: 90 });
    grow(&mut stage, ann, 30);
    let best = blobs(&stage, number(&stage, ann))[0].mass;
    stage.leave(ann);
    stage.tick(3);
    let made: Vec<Request> = requests(&stage).into_iter().map(|(_, request)| request).collect();
    let score = made.iter().find_map(|request| match request {
        Request::SubmitScore { board, user, score } if board == BOARD && user == "ann" => Some(*score),
        _ => None,
    });
    assert!(score.is_some_and(|score| score >= i64::from(best)), "{made:?}");
    let written = written_profiles(&made);
    let last = written.last().expect("it is written");
    assert_eq!((last.hue, i64::from(last.best)), (90, score.unwrap_or(0)));
}

/// Returns the profiles of `ann` in write requests, in order.
fn written_profiles(made: &[Request]) -> Vec<Profile> {
    let written = made.iter().filter_map(|request| match request {
        Request::Write { owner, collection, value, .. } if collection == COLLECTION && owner == "ann" => {
            Profile::from_bytes(value)
        }
        _ => None,
    });
    written.collect()
}

#[test]
fn a_chosen_colour_is_written_at_once() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let read = requests(&stage).iter().find(|(_, request)| *request == Profile::load("ann")).expect("it is read").0;
    stage.room().handle().answer(read, Answer::Value(None)).expect("the mailbox has room");
    stage.tick(2);
    stage.send_message(ann, &Paint { hue: 42 });
    stage.tick(3);
    let made: Vec<Request> = requests(&stage).into_iter().map(|(_, request)| request).collect();
    assert_eq!(written_profiles(&made).iter().map(|profile| profile.hue).collect::<Vec<_>>(), [42], "{made:?}");
}

#[test]
fn a_colour_chosen_before_the_stored_one_was_read_overrides_it() {
    let mut stage = stage(0);
    let ann = join(&mut stage, "ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let read = requests(&stage).iter().find(|(_, request)| *request == Profile::load("ann")).expect("it is read").0;
    stage.send_message(ann, &Paint { hue: 42 });
    stage.tick(3);
    let stored = Profile { hue: 77, best: 25 };
    stage.room().handle().answer(read, Answer::Value(Some(bytes_of(stored)))).expect("the mailbox has room");
    stage.tick(3);
    assert_eq!(all_seen::<Label>(&stage, ann).iter().map(|label| label.hue).collect::<Vec<_>>(), [42]);
    let made: Vec<Request> = requests(&stage).into_iter().map(|(_, request)| request).collect();
    let written = written_profiles(&made);
    assert_eq!(written.iter().map(|profile| (profile.hue, profile.best)).collect::<Vec<_>>(), [(42, 25)], "{made:?}");
}

#[test]
fn a_profile_that_could_not_be_read_is_not_overwritten() {
    let mut stage = stage(0);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let asked = requests(&stage);
    let read = asked.iter().find(|(_, request)| *request == Profile::load("ann")).expect("it is requested").0;
    stage.room().handle().answer(read, Answer::Failed("the store is away".to_owned())).expect("the mailbox has room");
    stage.tick(2);
    stage.leave(ann);
    stage.tick(3);
    assert!(!requests(&stage).iter().any(|(_, request)| matches!(request, Request::Write { .. })));
}

#[test]
fn a_damaged_profile_is_not_read() {
    let whole = bytes_of(Profile { hue: 1, best: 2 });
    assert_eq!(Profile::from_bytes(&whole), Some(Profile { hue: 1, best: 2 }));
    for len in 0..whole.len() {
        assert_eq!(Profile::from_bytes(&whole[..len]), None);
    }
    assert_eq!(Profile::from_bytes(&[whole.as_slice(), &[0]].concat()), None);
    assert_eq!(Profile::from_bytes(&[9, 9, 9, 9, 9, 9]), None);
}

#[test]
fn the_all_time_leaderboard_is_requested_and_shown() {
    let mut stage = stage(0);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let top = |asked: &[(RequestId, Request)]| {
        asked.iter().find(|(_, request)| matches!(request, Request::Call { name, .. } if name == TOP)).map(|it| it.0)
    };
    let asked = requests(&stage);
    let first = top(&asked).expect("it is requested at once");
    let answer = b"4200 Great One\nnonsense\n17 b\n".to_vec();
    stage.room().handle().answer(first, Answer::Value(Some(answer))).expect("the mailbox has room");
    stage.tick(5);
    let shown = all_seen::<Records>(&stage, ann);
    let rows: Vec<_> = shown[0].rows.iter().map(|row| (row.name.as_str(), row.mass)).collect();
    assert_eq!(rows, [("Great One", 4_200), ("b", 17)]);
    stage.tick(220);
    assert!(top(&requests(&stage)).is_some(), "and again after a while");
    stage.tick(420);
    assert_eq!(top(&requests(&stage)), None, "but never twice at once");
}

#[test]
fn any_answer_bytes_are_read_without_panic() {
    assert_eq!(records_of(&[0xff; 10_000]).len(), 0);
    assert_eq!(records_of("1 a\n".repeat(5_000).as_bytes()).len(), 10);
    assert_eq!(records_of(b"99999999999999999999 a\nx b\n"), []);
}

#[test]
fn scores_beyond_a_mass_are_shown_as_its_bounds_and_blank_no_list() {
    let answer: String = (0..10).map(|number| format!("{} p{number}\n", i64::MAX - number)).collect();
    let rows = records_of(answer.as_bytes());
    assert_eq!(rows.len(), 10);
    assert!(rows.iter().all(|row| row.mass == u32::MAX));
    assert_eq!(records_of(b"-1 b\n")[0].mass, 0);
}

#[test]
fn long_names_are_shortened_in_labels_and_on_the_leaderboard() {
    let long = "Ünbekannt von Hohenstein";
    assert_eq!(records_of(format!("5 {long}\n").as_bytes())[0].name, "Ünbekannt vo…");
    let mut stage = stage(0);
    let ann = join(&mut stage, long, DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let labels = all_seen::<Label>(&stage, ann);
    assert_eq!(labels.iter().map(|label| label.name.as_str()).collect::<Vec<_>>(), ["Ünbekannt vo…"]);
}
