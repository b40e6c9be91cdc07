//! Reports of players about players, decisions on them, and mutes.
//!
//! A report is a row with its statements: the words of the reporter and copies of what it is about. A player has one open
//! report about another; what follows is added to it. Moderators resolve reports. Who is muted is in memory, so that chat
//! asks for every message.

mod evidence;
mod limits;
mod mute;
mod notice;
pub mod operation;
mod queue;
mod report;
pub(crate) mod serve;

pub use limits::{
    CATEGORY_BYTES_MAX, CONTEXT_ID_BYTES_MAX, LISTED_MAX, MESSAGE_BYTES_MAX, MESSAGES_MAX, MUTE_SECONDS_MAX, MUTED_MAX,
    NOTE_BYTES_MAX, REPORTS_PER_PERIOD_MAX, REPORTS_PERIOD_MS, RESOLVED_AT_ONCE_MAX, STATEMENTS_BYTES_MAX,
    STATEMENTS_MAX, TEXT_BYTES_MAX,
};
pub use mute::{Mute, MutePage, NewMute};
pub use notice::tell_muted;
pub(crate) use notice::tell_warned;
pub(crate) use queue::ALREADY_RESOLVED;
pub use queue::{Decision, History, Report, ReportFilter, ReportPage, Resolution, Resolved};
pub use report::{Filed, NewReport, ReportedMessage, Statement};

use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use aether_metrics::Registry;
use aether_store::{Store, StoreError, Transaction};
use mute::Muted;
use std::sync::Arc;
use uuid::Uuid;

/// State of a report that waits for a decision.
const OPEN: &str = "open";
/// State of a report with a decision.
const RESOLVED: &str = "resolved";

const NO_PLAYER: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Reports and mutes of players.
pub struct Moderation {
    store: Store,
    clock: Arc<dyn WallClock>,
    muted: Arc<Muted>,
}

impl Moderation {
    /// Opens the service over a store, and loads the mutes that have not ended.
    pub async fn open(
        store: Store,
        clock: Arc<dyn WallClock>,
        registry: &Registry,
    ) -> Result<Moderation, ServiceError> {
        let now = clock.now_ms();
        let ends = store.read(move |transaction| mute::load(transaction, now)).await;
        let count = registry.gauge("aether_muted_players", "Muted players, with some whose mute has ended.", &[]);
        let muted = Arc::new(Muted::new(ends.map_err(|error: StoreError| error)?, count));
        Ok(Moderation { store, clock, muted })
    }

    /// Forgets an account that is being erased, in the transaction that erases it.
    pub fn forget_within(&self, transaction: &mut Transaction<'_>, user: Uuid) {
        let muted = Arc::clone(&self.muted);
        transaction.after_commit(move || muted.remove(user));
    }
}
