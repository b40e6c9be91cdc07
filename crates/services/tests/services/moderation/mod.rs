//! Reports, decisions and mutes.

mod access;
mod chat;
mod mutes;
mod reports;

use crate::audit::services;
use crate::fixture::{Fixture, fixtures};
use aether_metrics::Registry;
use aether_services::moderation::NewReport;
use aether_services::session::tokens::Role;
use aether_services::{CallContext, Caller, Services, UserIdentity};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Services over a fixture.
pub struct Moderated {
    pub services: Arc<Services>,
    pub registry: Registry,
    pub fixture: Fixture,
}

/// Opens services over each kind of database.
pub async fn moderated() -> Vec<Moderated> {
    let mut all = Vec::new();
    for fixture in fixtures().await {
        let registry = Registry::new();
        let services = services(fixture.store.clone(), &fixture.clock, &registry).await;
        all.push(Moderated { services, registry, fixture });
    }
    all
}

/// Opens services over the store of a fixture again, like after a restart.
pub async fn reopened(moderated: &Moderated) -> Arc<Services> {
    services(moderated.fixture.store.clone(), &moderated.fixture.clock, &Registry::new()).await
}

pub fn report(target: Uuid) -> NewReport {
    NewReport {
        target,
        category: "harassment".to_owned(),
        text: "insults in the lobby".to_owned(),
        ..NewReport::default()
    }
}

/// Returns the context of a call by an account with a role.
pub fn as_user(user: Uuid, role: Role) -> Arc<CallContext> {
    let identity = UserIdentity {
        user,
        username: user.to_string(),
        session: Uuid::new_v4(),
        variables: BTreeMap::new(),
        role,
        issued_at: 0,
        expires_at: u64::MAX,
    };
    Arc::new(CallContext::from_address(Caller::User(Arc::new(identity)), [127, 0, 0, 1].into()))
}
