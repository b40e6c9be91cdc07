//! State machine of a started bracket. It has no clock and no database: each action comes with its time, so the same actions
//! always lead to the same state.

use super::format::swiss::{self, Candidate, Met};
use super::format::{Format, double, round_robin, single};
use super::game::{Claim, Game, Outcome, Reason, Section, Slot, State, Target};
use super::limits::{ENTRANTS_MIN, REPORTS_PER_MATCH_MAX, SCORE_MAX};
use super::standings::{self, Standing};
use crate::error::{GrpcCode, ServiceError};
use serde::{Deserialize, Serialize};

/// Rules of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Format.
    pub format: Format,
    /// Rounds of a Swiss bracket. 0 for as many as leave one entrant with all wins.
    pub rounds: u32,
    /// Time for each match, in seconds. 0 for no deadline.
    pub match_seconds: i64,
}

/// Action on a started bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// An entrant reports the result of a match.
    Report {
        /// Number of the match.
        game: usize,
        /// Entrant.
        seed: usize,
        /// Reported result.
        claim: Claim,
    },
    /// The operator decides a match.
    Resolve {
        /// Number of the match.
        game: usize,
        /// Result.
        claim: Claim,
    },
    /// An entrant gives up all further matches.
    Withdraw {
        /// Entrant.
        seed: usize,
    },
    /// Deadlines until now are over.
    Expire,
}

/// Change that an action caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A match can be played.
    Ready(usize),
    /// A match has a result.
    Decided(usize),
    /// Both entrants of a match reported, and differently.
    Disputed(usize),
    /// The bracket has ended.
    Finished,
}

/// Started bracket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    rules: Rules,
    withdrawn: Vec<bool>,
    games: Vec<Game>,
    /// Current round of a round robin or Swiss bracket.
    round: u32,
    /// Undecided matches of the current round.
    open: usize,
    is_finished: bool,
}

const GAME_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "The bracket has no match of this number.");
const NOT_READY: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The match cannot be played yet: its entrants are not known.");
const DECIDED: ServiceError = ServiceError::new(GrpcCode::FailedPrecondition, "The match is decided already.");
const NOT_IN_GAME: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only the entrants of the match may report its result.");
const NO_DRAW: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "A match of an elimination needs a winner. Play it again, or name the winner.",
);
const TOO_MANY_REPORTS: ServiceError =
    ServiceError::new(GrpcCode::ResourceExhausted, "Too many reports on this match. The operator decides it.");
const BAD_SCORES: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The scores contradict the result, or are above 1,000,000,000.");

impl Machine {
    /// Starts a bracket of `count` entrants. The best seed is 0.
    ///
    /// # Panics
    /// Panics if there are fewer than two entrants.
    #[must_use]
    pub fn start(rules: Rules, count: usize, at_ms: i64) -> (Machine, Vec<Change>) {
        assert!(count >= ENTRANTS_MIN, "a bracket needs two entrants");
        let games = match rules.format {
            Format::Single => single::build(count),
            Format::Double => double::build(count),
            Format::RoundRobin => round_robin::build(count),
            Format::Swiss => Vec::new(),
        };
        let withdrawn = vec![false; count];
        let mut machine = Machine { rules, withdrawn, games, round: 0, open: 0, is_finished: false };
        let mut step = Step { at_ms, changes: Vec::new() };
        if rules.format.is_elimination() {
            for game in 0..machine.games.len() {
                machine.open_if_known(game, &mut step);
            }
        } else {
            machine.next_round(&mut step);
        }
        (machine, step.changes)
    }

    /// Applies an action. An error changes nothing.
    pub fn apply(&mut self, action: &Action, at_ms: i64) -> Result<Vec<Change>, ServiceError> {
        let mut step = Step { at_ms, changes: Vec::new() };
        match action {
            Action::Report { game, seed, claim } => self.report(*game, *seed, *claim, &mut step)?,
            Action::Resolve { game, claim } => {
                self.check_ready(*game)?;
                self.check_claim(claim)?;
                self.decide(*game, *claim, Reason::Operator, &mut step);
            }
            Action::Withdraw { seed } => self.withdraw(*seed, &mut step),
            Action::Expire => self.expire(&mut step),
        }
        Ok(step.changes)
    }

    /// Returns the matches, by number.
    #[must_use]
    pub fn games(&self) -> &[Game] {
        &self.games
    }

    /// Returns the number of entrants.
    #[must_use]
    pub fn count(&self) -> usize {
        self.withdrawn.len()
    }

    /// Returns true if an entrant has withdrawn.
    #[must_use]
    pub fn is_withdrawn(&self, seed: usize) -> bool {
        self.withdrawn.get(seed).copied().unwrap_or(true)
    }

    /// Returns true if the bracket has ended.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.is_finished
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the winner of an ended bracket.
    #[must_use]
    pub fn winner(&self) -> Option<usize> {
        self.is_finished.then(|| self.standings()[0].seed)
    }

    /// Returns the earliest deadline of a match, in milliseconds since 1970. Disputed matches have none.
    #[must_use]
    pub fn next_deadline_ms(&self) -> Option<i64> {
        let deadline = |game: &Game| match game.state {
            State::Ready { deadline_ms } if deadline_ms > 0 && !game.is_disputed() => Some(deadline_ms),
            _ => None,
        };
        self.games.iter().filter_map(deadline).min()
    }

    /// Returns all entrants, the best first.
    #[must_use]
    pub fn standings(&self) -> Vec<Standing> {
        standings::standings(self)
    }

    /// Returns the number of rounds of a Swiss bracket or a round robin.
    #[must_use]
    pub fn rounds(&self) -> u32 {
        match (self.rules.format, self.rules.rounds) {
            (Format::Swiss, 0) => swiss::rounds_default(self.count()),
            (Format::Swiss, rounds) => rounds.min(swiss::rounds_max(self.count())),
            (Format::RoundRobin, _) => round_robin::rounds(self.count()),
            _ => 0,
        }
    }

    fn report(&mut self, game: usize, seed: usize, claim: Claim, step: &mut Step) -> Result<(), ServiceError> {
        let side = self.games.get(game).ok_or(GAME_NOT_FOUND)?.side_of(seed).ok_or(NOT_IN_GAME)?;
        self.check_ready(game)?;
        self.check_claim(&claim)?;
        if claim.outcome == Outcome::BothLose {
            return Err(ServiceError::invalid("Only the operator can decide that both entrants lose."));
        }
        let reported = &mut self.games[game];
        if reported.claims[side] == Some(claim) {
            return Ok(());
        }
        if reported.reports[side] >= REPORTS_PER_MATCH_MAX {
            return Err(TOO_MANY_REPORTS);
        }
        reported.reports[side] += 1;
        reported.claims[side] = Some(claim);
        match reported.claims[1 - side] {
            Some(other) if other == claim => self.decide(game, claim, Reason::Agreed, step),
            Some(_) => step.changes.push(Change::Disputed(game)),
            None => {}
        }
        Ok(())
    }

    fn check_ready(&self, game: usize) -> Result<(), ServiceError> {
        match self.games.get(game).ok_or(GAME_NOT_FOUND)?.state {
            State::Ready { .. } => Ok(()),
            State::Waiting => Err(NOT_READY),
            State::Decided { .. } | State::Skipped => Err(DECIDED),
        }
    }

    fn check_claim(&self, claim: &Claim) -> Result<(), ServiceError> {
        let [one, other] = claim.scores;
        let fits = match claim.outcome {
            Outcome::First => one >= other,
            Outcome::Second => other >= one,
            Outcome::Draw => one == other,
            Outcome::BothLose => true,
        };
        if !fits || one.max(other) > SCORE_MAX {
            return Err(BAD_SCORES);
        }
        let has_winner = matches!(claim.outcome, Outcome::First | Outcome::Second);
        if self.rules.format.is_elimination() && !has_winner { Err(NO_DRAW) } else { Ok(()) }
    }

    fn withdraw(&mut self, seed: usize, step: &mut Step) {
        if self.is_finished || self.is_withdrawn(seed) {
            return;
        }
        self.withdrawn[seed] = true;
        let is_ready = |game: &Game| matches!(game.state, State::Ready { .. });
        let playing = self.games.iter().position(|game| is_ready(game) && game.side_of(seed).is_some());
        if let Some(game) = playing {
            self.decide_walkover(game, step);
        }
    }

    fn expire(&mut self, step: &mut Step) {
        // Matches that become ready meanwhile have a later deadline.
        for game in 0..self.games.len() {
            let expired = &self.games[game];
            let is_due = match expired.state {
                State::Ready { deadline_ms } => deadline_ms > 0 && deadline_ms <= step.at_ms && !expired.is_disputed(),
                _ => false,
            };
            if !is_due {
                continue;
            }
            match expired.claims[0].or(expired.claims[1]) {
                Some(claim) => self.decide(game, claim, Reason::Unanswered, step),
                None => {
                    let is_elimination = self.rules.format.is_elimination();
                    let outcome = if is_elimination { expired.favourite() } else { Outcome::BothLose };
                    self.decide(game, Claim { outcome, scores: [0; 2] }, Reason::Timeout, step);
                }
            }
        }
    }

    /// Opens a match whose sides are both known.
    fn open_if_known(&mut self, game: usize, step: &mut Step) {
        let opened = &mut self.games[game];
        if opened.state != State::Waiting || opened.slots.contains(&Slot::Pending) {
            return;
        }
        let time_ms = self.rules.match_seconds.saturating_mul(1_000);
        let deadline_ms = if time_ms == 0 { 0 } else { step.at_ms.saturating_add(time_ms) };
        opened.state = State::Ready { deadline_ms };
        let is_played = !self.decide_walkover(game, step);
        if is_played {
            step.changes.push(Change::Ready(game));
        }
    }

    /// Decides a ready match that is not played. Returns false if it is played.
    fn decide_walkover(&mut self, game: usize, step: &mut Step) -> bool {
        let is_elimination = self.rules.format.is_elimination();
        let outcome = self.games[game].walkover(|seed| self.withdrawn[seed], is_elimination);
        let Some(outcome) = outcome else { return false };
        self.decide(game, Claim { outcome, scores: [0; 2] }, Reason::Walkover, step);
        true
    }

    fn decide(&mut self, game: usize, claim: Claim, reason: Reason, step: &mut Step) {
        self.games[game].state = State::Decided { claim, reason };
        step.changes.push(Change::Decided(game));
        if !self.rules.format.is_elimination() {
            self.open -= 1;
            if self.open == 0 {
                self.next_round(step);
            }
            return;
        }
        let decided = &self.games[game];
        let Some((winner, loser)) = decided.sides() else { return };
        let (section, winner_to, loser_to) = (decided.section, decided.winner_to, decided.loser_to);
        match section {
            Section::Final if claim.outcome == Outcome::Second => {
                self.fill(Target { game: game + 1, side: 0 }, loser, step);
                self.fill(Target { game: game + 1, side: 1 }, winner, step);
                return;
            }
            Section::Final => self.games[game + 1].state = State::Skipped,
            _ => {}
        }
        if let Some(target) = loser_to {
            self.fill(target, loser, step);
        }
        match winner_to {
            Some(target) => self.fill(target, winner, step),
            None => self.finish(step),
        }
    }

    fn fill(&mut self, target: Target, slot: Slot, step: &mut Step) {
        self.games[target.game].slots[target.side] = slot;
        self.open_if_known(target.game, step);
    }

    /// Opens the next round of a round robin or Swiss bracket, or ends the bracket.
    fn next_round(&mut self, step: &mut Step) {
        let active = self.withdrawn.iter().filter(|withdrawn| !**withdrawn).count();
        let is_over = self.rules.format == Format::Swiss && active < ENTRANTS_MIN;
        if self.round == self.rounds() || is_over {
            return self.finish(step);
        }
        self.round += 1;
        if self.rules.format == Format::Swiss {
            self.pair_round();
        }
        let round = self.round;
        let opened: Vec<usize> = (0..self.games.len()).filter(|game| self.games[*game].round == round).collect();
        // Counted before, because a walkover decides a match at once.
        self.open = opened.len();
        for game in opened {
            self.open_if_known(game, step);
        }
    }

    /// Adds the matches of a Swiss round.
    fn pair_round(&mut self) {
        let mut met = Met::new();
        let mut byes = vec![0; self.count()];
        for game in &self.games {
            match game.slots {
                [Slot::Seed(one), Slot::Seed(other)] => drop(met.insert(swiss::key(one, other))),
                [Slot::Seed(seed), _] => byes[seed] += 1,
                _ => {}
            }
        }
        let points = standings::points(self);
        let active = (0..self.count()).filter(|seed| !self.withdrawn[*seed]);
        let candidates = active.map(|seed| Candidate { seed, points: points[seed], byes: byes[seed] }).collect();
        let pairing = swiss::pair(candidates, &met);
        let pairs = pairing.pairs.into_iter().map(|(one, other)| [Slot::Seed(one), Slot::Seed(other)]);
        for slots in pairs.chain(pairing.bye.map(|seed| [Slot::Seed(seed), Slot::Bye])) {
            self.games.push(Game { slots, ..Game::new(Section::Group, self.round) });
        }
    }

    fn finish(&mut self, step: &mut Step) {
        self.is_finished = true;
        step.changes.push(Change::Finished);
    }
}

/// Action in progress.
struct Step {
    at_ms: i64,
    changes: Vec<Change>,
}
