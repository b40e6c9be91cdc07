//! Audit entries: uses of permissions that were refused, and what operators did.
//!
//! Refusals come from players, so they are bounded: they are buffered, merged by actor, action and hour, and written a
//! few at a time. What an operator does is written before it is done.

use crate::caller::Caller;
use crate::clock::WallClock;
use crate::error::ServiceError;
use aether_metrics::Registry;
use aether_store::{Store, Transaction, values};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Refused actions that wait to be written, by actor and action. Beyond, refusals count for an unknown actor.
const PENDING_MAX: usize = 1_000;
/// Refusals that one [`Audit::flush`] writes. Called every second, so as many new rows per second.
const ROWS_PER_FLUSH: usize = 10;
/// Refusals that [`Audit::prune`] keeps, the newest ones: about 20 MB.
const REFUSALS_MAX: i64 = 50_000;
/// Refusals are merged within such a period.
const PERIOD_MS: i64 = 3_600_000;
/// Maximum number of entries in one list.
pub const ENTRIES_LISTED_MAX: u32 = 100;

const ALLOWED: &str = "allowed";
const REFUSED: &str = "refused";

/// Audit entries of a server.
pub struct Audit {
    store: Store,
    clock: Arc<dyn WallClock>,
    registry: Registry,
    pending: Mutex<BTreeMap<Refusal, Counted>>,
}

/// Use of a permission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// Account or guest that acted; zeros for the operator, or if it is unknown.
    pub actor: Uuid,
    /// Account that the action was about; zeros if it was about none.
    pub user: Uuid,
    /// Action, such as `playground.spawn` or `BanPlayer`.
    pub action: String,
    /// True if the actor had the permission.
    pub is_allowed: bool,
    /// New role, for example.
    pub detail: String,
    /// Number of merged uses.
    pub count: i64,
    /// Time of the first one, in milliseconds since 1970.
    pub first_at: i64,
    /// Time of the last one.
    pub last_at: i64,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Refusal {
    period: i64,
    actor: Uuid,
    action: &'static str,
}

#[derive(Clone, Copy, Debug)]
struct Counted {
    count: i64,
    first_at: i64,
    last_at: i64,
}

impl Audit {
    pub(crate) fn new(store: Store, clock: Arc<dyn WallClock>, registry: &Registry) -> Audit {
        Audit { store, clock, registry: registry.clone(), pending: Mutex::default() }
    }

    /// Counts a refused action, and notes it for the next [`Audit::flush`]. It never waits for the database, so a room
    /// can call it in its tick.
    pub fn note_refusal(&self, actor: Uuid, action: &'static str) {
        let help = "Actions that were refused because the role has no permission for them.";
        self.registry.counter("aether_permission_refusals_total", help, &[("action", action)]).inc();
        let now = self.clock.now_ms();
        let period = now - now.rem_euclid(PERIOD_MS);
        let mut pending = self.pending();
        let mut refusal = Refusal { period, actor, action };
        if pending.len() >= PENDING_MAX && !pending.contains_key(&refusal) {
            refusal.actor = Uuid::nil();
        }
        let counted = pending.entry(refusal).or_insert(Counted { count: 0, first_at: now, last_at: now });
        counted.count += 1;
        counted.last_at = now;
    }

    /// Stores what an operator is about to do. If this fails, it must not be done.
    pub async fn write(&self, actor: &Caller, user: Uuid, action: &str, detail: &str) -> Result<(), ServiceError> {
        let now = self.clock.now_ms();
        let entry = AuditEntry {
            actor: actor.user().map_or(Uuid::nil(), |identity| identity.user),
            user,
            action: action.to_owned(),
            is_allowed: true,
            detail: detail.to_owned(),
            count: 1,
            first_at: now,
            last_at: now,
        };
        tracing::info!(target: "aether_audit", actor = %entry.actor, %user, action, detail, "done");
        self.store.write(move |transaction| upsert(transaction, now, &entry)).await
    }

    /// Writes refusals, at most a few of them; the others wait. Call it every second.
    pub async fn flush(&self) -> Result<(), ServiceError> {
        let due: Vec<(Refusal, Counted)> = {
            let mut pending = self.pending();
            std::iter::from_fn(|| pending.pop_first()).take(ROWS_PER_FLUSH).collect()
        };
        if due.is_empty() {
            return Ok(());
        }
        let due = Arc::new(due);
        let written = Arc::clone(&due);
        let outcome = self
            .store
            .write(move |transaction| {
                written
                    .iter()
                    .try_for_each(|(refusal, counted)| upsert(transaction, refusal.period, &refusal.entry(counted)))
            })
            .await;
        if outcome.is_err() {
            self.requeue(&due);
        }
        outcome
    }

    /// Lists entries, newest first, after a number of them.
    pub async fn list(&self, skipped: u32, limit: u32) -> Result<Vec<AuditEntry>, ServiceError> {
        let select = "SELECT actor_id, user_id, action, outcome, detail, count, first_at, last_at FROM audit_entries
            ORDER BY last_at DESC, period, actor_id, user_id, action LIMIT ?2 OFFSET ?1";
        let limit = limit.clamp(1, ENTRIES_LISTED_MAX);
        let operation = move |transaction: &mut Transaction<'_>| {
            let rows = transaction.rows(select, values![skipped, limit], |row| {
                Ok(AuditEntry {
                    actor: row.get(0)?,
                    user: row.get(1)?,
                    action: row.get(2)?,
                    is_allowed: row.get::<String>(3)? == ALLOWED,
                    detail: row.get(4)?,
                    count: row.get(5)?,
                    first_at: row.get(6)?,
                    last_at: row.get(7)?,
                })
            })?;
            Ok(rows)
        };
        self.store.read(operation).await
    }

    /// Deletes entries before a time, and the oldest refusals beyond 50,000. Returns their number.
    pub async fn prune(&self, before: i64) -> Result<u64, ServiceError> {
        let operation = move |transaction: &mut Transaction<'_>| {
            let old = transaction.execute("DELETE FROM audit_entries WHERE last_at < ?1", values![before])?;
            let excess =
                "DELETE FROM audit_entries WHERE outcome = ?1 AND last_at <= (SELECT last_at FROM audit_entries
                WHERE outcome = ?1 ORDER BY last_at DESC LIMIT 1 OFFSET ?2)";
            Ok(old + transaction.execute(excess, values![REFUSED, REFUSALS_MAX])?)
        };
        self.store.write(operation).await
    }

    /// Puts refusals of a failed write back. As many as were taken, so the bound holds but for those.
    fn requeue(&self, unwritten: &[(Refusal, Counted)]) {
        let mut pending = self.pending();
        for (refusal, counted) in unwritten {
            let merged = pending.entry(refusal.clone()).or_insert(Counted { count: 0, ..*counted });
            merged.count += counted.count;
            merged.first_at = counted.first_at;
        }
    }

    fn pending(&self) -> MutexGuard<'_, BTreeMap<Refusal, Counted>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Refusal {
    fn entry(&self, counted: &Counted) -> AuditEntry {
        AuditEntry {
            actor: self.actor,
            user: Uuid::nil(),
            action: self.action.to_owned(),
            is_allowed: false,
            detail: String::new(),
            count: counted.count,
            first_at: counted.first_at,
            last_at: counted.last_at,
        }
    }
}

/// Adds an entry to those of its period. Nothing is stored about erased accounts.
fn upsert(transaction: &mut Transaction<'_>, period: i64, entry: &AuditEntry) -> Result<(), ServiceError> {
    let upsert = "INSERT INTO audit_entries
            (period, actor_id, user_id, action, outcome, detail, count, first_at, last_at)
        SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9
        WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = ?2 OR user_id = ?3)
        ON CONFLICT (period, actor_id, user_id, action, outcome) DO UPDATE SET
            count = audit_entries.count + excluded.count, last_at = excluded.last_at, detail = excluded.detail";
    let outcome = if entry.is_allowed { ALLOWED } else { REFUSED };
    let AuditEntry { actor, user, action, detail, count, first_at, last_at, .. } = entry;
    let parameters = values![period, actor, user, action, outcome, detail, *count, *first_at, *last_at];
    transaction.execute(upsert, parameters)?;
    Ok(())
}
