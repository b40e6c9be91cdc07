//! Members of a group, and groups of a user.
//!
//! Members are public. Join requests and bans are shown to admins of the group and to server code, and a user sees their
//! own. Bans are listed only if they are asked for.

use super::limits::MEMBERS_LISTED_DEFAULT;
use super::list::check_limit;
use super::role::{Authority, GroupRole};
use super::rows::{self, Group, read_role};
use super::{Groups, NOT_FOUND};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlValue, StoreError, Transaction, values};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Role of a user in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Group.
    pub group: Group,
    /// Role of the user.
    pub role: GroupRole,
}

/// Page of the users of a group.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemberPage {
    /// Users with their roles: superadmins first, then by the time of joining.
    pub members: Vec<(Uuid, GroupRole)>,
    /// Cursor of the next page; empty if there is none.
    pub cursor: String,
}

/// Page of the groups of a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MembershipPage {
    /// Groups with the role of the user, in the order of the roles.
    pub memberships: Vec<Membership>,
    /// Cursor of the next page; empty if there is none.
    pub cursor: String,
}

/// Position in a list of members.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Position {
    role: i64,
    since: i64,
    id: Uuid,
}

/// Roles of a page.
#[derive(Clone, Copy)]
struct Roles {
    first: i64,
    last: i64,
}

impl Groups {
    /// Returns a page of the users of a group, as a user sees it, or server code. `role` selects one role.
    pub async fn members(
        &self,
        viewer: Option<Uuid>,
        group: Uuid,
        role: Option<GroupRole>,
        limit: Option<i64>,
        cursor: &str,
    ) -> Result<MemberPage, ServiceError> {
        let limit = check_limit(limit, MEMBERS_LISTED_DEFAULT)?;
        let after: Option<Position> = cursor::decode(cursor)?;
        let operation = move |transaction: &mut Transaction<'_>| {
            let authority = authority(transaction, viewer, group)?;
            let Some(roles) = Roles::shown(role, authority.sees_outsiders()) else { return Ok(MemberPage::default()) };
            let mut parameters = values![group, roles.first, roles.last].to_vec();
            let condition = match after {
                None => "",
                Some(Position { role, since, id }) => {
                    parameters.extend_from_slice(values![role, since, id]);
                    " AND (role, since, user_id) > (?4, ?5, ?6)"
                }
            };
            parameters.push(SqlValue::Integer(limit as i64 + 1));
            let select = format!(
                "SELECT role, since, user_id FROM group_members
                 WHERE group_key = ?1 AND role >= ?2 AND role <= ?3{condition}
                 ORDER BY role, since, user_id LIMIT ?{}",
                parameters.len()
            );
            let found = transaction.rows(&select, &parameters, |row| {
                let position = Position { role: row.get(0)?, since: row.get(1)?, id: row.get(2)? };
                Ok((position, read_role(0)(row)?))
            })?;
            let (found, cursor) = page(found, limit, |(position, _)| *position);
            let members = found.into_iter().map(|(position, role)| (position.id, role)).collect();
            Ok(MemberPage { members, cursor })
        };
        self.store.read(operation).await
    }

    /// Returns a page of the groups of a user, as a user sees it, or server code. `role` selects one role.
    pub async fn memberships(
        &self,
        viewer: Option<Uuid>,
        user: Uuid,
        role: Option<GroupRole>,
        limit: Option<i64>,
        cursor: &str,
    ) -> Result<MembershipPage, ServiceError> {
        let limit = check_limit(limit, MEMBERS_LISTED_DEFAULT)?;
        let after: Option<(i64, Uuid)> = cursor::decode(cursor)?;
        let sees_outsiders = viewer.is_none_or(|viewer| viewer == user);
        let Some(roles) = Roles::shown(role, sees_outsiders) else { return Ok(MembershipPage::default()) };
        let operation = move |transaction: &mut Transaction<'_>| {
            let mut parameters = values![user, roles.first, roles.last].to_vec();
            let condition = match after {
                None => "",
                Some((role, group)) => {
                    parameters.extend_from_slice(values![role, group]);
                    " AND (role, group_key) > (?4, ?5)"
                }
            };
            parameters.push(SqlValue::Integer(limit as i64 + 1));
            let select = format!(
                "SELECT role, group_key FROM group_members WHERE user_id = ?1 AND role >= ?2 AND role <= ?3{condition}
                 ORDER BY role, group_key LIMIT ?{}",
                parameters.len()
            );
            let found = transaction.rows(&select, &parameters, |row| Ok((read_role(0)(row)?, row.get::<Uuid>(1)?)))?;
            let (found, cursor) = page(found, limit, |(role, group)| (role.number(), *group));
            let ids: Vec<Uuid> = found.iter().map(|(_, group)| *group).collect();
            let groups = rows::by_ids(transaction, &ids)?.into_iter();
            let role_of = |group: &Group| found.iter().find(|(_, id)| *id == group.id).map(|(role, _)| *role);
            let memberships = groups.filter_map(|group| Some(Membership { role: role_of(&group)?, group })).collect();
            Ok::<_, StoreError>(MembershipPage { memberships, cursor })
        };
        Ok(self.store.read(operation).await?)
    }
}

impl Roles {
    /// Returns the roles that are shown; none if there are none.
    fn shown(wanted: Option<GroupRole>, sees_outsiders: bool) -> Option<Roles> {
        let role = |role: GroupRole| role.number();
        match (wanted, sees_outsiders) {
            (None, true) => Some(Roles { first: 0, last: role(GroupRole::JoinRequest) }),
            (None, false) => Some(Roles { first: 0, last: role(GroupRole::Member) }),
            (Some(wanted), _) if sees_outsiders || wanted.is_member() => {
                Some(Roles { first: role(wanted), last: role(wanted) })
            }
            (Some(_), _) => None,
        }
    }
}

/// Returns the rights of a viewer, if the group exists.
fn authority(transaction: &mut Transaction<'_>, viewer: Option<Uuid>, group: Uuid) -> Result<Authority, ServiceError> {
    let exists = transaction.row("SELECT 1 FROM groups WHERE id = ?1", values![group], |_| Ok(()))?;
    exists.ok_or(NOT_FOUND)?;
    Ok(match viewer {
        None => Authority::Server,
        Some(viewer) => Authority::User(rows::member_role(transaction, group, viewer)?),
    })
}

/// Cuts rows to a page. Returns the cursor of the next one, if there is a row more.
fn page<T, P: Serialize>(mut found: Vec<T>, limit: usize, position: impl Fn(&T) -> P) -> (Vec<T>, String) {
    let has_more = found.len() > limit;
    found.truncate(limit);
    let last = found.last().filter(|_| has_more);
    let cursor = last.map_or_else(String::new, |last| cursor::encode(&position(last)));
    (found, cursor)
}
