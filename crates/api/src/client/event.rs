//! Events that clients report.

use super::{Call, Desk, Routes, Serve};
use aether_messages::operation::Event as ReportEvent;
use aether_messages::{Empty, api, timestamp_ms};
use aether_services::Refusal;
use aether_services::event::Event;
use http::Method;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.body::<ReportEvent>(Method::POST, "/v2/event")
}

impl Serve for ReportEvent {
    async fn serve(desk: &Desk, call: &Call, request: api::Event) -> Result<Empty, Refusal> {
        let event = Event {
            name: request.name,
            properties: request.properties,
            at: request.timestamp.as_ref().map_or(0, timestamp_ms),
            // Whoever reports it over the network is outside, whatever they say.
            external: true,
        };
        desk.services().events.report(&call.context, event).await?;
        Ok(Empty::default())
    }
}
