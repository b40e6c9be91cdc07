//! Rows of groups and their members.

use super::role::GroupRole;
use crate::account::with_list;
use crate::chat::{self, Channel};
use aether_store::{SqlRow, SqlValue, StoreError, Transaction, values};
use std::collections::HashMap;
use uuid::Uuid;

/// Public data of a group. Times are in milliseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Id.
    pub id: Uuid,
    /// User who created the group; nil if that account was erased.
    pub creator: Uuid,
    /// Name, unique.
    pub name: String,
    /// Description.
    pub description: String,
    /// URL of a picture.
    pub avatar_url: String,
    /// Language tag.
    pub language: String,
    /// Metadata of the game: a JSON object.
    pub metadata: String,
    /// True if users join without a request.
    pub is_open: bool,
    /// Number of members, without join requests and bans.
    pub edge_count: i64,
    /// Maximum number of members.
    pub max_count: i64,
    /// Words that the group is found by, sorted.
    pub tags: Vec<String>,
    /// Creation time.
    pub created_at_ms: i64,
    /// Time of the last change of the group or of the number of its members.
    pub updated_at_ms: i64,
}

/// Columns of a [`Group`]. Tags contain no line breaks, so these separate them.
const COLUMNS: &str = "g.id, g.creator, g.name, g.description, g.avatar_url, g.lang_tag, g.metadata, g.open,
    g.edge_count, g.max_count, g.created_at, g.updated_at,
    (SELECT string_agg(t.tag, '\n') FROM group_tags t WHERE t.group_key = g.id)";

/// Returns the role of a user in a group; none if the user has no role there or the group does not exist. A join request
/// and a ban are roles too: see [`GroupRole::is_member`].
pub fn member_role(
    transaction: &mut Transaction<'_>,
    group: Uuid,
    user: Uuid,
) -> Result<Option<GroupRole>, StoreError> {
    let select = "SELECT role FROM group_members WHERE group_key = ?1 AND user_id = ?2";
    transaction.row(select, values![group, user], read_role(0))
}

/// Returns a function that reads a role from a column.
pub(super) fn read_role(column: usize) -> impl Fn(&SqlRow<'_>) -> Result<GroupRole, StoreError> {
    move |row| {
        let number = row.get(column)?;
        GroupRole::from_number(number).ok_or_else(|| StoreError::Failed(format!("{number} is no role of a group")))
    }
}

/// Returns a group.
pub(super) fn find(transaction: &mut Transaction<'_>, group: Uuid) -> Result<Option<Group>, StoreError> {
    Ok(by_ids(transaction, &[group])?.pop())
}

/// Returns groups in the order of the ids. Missing ones are omitted.
pub(super) fn by_ids(transaction: &mut Transaction<'_>, ids: &[Uuid]) -> Result<Vec<Group>, StoreError> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut keys: Vec<SqlValue<'_>> = ids.iter().map(SqlValue::from).collect();
    let select = with_list(&format!("SELECT {COLUMNS} FROM groups g WHERE g.id IN "), "", &mut keys);
    let mut found: HashMap<Uuid, Group> = HashMap::new();
    transaction.for_each_row(&select, &keys, |row| {
        let group = read(row)?;
        found.insert(group.id, group);
        Ok(())
    })?;
    Ok(ids.iter().filter_map(|id| found.remove(id)).collect())
}

/// Returns the ids of up to `count` groups that follow each other in the order of the ids, from a random one on. After the
/// last one, it continues with the first.
pub(super) fn random_window(transaction: &mut Transaction<'_>, count: usize) -> Result<Vec<Uuid>, StoreError> {
    let ends = ["ASC", "DESC"].map(|order| format!("SELECT id FROM groups ORDER BY id {order} LIMIT 1"));
    let mut found = Vec::new();
    for end in &ends {
        found.extend(transaction.row(end, &[], |row| row.get::<Uuid>(0))?);
    }
    let [first, last] = found.as_slice() else { return Ok(Vec::new()) };
    let span = last.as_u128() - first.as_u128();
    // The lower bits of a random id are random.
    let random = (Uuid::new_v4().as_u128() << 64) | u128::from(Uuid::new_v4().as_u64_pair().1);
    let start = Uuid::from_u128(first.as_u128() + if span == u128::MAX { random } else { random % (span + 1) });
    let mut ids = Vec::new();
    for condition in [">=", "<"] {
        let select = format!("SELECT id FROM groups WHERE id {condition} ?1 ORDER BY id LIMIT ?2");
        let rest = (count - ids.len()) as i64;
        ids.extend(transaction.rows(&select, values![start, rest], |row| row.get::<Uuid>(0))?);
    }
    Ok(ids)
}

/// Gives a user a role, from a time on.
pub(super) fn write_role(
    transaction: &mut Transaction<'_>,
    group: Uuid,
    user: Uuid,
    role: GroupRole,
    since_ms: i64,
) -> Result<(), StoreError> {
    transaction.execute(
        "INSERT INTO group_members (group_key, user_id, role, since) VALUES (?1, ?2, ?3, ?4)
         ON CONFLICT (group_key, user_id) DO UPDATE SET role = excluded.role, since = excluded.since",
        values![group, user, role.number(), since_ms],
    )?;
    Ok(())
}

/// Changes the role of a user who stays a member.
pub(super) fn change_role(
    transaction: &mut Transaction<'_>,
    group: Uuid,
    user: Uuid,
    role: GroupRole,
) -> Result<(), StoreError> {
    let update = "UPDATE group_members SET role = ?3 WHERE group_key = ?1 AND user_id = ?2";
    transaction.execute(update, values![group, user, role.number()])?;
    Ok(())
}

/// Takes the role of a user away.
pub(super) fn delete_role(transaction: &mut Transaction<'_>, group: Uuid, user: Uuid) -> Result<(), StoreError> {
    let delete = "DELETE FROM group_members WHERE group_key = ?1 AND user_id = ?2";
    transaction.execute(delete, values![group, user])?;
    Ok(())
}

/// Returns the number of users with a role.
pub(super) fn count_role(transaction: &mut Transaction<'_>, group: Uuid, role: GroupRole) -> Result<i64, StoreError> {
    let select = "SELECT count(*) FROM group_members WHERE group_key = ?1 AND role = ?2";
    Ok(transaction.row(select, values![group, role.number()], |row| row.get(0))?.unwrap_or(0))
}

/// Stores the number of members.
pub(super) fn write_count(
    transaction: &mut Transaction<'_>,
    group: Uuid,
    edge_count: i64,
    now_ms: i64,
) -> Result<(), StoreError> {
    let update = "UPDATE groups SET edge_count = ?2, updated_at = ?3 WHERE id = ?1";
    transaction.execute(update, values![group, edge_count, now_ms])?;
    Ok(())
}

/// Adds tags to a group that has none.
pub(super) fn write_tags(transaction: &mut Transaction<'_>, group: Uuid, tags: &[String]) -> Result<(), StoreError> {
    for tag in tags {
        transaction.execute("INSERT INTO group_tags (group_key, tag) VALUES (?1, ?2)", values![group, tag])?;
    }
    Ok(())
}

/// Deletes a group and its chat. The database deletes members and tags with it.
pub(super) fn delete(transaction: &mut Transaction<'_>, group: Uuid) -> Result<(), StoreError> {
    chat::delete_channel(transaction, &Channel::group(group))?;
    transaction.execute("DELETE FROM groups WHERE id = ?1", values![group])?;
    Ok(())
}

fn read(row: &SqlRow<'_>) -> Result<Group, StoreError> {
    let mut tags: Vec<String> = row.get::<Option<String>>(12)?.unwrap_or_default().lines().map(str::to_owned).collect();
    tags.sort();
    Ok(Group {
        id: row.get(0)?,
        creator: row.get(1)?,
        name: row.get(2)?,
        description: row.get(3)?,
        avatar_url: row.get(4)?,
        language: row.get(5)?,
        metadata: row.get(6)?,
        is_open: row.get(7)?,
        edge_count: row.get(8)?,
        max_count: row.get(9)?,
        tags,
        created_at_ms: row.get(10)?,
        updated_at_ms: row.get(11)?,
    })
}
