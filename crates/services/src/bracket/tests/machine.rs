//! Rules of reports, deadlines and standings, on small brackets.

use crate::bracket::limits::{REPORTS_PER_MATCH_MAX, SCORE_MAX};
use crate::bracket::{Action, Change, Claim, Format, Machine, Outcome, Reason, Rules, Slot, State};
use crate::error::GrpcCode;

fn rules(format: Format) -> Rules {
    Rules { format, rounds: 0, match_seconds: 10 }
}

fn won(outcome: Outcome) -> Claim {
    Claim { outcome, scores: [0; 2] }
}

fn report(game: usize, seed: usize, outcome: Outcome) -> Action {
    Action::Report { game, seed, claim: won(outcome) }
}

fn decided(machine: &Machine, game: usize) -> Option<(Outcome, Reason)> {
    match machine.games()[game].state {
        State::Decided { claim, reason } => Some((claim.outcome, reason)),
        _ => None,
    }
}

#[test]
fn the_best_seeds_get_the_byes_of_an_elimination() {
    let (machine, changes) = Machine::start(rules(Format::Single), 5, 0);
    let slots: Vec<[Slot; 2]> = machine.games().iter().map(|game| game.slots).collect();
    let (seed, bye, pending) = (Slot::Seed, Slot::Bye, Slot::Pending);
    let first = [[seed(0), bye], [seed(3), seed(4)], [seed(1), bye], [seed(2), bye]];
    assert_eq!(slots[..4], first);
    assert_eq!(slots[4..], [[seed(0), pending], [seed(1), seed(2)], [pending, pending]]);
    assert!(changes.contains(&Change::Ready(1)) && changes.contains(&Change::Ready(5)), "{changes:?}");
}

#[test]
fn equal_reports_decide_and_different_ones_are_a_dispute() {
    let (mut machine, _) = Machine::start(rules(Format::Single), 2, 0);
    assert_eq!(machine.apply(&report(0, 0, Outcome::First), 1).unwrap(), []);
    assert_eq!(machine.apply(&report(0, 1, Outcome::Second), 2).unwrap(), [Change::Disputed(0)]);
    assert!(machine.games()[0].is_disputed());
    assert_eq!(machine.next_deadline_ms(), None, "a dispute has no deadline");
    assert_eq!(machine.apply(&Action::Expire, 99_000).unwrap(), []);
    let mut agreed = machine.clone();
    let changes = agreed.apply(&report(0, 0, Outcome::Second), 3).unwrap();
    assert_eq!(changes, [Change::Decided(0), Change::Finished], "either entrant may still change the report");
    assert_eq!(agreed.winner(), Some(1));
    machine.apply(&Action::Resolve { game: 0, claim: won(Outcome::First) }, 4).unwrap();
    assert_eq!((machine.winner(), decided(&machine, 0)), (Some(0), Some((Outcome::First, Reason::Operator))));
}

#[test]
fn at_the_deadline_one_report_counts_and_without_any_the_format_decides() {
    for format in Format::ALL {
        let (start, _) = Machine::start(rules(format), 4, 1_000);
        assert_eq!(start.next_deadline_ms(), Some(11_000));
        let mut machine = start.clone();
        machine.apply(&report(0, 3, Outcome::Second), 2_000).unwrap_or_default();
        let reporter = machine.games()[0].slots.iter().position(|slot| *slot == Slot::Seed(3));
        if reporter.is_none() {
            // Seed 3 plays another match in this format.
            let Slot::Seed(second) = machine.games()[0].slots[1] else { unreachable!() };
            machine.apply(&report(0, second, Outcome::Second), 2_000).unwrap();
        }
        assert_eq!(machine.apply(&Action::Expire, 10_999).unwrap(), [], "{format:?}");
        machine.apply(&Action::Expire, 11_000).unwrap();
        assert_eq!(decided(&machine, 0), Some((Outcome::Second, Reason::Unanswered)), "{format:?}");
        let silent = if format.is_elimination() { Outcome::First } else { Outcome::BothLose };
        assert_eq!(decided(&machine, 1), Some((silent, Reason::Timeout)), "{format:?}");
    }
}

#[test]
fn those_who_withdraw_lose_their_matches() {
    let (mut machine, _) = Machine::start(rules(Format::RoundRobin), 3, 0);
    machine.apply(&Action::Withdraw { seed: 0 }, 1).unwrap();
    machine.apply(&Action::Withdraw { seed: 0 }, 2).unwrap();
    let mut now = 3;
    while !machine.is_finished() {
        let game = machine.games().iter().position(|game| matches!(game.state, State::Ready { .. })).unwrap();
        machine.apply(&Action::Resolve { game, claim: won(Outcome::Draw) }, now).unwrap();
        now += 1;
    }
    let order: Vec<(usize, u32)> =
        machine.standings().iter().map(|standing| (standing.seed, standing.points)).collect();
    assert_eq!(order, [(1, 3), (2, 3), (0, 0)], "a win and a draw each; equal ones are in the order of seeds");
}

#[test]
fn ties_are_broken_by_the_matches_among_the_tied() {
    let (mut machine, _) = Machine::start(rules(Format::RoundRobin), 4, 0);
    // 3 beats 0, and both have two wins and a loss. 1 beats 2, and both have one win and two losses.
    let winners = [((0, 1), 0), ((0, 2), 0), ((0, 3), 3), ((1, 2), 1), ((1, 3), 3), ((2, 3), 2)];
    while !machine.is_finished() {
        let game = machine.games().iter().position(|game| matches!(game.state, State::Ready { .. })).unwrap();
        let [Slot::Seed(one), Slot::Seed(other)] = machine.games()[game].slots else { unreachable!() };
        let (_, winner) = winners.iter().find(|(pair, _)| *pair == (one, other)).unwrap();
        let outcome = if *winner == one { Outcome::First } else { Outcome::Second };
        machine.apply(&Action::Resolve { game, claim: won(outcome) }, 1).unwrap();
    }
    let order: Vec<usize> = machine.standings().iter().map(|standing| standing.seed).collect();
    assert_eq!(order, [3, 0, 1, 2]);
}

#[test]
fn invalid_actions_are_rejected_and_change_nothing() {
    let (start, _) = Machine::start(rules(Format::Single), 4, 0);
    let scores =
        |outcome: Outcome, scores: [u32; 2]| Action::Report { game: 0, seed: 0, claim: Claim { outcome, scores } };
    let wrong = [
        (report(99, 0, Outcome::First), GrpcCode::NotFound),
        (report(usize::MAX, 0, Outcome::First), GrpcCode::NotFound),
        (report(1, 0, Outcome::First), GrpcCode::PermissionDenied),
        (report(0, 99, Outcome::First), GrpcCode::PermissionDenied),
        (Action::Resolve { game: 2, claim: won(Outcome::First) }, GrpcCode::FailedPrecondition),
        (report(0, 0, Outcome::Draw), GrpcCode::InvalidArgument),
        (report(0, 0, Outcome::BothLose), GrpcCode::InvalidArgument),
        (Action::Resolve { game: 0, claim: won(Outcome::BothLose) }, GrpcCode::InvalidArgument),
        (scores(Outcome::First, [1, 2]), GrpcCode::InvalidArgument),
        (scores(Outcome::Second, [2, 1]), GrpcCode::InvalidArgument),
        (scores(Outcome::First, [SCORE_MAX + 1, 0]), GrpcCode::InvalidArgument),
    ];
    for (action, code) in wrong {
        let mut machine = start.clone();
        assert_eq!(machine.apply(&action, 1).unwrap_err().code, code, "{action:?}");
        assert_eq!(machine, start, "{action:?}");
    }
    let (mut group, _) = Machine::start(rules(Format::RoundRobin), 4, 0);
    let both = group.apply(&report(0, 0, Outcome::BothLose), 1).unwrap_err();
    assert_eq!(both.code, GrpcCode::InvalidArgument, "an entrant cannot decide that both lose");
    assert!(group.apply(&Action::Resolve { game: 0, claim: won(Outcome::BothLose) }, 1).is_ok());
    let again = group.apply(&Action::Resolve { game: 0, claim: won(Outcome::First) }, 2).unwrap_err();
    assert_eq!(again.code, GrpcCode::FailedPrecondition, "a decided match stays");
}

#[test]
fn the_number_of_reports_is_limited() {
    let (mut machine, _) = Machine::start(rules(Format::Single), 2, 0);
    for number in 0..REPORTS_PER_MATCH_MAX {
        let outcome = if number % 2 == 0 { Outcome::First } else { Outcome::Second };
        machine.apply(&report(0, 0, outcome), 1).unwrap();
        machine.apply(&report(0, 0, outcome), 1).expect("the same report again is none");
    }
    let error = machine.apply(&report(0, 0, Outcome::First), 1).unwrap_err();
    assert_eq!(error.code, GrpcCode::ResourceExhausted);
    machine.apply(&report(0, 1, Outcome::Second), 1).expect("the opponent can still answer");
    assert_eq!(machine.winner(), Some(1));
}
