//! Remote values: JSON by key for clients, which operators change while the server runs.
//!
//! A value has a default and rules. The first rule whose condition holds for a player decides, and conditions are checked
//! on the server only: clients see their values, not the rules. All values are in memory; a read needs the database only
//! if a rule depends on the age of the account.

mod condition;
mod limits;
pub mod operation;
pub(crate) mod serve;
mod value;
mod watch;

pub use condition::{
    AgeCondition, Condition, PercentCondition, TimeCondition, ValueContext, VariableCondition, VersionCondition,
};
pub use limits::{
    CONDITION_DEPTH_MAX, CONDITION_ITEMS_MAX, CONDITION_TEXT_BYTES_MAX, CONDITIONS_MAX, KEY_BYTES_MAX,
    KEYS_PER_REQUEST_MAX, LISTED_MAX, RULES_MAX, TOTAL_BYTES_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX, VALUES_MAX,
};
pub use value::{EvaluatedRule, NewRemoteValue, RemoteValue, Rule};
pub use watch::{ValueChange, register_functions, watch_stream};

use crate::clock::WallClock;
use crate::error::{GrpcCode, INTERNAL, ServiceError};
use crate::router::Router;
use aether_metrics::{Gauge, Registry};
use aether_store::{SqlRow, Statements, Store, StoreError, Transaction, values};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::{Arc, PoisonError, RwLock};
use uuid::Uuid;

/// Number under which changes run one after the other, so that memory changes in the order of the commits.
const TURN: u64 = 0x7265_6d6f_7465;

/// Remote values of a server.
pub struct RemoteValues {
    store: Store,
    clock: Arc<dyn WallClock>,
    router: Arc<Router>,
    values: Arc<RwLock<ValuesByKey>>,
    count: Gauge,
}

type ValuesByKey = BTreeMap<String, Arc<RemoteValue>>;

/// Values of a player.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlayerValues {
    /// Values by key, as JSON.
    pub values: BTreeMap<String, Arc<str>>,
    /// Hash of keys and values: another one if any of them differs.
    pub hash: String,
}

impl RemoteValues {
    /// Opens the service over a store, and loads all values.
    pub async fn open(
        store: Store,
        clock: Arc<dyn WallClock>,
        router: Arc<Router>,
        registry: &Registry,
    ) -> Result<RemoteValues, ServiceError> {
        let values = store.read(load).await.map_err(|error: StoreError| error)?;
        let count = registry.gauge("aether_remote_values", "Keys of remote values.", &[]);
        count.set(values.len() as f64);
        Ok(RemoteValues { store, clock, router, values: Arc::new(RwLock::new(values)), count })
    }

    /// Returns the value of a key for a player, as JSON. It answers from memory.
    #[must_use]
    pub fn get(&self, context: &ValueContext, key: &str) -> Option<Arc<str>> {
        let value = self.read().get(key).cloned()?;
        Some(value.for_player(context, self.clock.now_ms()))
    }

    /// Returns a value with its rules.
    #[must_use]
    pub fn find(&self, key: &str) -> Option<Arc<RemoteValue>> {
        self.read().get(key).cloned()
    }

    /// Lists values with their rules, in the order of their keys, after a key.
    #[must_use]
    pub fn list(&self, after: &str, limit: u32) -> Vec<Arc<RemoteValue>> {
        let bounds = (std::ops::Bound::Excluded(after.to_owned()), std::ops::Bound::Unbounded);
        let limit = limit.clamp(1, LISTED_MAX) as usize;
        self.read().range(bounds).take(limit).map(|(_, value)| Arc::clone(value)).collect()
    }

    /// Returns the context of a player with these session variables. It reads the age of the account only if a rule depends
    /// on it.
    pub async fn context_of(
        &self,
        user: Uuid,
        variables: BTreeMap<String, String>,
    ) -> Result<ValueContext, ServiceError> {
        let needs_age = self.read().values().any(|value| value.needs_account_age());
        let account_created_at = if needs_age { self.account_created_at(user).await? } else { None };
        Ok(ValueContext { user, variables, account_created_at })
    }

    /// Returns the values of a player: of these keys, or of all if there are none. Unknown keys are left out.
    pub fn for_player(&self, context: &ValueContext, keys: &[String]) -> Result<PlayerValues, ServiceError> {
        if keys.len() > KEYS_PER_REQUEST_MAX {
            let message = format!("A request names at most {KEYS_PER_REQUEST_MAX} keys; without keys it gets all.");
            return Err(ServiceError::invalid(message));
        }
        let now = self.clock.now_ms();
        let known: Vec<Arc<RemoteValue>> = match keys {
            [] => self.read().values().cloned().collect(),
            keys => {
                let known = self.read();
                keys.iter().filter_map(|key| known.get(key).cloned()).collect()
            }
        };
        let values = known.into_iter().map(|value| (value.key.clone(), value.for_player(context, now)));
        let values: BTreeMap<String, Arc<str>> = values.collect();
        let hash = hash_of(&values);
        Ok(PlayerValues { values, hash })
    }

    /// Sets a value: its default and its rules. Sessions that watch the values learn of it.
    pub async fn set(&self, new: NewRemoteValue) -> Result<Arc<RemoteValue>, ServiceError> {
        let rules_text = new.check()?;
        let (now, shared) = (self.clock.now_ms(), Arc::clone(&self.values));
        let operation = move |transaction: &mut Transaction<'_>| {
            check_place(&shared.read().unwrap_or_else(PoisonError::into_inner), &new, &rules_text)?;
            let parameters = values![&new.key, &new.value, &rules_text, now];
            let (version, created_at) = transaction
                .row(UPSERT, parameters, |row| Ok((row.get::<i64>(0)?, row.get::<i64>(1)?)))?
                .ok_or(INTERNAL)?;
            let texts = (new.key.clone(), new.value.clone(), rules_text.clone());
            let value = RemoteValue::from_stored(texts, (version, created_at, now)).map_err(|_| INTERNAL)?;
            let value = Arc::new(value);
            let (shared, stored) = (Arc::clone(&shared), Arc::clone(&value));
            transaction.after_commit(move || {
                let mut values = shared.write().unwrap_or_else(PoisonError::into_inner);
                values.insert(stored.key.clone(), stored);
            });
            Ok::<_, ServiceError>(value)
        };
        let value = self.store.write_in_order(TURN, operation).await?;
        self.announce(&value.key, Some(value.version));
        Ok(value)
    }

    /// Deletes a value. Returns false if it does not exist.
    pub async fn delete(&self, key: &str) -> Result<bool, ServiceError> {
        value::check_key(key)?;
        let (key, shared) = (key.to_owned(), Arc::clone(&self.values));
        let named = key.clone();
        let operation = move |transaction: &mut Transaction<'_>| {
            let deleted = transaction.execute("DELETE FROM remote_values WHERE key = ?1", values![&key])?;
            let (shared, key) = (Arc::clone(&shared), key.clone());
            transaction.after_commit(move || {
                shared.write().unwrap_or_else(PoisonError::into_inner).remove(&key);
            });
            Ok::<_, StoreError>(deleted > 0)
        };
        let is_deleted = self.store.write_in_order(TURN, operation).await?;
        if is_deleted {
            self.announce(&named, None);
        }
        Ok(is_deleted)
    }

    /// Tells the sessions that watch the values which key has changed.
    fn announce(&self, key: &str, version: Option<i64>) {
        self.count.set(self.read().len() as f64);
        let change = ValueChange { key: key.to_owned(), version };
        let data = serde_json::to_string(&change).expect("a change is plain values");
        self.router.send_data(&watch_stream(), None, data, true);
    }

    async fn account_created_at(&self, user: Uuid) -> Result<Option<i64>, ServiceError> {
        let select = Statements::reading("SELECT created_at FROM users WHERE id = ?1", values![user]);
        self.store.run(select, |answers| Ok(answers.row(0, |row| row.get(0))?)).await
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, ValuesByKey> {
        self.values.read().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Inserts or overwrites a value, with the next version of its key.
const UPSERT: &str = "INSERT INTO remote_values (key, value, rules, version, created_at, updated_at)
        VALUES (?1, ?2, ?3, 1, ?4, ?4)
    ON CONFLICT (key) DO UPDATE SET value = excluded.value, rules = excluded.rules,
        version = remote_values.version + 1, updated_at = excluded.updated_at
    RETURNING version, created_at";

fn load(transaction: &mut Transaction<'_>) -> Result<ValuesByKey, StoreError> {
    let select = "SELECT key, value, rules, version, created_at, updated_at FROM remote_values ORDER BY key";
    let read = |row: &SqlRow<'_>| {
        let texts = (row.get::<String>(0)?, row.get(1)?, row.get(2)?);
        let key = texts.0.clone();
        let value = RemoteValue::from_stored(texts, (row.get(3)?, row.get(4)?, row.get(5)?));
        let value = value.map_err(|error| StoreError::Failed(format!("remote value {key}: {error}")))?;
        Ok((key, Arc::new(value)))
    };
    Ok(transaction.rows(select, &[], read)?.into_iter().collect())
}

/// Rejects a value that does not fit beside the others.
fn check_place(known: &ValuesByKey, new: &NewRemoteValue, rules: &str) -> Result<(), ServiceError> {
    let former = known.get(&new.key);
    if former.is_none() && known.len() >= VALUES_MAX {
        let message = format!("There are {VALUES_MAX} remote values, which is the limit. Delete some first.");
        return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
    }
    let bytes: usize = known.values().map(|value| value.bytes()).sum();
    let bytes = bytes - former.map_or(0, |former| former.bytes());
    if bytes + new.key.len() + new.value.len() + rules.len() > TOTAL_BYTES_MAX {
        let message = format!("All remote values have at most {TOTAL_BYTES_MAX} bytes together. Shorten some first.");
        return Err(ServiceError::with(GrpcCode::ResourceExhausted, message));
    }
    Ok(())
}

/// Returns the hash of keys and values.
fn hash_of(values: &BTreeMap<String, Arc<str>>) -> String {
    let mut hash = Sha256::new();
    for (key, value) in values {
        // A key has no such byte, and the length ends the value.
        hash.update(key.as_bytes());
        hash.update([0]);
        hash.update(value.len().to_le_bytes());
        hash.update(value.as_bytes());
    }
    hash.finalize()[..16].iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
