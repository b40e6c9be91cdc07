//! The queue of reports: lists, details and decisions.

use super::limits::{LISTED_MAX, NOTE_BYTES_MAX, RESOLVED_AT_ONCE_MAX};
use super::mute::{self, Mute, NewMute};
use super::report::Statement;
use super::{Moderation, OPEN, RESOLVED};
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use crate::leaderboard::Leaderboards;
use aether_store::{SqlRow, StoreError, Transaction, values};
use std::sync::Arc;
use uuid::Uuid;

const REPORT_NOT_FOUND: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The report was not found; use an id of the list of reports.");
pub(crate) const ALREADY_RESOLVED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The report is already resolved.");

/// Report as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Id.
    pub id: Uuid,
    /// Player who reported.
    pub reporter: Uuid,
    /// Username of the reporter.
    pub reporter_username: String,
    /// Reported player.
    pub target: Uuid,
    /// Username of the target.
    pub target_username: String,
    /// True until it is resolved.
    pub is_open: bool,
    /// Statements, the oldest first.
    pub statements: Vec<Statement>,
    /// Decision; none while it is open.
    pub decision: Option<Decision>,
    /// Note of the one who resolved it.
    pub note: String,
    /// Account that resolved it; the nil id for the operator, or while it is open.
    pub resolver: Uuid,
    /// Time of the first statement, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last statement.
    pub updated_at: i64,
    /// Time of the decision, if there is one.
    pub resolved_at: Option<i64>,
}

/// Decision on a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nothing is done.
    Dismissed,
    /// The player is warned.
    Warned,
    /// The player is muted.
    Muted,
    /// The player is banned.
    Banned,
}

/// Filter of the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportFilter {
    /// True for resolved reports, false for open ones.
    pub is_resolved: bool,
    /// Reported player; all if there is none.
    pub target: Option<Uuid>,
    /// Most reports of the page.
    pub limit: u32,
    /// Cursor of the page before; empty for the first.
    pub cursor: String,
}

/// Page of reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReportPage {
    /// Reports, the oldest first.
    pub reports: Vec<Report>,
    /// Cursor of the next page; empty at the end.
    pub cursor: String,
}

/// Earlier reports about a player, and what was decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Open reports.
    pub open: i64,
    /// Resolved reports.
    pub resolved: i64,
    /// Resolved reports that were dismissed.
    pub dismissed: i64,
    /// Mutes, also past ones.
    pub mutes: i64,
    /// Bans in the audit entries.
    pub bans: i64,
}

/// Decision to store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolution {
    /// Report.
    pub report: Uuid,
    /// Decision.
    pub decision: Decision,
    /// Note for other moderators.
    pub note: String,
    /// True to resolve all open reports about the player.
    pub all: bool,
    /// Account that decides; the nil id for the operator.
    pub resolver: Uuid,
    /// Mute that the decision gives. Its player is the target of the report.
    pub mute: Option<NewMute>,
}

/// Outcome of a decision.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Number of reports that were resolved.
    pub reports: u64,
    /// Mute that was given.
    pub mute: Option<Mute>,
}

impl Moderation {
    /// Lists reports, the oldest first.
    pub async fn list_reports(&self, filter: ReportFilter) -> Result<ReportPage, ServiceError> {
        let limit = filter.limit.clamp(1, LISTED_MAX);
        let (created_at, id) = cursor::decode::<(i64, Uuid)>(&filter.cursor)?.unwrap_or((i64::MIN, Uuid::nil()));
        let of_target = if filter.target.is_some() { "r.target_id = ?5 AND" } else { "" };
        let select = format!(
            "{SELECT} WHERE {of_target} r.state = ?1 AND (r.created_at, r.id) > (?2, ?3)
                ORDER BY r.created_at, r.id LIMIT ?4"
        );
        let state = if filter.is_resolved { RESOLVED } else { OPEN };
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut parameters = values![state, created_at, id, i64::from(limit) + 1].to_vec();
            parameters.extend(filter.target.map(aether_store::SqlValue::from));
            transaction.rows(&select, &parameters, Report::read)
        };
        let mut reports = self.store.read(operation).await.map_err(|error: StoreError| error)?;
        let has_more = reports.len() > limit as usize;
        reports.truncate(limit as usize);
        let position = |report: &Report| cursor::encode(&(report.created_at, report.id));
        let cursor = reports.last().filter(|_| has_more).map(position).unwrap_or_default();
        Ok(ReportPage { reports, cursor })
    }

    /// Returns a report with the history of its target.
    pub async fn find_report(&self, id: Uuid) -> Result<(Report, History), ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let select = format!("{SELECT} WHERE r.id = ?1");
            let report = transaction.row(&select, values![id], Report::read)?.ok_or(REPORT_NOT_FOUND)?;
            let history = history(transaction, report.target)?;
            Ok::<_, ServiceError>((report, history))
        };
        self.store.read(operation).await
    }

    /// Returns the history of a player.
    pub async fn history(&self, user: Uuid) -> Result<History, ServiceError> {
        Ok(self.store.read(move |transaction| history(transaction, user)).await.map_err(|error: StoreError| error)?)
    }

    /// Resolves an open report, and gives the mute of the decision in the same transaction. A ban is given before, by
    /// [`Accounts::ban`](crate::account::Accounts::ban).
    pub async fn resolve(&self, target: Uuid, resolution: Resolution) -> Result<Resolved, ServiceError> {
        let now = self.clock.now_ms();
        resolution.check()?;
        if resolution.mute.is_some() {
            self.muted.check_place(target, now)?;
        }
        let muted = Arc::clone(&self.muted);
        let operation = move |transaction: &mut Transaction<'_>| {
            let reports = close(transaction, target, &resolution, now)?;
            let mute = resolution.mute.as_ref().map(|mute| NewMute { user: target, ..mute.clone() });
            let mute = mute.map(|mute| mute::insert(transaction, &muted, &mute, now)).transpose()?;
            Ok(Resolved { reports, mute })
        };
        self.store.write_in_order(Leaderboards::turn(target), operation).await
    }

    /// Deletes reports that were resolved before a time, and mutes that ended before it. Returns their number.
    pub async fn prune(&self, before: i64) -> Result<u64, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let reports = "DELETE FROM reports WHERE state = 'resolved' AND created_at < ?1 AND resolved_at < ?1";
            let ended = "DELETE FROM mutes WHERE lifted_at IS NULL AND expires_at < ?1";
            let lifted = "DELETE FROM mutes WHERE lifted_at IS NOT NULL AND lifted_at < ?1";
            [reports, ended, lifted]
                .into_iter()
                .try_fold(0, |deleted, statement| Ok(deleted + transaction.execute(statement, values![before])?))
        };
        self.store.write(operation).await
    }
}

impl Resolution {
    /// Checks the texts and the duration of the decision.
    pub fn check(&self) -> Result<(), ServiceError> {
        if self.note.len() > NOTE_BYTES_MAX {
            return Err(ServiceError::invalid(format!("`note` must have at most {NOTE_BYTES_MAX} bytes.")));
        }
        self.mute.as_ref().map_or(Ok(()), NewMute::check)
    }
}

impl Decision {
    /// All decisions.
    pub const ALL: [Decision; 4] = [Decision::Dismissed, Decision::Warned, Decision::Muted, Decision::Banned];

    /// Returns the name of the decision.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Decision::Dismissed => "dismissed",
            Decision::Warned => "warned",
            Decision::Muted => "muted",
            Decision::Banned => "banned",
        }
    }

    /// Returns the decision of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Decision> {
        Decision::ALL.into_iter().find(|decision| decision.name() == name)
    }
}

/// Stores the decision. Returns the number of resolved reports.
fn close(
    transaction: &mut Transaction<'_>,
    target: Uuid,
    resolution: &Resolution,
    now: i64,
) -> Result<u64, ServiceError> {
    let Resolution { report, decision, note, all, resolver, .. } = resolution;
    let select = format!("SELECT state, target_id FROM reports WHERE id = ?1{}", transaction.for_update());
    let found = transaction.row(&select, values![report], |row| Ok((row.get::<String>(0)?, row.get::<Uuid>(1)?)))?;
    match found {
        Some((state, of)) if of == target && state == OPEN => {}
        Some((_, of)) if of == target => return Err(ALREADY_RESOLVED),
        _ => return Err(REPORT_NOT_FOUND),
    }
    let update = "UPDATE reports SET state = 'resolved', decision = ?2, note = ?3, resolver = ?4, resolved_at = ?5";
    let parameters = values![report, decision.name(), note, resolver, now];
    let mut resolved = transaction.execute(&format!("{update} WHERE id = ?1"), parameters)?;
    if *all {
        let rest = format!(
            "{update} WHERE id IN (SELECT id FROM reports WHERE target_id = ?1 AND state = 'open'
                ORDER BY created_at, id LIMIT {RESOLVED_AT_ONCE_MAX})"
        );
        resolved += transaction.execute(&rest, values![target, decision.name(), note, resolver, now])?;
    }
    Ok(resolved)
}

fn history(transaction: &mut Transaction<'_>, user: Uuid) -> Result<History, StoreError> {
    let reports = "SELECT state, decision, COUNT(*) FROM reports WHERE target_id = ?1 GROUP BY state, decision";
    let mut history = History::default();
    transaction.for_each_row(reports, values![user], |row| {
        let (state, decision, count) = (row.get::<String>(0)?, row.get::<String>(1)?, row.get::<i64>(2)?);
        match state.as_str() {
            OPEN => history.open += count,
            _ => history.resolved += count,
        }
        if decision == Decision::Dismissed.name() {
            history.dismissed += count;
        }
        Ok(())
    })?;
    let mutes = "SELECT COUNT(*) FROM mutes WHERE user_id = ?1";
    history.mutes = transaction.row(mutes, values![user], |row| row.get(0))?.unwrap_or(0);
    let bans = "SELECT CAST(coalesce(SUM(count), 0) AS BIGINT) FROM audit_entries
        WHERE user_id = ?1 AND action = 'BanPlayer' AND outcome = 'allowed'";
    history.bans = transaction.row(bans, values![user], |row| row.get(0))?.unwrap_or(0);
    Ok(history)
}

const SELECT: &str =
    "SELECT r.id, r.reporter_id, p.username, r.target_id, t.username, r.state, r.statements, r.decision,
        r.note, r.resolver, r.created_at, r.updated_at, r.resolved_at
    FROM reports r JOIN users p ON p.id = r.reporter_id JOIN users t ON t.id = r.target_id";

impl Report {
    fn read(row: &SqlRow<'_>) -> Result<Report, StoreError> {
        let statements = serde_json::from_str(&row.get::<String>(6)?);
        Ok(Report {
            id: row.get(0)?,
            reporter: row.get(1)?,
            reporter_username: row.get(2)?,
            target: row.get(3)?,
            target_username: row.get(4)?,
            is_open: row.get::<String>(5)? == OPEN,
            statements: statements.map_err(|error| StoreError::Failed(format!("statements of a report: {error}")))?,
            decision: Decision::from_name(&row.get::<String>(7)?),
            note: row.get(8)?,
            resolver: row.get(9)?,
            created_at: row.get(10)?,
            updated_at: row.get(11)?,
            resolved_at: row.get(12)?,
        })
    }
}
