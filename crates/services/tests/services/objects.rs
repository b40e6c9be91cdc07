//! Objects and who asks for them.

use crate::fixture::World;
use aether_services::storage::{ObjectId, Storage, Write};
use aether_services::{Caller, UserIdentity};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

impl World {
    pub fn storage(&self) -> Storage {
        Storage::new(self.store.clone(), self.clock.clone())
    }
}

/// What a signed-in user's calls come with.
pub fn by(user: Uuid) -> Caller {
    Caller::User(Arc::new(UserIdentity {
        user,
        username: user.to_string(),
        session: Uuid::new_v4(),
        variables: BTreeMap::new(),
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
