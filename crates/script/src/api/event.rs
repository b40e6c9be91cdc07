//! Reported events.

use super::table::strings;
use crate::arguments::Arguments;
use crate::function::{Function, Outcome, optional, required};
use crate::scripts::ScriptServices;
use aether_services::CallContext;
use aether_services::event::Event;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[Function::service("event", |used, args| Box::pin(event(used, args)))
    .about("Reports an event to the handlers of events and to the webhook.")
    .parameters(&[
        required("name", "string", "Name of the event."),
        optional("properties", "{[string]: string}", "Properties."),
        optional("timestamp", "number", "Time in seconds since 1970; now by default."),
        optional("external", "boolean", "True if a client caused it; false by default."),
    ])];

async fn event(used: ScriptServices, args: Arguments) -> Outcome {
    let event = Event {
        name: args.text(0)?.to_owned(),
        properties: strings(&args, 1)?,
        at: args.optional_integer(2)?.unwrap_or(0).saturating_mul(1_000),
        external: args.boolean_or(3, false)?,
    };
    used.services.events.report(&CallContext::server(), event).await?;
    Ok(Vec::new())
}
