//! Every format with random sizes, results, reports, timeouts and withdrawals.

use crate::bracket::{Action, Change, Claim, Format, Game, Machine, Outcome, Rules, Section, Slot, State};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, HashSet};

const SECOND: i64 = 1_000;
const MATCH_SECONDS: i64 = 60;

/// Choices of a run: one number decides each step.
#[derive(Clone, Debug)]
struct Run {
    format: Format,
    count: usize,
    rounds: u32,
    choices: Vec<u32>,
}

fn runs(format: Format, counts: std::ops::RangeInclusive<usize>) -> impl Strategy<Value = Run> {
    (counts, 0_u32..12, prop::collection::vec(any::<u32>(), 1..400)).prop_map(move |(count, rounds, choices)| Run {
        format,
        count,
        rounds: if format == Format::Swiss { rounds } else { 0 },
        choices,
    })
}

impl Run {
    fn rules(&self) -> Rules {
        Rules { format: self.format, rounds: self.rounds, match_seconds: MATCH_SECONDS }
    }

    /// Plays the bracket with results only, until it ends.
    fn play(&self) -> Machine {
        self.play_with(|_| false).0
    }

    /// Plays the bracket until it ends. `is_wild` selects steps that are not plain results. Returns the accepted actions.
    fn play_with(&self, is_wild: impl Fn(u32) -> bool) -> (Machine, Vec<(Action, i64)>) {
        let (mut machine, _) = Machine::start(self.rules(), self.count, 0);
        let mut actions = Vec::new();
        let mut now_ms = 0;
        for step in 0.. {
            if machine.is_finished() {
                break;
            }
            assert!(step < 40_000, "the bracket ends");
            let choice =
                self.choices[step % self.choices.len()].wrapping_add((step as u32).wrapping_mul(2_654_435_761));
            now_ms += i64::from(choice % 1_000);
            let ready: Vec<usize> = ready(&machine).collect();
            assert!(!ready.is_empty(), "a running bracket has a match to play");
            let game = ready[choice as usize % ready.len()];
            let mut apply = |machine: &mut Machine, action: Action, now_ms: i64| {
                machine.apply(&action, now_ms).expect("the action is valid");
                actions.push((action, now_ms));
            };
            let claim = claim(self.format, choice);
            let [Slot::Seed(one), Slot::Seed(other)] = machine.games()[game].slots else { unreachable!() };
            match (is_wild(choice), choice % 4) {
                (true, 0) => apply(&mut machine, Action::Withdraw { seed: one }, now_ms),
                (true, 1) => {
                    now_ms += MATCH_SECONDS * SECOND;
                    apply(&mut machine, Action::Expire, now_ms);
                }
                (true, 2) => {
                    apply(&mut machine, Action::Report { game, seed: other, claim }, now_ms);
                    now_ms += MATCH_SECONDS * SECOND;
                    apply(&mut machine, Action::Expire, now_ms);
                }
                (true, _) => apply(&mut machine, Action::Resolve { game, claim }, now_ms),
                (false, _) => {
                    apply(&mut machine, Action::Report { game, seed: one, claim }, now_ms);
                    apply(&mut machine, Action::Report { game, seed: other, claim }, now_ms);
                }
            }
        }
        (machine, actions)
    }
}

fn ready(machine: &Machine) -> impl Iterator<Item = usize> + '_ {
    let games = machine.games().iter().enumerate();
    games.filter(|(_, game)| matches!(game.state, State::Ready { .. })).map(|(index, _)| index)
}

fn claim(format: Format, choice: u32) -> Claim {
    match choice >> 8 & 7 {
        0 | 1 if !format.is_elimination() => Claim { outcome: Outcome::Draw, scores: [1, 1] },
        low if low % 2 == 0 => Claim { outcome: Outcome::First, scores: [3, choice % 3] },
        _ => Claim { outcome: Outcome::Second, scores: [0, 1] },
    }
}

/// Returns the pairs that played, and the byes of each entrant.
fn pairs_and_byes(games: &[Game]) -> (Vec<(usize, usize)>, BTreeMap<usize, usize>) {
    let mut byes = BTreeMap::new();
    let mut pairs = Vec::new();
    for game in games {
        match game.slots {
            [Slot::Seed(one), Slot::Seed(other)] => pairs.push((one.min(other), one.max(other))),
            [Slot::Seed(seed), Slot::Bye] | [Slot::Bye, Slot::Seed(seed)] => *byes.entry(seed).or_default() += 1,
            _ => {}
        }
    }
    (pairs, byes)
}

/// Returns the losses of each entrant.
fn losses(machine: &Machine) -> Vec<u32> {
    let mut losses = vec![0; machine.count()];
    for (_, loser) in machine.games().iter().filter_map(Game::sides) {
        if let Slot::Seed(seed) = loser {
            losses[seed] += 1;
        }
    }
    losses
}

/// Checks what holds for every ended bracket.
fn check_end(machine: &Machine) {
    let standings = machine.standings();
    let seeds: BTreeSet<usize> = standings.iter().map(|standing| standing.seed).collect();
    assert_eq!(seeds, (0..machine.count()).collect(), "standings are a permutation of the entrants");
    let ranks: Vec<usize> = standings.iter().map(|standing| standing.rank).collect();
    assert_eq!(ranks, (1..=machine.count()).collect::<Vec<_>>());
    assert_eq!(machine.winner(), Some(standings[0].seed), "one winner, who is first");
    assert_eq!(machine.next_deadline_ms(), None);
    let is_over = |game: &Game| matches!(game.state, State::Decided { .. } | State::Skipped);
    assert!(machine.games().iter().all(is_over), "all matches are over");
    if !machine.rules().format.is_elimination() {
        let order: Vec<_> =
            standings.iter().map(|standing| (standing.is_withdrawn, u32::MAX - standing.points)).collect();
        assert!(order.is_sorted(), "more points are better: {order:?}");
    }
}

/// Returns true if a number of entrants can be paired without these pairs, by trying all.
fn can_pair(free: &[usize], met: &HashSet<(usize, usize)>) -> bool {
    let Some((one, rest)) = free.split_first() else { return true };
    (0..rest.len()).any(|index| {
        let mut left = rest.to_vec();
        let other = left.remove(index);
        !met.contains(&(*one.min(&other), *one.max(&other))) && can_pair(&left, met)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn single_elimination_ends_with_one_loss_for_all_but_the_winner(run in runs(Format::Single, 2..=64)) {
        let machine = run.play();
        check_end(&machine);
        let winner = machine.winner().unwrap();
        for (seed, losses) in losses(&machine).into_iter().enumerate() {
            prop_assert_eq!(losses, u32::from(seed != winner), "seed {}", seed);
        }
        let (pairs, byes) = pairs_and_byes(machine.games());
        prop_assert_eq!(pairs.len(), run.count - 1);
        let byes_expected = run.count.next_power_of_two() - run.count;
        prop_assert_eq!(byes.into_keys().collect::<Vec<_>>(), (0..byes_expected).collect::<Vec<_>>(), "the best seeds");
    }

    #[test]
    fn double_elimination_ends_with_two_losses_for_all_but_the_winner(run in runs(Format::Double, 2..=64)) {
        let machine = run.play();
        check_end(&machine);
        let winner = machine.winner().unwrap();
        let losses = losses(&machine);
        for (seed, losses) in losses.iter().enumerate() {
            prop_assert!(if seed == winner { *losses <= 1 } else { *losses == 2 }, "seed {} has {}", seed, losses);
        }
        let played = machine.games().iter().filter(|game| matches!(game.slots, [Slot::Seed(_), Slot::Seed(_)]));
        prop_assert_eq!(played.count(), losses.iter().sum::<u32>() as usize);
        let repeat = machine.games().last().unwrap();
        prop_assert_eq!(repeat.section, Section::Repeat);
        let last = &machine.games()[machine.games().len() - 2];
        prop_assert_eq!(repeat.state == State::Skipped, last.outcome() == Some(Outcome::First));
    }

    #[test]
    fn in_a_round_robin_each_pair_plays_once(run in runs(Format::RoundRobin, 2..=64)) {
        let machine = run.play();
        check_end(&machine);
        let (mut pairs, byes) = pairs_and_byes(machine.games());
        pairs.sort_unstable();
        let all: Vec<_> = (0..run.count).flat_map(|one| (one + 1..run.count).map(move |other| (one, other))).collect();
        prop_assert_eq!(pairs, all);
        prop_assert!(byes.is_empty());
        for round in 1..=machine.rounds() {
            let games = machine.games().iter().filter(|game| game.round == round);
            let seeds: Vec<Slot> = games.flat_map(|game| game.slots).collect();
            let distinct: HashSet<Slot> = seeds.iter().copied().collect();
            prop_assert_eq!(seeds.len(), distinct.len(), "everyone plays once in round {}", round);
            prop_assert_eq!(seeds.len(), run.count / 2 * 2);
        }
    }

    #[test]
    fn swiss_brackets_have_no_rematches_in_the_usual_number_of_rounds(run in runs(Format::Swiss, 2..=64)) {
        let run = Run { rounds: 0, ..run };
        let machine = run.play();
        check_end(&machine);
        let rounds = machine.rounds();
        prop_assert!(1 << rounds >= run.count && (rounds == 1 || 1 << (rounds - 1) < run.count));
        let (pairs, byes) = pairs_and_byes(machine.games());
        let distinct: BTreeSet<_> = pairs.iter().collect();
        // Three play three rounds of a round robin at most, so two rounds have no rematch either.
        prop_assert_eq!(distinct.len(), pairs.len(), "{:?}", pairs);
        prop_assert!(byes.values().all(|byes| *byes == 1), "{:?}", byes);
        prop_assert_eq!(byes.len(), run.count % 2 * rounds as usize);
        for round in 1..=rounds {
            let slots = machine.games().iter().filter(|game| game.round == round).flat_map(|game| game.slots);
            let seeds: BTreeSet<usize> = slots.filter_map(|slot| match slot { Slot::Seed(seed) => Some(seed), _ => None }).collect();
            prop_assert_eq!(seeds.len(), run.count, "everyone is in round {}", round);
        }
    }

    #[test]
    fn swiss_brackets_have_a_rematch_only_if_it_cannot_be_avoided(run in runs(Format::Swiss, 2..=9)) {
        let machine = run.play();
        check_end(&machine);
        let mut met = HashSet::new();
        let mut byes: BTreeMap<usize, usize> = BTreeMap::new();
        for round in 1..=machine.rounds() {
            let games: Vec<Game> = machine.games().iter().filter(|game| game.round == round).cloned().collect();
            let (pairs, bye) = pairs_and_byes(&games);
            let rematches = pairs.iter().filter(|pair| met.contains(*pair)).count();
            if rematches > 0 {
                let fewest = (0..run.count).map(|seed| byes.get(&seed).copied().unwrap_or(0)).min();
                let others = |bye: Option<usize>| (0..run.count).filter(|seed| Some(*seed) != bye).collect::<Vec<_>>();
                let choices: Vec<Option<usize>> = match run.count % 2 {
                    0 => vec![None],
                    _ => (0..run.count).filter(|seed| Some(byes.get(seed).copied().unwrap_or(0)) == fewest).map(Some).collect(),
                };
                let is_avoidable = choices.into_iter().any(|bye| can_pair(&others(bye), &met));
                prop_assert!(!is_avoidable, "round {} of {:?}", round, run);
            }
            met.extend(pairs);
            for (seed, count) in bye {
                *byes.entry(seed).or_default() += count;
            }
        }
        prop_assert!(byes.values().all(|byes| *byes == 1), "{:?}", byes);
    }

    #[test]
    fn brackets_with_withdrawals_and_timeouts_end_and_replay_to_the_same_state(
        format in prop::sample::select(Format::ALL.to_vec()),
        run in runs(Format::Swiss, 2..=40),
        wildness in 1_u32..9,
    ) {
        let run = Run { format, rounds: if format == Format::Swiss { run.rounds } else { 0 }, ..run };
        let (machine, actions) = run.play_with(|choice| choice >> 16 & 7 < wildness);
        check_end(&machine);
        let (mut replayed, _) = Machine::start(run.rules(), run.count, 0);
        let mut changes = Vec::new();
        for (action, at_ms) in &actions {
            let text = serde_json::to_string(action).unwrap();
            let action: Action = serde_json::from_str(&text).unwrap();
            changes.extend(replayed.apply(&action, *at_ms).unwrap());
        }
        prop_assert_eq!(&replayed, &machine);
        let ends = changes.iter().filter(|change| **change == Change::Finished).count();
        prop_assert_eq!(ends, 1, "the end is reported once");
        let mut decided = BTreeMap::<usize, usize>::new();
        for change in &changes {
            if let Change::Decided(game) = change {
                *decided.entry(*game).or_default() += 1;
            }
        }
        prop_assert!(decided.values().all(|times| *times == 1), "each match is decided once");
        let everyone_left = (0..run.count).all(|seed| machine.is_withdrawn(seed));
        let winner = machine.winner().unwrap();
        if !format.is_elimination() {
            prop_assert!(everyone_left || !machine.is_withdrawn(winner));
        }
    }
}
