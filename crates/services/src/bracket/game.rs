//! One match of a bracket.

use serde::{Deserialize, Serialize};

/// Part of a bracket that a match belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Section {
    /// Winners' side, or the only side of a single elimination.
    Winners,
    /// Losers' side of a double elimination.
    Losers,
    /// Final of a double elimination.
    Final,
    /// Repetition of the final, if the winner of the losers' side won it.
    Repeat,
    /// Round of a round robin or Swiss bracket.
    Group,
}

impl Section {
    /// Returns the name in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Section::Winners => "winners",
            Section::Losers => "losers",
            Section::Final => "final",
            Section::Repeat => "repeat",
            Section::Group => "group",
        }
    }
}

/// Side of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Not known yet.
    Pending,
    /// Entrant, by seed from 0.
    Seed(usize),
    /// Nobody: the other side advances.
    Bye,
}

/// Result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The first side won.
    First,
    /// The second side won.
    Second,
    /// Draw. Not in eliminations.
    Draw,
    /// Both sides lost. Not in eliminations.
    BothLose,
}

/// Result as an entrant reports it, or as the operator decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Result.
    pub outcome: Outcome,
    /// Scores of both sides, for display.
    pub scores: [u32; 2],
}

/// Reason for the result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// Both entrants reported the same.
    Agreed,
    /// The operator or server code decided.
    Operator,
    /// One entrant reported, and the other did not answer by the deadline.
    Unanswered,
    /// Nobody reported by the deadline.
    Timeout,
    /// The other side is a bye, or has withdrawn.
    Walkover,
}

impl Reason {
    /// Returns the name in answers.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Reason::Agreed => "agreed",
            Reason::Operator => "operator",
            Reason::Unanswered => "unanswered",
            Reason::Timeout => "timeout",
            Reason::Walkover => "walkover",
        }
    }
}

/// State of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its entrants are not known yet, or its round has not begun.
    Waiting,
    /// It can be played, until the deadline in milliseconds since 1970. 0 for no deadline.
    Ready {
        /// Deadline.
        deadline_ms: i64,
    },
    /// It has a result.
    Decided {
        /// Result.
        claim: Claim,
        /// Reason for the result.
        reason: Reason,
    },
    /// It is not played: the final need not be repeated.
    Skipped,
}

/// Side of a later match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Target {
    pub game: usize,
    pub side: usize,
}

/// Match of a bracket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Game {
    /// Section.
    pub section: Section,
    /// Round of the section, from 1.
    pub round: u32,
    /// Sides.
    pub slots: [Slot; 2],
    /// Reports of both sides.
    pub claims: [Option<Claim>; 2],
    /// State.
    pub state: State,
    /// Number of reports of each side.
    pub(super) reports: [u32; 2],
    pub(super) winner_to: Option<Target>,
    pub(super) loser_to: Option<Target>,
}

impl Game {
    pub(super) fn new(section: Section, round: u32) -> Game {
        Game {
            section,
            round,
            slots: [Slot::Pending; 2],
            claims: [None; 2],
            state: State::Waiting,
            reports: [0; 2],
            winner_to: None,
            loser_to: None,
        }
    }

    /// Returns the side of an entrant.
    #[must_use]
    pub fn side_of(&self, seed: usize) -> Option<usize> {
        self.slots.iter().position(|slot| *slot == Slot::Seed(seed))
    }

    /// Returns the result, if there is one.
    #[must_use]
    pub fn outcome(&self) -> Option<Outcome> {
        match self.state {
            State::Decided { claim, .. } => Some(claim.outcome),
            _ => None,
        }
    }

    /// Returns true if both sides have reported, and differently.
    #[must_use]
    pub fn is_disputed(&self) -> bool {
        let is_ready = matches!(self.state, State::Ready { .. });
        is_ready && matches!(self.claims, [Some(one), Some(other)] if one != other)
    }

    /// Returns the winner and the loser, if one side won.
    #[must_use]
    pub fn sides(&self) -> Option<(Slot, Slot)> {
        match self.outcome()? {
            Outcome::First => Some((self.slots[0], self.slots[1])),
            Outcome::Second => Some((self.slots[1], self.slots[0])),
            Outcome::Draw | Outcome::BothLose => None,
        }
    }

    /// Returns the result if the match is not played because of byes and withdrawn entrants.
    pub(super) fn walkover(&self, is_withdrawn: impl Fn(usize) -> bool, is_elimination: bool) -> Option<Outcome> {
        let is_gone = |slot: Slot| match slot {
            Slot::Bye => true,
            Slot::Seed(seed) => is_withdrawn(seed),
            Slot::Pending => false,
        };
        match (is_gone(self.slots[0]), is_gone(self.slots[1])) {
            (false, false) => None,
            (false, true) => Some(Outcome::First),
            (true, false) => Some(Outcome::Second),
            (true, true) if is_elimination => Some(self.favourite()),
            (true, true) => Some(Outcome::BothLose),
        }
    }

    /// Returns the better seed as the winner. Everyone is better than a bye.
    pub(super) fn favourite(&self) -> Outcome {
        match self.slots {
            [Slot::Seed(one), Slot::Seed(other)] if other < one => Outcome::Second,
            [Slot::Bye, Slot::Seed(_)] => Outcome::Second,
            _ => Outcome::First,
        }
    }
}
