//! [`EventQueue`]: reported events, and starts and ends of sessions, on their way to functions of scripts.
//!
//! Whoever reports them does not wait. They run in the order of their reports for each user.

use crate::context::context_table;
use crate::registrations::{RegistrationKind, SINGLE};
use crate::scripts::{Scripts, table};
use crate::vm::Vm;
use aether_services::CallContext;
use aether_services::event::Event;
use mlua::MultiValue;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tokio::sync::mpsc::{Receiver, Sender, channel};

/// Number of queues. Each runs one function at a time.
const QUEUES: usize = 8;
/// Most events that wait in a queue. Further ones are dropped and counted.
pub(crate) const QUEUED_MAX: usize = 8_192;

/// Events on their way to functions of scripts.
#[derive(Default)]
pub(crate) struct EventQueue {
    senders: Mutex<Vec<Sender<QueuedEvent>>>,
    hasher: RandomState,
}

/// Event that waits.
pub(crate) struct QueuedEvent {
    pub kind: RegistrationKind,
    pub context: Arc<CallContext>,
    pub event: Option<Event>,
}

impl EventQueue {
    /// Starts the tasks that run the functions, unless they run.
    pub fn start(&self, scripts: &Arc<Scripts>) {
        let mut senders = self.senders();
        if !senders.is_empty() {
            return;
        }
        for _ in 0..QUEUES {
            let (sender, receiver) = channel(QUEUED_MAX);
            senders.push(sender);
            tokio::spawn(run(Arc::downgrade(scripts), receiver));
        }
    }

    /// Ends the tasks once they have run the functions of the events that wait.
    pub fn stop(&self) {
        self.senders().clear();
    }

    /// Adds an event. Returns false if too many wait.
    pub fn push(&self, event: QueuedEvent) -> bool {
        let user = event.context.caller.user().map(|identity| identity.user);
        let senders = self.senders();
        let Some(number) = (self.hasher.hash_one(user) as usize).checked_rem(senders.len()) else { return false };
        senders[number].try_send(event).is_ok()
    }

    fn senders(&self) -> MutexGuard<'_, Vec<Sender<QueuedEvent>>> {
        self.senders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn run(scripts: Weak<Scripts>, mut events: Receiver<QueuedEvent>) {
    while let Some(event) = events.recv().await {
        let Some(scripts) = scripts.upgrade() else { return };
        let Some((program, used)) = scripts.with_function(event.kind) else { continue };
        let called = program.call(&used, (event.kind, SINGLE), |vm| arguments(vm, &event), |_| Ok(())).await;
        if let Err(error) = called {
            let _ = scripts.failures.report(mode(event.kind), error);
        }
    }
}

fn arguments(vm: &Vm, event: &QueuedEvent) -> mlua::Result<MultiValue> {
    let context = table(context_table(vm, mode(event.kind), Some(&event.context))?);
    let Some(event) = &event.event else { return Ok(MultiValue::from_iter([context])) };
    let lua = vm.lua();
    let shown = lua.create_table_with_capacity(0, 4)?;
    shown.raw_set("name", event.name.as_str())?;
    let properties = event.properties.iter().map(|(name, text)| (name.as_str(), text.as_str()));
    shown.raw_set("properties", lua.create_table_from(properties)?)?;
    shown.raw_set("timestamp", event.at.div_euclid(1_000) as f64)?;
    shown.raw_set("external", event.external)?;
    Ok(MultiValue::from_iter([context, table(shown)]))
}

fn mode(kind: RegistrationKind) -> &'static str {
    match kind {
        RegistrationKind::SessionStart => "session_start",
        RegistrationKind::SessionEnd => "session_end",
        _ => "event",
    }
}
