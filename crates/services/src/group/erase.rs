//! Groups of an account that is erased.

use super::role::GroupRole;
use super::rows;
use aether_store::{StoreError, Transaction, values};
use uuid::Uuid;

/// Removes a user from all groups, within the transaction that erases the account. A group whose last superadmin the user
/// was gets the admin who has served longest as superadmin, or else the member; a group without members is deleted.
pub(crate) fn forget_user(transaction: &mut Transaction<'_>, user: Uuid, now_ms: i64) -> Result<(), StoreError> {
    // In the order of the ids, so that two erasures do not wait for each other.
    let select = "SELECT group_key FROM group_members WHERE user_id = ?1 ORDER BY group_key";
    let groups = transaction.rows(select, values![user], |row| row.get::<Uuid>(0))?;
    for group in groups {
        forget_in(transaction, group, user, now_ms)?;
    }
    transaction.execute("UPDATE groups SET creator = ?2 WHERE creator = ?1", values![user, Uuid::nil()])?;
    Ok(())
}

fn forget_in(transaction: &mut Transaction<'_>, group: Uuid, user: Uuid, now_ms: i64) -> Result<(), StoreError> {
    let lock = format!("SELECT edge_count FROM groups WHERE id = ?1{}", transaction.for_update());
    let Some(edge_count) = transaction.row(&lock, values![group], |row| row.get::<i64>(0))? else { return Ok(()) };
    // Read after the lock: the role may have changed.
    let role = rows::member_role(transaction, group, user)?;
    rows::delete_role(transaction, group, user)?;
    if !role.is_some_and(GroupRole::is_member) {
        return Ok(());
    }
    if edge_count <= 1 {
        return rows::delete(transaction, group);
    }
    rows::write_count(transaction, group, edge_count - 1, now_ms)?;
    if role == Some(GroupRole::Superadmin) && rows::count_role(transaction, group, GroupRole::Superadmin)? == 0 {
        promote_longest_serving(transaction, group)?;
    }
    Ok(())
}

fn promote_longest_serving(transaction: &mut Transaction<'_>, group: Uuid) -> Result<(), StoreError> {
    let select = "SELECT user_id FROM group_members WHERE group_key = ?1 AND role <= 2
        ORDER BY role, since, user_id LIMIT 1";
    if let Some(successor) = transaction.row(select, values![group], |row| row.get::<Uuid>(0))? {
        rows::change_role(transaction, group, successor, GroupRole::Superadmin)?;
    }
    Ok(())
}
