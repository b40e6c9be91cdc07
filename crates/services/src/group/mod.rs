//! Groups: users with roles, who find the group by name, language and tags, and share a chat.
//!
//! A group is open, or closed: then joining is a request that an admin accepts by adding the user. Roles change by the
//! rules of [`RoleChange`]; a group always has a superadmin. Every change is one transaction that locks the users that it
//! names, in the order of their ids, and then the group, so that counts are exact and nobody leaves as the last
//! superadmin. System messages of the group's chat and notifications are stored in the same transaction, and delivered
//! after it.
//!
//! Server code calls the functions with `by` as `None`, and may then do everything.

mod change;
mod erase;
mod fields;
pub mod limits;
mod list;
mod list_members;
mod members;
mod role;
mod rows;
pub(crate) mod serve;

pub(crate) use erase::forget_user;
pub use list::{GroupFilter, GroupPage};
pub use list_members::{MemberPage, Membership, MembershipPage};
pub use role::{Authority, GroupRole, RoleChange};
pub use rows::{Group, member_role};

use crate::chat::{self, Channel};
use crate::clock::{WallClock, new_id};
use crate::error::{GrpcCode, ServiceError};
use crate::notification::Notifications;
use crate::router::{Router, StreamId, mode};
use aether_store::{Store, Transaction, values};
use change::Change;
use fields::{CheckedGroup, CheckedUpdate};
use std::sync::Arc;
use uuid::Uuid;

const NOT_FOUND: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "Group not found. It may have been deleted; list groups to find others.");
const USER_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "User not found.");
const NAME_TAKEN: ServiceError = ServiceError::new(
    GrpcCode::AlreadyExists,
    "Group name is in use, or looks like the name of another group. Choose another name.",
);
const SERVER_ONLY: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "Only server code may change the metadata, the maximum size and the creator of a group.",
);

/// Group to create.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewGroup {
    /// Name, unique.
    pub name: String,
    /// Description, which may have several lines.
    pub description: String,
    /// URL of a picture.
    pub avatar_url: String,
    /// Language tag, such as `en`.
    pub language: String,
    /// Metadata of the game: a JSON object. `None` for an empty one. For server code only.
    pub metadata: Option<String>,
    /// True if users join without a request.
    pub is_open: bool,
    /// Maximum number of members. `None` for [`limits::MEMBERS_DEFAULT`].
    pub max_count: Option<u32>,
    /// Words that the group is found by.
    pub tags: Vec<String>,
}

/// Changes to a group. `None` keeps a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupUpdate {
    /// Name, unique.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// URL of a picture.
    pub avatar_url: Option<String>,
    /// Language tag.
    pub language: Option<String>,
    /// True if users join without a request.
    pub is_open: Option<bool>,
    /// Tags, which replace the former ones.
    pub tags: Option<Vec<String>>,
    /// Metadata: a JSON object. For server code only.
    pub metadata: Option<String>,
    /// Maximum number of members. For server code only.
    pub max_count: Option<u32>,
    /// User who counts as the creator. For server code only.
    pub creator: Option<Uuid>,
}

/// Groups of a server.
pub struct Groups {
    store: Store,
    clock: Arc<dyn WallClock>,
    router: Arc<Router>,
    notifications: Arc<Notifications>,
}

impl Groups {
    /// Creates the service over a store.
    #[must_use]
    pub fn new(
        store: Store,
        clock: Arc<dyn WallClock>,
        router: Arc<Router>,
        notifications: Arc<Notifications>,
    ) -> Groups {
        Groups { store, clock, router, notifications }
    }

    /// Creates a group. The user is its creator and first superadmin.
    pub async fn create(&self, user: Uuid, new: NewGroup) -> Result<Group, ServiceError> {
        self.create_for(user, user, new).await
    }

    /// Creates a group for a user, who is its first superadmin. The creator may be another user, or the nil id for the
    /// server.
    pub async fn create_for(&self, user: Uuid, creator: Uuid, new: NewGroup) -> Result<Group, ServiceError> {
        let new = new.check()?;
        let now_ms = self.clock.now_ms();
        let id = new_id(now_ms);
        let operation = move |transaction: &mut Transaction<'_>| {
            change::lock_users(transaction, &[user])?;
            change::check_quota(transaction, user)?;
            insert(transaction, (id, creator), &new, now_ms)?;
            rows::write_role(transaction, id, user, GroupRole::Superadmin, now_ms)?;
            rows::find(transaction, id)?.ok_or(NOT_FOUND)
        };
        self.store.write(operation).await.map_err(name_taken)
    }

    /// Changes a group, on behalf of an admin, or of the server.
    pub async fn update(&self, by: Option<Uuid>, group: Uuid, update: GroupUpdate) -> Result<(), ServiceError> {
        if by.is_some() && (update.metadata.is_some() || update.max_count.is_some() || update.creator.is_some()) {
            return Err(SERVER_ONLY);
        }
        let (update, now_ms) = (update.check()?, self.clock.now_ms());
        let operation = move |transaction: &mut Transaction<'_>| {
            let change = Change::begin(transaction, group, by, now_ms)?;
            change.authority.check_admin()?;
            if update.max_count.is_some_and(|max_count| max_count < change.group.edge_count) {
                let why = "The group has more members than this maximum. Kick members first, or allow more.";
                return Err(ServiceError::new(GrpcCode::FailedPrecondition, why));
            }
            write_update(transaction, group, &update, now_ms)
        };
        self.store.write(operation).await.map_err(name_taken)
    }

    /// Deletes a group with its members and its chat, on behalf of a superadmin, or of the server. A long chat is deleted in
    /// several operations: if one of them fails, the group is still there, without its oldest messages.
    pub async fn delete(&self, by: Option<Uuid>, group: Uuid) -> Result<(), ServiceError> {
        let now_ms = self.clock.now_ms();
        for _ in 0..limits::DELETIONS_MAX {
            let operation = move |transaction: &mut Transaction<'_>| {
                Change::begin(transaction, group, by, now_ms)?.authority.check_superadmin()?;
                let channel = Channel::group(group);
                Ok::<_, ServiceError>(chat::delete_oldest(transaction, &channel, limits::MESSAGES_DELETED_MAX)?)
            };
            if !self.store.write(operation).await? {
                break;
            }
        }
        let operation = move |transaction: &mut Transaction<'_>| {
            Change::begin(transaction, group, by, now_ms)?.authority.check_superadmin()?;
            rows::delete(transaction, group)?;
            Ok::<_, ServiceError>(())
        };
        self.store.write(operation).await?;
        self.router.close_stream(&stream(group));
        Ok(())
    }

    /// Returns groups by id, in the order of the ids. Missing ones are omitted.
    pub async fn by_ids(&self, ids: Vec<Uuid>) -> Result<Vec<Group>, ServiceError> {
        if ids.len() > limits::GROUPS_PER_CALL_MAX {
            let most = limits::GROUPS_PER_CALL_MAX;
            return Err(ServiceError::invalid(format!("At most {most} groups can be requested at once.")));
        }
        Ok(self.store.read(move |transaction| rows::by_ids(transaction, &ids)).await?)
    }

    /// Returns up to `count` groups in a random order. All groups have the same chance if there are at most
    /// [`limits::EXAMINED_MAX`]; with more, groups that were created at about the same time come together.
    pub async fn random(&self, count: usize) -> Result<Vec<Group>, ServiceError> {
        if count > limits::GROUPS_PER_CALL_MAX {
            let most = limits::GROUPS_PER_CALL_MAX;
            return Err(ServiceError::invalid(format!("At most {most} groups can be requested at once.")));
        }
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut ids = rows::random_window(transaction, limits::EXAMINED_MAX)?;
            ids.sort_by_cached_key(|_| Uuid::new_v4());
            ids.truncate(count);
            rows::by_ids(transaction, &ids)
        };
        Ok(self.store.read(operation).await?)
    }
}

/// Stream of the members who are in the group's chat.
pub(crate) fn stream(group: Uuid) -> StreamId {
    StreamId { mode: mode::GROUP, subject: group, ..StreamId::default() }
}

/// Converts a duplicate error to the message for a taken name.
fn name_taken(error: ServiceError) -> ServiceError {
    if error.code == GrpcCode::AlreadyExists { NAME_TAKEN } else { error }
}

fn insert(
    transaction: &mut Transaction<'_>,
    (id, creator): (Uuid, Uuid),
    new: &CheckedGroup,
    now_ms: i64,
) -> Result<(), ServiceError> {
    let name = &new.name;
    transaction.execute(
        "INSERT INTO groups (id, creator, name, name_key, name_skeleton, name_folded, description, avatar_url, lang_tag,
            metadata, open, edge_count, max_count, created_at, updated_at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 1, ?12, ?13, ?13)",
        values![
            id,
            creator,
            &name.name,
            &name.key,
            &name.keys.skeleton,
            &name.keys.folded,
            &new.description,
            &new.avatar_url,
            &new.language,
            &new.metadata,
            new.is_open,
            new.max_count,
            now_ms
        ],
    )?;
    rows::write_tags(transaction, id, &new.tags)?;
    Ok(())
}

fn write_update(
    transaction: &mut Transaction<'_>,
    group: Uuid,
    checked: &CheckedUpdate,
    now_ms: i64,
) -> Result<(), ServiceError> {
    let CheckedUpdate { name, tags, max_count, update } = checked;
    transaction.execute(
        "UPDATE groups SET name = coalesce(?2, name), name_key = coalesce(?3, name_key),
            name_skeleton = coalesce(?4, name_skeleton), name_folded = coalesce(?5, name_folded),
            description = coalesce(?6, description), avatar_url = coalesce(?7, avatar_url),
            lang_tag = coalesce(?8, lang_tag), metadata = coalesce(?9, metadata), open = coalesce(?10, open),
            max_count = coalesce(?11, max_count), updated_at = ?12, creator = coalesce(?13, creator)
         WHERE id = ?1",
        values![
            group,
            name.as_ref().map(|name| &name.name),
            name.as_ref().map(|name| &name.key),
            name.as_ref().map(|name| &name.keys.skeleton),
            name.as_ref().map(|name| &name.keys.folded),
            &update.description,
            &update.avatar_url,
            &update.language,
            &update.metadata,
            update.is_open,
            *max_count,
            now_ms,
            update.creator
        ],
    )?;
    if let Some(tags) = tags {
        transaction.execute("DELETE FROM group_tags WHERE group_key = ?1", values![group])?;
        rows::write_tags(transaction, group, tags)?;
    }
    Ok(())
}
