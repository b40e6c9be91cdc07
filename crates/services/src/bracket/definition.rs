//! Definition and state of a bracket.

use super::format::{Format, swiss};
use super::limits::{BRACKET_ID_BYTES_MAX, ENTRANTS_MIN, MATCH_SECONDS_MAX, METADATA_BYTES_MAX, TITLE_BYTES_MAX};
use super::machine::{Machine, Rules};
use crate::error::ServiceError;
use crate::storage::json::check_object;
use uuid::Uuid;

/// Order of the entrants at the start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeding {
    /// In the order of joining.
    Order,
    /// By the rating given when joining, the highest first.
    Rating,
    /// By the rank in a leaderboard or tournament of this id. Those without a rank come last.
    Leaderboard(String),
}

/// Definition of a bracket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Id.
    pub id: String,
    /// Title, shown to players.
    pub title: String,
    /// Format, rounds and time of matches.
    pub rules: Rules,
    /// Order of the entrants at the start.
    pub seeding: Seeding,
    /// Maximum entrants.
    pub max_size: usize,
    /// JSON object for the game.
    pub metadata: String,
}

/// Phase of a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Users can join and leave.
    Registration,
    /// Matches are played.
    Running,
    /// There is a winner.
    Finished,
}

/// Entrant of a bracket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entrant {
    /// User. `None` if the account was deleted.
    pub user: Option<Uuid>,
    /// Username when joining.
    pub username: String,
    /// Rating, for the seeding.
    pub rating: i64,
    /// Time of joining, in milliseconds since 1970.
    pub joined_at_ms: i64,
}

/// Bracket at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bracket {
    /// Definition.
    pub definition: Definition,
    /// Phase.
    pub phase: Phase,
    /// Entrants: by seed after the start, before it in the order of joining.
    pub entrants: Vec<Entrant>,
    /// Number of entrants. Lists have no more than this.
    pub size: usize,
    /// Matches and results, after the start.
    pub machine: Option<Machine>,
    /// Number that changes with every change.
    pub version: i64,
    /// Creation time, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Start, in milliseconds since 1970.
    pub started_at_ms: Option<i64>,
    /// End, in milliseconds since 1970.
    pub ended_at_ms: Option<i64>,
    /// Number of stored actions.
    pub(super) actions: i64,
}

impl Definition {
    /// Creates a bracket of a format, seeded in the order of joining, without deadlines, for as many as the format allows.
    #[must_use]
    pub fn new(id: impl Into<String>, format: Format) -> Definition {
        Definition {
            id: id.into(),
            title: String::new(),
            rules: Rules { format, rounds: 0, match_seconds: 0 },
            seeding: Seeding::Order,
            max_size: format.entrants_max(),
            metadata: "{}".to_owned(),
        }
    }

    /// Validates the definition.
    pub(super) fn check(&self) -> Result<(), ServiceError> {
        let Rules { format, rounds, match_seconds } = self.rules;
        let entrants_max = format.entrants_max();
        let is_id = |id: &str| (1..=BRACKET_ID_BYTES_MAX).contains(&id.len()) && !id.contains('\0');
        let leaderboard = match &self.seeding {
            Seeding::Leaderboard(id) => Some(id),
            _ => None,
        };
        let rounds_max = if format == Format::Swiss { swiss::rounds_max(self.max_size.max(ENTRANTS_MIN)) } else { 0 };
        let why = if !is_id(&self.id) {
            format!("A bracket's id must have 1 to {BRACKET_ID_BYTES_MAX} bytes and no U+0000.")
        } else if self.title.len() > TITLE_BYTES_MAX || self.title.contains('\0') {
            format!("A bracket's title must have at most {TITLE_BYTES_MAX} bytes and no U+0000.")
        } else if !(ENTRANTS_MIN..=entrants_max).contains(&self.max_size) {
            format!("A bracket of the format {} takes {ENTRANTS_MIN} to {entrants_max} entrants.", format.name())
        } else if !(0..=MATCH_SECONDS_MAX).contains(&match_seconds) {
            format!("The time of a match must be from 0 to {MATCH_SECONDS_MAX} seconds; 0 is no limit.")
        } else if rounds > rounds_max {
            format!("A bracket of this format and size has at most {rounds_max} rounds of its own; 0 is the default.")
        } else if leaderboard.is_some_and(|id| !is_id(id)) {
            "The seeding by ranks needs the id of a leaderboard or tournament.".to_owned()
        } else {
            return check_object("A bracket's metadata", &self.metadata, METADATA_BYTES_MAX);
        };
        Err(ServiceError::invalid(why))
    }
}

impl Seeding {
    /// Returns the name and the id of the leaderboard, for the database and answers.
    pub(super) fn write(&self) -> (&'static str, &str) {
        match self {
            Seeding::Order => ("order", ""),
            Seeding::Rating => ("rating", ""),
            Seeding::Leaderboard(id) => ("leaderboard", id),
        }
    }

    /// Finds a seeding by its name.
    pub(super) fn read(name: &str, leaderboard: String) -> Option<Seeding> {
        match name {
            "order" => Some(Seeding::Order),
            "rating" => Some(Seeding::Rating),
            "leaderboard" => Some(Seeding::Leaderboard(leaderboard)),
            _ => None,
        }
    }
}

impl Phase {
    const ALL: [Phase; 3] = [Phase::Registration, Phase::Running, Phase::Finished];

    /// Returns the name in requests, answers and the database.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Phase::Registration => "registration",
            Phase::Running => "running",
            Phase::Finished => "finished",
        }
    }

    /// Finds a phase by name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Phase> {
        Phase::ALL.into_iter().find(|phase| phase.name() == name)
    }
}

impl Entrant {
    /// Entrant whose account was deleted.
    pub(super) fn erased() -> Entrant {
        Entrant { user: None, username: String::new(), rating: 0, joined_at_ms: 0 }
    }
}

impl Bracket {
    /// Returns the seed of a user.
    #[must_use]
    pub fn seed_of(&self, user: Uuid) -> Option<usize> {
        self.entrants.iter().position(|entrant| entrant.user == Some(user))
    }

    /// Returns the winner of an ended bracket.
    #[must_use]
    pub fn winner(&self) -> Option<&Entrant> {
        self.entrants.get(self.machine.as_ref()?.winner()?)
    }
}
