//! Profiles: the characters of a user, one of which is active.
//!
//! Every user has at least one profile. The profile [`DEFAULT_ID`] is created when profiles are first requested, also
//! for users from before profiles existed. A selection that is missing, or that names a deleted profile, is repaired
//! when it is read.

pub mod operation;
pub(crate) mod serve;

use crate::account::check_characters;
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::storage::json::check_object;
use aether_store::{SqlRow, Statements, Store, StoreError, Transaction, values};
use std::sync::Arc;
use uuid::Uuid;

/// Id and name of the first profile of every user.
pub const DEFAULT_ID: &str = "default";
/// Maximum number of profiles of one user. More than games show on one page; a list always has all of them.
pub const PROFILES_MAX: usize = 16;
/// Maximum bytes of a profile's id.
pub const PROFILE_ID_BYTES_MAX: usize = 64;
/// Maximum characters of a profile's name.
pub const PROFILE_NAME_CHARACTERS_MAX: usize = 64;
/// Maximum bytes of a profile's data. Larger data belongs in storage.
pub const PROFILE_DATA_BYTES_MAX: usize = 16 << 10;

/// Profile of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// Id, unique per user.
    pub id: String,
    /// Display name.
    pub name: String,
    /// JSON object for the game.
    pub data: String,
    /// True for the active profile. Exactly one is active.
    pub is_active: bool,
    /// Creation time, in milliseconds since 1970.
    pub created_at_ms: i64,
    /// Time of the last change, in milliseconds since 1970.
    pub updated_at_ms: i64,
}

/// Profile to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewProfile {
    /// Id. `None` for a random one.
    pub id: Option<String>,
    /// Display name.
    pub name: String,
    /// JSON object. `None` for an empty one.
    pub data: Option<String>,
}

/// Changes to a profile. `None` keeps a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProfileChange {
    /// New name.
    pub name: Option<String>,
    /// New JSON object.
    pub data: Option<String>,
}

/// Profiles of all users.
pub struct Profiles {
    store: Store,
    clock: Arc<dyn WallClock>,
}

impl Profiles {
    /// Creates the service over a store.
    #[must_use]
    pub fn new(store: Store, clock: Arc<dyn WallClock>) -> Profiles {
        Profiles { store, clock }
    }

    /// Returns the profiles of a user, oldest first.
    pub async fn list(&self, user: Uuid) -> Result<Vec<Profile>, ServiceError> {
        let profiles = self.store.run(search(user), |answers| answers.rows(0, read)).await?;
        if profiles.iter().any(|profile| profile.is_active) {
            return Ok(profiles);
        }
        self.change(user, |_, profiles| Ok(profiles)).await
    }

    /// Returns the active profile of a user.
    pub async fn active(&self, user: Uuid) -> Result<Profile, ServiceError> {
        let profiles = self.list(user).await?;
        profiles.into_iter().find(|profile| profile.is_active).ok_or(NOT_FOUND)
    }

    /// Creates a profile without selecting it.
    pub async fn create(&self, user: Uuid, new: NewProfile) -> Result<Profile, ServiceError> {
        let id = new.id.unwrap_or_else(|| Uuid::new_v4().to_string());
        check_id(&id)?;
        check_name(&new.name)?;
        let data = new.data.unwrap_or_else(|| "{}".to_owned());
        check_data(&data)?;
        let now_ms = self.clock.now_ms();
        let name = new.name;
        self.change(user, move |transaction, profiles| {
            if profiles.iter().any(|profile| profile.id == id) {
                return Err(ServiceError::new(
                    GrpcCode::AlreadyExists,
                    "A profile with this id already exists. Choose another id.",
                ));
            }
            if profiles.len() >= PROFILES_MAX {
                let why = format!("A user has at most {PROFILES_MAX} profiles. Delete one first.");
                return Err(ServiceError::with(GrpcCode::FailedPrecondition, why));
            }
            transaction.execute(INSERT, values![user, &id, &name, &data, now_ms])?;
            let (id, name, data) = (id.clone(), name.clone(), data.clone());
            Ok(Profile { id, name, data, is_active: false, created_at_ms: now_ms, updated_at_ms: now_ms })
        })
        .await
    }

    /// Changes a profile.
    pub async fn update(&self, user: Uuid, id: &str, change: ProfileChange) -> Result<Profile, ServiceError> {
        change.name.as_deref().map_or(Ok(()), check_name)?;
        change.data.as_deref().map_or(Ok(()), check_data)?;
        let now_ms = self.clock.now_ms();
        let id = id.to_owned();
        self.change(user, move |transaction, profiles| {
            let mut profile = take(profiles, &id)?;
            profile.name = change.name.clone().unwrap_or(profile.name);
            profile.data = change.data.clone().unwrap_or(profile.data);
            profile.updated_at_ms = now_ms;
            transaction.execute(
                "UPDATE profiles SET name = ?3, data = ?4, updated_at = ?5 WHERE user_id = ?1 AND id = ?2",
                values![user, &id, &profile.name, &profile.data, now_ms],
            )?;
            Ok(profile)
        })
        .await
    }

    /// Deletes a profile, unless it is the last one. If it was active, another one is selected. Returns the active
    /// profile.
    pub async fn delete(&self, user: Uuid, id: &str) -> Result<Profile, ServiceError> {
        let id = id.to_owned();
        self.change(user, move |transaction, mut profiles| {
            if profiles.len() == 1 && profiles.iter().any(|profile| profile.id == id) {
                let why = "The last profile cannot be deleted. Create another one first.";
                return Err(ServiceError::new(GrpcCode::FailedPrecondition, why));
            }
            let index = profiles.iter().position(|profile| profile.id == id).ok_or(NOT_FOUND)?;
            profiles.remove(index);
            transaction.execute("DELETE FROM profiles WHERE user_id = ?1 AND id = ?2", values![user, &id])?;
            repair_selection(transaction, user, &mut profiles)?;
            profiles.into_iter().find(|profile| profile.is_active).ok_or(NOT_FOUND)
        })
        .await
    }

    /// Selects a profile as the active one.
    pub async fn select(&self, user: Uuid, id: &str) -> Result<Profile, ServiceError> {
        let id = id.to_owned();
        self.change(user, move |transaction, profiles| {
            let profile = take(profiles, &id)?;
            if !profile.is_active {
                select(transaction, user, &id)?;
            }
            Ok(Profile { is_active: true, ..profile })
        })
        .await
    }

    /// Repairs the profiles of a user, then runs a change under a lock of the user.
    async fn change<T: Send + 'static>(
        &self,
        user: Uuid,
        change: impl Fn(&mut Transaction<'_>, Vec<Profile>) -> Result<T, ServiceError> + Send + 'static,
    ) -> Result<T, ServiceError> {
        let now_ms = self.clock.now_ms();
        let work = move |transaction: &mut Transaction<'_>| {
            let profiles = read_repaired(transaction, user, now_ms)?;
            change(transaction, profiles)
        };
        self.store.write(work).await
    }
}

const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Profile not found.");

const INSERT: &str =
    "INSERT INTO profiles (user_id, id, name, data, created_at, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?5)";

/// Reads the profiles of a user, and repairs them so that exactly one is active. Locks the user until the end of the
/// transaction.
fn read_repaired(transaction: &mut Transaction<'_>, user: Uuid, now_ms: i64) -> Result<Vec<Profile>, ServiceError> {
    let lock = format!("SELECT 1 FROM users WHERE id = ?1{}", transaction.for_update());
    if transaction.row(&lock, values![user], |_| Ok(()))?.is_none() {
        return Err(ServiceError::new(GrpcCode::NotFound, "User not found."));
    }
    let mut profiles = read_all(transaction, user)?;
    if profiles.is_empty() {
        transaction.execute(INSERT, values![user, DEFAULT_ID, DEFAULT_ID, "{}", now_ms])?;
        profiles = read_all(transaction, user)?;
    }
    repair_selection(transaction, user, &mut profiles)?;
    Ok(profiles)
}

/// Selects a profile if none is selected: the default one, or else the oldest.
fn repair_selection(transaction: &mut Transaction<'_>, user: Uuid, profiles: &mut [Profile]) -> Result<(), StoreError> {
    if profiles.iter().any(|profile| profile.is_active) {
        return Ok(());
    }
    let index = profiles.iter().position(|profile| profile.id == DEFAULT_ID).unwrap_or(0);
    let Some(profile) = profiles.get_mut(index) else { return Ok(()) };
    profile.is_active = true;
    select(transaction, user, &profile.id)
}

fn select(transaction: &mut Transaction<'_>, user: Uuid, id: &str) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO profile_selections (user_id, profile_id) VALUES (?1, ?2) \
         ON CONFLICT (user_id) DO UPDATE SET profile_id = excluded.profile_id",
        values![user, id],
    )?;
    Ok(())
}

fn read_all(transaction: &mut Transaction<'_>, user: Uuid) -> Result<Vec<Profile>, StoreError> {
    transaction.answers(&search(user))?.rows(0, read)
}

fn search(user: Uuid) -> Statements {
    let select = "SELECT p.id, p.name, p.data, s.profile_id IS NOT NULL, p.created_at, p.updated_at FROM profiles p \
         LEFT JOIN profile_selections s ON s.user_id = p.user_id AND s.profile_id = p.id \
         WHERE p.user_id = ?1 ORDER BY p.created_at, p.id";
    Statements::reading(select, values![user])
}

fn read(row: &SqlRow<'_>) -> Result<Profile, StoreError> {
    Ok(Profile {
        id: row.get(0)?,
        name: row.get(1)?,
        data: row.get(2)?,
        is_active: row.get(3)?,
        created_at_ms: row.get(4)?,
        updated_at_ms: row.get(5)?,
    })
}

fn take(profiles: Vec<Profile>, id: &str) -> Result<Profile, ServiceError> {
    profiles.into_iter().find(|profile| profile.id == id).ok_or(NOT_FOUND)
}

fn check_id(id: &str) -> Result<(), ServiceError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if (1..=PROFILE_ID_BYTES_MAX).contains(&id.len()) && id.bytes().all(is_plain) {
        return Ok(());
    }
    Err(ServiceError::invalid(format!(
        "A profile's id must have 1 to {PROFILE_ID_BYTES_MAX} letters, digits, hyphens or underscores."
    )))
}

fn check_name(name: &str) -> Result<(), ServiceError> {
    let has_length = (1..=PROFILE_NAME_CHARACTERS_MAX).contains(&name.chars().count());
    if has_length && !name.trim().is_empty() {
        return check_characters("A profile's name", name);
    }
    Err(ServiceError::invalid(format!(
        "A profile's name must have 1 to {PROFILE_NAME_CHARACTERS_MAX} characters, some of them visible."
    )))
}

fn check_data(data: &str) -> Result<(), ServiceError> {
    if data.len() > PROFILE_DATA_BYTES_MAX {
        let why = format!("A profile's data must have at most {PROFILE_DATA_BYTES_MAX} bytes. Use storage for more.");
        return Err(ServiceError::invalid(why));
    }
    check_object("A profile's data", data, PROFILE_DATA_BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use aether_testkit_store::TestDatabase;

    const NOW_MS: i64 = 1_794_830_400_000;

    struct Fixture {
        store: Store,
        clock: Arc<ManualClock>,
        profiles: Arc<Profiles>,
        user: Uuid,
    }

    impl Fixture {
        async fn at(database: &TestDatabase) -> Fixture {
            let store = database.open().await;
            let clock = Arc::new(ManualClock::at(NOW_MS));
            let profiles = Arc::new(Profiles::new(store.clone(), clock.clone()));
            let user = Uuid::from_u128(7);
            let fixture = Fixture { store, clock, profiles, user };
            fixture.sql("INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, 'ann', 0, 0)").await;
            fixture
        }

        /// Runs a statement about the user directly on the store.
        async fn sql(&self, sql: &'static str) {
            let user = self.user;
            let done = self.store.write(move |transaction| transaction.execute(sql, values![user]));
            done.await.map_err(|error: StoreError| error).unwrap();
        }

        async fn create(&self, id: &str) -> Result<Profile, ServiceError> {
            self.clock.advance_ms(1);
            let new = NewProfile { id: Some(id.to_owned()), name: format!("the {id}"), data: None };
            self.profiles.create(self.user, new).await
        }

        /// Returns the profile ids, with a star at the active one.
        async fn shown(&self) -> String {
            let profiles = self.profiles.list(self.user).await.unwrap();
            let shown = profiles.iter().map(|profile| match profile.is_active {
                true => format!("{}*", profile.id),
                false => profile.id.clone(),
            });
            shown.collect::<Vec<_>>().join(" ")
        }
    }

    #[tokio::test]
    async fn the_default_profile_is_created_on_first_request() {
        for database in aether_testkit_store::databases() {
            let fixture = Fixture::at(&database).await;
            let active = fixture.profiles.active(fixture.user).await.unwrap();
            let expected = Profile {
                id: DEFAULT_ID.to_owned(),
                name: DEFAULT_ID.to_owned(),
                data: "{}".to_owned(),
                is_active: true,
                created_at_ms: NOW_MS,
                updated_at_ms: NOW_MS,
            };
            assert_eq!(active, expected, "{}", database.name);
            fixture.clock.advance_ms(1_000);
            assert_eq!(
                fixture.profiles.list(fixture.user).await.unwrap(),
                [expected],
                "the default profile is created once"
            );
        }
    }

    #[tokio::test]
    async fn concurrent_requests_create_one_default_profile() {
        for database in aether_testkit_store::databases() {
            let fixture = Fixture::at(&database).await;
            let requests: Vec<_> = (0..20)
                .map(|_| {
                    let (profiles, user) = (Arc::clone(&fixture.profiles), fixture.user);
                    tokio::spawn(async move { profiles.active(user).await })
                })
                .collect();
            for answer in requests {
                assert_eq!(answer.await.unwrap().unwrap().id, DEFAULT_ID, "{}", database.name);
            }
            assert_eq!(fixture.shown().await, "default*");
        }
    }

    #[tokio::test]
    async fn profiles_are_created_changed_selected_and_deleted() {
        for database in aether_testkit_store::databases() {
            let fixture = Fixture::at(&database).await;
            let (profiles, user) = (&fixture.profiles, fixture.user);
            let mage = fixture.create("mage").await.unwrap();
            assert_eq!((mage.name.as_str(), mage.data.as_str(), mage.is_active), ("the mage", "{}", false));
            fixture.create("thief").await.unwrap();
            assert_eq!(fixture.shown().await, "default* mage thief", "{}", database.name);

            assert!(profiles.select(user, "mage").await.unwrap().is_active);
            assert!(profiles.select(user, "mage").await.unwrap().is_active, "selecting it again has no effect");
            assert_eq!(fixture.shown().await, "default mage* thief");
            assert_eq!(profiles.active(user).await.unwrap().id, "mage");

            fixture.clock.advance_ms(10);
            let data = Some(r#"{"level":3}"#.to_owned());
            let change = ProfileChange { name: Some("Merlin".to_owned()), data };
            let changed = profiles.update(user, "mage", change).await.unwrap();
            assert_eq!((changed.name.as_str(), changed.data.as_str()), ("Merlin", r#"{"level":3}"#));
            assert_eq!(changed.updated_at_ms, changed.created_at_ms + 11);
            let nothing = profiles.update(user, "mage", ProfileChange::default()).await.unwrap();
            assert_eq!((nothing.name.as_str(), nothing.is_active), ("Merlin", true));

            assert_eq!(profiles.delete(user, "thief").await.unwrap().id, "mage", "the active profile stays active");
            assert_eq!(profiles.delete(user, "mage").await.unwrap().id, DEFAULT_ID, "another profile is selected");
            assert_eq!(fixture.shown().await, "default*");
            let last = profiles.delete(user, DEFAULT_ID).await.unwrap_err();
            assert_eq!(last.code, GrpcCode::FailedPrecondition);
        }
    }

    #[tokio::test]
    async fn a_missing_id_becomes_a_random_one() {
        let fixture = Fixture::at(&aether_testkit_store::memory()).await;
        let new = NewProfile { name: "someone".to_owned(), ..NewProfile::default() };
        let one = fixture.profiles.create(fixture.user, new.clone()).await.unwrap();
        let other = fixture.profiles.create(fixture.user, new).await.unwrap();
        assert_ne!(one.id, other.id);
        assert!(check_id(&one.id).is_ok());
    }

    #[tokio::test]
    async fn a_missing_or_damaged_selection_is_repaired_on_read() {
        for database in aether_testkit_store::databases() {
            let fixture = Fixture::at(&database).await;
            fixture.create("mage").await.unwrap();
            fixture.create("thief").await.unwrap();
            fixture.profiles.select(fixture.user, "thief").await.unwrap();

            fixture.sql("DELETE FROM profile_selections WHERE user_id = ?1").await;
            assert_eq!(fixture.shown().await, "default* mage thief", "{}", database.name);
            fixture.sql("UPDATE profile_selections SET profile_id = 'gone' WHERE user_id = ?1").await;
            assert_eq!(fixture.profiles.active(fixture.user).await.unwrap().id, DEFAULT_ID);
            fixture.sql("DELETE FROM profiles WHERE user_id = ?1 AND id = 'default'").await;
            assert_eq!(fixture.shown().await, "mage* thief", "the oldest profile, without a default one");
            fixture.sql("DELETE FROM profiles WHERE user_id = ?1").await;
            assert_eq!(fixture.shown().await, "default*", "the default profile again, without any");
            // The repair is stored, not only returned.
            fixture.create("mage").await.unwrap();
            assert_eq!(fixture.shown().await, "default* mage");
        }
    }

    #[tokio::test]
    async fn limits_are_enforced() {
        let fixture = Fixture::at(&aether_testkit_store::memory()).await;
        let (profiles, user) = (&fixture.profiles, fixture.user);
        let largest = NewProfile {
            id: Some("x".repeat(PROFILE_ID_BYTES_MAX)),
            name: "\u{1F600}".repeat(PROFILE_NAME_CHARACTERS_MAX),
            data: Some(format!(r#"{{"a":"{}"}}"#, "x".repeat(PROFILE_DATA_BYTES_MAX - 8))),
        };
        profiles.create(user, largest.clone()).await.unwrap();
        let valid = NewProfile { id: None, name: "a".to_owned(), data: None };
        let wrong = [
            NewProfile { id: Some(String::new()), ..valid.clone() },
            NewProfile { id: Some("x".repeat(PROFILE_ID_BYTES_MAX + 1)), ..valid.clone() },
            NewProfile { id: Some("a/b".to_owned()), ..valid.clone() },
            NewProfile { id: Some("nul\0".to_owned()), ..valid.clone() },
            NewProfile { name: String::new(), ..valid.clone() },
            NewProfile { name: "  ".to_owned(), ..valid.clone() },
            NewProfile { name: "nul\0".to_owned(), ..valid.clone() },
            NewProfile { name: format!("{}x", largest.name), ..valid.clone() },
            NewProfile { data: Some(format!("{} ", largest.data.unwrap())), ..valid.clone() },
            NewProfile { data: Some("[]".to_owned()), ..valid.clone() },
            NewProfile { data: Some("{".to_owned()), ..valid.clone() },
        ];
        for new in wrong {
            let change = ProfileChange { name: Some(new.name.clone()), data: new.data.clone() };
            let error = profiles.create(user, new.clone()).await.unwrap_err();
            assert_eq!(error.code, GrpcCode::InvalidArgument, "{new:?}");
            if new.id.is_none() {
                let error = profiles.update(user, DEFAULT_ID, change).await.unwrap_err();
                assert_eq!(error.code, GrpcCode::InvalidArgument, "{new:?}");
            }
        }
        let taken = fixture.create(DEFAULT_ID).await.unwrap_err();
        assert_eq!(taken.code, GrpcCode::AlreadyExists);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_creation_respects_the_limit() {
        for database in aether_testkit_store::databases() {
            let fixture = Fixture::at(&database).await;
            let requests: Vec<_> = (0..2 * PROFILES_MAX)
                .map(|_| {
                    let (profiles, user) = (Arc::clone(&fixture.profiles), fixture.user);
                    let new = NewProfile { name: "one more".to_owned(), ..NewProfile::default() };
                    tokio::spawn(async move { profiles.create(user, new).await })
                })
                .collect();
            let mut created = 0;
            for answer in requests {
                match answer.await.unwrap() {
                    Ok(_) => created += 1,
                    Err(error) => assert_eq!(error.code, GrpcCode::FailedPrecondition, "{error}"),
                }
            }
            assert_eq!(created, PROFILES_MAX - 1, "{}: the default profile counts", database.name);
            assert_eq!(fixture.profiles.list(fixture.user).await.unwrap().len(), PROFILES_MAX);
        }
    }

    #[tokio::test]
    async fn missing_profiles_and_users_are_not_found() {
        for database in aether_testkit_store::databases() {
            let fixture = Fixture::at(&database).await;
            let (profiles, user) = (&fixture.profiles, fixture.user);
            let nobody = Uuid::from_u128(99);
            let errors = [
                profiles.select(user, "gone").await.unwrap_err(),
                profiles.update(user, "gone", ProfileChange::default()).await.unwrap_err(),
                profiles.delete(user, "nul\0").await.unwrap_err(),
                profiles.list(nobody).await.unwrap_err(),
                profiles.select(nobody, DEFAULT_ID).await.unwrap_err(),
            ];
            for error in errors {
                assert_eq!(error.code, GrpcCode::NotFound, "{}: {error}", database.name);
            }
        }
    }
}
