//! Handler of the operation with which players report players.

use super::NewReport;
use super::operation::{FiledReport, ReportPlayer, ReportPlayerRequest};
use crate::ServiceError;
use crate::calls::{Call, Operations, Serve};

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<ReportPlayer>()
}

impl Serve for ReportPlayer {
    async fn serve(call: &Call<'_>, request: ReportPlayerRequest) -> Result<FiledReport, ServiceError> {
        let reporter = call.owner()?;
        let target = request.user_id.parse().map_err(|_| ServiceError::invalid("`user_id` must be a UUID."))?;
        let report = NewReport {
            target,
            category: request.category,
            text: request.text,
            channel: request.channel_id,
            messages: request.message_ids,
            match_id: request.match_id,
        };
        let filed = call.services.moderation.report(reporter, report).await?;
        Ok(FiledReport { id: filed.id.to_string(), added: filed.is_added })
    }
}
