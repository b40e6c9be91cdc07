//! Operation with which clients report events.

use crate::calls::{Call, Operations, Serve};
use crate::event::Event;
use crate::{Caller, ServiceError};
use aether_messages::operation::Event as ReportEvent;
use aether_messages::{Empty, api, timestamp_ms};

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<ReportEvent>()
}

impl Serve for ReportEvent {
    async fn serve(call: &Call<'_>, request: api::Event) -> Result<Empty, ServiceError> {
        let event = Event {
            name: request.name,
            properties: request.properties,
            at: request.timestamp.as_ref().map_or(0, timestamp_ms),
            // Events from clients are always external, whatever the request says.
            external: request.external || *call.caller() != Caller::Server,
        };
        call.services.events.report(call.context, event).await?;
        Ok(Empty::default())
    }
}
