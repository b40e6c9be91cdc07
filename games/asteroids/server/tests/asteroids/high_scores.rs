//! High scores from the leaderboard.

use crate::support::{Stage, all_seen, join, play, stage, standing};
use aether::prelude::*;
use aether_asteroids_rules::{Controls, HighScores};
use aether_asteroids_server::{BOARD, TOP, high_scores_of};

/// Returns the requests that a room made since the last call.
fn requests(stage: &Stage) -> Vec<(RequestId, Request)> {
    let handle = stage.room().handle();
    std::iter::from_fn(|| handle.next_request()).collect()
}

fn top(asked: &[(RequestId, Request)]) -> Option<RequestId> {
    asked.iter().find(|(_, request)| matches!(request, Request::Call { name, .. } if name == TOP)).map(|it| it.0)
}

fn submitted(asked: &[(RequestId, Request)]) -> Vec<i64> {
    let score = |(_, request): &(RequestId, Request)| match request {
        Request::SubmitScore { board, user, score } if board == BOARD && user == "ann" => Some(*score),
        _ => None,
    };
    asked.iter().filter_map(score).collect()
}

#[test]
fn high_scores_are_requested_and_shown() {
    let mut stage = stage(31);
    let ann = join(&mut stage, "ann");
    let first = top(&requests(&stage)).expect("it is requested at once");
    let answer = b"4200 Great One\nnonsense\n17 b\n".to_vec();
    stage.room().handle().answer(first, Answer::Value(Some(answer))).expect("the mailbox has room");
    stage.tick(5);
    let shown = all_seen::<HighScores>(&stage, ann);
    let rows: Vec<_> = shown[0].rows.iter().map(|row| (row.name.as_str(), row.score)).collect();
    assert_eq!(rows, [("Great One", 4_200), ("b", 17)]);
    stage.tick(610);
    assert!(top(&requests(&stage)).is_some(), "and again after a while");
    stage.tick(1_300);
    assert_eq!(top(&requests(&stage)), None, "but never twice at once");
}

#[test]
fn a_score_is_submitted_when_the_player_leaves() {
    let mut stage = stage(32);
    let ann = join(&mut stage, "ann");
    let has_scored = (0..60 * 60).any(|_| {
        play(&mut stage, ann);
        stage.tick(1);
        standing(&stage, ann).score > 0
    });
    assert!(has_scored);
    let score = standing(&stage, ann).score;
    assert!(submitted(&requests(&stage)).is_empty(), "the game is not over");
    stage.leave(ann);
    stage.tick(3);
    let asked = submitted(&requests(&stage));
    assert!(asked.len() == 1 && asked[0] >= i64::from(score), "{asked:?}");
}

#[test]
fn a_score_is_submitted_once_at_the_end_of_a_game() {
    let mut stage = stage(33);
    let ann = join(&mut stage, "ann");
    let is_over = (0..60 * 300).any(|_| {
        match standing(&stage, ann).score {
            0 => play(&mut stage, ann),
            _ => stage.set_input(ann, Some(&Controls { thrust: true, ..Controls::default() })),
        }
        stage.tick(1);
        standing(&stage, ann).lives == 0
    });
    assert!(is_over, "a ship that flies straight ahead hits something");
    let score = standing(&stage, ann).score;
    stage.leave(ann);
    stage.tick(3);
    assert_eq!(submitted(&requests(&stage)), [i64::from(score)]);
}

#[test]
fn any_answer_bytes_are_read_without_panic() {
    assert_eq!(high_scores_of(&[0xff; 10_000]).len(), 0);
    assert_eq!(high_scores_of("1 a\n".repeat(5_000).as_bytes()).len(), 10);
    assert_eq!(high_scores_of(b"99999999999999999999 a\nx b\n"), []);
    assert_eq!(high_scores_of(b"-1 b\n")[0].score, 0);
    assert_eq!(high_scores_of("5 Ünbekannt von Hohenstein\n".as_bytes())[0].name, "Ünbekannt vo…");
}
