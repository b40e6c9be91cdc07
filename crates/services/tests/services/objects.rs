//! Helpers for objects and callers.

use crate::fixture::Fixture;
use aether_services::storage::{ObjectId, Storage, Write};
use aether_services::{Caller, UserIdentity};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

impl Fixture {
    pub fn storage(&self) -> Storage {
        Storage::new(self.store.clone(), self.clock.clone())
    }
}

/// Creates the caller of a signed-in user.
pub fn by(user: Uuid) -> Caller {
    Caller::User(Arc::new(UserIdentity {
        user,
        username: user.to_string(),
        session: Uuid::new_v4(),
        variables: BTreeMap::new(),
        role: Default::default(),
        issued_at: 0,
        expires_at: u64::MAX,
    }))
}

pub fn id(collection: &str, key: &str, owner: Uuid) -> ObjectId {
    ObjectId::new(collection, key, owner)
}

pub fn write(collection: &str, key: &str, owner: Uuid, value: &str) -> Write {
    Write::new(id(collection, key, owner), value)
}
