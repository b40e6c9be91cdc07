//! Rows of brackets in the database.

use super::format::Format;
use super::machine::{Action, Machine, Rules};
use super::{Bracket, Definition, Entrant, Phase, Seeding};
use crate::error::{GrpcCode, ServiceError};
use aether_store::{SqlRow, StoreError, Transaction, values};

pub(super) const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Bracket not found.");

/// Columns that [`read_head`] reads.
pub(super) const COLUMNS: &str = "id, title, format, seeding, leaderboard, rounds, match_seconds, max_size, metadata, \
     phase, version, size, created_at, started_at, ended_at";

/// Returns the statement that reads the row of a bracket, with a clause that locks it.
pub(super) fn select(lock: &str) -> String {
    format!("SELECT {COLUMNS} FROM brackets WHERE id = ?1{lock}")
}

/// Reads a row of [`COLUMNS`]: a bracket without its entrants and matches.
pub(super) fn read_head(row: &SqlRow<'_>) -> Result<Bracket, StoreError> {
    let id: String = row.get(0)?;
    let damaged = |what: &str| StoreError::Failed(format!("the bracket \"{id}\" has a damaged {what}"));
    let format = Format::from_name(&row.get::<String>(2)?).ok_or_else(|| damaged("format"))?;
    let seeding = Seeding::read(&row.get::<String>(3)?, row.get(4)?).ok_or_else(|| damaged("seeding"))?;
    let rounds = u32::try_from(row.get::<i64>(5)?).map_err(|_| damaged("number of rounds"))?;
    let rules = Rules { format, rounds, match_seconds: row.get(6)? };
    let max_size = usize::try_from(row.get::<i64>(7)?).map_err(|_| damaged("size"))?;
    let phase = Phase::from_name(&row.get::<String>(9)?).ok_or_else(|| damaged("phase"))?;
    Ok(Bracket {
        definition: Definition { title: row.get(1)?, rules, seeding, max_size, metadata: row.get(8)?, id: id.clone() },
        phase,
        version: row.get(10)?,
        size: usize::try_from(row.get::<i64>(11)?).map_err(|_| damaged("size"))?,
        created_at_ms: row.get(12)?,
        started_at_ms: row.get(13)?,
        ended_at_ms: row.get(14)?,
        entrants: Vec::new(),
        machine: None,
        actions: 0,
    })
}

/// Reads entrants and matches of a bracket whose row was read in the same transaction.
pub(super) fn complete(transaction: &mut Transaction<'_>, mut bracket: Bracket) -> Result<Bracket, ServiceError> {
    let id = bracket.definition.id.clone();
    let entrants = transaction.rows(
        "SELECT user_id, username, rating, seed, joined_at FROM bracket_entrants WHERE bracket = ?1",
        values![&id],
        |row| {
            let entrant = Entrant {
                user: Some(row.get(0)?),
                username: row.get(1)?,
                rating: row.get(2)?,
                joined_at_ms: row.get(4)?,
            };
            Ok((row.get::<Option<i64>>(3)?, entrant))
        },
    )?;
    if bracket.phase == Phase::Registration {
        bracket.entrants = entrants.into_iter().map(|(_, entrant)| entrant).collect();
        bracket.entrants.sort_by_key(|entrant| (entrant.joined_at_ms, entrant.user));
        return Ok(bracket);
    }
    bracket.entrants = vec![Entrant::erased(); bracket.size];
    for (seed, entrant) in entrants {
        let place = seed.and_then(|seed| bracket.entrants.get_mut(usize::try_from(seed).ok()?));
        if let Some(place) = place {
            *place = entrant;
        }
    }
    replay(transaction, bracket)
}

/// Replays the stored actions.
fn replay(transaction: &mut Transaction<'_>, mut bracket: Bracket) -> Result<Bracket, ServiceError> {
    let id = &bracket.definition.id;
    let damaged = || StoreError::Failed(format!("the bracket \"{id}\" has a damaged action"));
    let actions = transaction.rows(
        "SELECT at, action FROM bracket_actions WHERE bracket = ?1 ORDER BY number",
        values![id],
        |row| Ok((row.get::<i64>(0)?, row.get::<String>(1)?)),
    )?;
    let start = bracket.started_at_ms.unwrap_or(bracket.created_at_ms);
    if bracket.size < super::limits::ENTRANTS_MIN {
        return Err(damaged().into());
    }
    let (mut machine, _) = Machine::start(bracket.definition.rules, bracket.size, start);
    for (at_ms, action) in &actions {
        let action: Action = serde_json::from_str(action).map_err(|_| damaged())?;
        machine.apply(&action, *at_ms).map_err(|_| damaged())?;
    }
    bracket.actions = actions.len() as i64;
    bracket.machine = Some(machine);
    Ok(bracket)
}

/// Stores an action that the machine has accepted.
pub(super) fn insert_action(
    transaction: &mut Transaction<'_>,
    bracket: &Bracket,
    action: &Action,
    at_ms: i64,
) -> Result<(), ServiceError> {
    let text = serde_json::to_string(action).map_err(|_| crate::error::INTERNAL)?;
    transaction.execute(
        "INSERT INTO bracket_actions (bracket, number, at, action) VALUES (?1, ?2, ?3, ?4)",
        values![&bracket.definition.id, bracket.actions, at_ms, &text],
    )?;
    Ok(())
}

/// Stores phase, version, size, times and deadline.
pub(super) fn update(transaction: &mut Transaction<'_>, bracket: &Bracket) -> Result<(), ServiceError> {
    let deadline = bracket.machine.as_ref().filter(|_| bracket.phase == Phase::Running);
    let deadline = deadline.and_then(Machine::next_deadline_ms);
    let mut parameters = values![&bracket.definition.id, bracket.phase.name(), bracket.version].to_vec();
    parameters.extend_from_slice(values![bracket.size as i64, deadline, bracket.started_at_ms, bracket.ended_at_ms]);
    transaction.execute(
        "UPDATE brackets SET phase = ?2, version = ?3, size = ?4, deadline = ?5, started_at = ?6, ended_at = ?7 \
         WHERE id = ?1",
        &parameters,
    )?;
    Ok(())
}

/// Inserts a new bracket. Returns false if the id is taken.
pub(super) fn insert(transaction: &mut Transaction<'_>, bracket: &Bracket) -> Result<bool, StoreError> {
    let Definition { id, title, rules, seeding, max_size, metadata } = &bracket.definition;
    let (name, leaderboard) = seeding.write();
    let mut parameters = values![id, title, rules.format.name(), name, leaderboard].to_vec();
    parameters.extend_from_slice(values![i64::from(rules.rounds), rules.match_seconds, *max_size as i64, metadata]);
    parameters.extend_from_slice(values![bracket.phase.name(), bracket.version, bracket.created_at_ms]);
    let inserted = transaction.execute(
        "INSERT INTO brackets (id, title, format, seeding, leaderboard, rounds, match_seconds, max_size, metadata, \
         phase, version, created_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12) \
         ON CONFLICT (id) DO NOTHING",
        &parameters,
    )?;
    Ok(inserted > 0)
}
