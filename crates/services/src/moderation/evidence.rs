//! Copies of reported messages.

use super::report::{NewReport, ReportedMessage};
use crate::error::ServiceError;
use aether_store::Transaction;
use uuid::Uuid;

/// Returns the reported messages. Chat is the source of their texts: until it is part of the services, only the ids that
/// the reporter named are kept.
pub(super) fn copy_messages(
    _transaction: &mut Transaction<'_>,
    _reporter: Uuid,
    report: &NewReport,
) -> Result<Vec<ReportedMessage>, ServiceError> {
    let named = |id: &String| ReportedMessage { id: id.clone(), ..ReportedMessage::default() };
    Ok(report.messages.iter().map(named).collect())
}
