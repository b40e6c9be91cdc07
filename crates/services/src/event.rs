//! Events that clients and server code report, for handlers of the program and for webhooks.

pub(crate) mod serve;

use crate::caller::CallContext;
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Store, Transaction, outbox};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Maximum bytes of an event's name.
const NAME_BYTES_MAX: usize = 128;
/// Maximum number of properties of an event, and maximum bytes of all of them together.
const PROPERTIES_MAX: usize = 64;
const PROPERTIES_BYTES_MAX: usize = 8_192;
/// Maximum bytes of an event as JSON. Escaped characters take up to six bytes each.
const PAYLOAD_BYTES_MAX: usize = 16_384;
/// Maximum number of events of an account that wait for the webhook or are parked. More than a game reports in an outage of
/// some minutes.
pub const WAITING_PER_ACCOUNT_MAX: i64 = 500;
/// Maximum number of events that wait or are parked: at most 330 MB together. Concurrent requests may exceed both limits
/// by their number.
pub const WAITING_MAX: i64 = 20_000;

/// Topic of events in the outbox.
const TOPIC: &str = "event";

const TOO_MANY: ServiceError =
    ServiceError::new(GrpcCode::ResourceExhausted, "Too many events wait for delivery. Report this one later.");

/// A reported event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Name of the event.
    pub name: String,
    /// Properties of the event.
    pub properties: BTreeMap<String, String>,
    /// Time of the event, in milliseconds since 1970.
    pub at: i64,
    /// True if a client reported it, false for server code.
    pub external: bool,
}

/// Function that receives reported events.
pub type Handler = Box<dyn Fn(&CallContext, &Event) + Send + Sync>;

/// Passes events to handlers and to the webhook.
pub struct Events {
    store: Store,
    clock: Arc<dyn WallClock>,
    handlers: Vec<Handler>,
    /// True if events also go to the webhook.
    announce: bool,
}

impl Events {
    /// Creates the service. Handlers are called in order; `announce` also sends events to the webhook.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>, handlers: Vec<Handler>, announce: bool) -> Events {
        Events { store, clock, handlers, announce }
    }

    /// Reports an event. A time of 0 means now. With a webhook, the event is durable when this returns.
    pub async fn report(&self, context: &CallContext, mut event: Event) -> Result<(), ServiceError> {
        check(&event)?;
        let now = self.clock.now_ms();
        if event.at == 0 {
            event.at = now;
        }
        if self.announce {
            let payload = json!({
                "name": event.name,
                "properties": event.properties,
                "at": event.at,
                "external": event.external,
                "user": context.caller.user().map(|identity| identity.user),
            });
            let payload = payload.to_string();
            if payload.len() > PAYLOAD_BYTES_MAX {
                return Err(PROPERTIES);
            }
            let account = context.caller.user().map(|identity| identity.user);
            self.check_waiting(account).await?;
            let push = move |transaction: &mut Transaction<'_>| {
                let pushed = outbox::push_from(transaction, account, TOPIC, &payload, now);
                pushed.map_err(ServiceError::from).map(|_| ())
            };
            self.store.write(push).await?;
        }
        self.handlers.iter().for_each(|handler| handler(context, &event));
        Ok(())
    }

    /// Rejects an event if too many wait, of the account or in all. Reads, so that it does not occupy the writer.
    async fn check_waiting(&self, account: Option<Uuid>) -> Result<(), ServiceError> {
        let count = move |transaction: &mut Transaction<'_>| {
            let own = account.map(|account| outbox::count_of_account(transaction, account, WAITING_PER_ACCOUNT_MAX));
            let all = outbox::count_of_topic(transaction, TOPIC, WAITING_MAX)?;
            Ok::<_, ServiceError>((own.transpose()?.unwrap_or(0), all))
        };
        let (own, all) = self.store.read(count).await?;
        if own >= WAITING_PER_ACCOUNT_MAX || all >= WAITING_MAX { Err(TOO_MANY) } else { Ok(()) }
    }
}

const PROPERTIES: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "Event properties are too large: at most 64, with 8192 bytes together.",
);

fn check(event: &Event) -> Result<(), ServiceError> {
    const NAME: ServiceError =
        ServiceError::new(GrpcCode::InvalidArgument, "Event name must be set, with at most 128 bytes.");
    let texts = event.properties.iter().flat_map(|(name, value)| [name, value]);
    let bytes: usize = texts.clone().map(String::len).sum();
    if event.name.is_empty() || event.name.len() > NAME_BYTES_MAX || event.name.contains('\0') {
        return Err(NAME);
    }
    let has_nul = texts.into_iter().any(|text| text.contains('\0'));
    if event.properties.len() > PROPERTIES_MAX || bytes > PROPERTIES_BYTES_MAX || has_nul {
        return Err(PROPERTIES);
    }
    Ok(())
}
