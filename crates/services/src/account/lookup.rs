//! Finds accounts by device, and users at random.

use super::user::{check_count, each_of, read_user};
use super::{Account, Accounts, USER_COLUMNS, User};
use crate::error::ServiceError;
use aether_store::{SqlValue, StoreError, Transaction, values};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Most users of one random choice.
pub const RANDOM_USERS_MAX: usize = 1_000;

/// Places at which a random choice reads users. Ids begin with the time of their creation, so each place gives users of
/// about the same age; more places cost more reads.
const PLACES: usize = 16;

impl Accounts {
    /// Returns accounts by user and by device. Duplicates and missing ones are omitted.
    pub async fn accounts_with(&self, users: Vec<Uuid>, devices: Vec<String>) -> Result<Vec<Account>, ServiceError> {
        check_count(users.len().max(devices.len()))?;
        let mut found: Vec<Uuid> = users;
        if !devices.is_empty() {
            found.extend(self.users_of_devices(devices).await?);
        }
        let mut known = std::collections::BTreeSet::new();
        found.retain(|user| known.insert(*user));
        let mut accounts = Vec::with_capacity(found.len());
        for users in found.chunks(super::USERS_MAX) {
            accounts.extend(self.accounts(users.to_vec()).await?);
        }
        Ok(accounts)
    }

    /// Returns users at random, each at most once: as many as asked for, or all if there are fewer.
    pub async fn random_users(&self, count: usize) -> Result<Vec<User>, ServiceError> {
        if count > RANDOM_USERS_MAX {
            return Err(ServiceError::invalid(format!("At most {RANDOM_USERS_MAX} random users can be requested.")));
        }
        let seeds: Vec<u128> = (0..PLACES).map(|_| Uuid::new_v4().as_u128()).collect();
        let operation = move |transaction: &mut Transaction<'_>| {
            let Some((first, last)) = bounds(transaction)? else { return Ok::<_, StoreError>(Vec::new()) };
            let mut users = BTreeMap::new();
            let share = count.div_ceil(PLACES);
            for seed in &seeds {
                let place = first + seed % (last - first).saturating_add(1);
                read_from(transaction, Uuid::from_u128(place), share.min(count - users.len()), &mut users)?;
            }
            // Places overlap if there are few users, or are near the end.
            let place = users.keys().next_back().copied().unwrap_or_default();
            for from in [place, Uuid::nil()] {
                if users.len() < count {
                    read_from(transaction, from, count, &mut users)?;
                }
            }
            Ok(users.into_values().take(count).collect())
        };
        Ok(self.store.read(operation).await?)
    }

    async fn users_of_devices(&self, devices: Vec<String>) -> Result<Vec<Uuid>, ServiceError> {
        if devices.iter().any(|id| id.contains('\0')) {
            return Err(ServiceError::invalid("A device ID must not contain control characters."));
        }
        let devices = Arc::new(devices);
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut users = Vec::new();
            let keys = devices.iter().map(SqlValue::from).collect();
            each_of(transaction, "SELECT user_id FROM user_devices WHERE id IN ", "", keys, |row| {
                users.push(row.get::<Uuid>(0)?);
                Ok(())
            })?;
            Ok::<_, StoreError>(users)
        };
        Ok(self.store.read(operation).await?)
    }
}

/// Returns the lowest and the highest id of a user; `None` without users.
fn bounds(transaction: &mut Transaction<'_>) -> Result<Option<(u128, u128)>, StoreError> {
    let mut end = |order: &str| {
        let select = format!("SELECT id FROM users ORDER BY id {order} LIMIT 1");
        transaction.row(&select, &[], |row| row.get::<Uuid>(0))
    };
    let (first, last) = (end("ASC")?, end("DESC")?);
    Ok(first.zip(last).map(|(first, last)| (first.as_u128(), last.as_u128())))
}

/// Reads users from an id on.
fn read_from(
    transaction: &mut Transaction<'_>,
    from: Uuid,
    count: usize,
    users: &mut BTreeMap<Uuid, User>,
) -> Result<(), StoreError> {
    let select = format!("SELECT {USER_COLUMNS} FROM users u WHERE u.id >= ?1 ORDER BY u.id LIMIT ?2");
    let limit = i64::try_from(count).unwrap_or(0);
    transaction.for_each_row(&select, values![from, limit], |row| {
        let user = read_user(row)?;
        users.insert(user.id, user);
        Ok(())
    })
}
