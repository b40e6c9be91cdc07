//! Public and private data of a user, and its changes.

use super::{Accounts, NOT_FOUND, USERNAME_TAKEN, Update};
use crate::error::{GrpcCode, ServiceError};
use crate::session::tokens::Role;
use aether_names::NameKeys;
use aether_store::{SqlRow, SqlValue, Statements, StoreError, Transaction, values};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use uuid::Uuid;

/// Maximum number of users in one request, per kind of key.
pub const USERS_MAX: usize = 256;

/// Lengths of lists in statements. A list is padded to the next of them, so that there are few distinct statements, and
/// each stays prepared.
const LIST_LENGTHS: [usize; 4] = [1, 8, 64, USERS_MAX];

/// Public data of a user. Times are in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Id.
    pub id: Uuid,
    /// Username.
    pub username: String,
    /// Display name.
    pub display_name: String,
    /// URL of a picture.
    pub avatar_url: String,
    /// Language tag.
    pub language: String,
    /// Location, as free text.
    pub location: String,
    /// Timezone.
    pub timezone: String,
    /// Metadata of the game: a JSON object.
    pub metadata: String,
    /// Ids at external providers, by the provider's name.
    pub identities: BTreeMap<String, String>,
    /// Number of friends.
    pub edge_count: i64,
    /// Creation time.
    pub created_at: i64,
    /// Time of the last change.
    pub updated_at: i64,
}

/// Account as its owner sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Public data.
    pub user: User,
    /// Wallet: a JSON object.
    pub wallet: String,
    /// Email address.
    pub email: Option<String>,
    /// Device ids, in the order of linking.
    pub devices: Vec<String>,
    /// Custom id.
    pub custom_id: Option<String>,
    /// Role.
    pub role: Role,
    /// Time at which the email address was verified.
    pub verified_at: Option<i64>,
    /// Time of the ban.
    pub disabled_at: Option<i64>,
}

/// Columns of a [`User`]. Client texts contain no line breaks, so line breaks separate list elements.
pub(crate) const USER_COLUMNS: &str =
    "u.id, u.username, u.display_name, u.avatar_url, u.lang_tag, u.location, u.timezone,
    u.metadata, u.edge_count, u.created_at, u.updated_at,
    (SELECT string_agg(i.provider || ' ' || i.subject, '\n') FROM user_identities i WHERE i.user_id = u.id)";

/// Number of [`USER_COLUMNS`].
pub(crate) const USER_COLUMNS_COUNT: usize = 12;

/// Additional columns of an [`Account`].
const ACCOUNT_COLUMNS: &str = "u.wallet, u.email, u.custom_id, u.role, u.verified_at, u.disabled_at,
    (SELECT string_agg(d.id, '\n' ORDER BY d.created_at, d.id) FROM user_devices d WHERE d.user_id = u.id)";

impl Accounts {
    /// Returns an account, with one statement.
    pub async fn account(&self, user: Uuid) -> Result<Account, ServiceError> {
        self.accounts(vec![user]).await?.pop().ok_or(NOT_FOUND)
    }

    /// Returns several accounts. Missing ones are omitted.
    pub async fn accounts(&self, users: Vec<Uuid>) -> Result<Vec<Account>, ServiceError> {
        check_count(users.len())?;
        if users.is_empty() {
            return Ok(Vec::new());
        }
        let mut ids: Vec<SqlValue<'_>> = users.iter().map(SqlValue::from).collect();
        let select = format!("SELECT {USER_COLUMNS}, {ACCOUNT_COLUMNS} FROM users u WHERE u.id IN ");
        let select = with_list(&select, "", &mut ids);
        self.store.run(Statements::reading(select, &ids), |answers| Ok(answers.rows(0, read_account)?)).await
    }

    /// Returns users by id, username and Facebook id. Duplicates and missing users are omitted.
    pub async fn users(
        &self,
        ids: Vec<Uuid>,
        usernames: Vec<String>,
        facebook_ids: Vec<String>,
    ) -> Result<Vec<User>, ServiceError> {
        for count in [ids.len(), usernames.len(), facebook_ids.len()] {
            check_count(count)?;
        }
        if usernames.iter().chain(&facebook_ids).any(|text| text.contains('\0')) {
            return Err(ServiceError::invalid("A name must not contain control characters."));
        }
        let keys = Arc::new((ids, usernames, facebook_ids));
        let operation = move |transaction: &mut Transaction<'_>| {
            let (ids, usernames, facebook_ids) = &*keys;
            let mut users: BTreeMap<Uuid, User> = BTreeMap::new();
            let by_facebook_id = "u.id IN (SELECT f.user_id FROM user_identities f
                WHERE f.provider = 'facebook' AND f.subject IN ";
            let kinds = [
                ("u.id IN ", "", ids.iter().map(SqlValue::from).collect::<Vec<_>>()),
                ("u.username IN ", "", usernames.iter().map(SqlValue::from).collect()),
                (by_facebook_id, ")", facebook_ids.iter().map(SqlValue::from).collect()),
            ];
            for (condition, end, named) in kinds {
                let select = format!("SELECT {USER_COLUMNS} FROM users u WHERE {condition}");
                each_of(transaction, &select, end, named, |row| {
                    let user = read_user(row)?;
                    users.insert(user.id, user);
                    Ok(())
                })?;
            }
            Ok(users.into_values().collect())
        };
        self.store.read(operation).await
    }

    /// Changes the data of a user.
    pub async fn update(&self, user: Uuid, update: Update) -> Result<(), ServiceError> {
        update.check()?;
        let now = self.clock.now_ms();
        if update.username.is_some() {
            // A taken name fails, which costs the callers of a shared connection another attempt.
            let outcome = self.store.write(move |transaction| apply(transaction, user, &update, now)).await;
            return outcome.map_err(name_taken);
        }
        let updated = self.store.run(change(user, &update, now), |answers| Ok::<_, ServiceError>(answers.changed(0)));
        match updated.await? {
            0 => Err(NOT_FOUND),
            _ => Ok(()),
        }
    }
}

/// Changes the data of a user within a larger transaction. The update is already validated. A taken username aborts the
/// transaction: see [`name_taken`].
pub(crate) fn apply(
    transaction: &mut Transaction<'_>,
    user: Uuid,
    update: &Update,
    now: i64,
) -> Result<(), ServiceError> {
    match transaction.answers(&change(user, update, now))?.changed(0) {
        0 => Err(NOT_FOUND),
        _ => Ok(()),
    }
}

/// Returns the statement that changes the data of a user.
fn change(user: Uuid, update: &Update, now: i64) -> Statements {
    let statement = "UPDATE users SET username = coalesce(?2, username), display_name = coalesce(?3, display_name),
            avatar_url = coalesce(?4, avatar_url), lang_tag = coalesce(?5, lang_tag),
            location = coalesce(?6, location), timezone = coalesce(?7, timezone),
            metadata = coalesce(?8, metadata), updated_at = ?9,
            username_skeleton = CASE WHEN username = ?2 THEN username_skeleton ELSE coalesce(?10, username_skeleton) END,
            username_folded = CASE WHEN username = ?2 THEN username_folded ELSE coalesce(?11, username_folded) END
        WHERE id = ?1";
    // A name that stays keeps its keys: older names may look like others.
    let keys = update.username.as_deref().map(NameKeys::of);
    let parameters = values![
        user,
        &update.username,
        &update.display_name,
        &update.avatar_url,
        &update.language,
        &update.location,
        &update.timezone,
        &update.metadata,
        now,
        keys.as_ref().map(|keys| &keys.skeleton),
        keys.as_ref().map(|keys| &keys.folded),
    ];
    Statements::writing(statement, parameters)
}

/// Converts a duplicate error to the message for a taken username.
pub(crate) fn name_taken(error: ServiceError) -> ServiceError {
    if error.code == GrpcCode::AlreadyExists { USERNAME_TAKEN } else { error }
}

pub(super) fn check_count(count: usize) -> Result<(), ServiceError> {
    if count > USERS_MAX {
        return Err(ServiceError::invalid(format!("At most {USERS_MAX} users can be requested at once.")));
    }
    Ok(())
}

/// Reads rows whose key is in a list, by the statement before the list and the text after it.
pub(super) fn each_of<'a>(
    transaction: &mut Transaction<'_>,
    statement: &str,
    end: &str,
    mut keys: Vec<SqlValue<'a>>,
    read: impl FnMut(&SqlRow<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    if keys.is_empty() {
        return Ok(());
    }
    let statement = with_list(statement, end, &mut keys);
    transaction.for_each_row(&statement, &keys, read)
}

/// Returns a statement with a list of keys, which is padded with its last key.
pub(crate) fn with_list(statement: &str, end: &str, keys: &mut Vec<SqlValue<'_>>) -> String {
    let length = LIST_LENGTHS.into_iter().find(|length| *length >= keys.len()).unwrap_or(keys.len());
    if let Some(last) = keys.last().copied() {
        keys.resize(length, last);
    }
    let mut statement = format!("{statement}(?1");
    for number in 2..=length {
        let _ = write!(statement, ", ?{number}");
    }
    statement.push(')');
    statement.push_str(end);
    statement
}

/// Reads a user from the first columns of a row.
pub(crate) fn read_user(row: &SqlRow<'_>) -> Result<User, StoreError> {
    let identities = row.get::<Option<String>>(11)?.unwrap_or_default();
    let identities = identities.lines().filter_map(|line| line.split_once(' '));
    Ok(User {
        id: row.get(0)?,
        username: row.get(1)?,
        display_name: row.get(2)?,
        avatar_url: row.get(3)?,
        language: row.get(4)?,
        location: row.get(5)?,
        timezone: row.get(6)?,
        metadata: row.get(7)?,
        edge_count: row.get(8)?,
        created_at: row.get(9)?,
        updated_at: row.get(10)?,
        identities: identities.map(|(provider, subject)| (provider.to_owned(), subject.to_owned())).collect(),
    })
}

fn read_account(row: &SqlRow<'_>) -> Result<Account, StoreError> {
    Ok(Account {
        user: read_user(row)?,
        wallet: row.get(12)?,
        email: row.get(13)?,
        custom_id: row.get(14)?,
        // An unknown role allows nothing.
        role: row.get::<String>(15)?.parse().unwrap_or_default(),
        verified_at: row.get(16)?,
        disabled_at: row.get(17)?,
        devices: row.get::<Option<String>>(18)?.unwrap_or_default().lines().map(str::to_owned).collect(),
    })
}
