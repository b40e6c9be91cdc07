//! Handlers of the group operations.
//!
//! Server code acts with all rights, or on behalf of the account that it names.

use super::limits::{GROUPS_LISTED_DEFAULT, LISTED_MAX, MEMBERS_LISTED_DEFAULT, METADATA_BYTES_MAX};
use super::{Group, GroupFilter, GroupRole, GroupUpdate, Membership, NewGroup, RoleChange};
use crate::ServiceError;
use crate::account::serve::user as user_message;
use crate::caller::Caller;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use crate::error::TOKEN_REQUIRED;
use aether_messages::api::group_user_list::GroupUser;
use aether_messages::api::user_group_list::UserGroup;
use aether_messages::api::{
    AddGroupUsersRequest, BanGroupUsersRequest, CreateGroupRequest, DeleteGroupRequest, DemoteGroupUsersRequest,
    Group as GroupMessage, GroupList, GroupUserList, JoinGroupRequest, KickGroupUsersRequest, LeaveGroupRequest,
    ListGroupUsersRequest, ListGroupsRequest, ListUserGroupsRequest, PromoteGroupUsersRequest, UpdateGroupRequest,
    UserGroupList,
};
use aether_messages::operation::{
    AddGroupUsers, BanGroupUsers, CreateGroup, DeleteGroup, DemoteGroupUsers, JoinGroup, KickGroupUsers, LeaveGroup,
    ListGroupUsers, ListGroups, ListUserGroups, PromoteGroupUsers, UpdateGroup,
};
use aether_messages::{Empty, timestamp};
use std::collections::HashMap;
use uuid::Uuid;

/// Usual bytes of a group or a user in an answer. Metadata is set by server code alone, and is usually short.
const ENTRY_BYTES: usize = METADATA_BYTES_MAX / 4;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListGroups>()
        .with::<CreateGroup>()
        .with::<UpdateGroup>()
        .with::<DeleteGroup>()
        .with::<ListGroupUsers>()
        .with::<ListUserGroups>()
        .with::<JoinGroup>()
        .with::<LeaveGroup>()
        .with::<AddGroupUsers>()
        .with::<KickGroupUsers>()
        .with::<BanGroupUsers>()
        .with::<PromoteGroupUsers>()
        .with::<DemoteGroupUsers>()
}

impl Serve for ListGroups {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListGroupsRequest) -> u32 {
        listed_blocks(request.limit, GROUPS_LISTED_DEFAULT)
    }

    async fn serve(call: &Call<'_>, request: ListGroupsRequest) -> Result<GroupList, ServiceError> {
        let filter = GroupFilter {
            name: request.name,
            language: request.lang_tag,
            members: request.members.map(i64::from),
            is_open: request.open,
            tags: request.tags,
            limit: request.limit.map(i64::from),
            cursor: request.cursor,
        };
        let page = call.services.groups.list(&filter).await?;
        Ok(GroupList { groups: page.groups.into_iter().map(group_message).collect(), cursor: page.cursor })
    }
}

impl Serve for CreateGroup {
    async fn serve(call: &Call<'_>, request: CreateGroupRequest) -> Result<GroupMessage, ServiceError> {
        let max_count = u32::try_from(request.max_count)
            .map_err(|_| ServiceError::invalid("Group max count must be 1 or more, or 0 for the default."))?;
        let new = NewGroup {
            name: request.name,
            description: request.description,
            avatar_url: request.avatar_url,
            language: request.lang_tag,
            metadata: None,
            is_open: request.open,
            max_count: Some(max_count).filter(|count| *count > 0),
            tags: request.tags,
        };
        call.services.groups.create(call.owner()?, new).await.map(group_message)
    }
}

impl Serve for UpdateGroup {
    async fn serve(call: &Call<'_>, request: UpdateGroupRequest) -> Result<Empty, ServiceError> {
        if request.clear_tags && !request.tags.is_empty() {
            return Err(ServiceError::invalid("Send either tags or clear_tags."));
        }
        let update = GroupUpdate {
            name: request.name,
            description: request.description,
            avatar_url: request.avatar_url,
            language: request.lang_tag,
            is_open: request.open,
            tags: (request.clear_tags || !request.tags.is_empty()).then_some(request.tags),
            metadata: None,
            max_count: None,
            creator: None,
        };
        call.services.groups.update(by(call)?, group_id(&request.group_id)?, update).await?;
        Ok(Empty::default())
    }
}

impl Serve for DeleteGroup {
    async fn serve(call: &Call<'_>, request: DeleteGroupRequest) -> Result<Empty, ServiceError> {
        call.services.groups.delete(by(call)?, group_id(&request.group_id)?).await?;
        Ok(Empty::default())
    }
}

impl Serve for ListGroupUsers {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListGroupUsersRequest) -> u32 {
        listed_blocks(request.limit, MEMBERS_LISTED_DEFAULT)
    }

    async fn serve(call: &Call<'_>, request: ListGroupUsersRequest) -> Result<GroupUserList, ServiceError> {
        let ListGroupUsersRequest { group_id: group, limit, state, cursor } = request;
        let (group, role) = (group_id(&group)?, role(state)?);
        let page = call.services.groups.members(by(call)?, group, role, limit.map(i64::from), &cursor).await?;
        let ids = page.members.iter().map(|(user, _)| *user).collect();
        let users = call.services.accounts.users(ids, Vec::new(), Vec::new()).await?;
        let mut users: HashMap<Uuid, _> = users.into_iter().map(|user| (user.id, user)).collect();
        // An account that was erased in the meantime is left out.
        let group_users = page.members.into_iter().filter_map(|(user, role)| {
            let user = users.remove(&user)?;
            Some(GroupUser { user: Some(user_message(call, user)), state: Some(state_of(role)) })
        });
        Ok(GroupUserList { group_users: group_users.collect(), cursor: page.cursor })
    }
}

impl Serve for ListUserGroups {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListUserGroupsRequest) -> u32 {
        listed_blocks(unswapped(request.limit, request.state).0, MEMBERS_LISTED_DEFAULT)
    }

    async fn serve(call: &Call<'_>, request: ListUserGroupsRequest) -> Result<UserGroupList, ServiceError> {
        let user = user_id(&request.user_id)?;
        let (limit, state) = unswapped(request.limit, request.state);
        let (role, limit) = (role(state)?, limit.map(i64::from));
        let page = call.services.groups.memberships(by(call)?, user, role, limit, &request.cursor).await?;
        let user_groups = page.memberships.into_iter().map(|Membership { group, role }| UserGroup {
            group: Some(group_message(group)),
            state: Some(state_of(role)),
        });
        Ok(UserGroupList { user_groups: user_groups.collect(), cursor: page.cursor })
    }
}

impl Serve for JoinGroup {
    async fn serve(call: &Call<'_>, request: JoinGroupRequest) -> Result<Empty, ServiceError> {
        call.services.groups.join(group_id(&request.group_id)?, call.owner()?).await?;
        Ok(Empty::default())
    }
}

impl Serve for LeaveGroup {
    async fn serve(call: &Call<'_>, request: LeaveGroupRequest) -> Result<Empty, ServiceError> {
        call.services.groups.leave(group_id(&request.group_id)?, call.owner()?).await?;
        Ok(Empty::default())
    }
}

impl Serve for AddGroupUsers {
    async fn serve(call: &Call<'_>, request: AddGroupUsersRequest) -> Result<Empty, ServiceError> {
        let (group, users) = (group_id(&request.group_id)?, user_ids(&request.user_ids)?);
        call.services.groups.add(by(call)?, group, users).await?;
        Ok(Empty::default())
    }
}

impl Serve for KickGroupUsers {
    async fn serve(call: &Call<'_>, request: KickGroupUsersRequest) -> Result<Empty, ServiceError> {
        change_roles(call, RoleChange::Kick, &request.group_id, &request.user_ids).await
    }
}

impl Serve for BanGroupUsers {
    async fn serve(call: &Call<'_>, request: BanGroupUsersRequest) -> Result<Empty, ServiceError> {
        change_roles(call, RoleChange::Ban, &request.group_id, &request.user_ids).await
    }
}

impl Serve for PromoteGroupUsers {
    async fn serve(call: &Call<'_>, request: PromoteGroupUsersRequest) -> Result<Empty, ServiceError> {
        change_roles(call, RoleChange::Promote, &request.group_id, &request.user_ids).await
    }
}

impl Serve for DemoteGroupUsers {
    async fn serve(call: &Call<'_>, request: DemoteGroupUsersRequest) -> Result<Empty, ServiceError> {
        change_roles(call, RoleChange::Demote, &request.group_id, &request.user_ids).await
    }
}

async fn change_roles(
    call: &Call<'_>,
    change: RoleChange,
    group: &str,
    users: &[String],
) -> Result<Empty, ServiceError> {
    let (group, users) = (group_id(group)?, user_ids(users)?);
    call.services.groups.change_roles(by(call)?, group, change, users).await?;
    Ok(Empty::default())
}

/// Returns the user on whose behalf the call acts; none for server code with all rights.
fn by(call: &Call<'_>) -> Result<Option<Uuid>, ServiceError> {
    match call.caller() {
        Caller::User(identity) => Ok(Some(identity.user)),
        Caller::Server => Ok(call.context.account),
        Caller::Anonymous => Err(TOKEN_REQUIRED),
    }
}

fn group_id(text: &str) -> Result<Uuid, ServiceError> {
    Uuid::try_parse(text).map_err(|_| ServiceError::invalid("Group ID must be a UUID."))
}

fn user_id(text: &str) -> Result<Uuid, ServiceError> {
    Uuid::try_parse(text).map_err(|_| ServiceError::invalid("A user's ID must be a UUID."))
}

fn user_ids(texts: &[String]) -> Result<Vec<Uuid>, ServiceError> {
    if texts.is_empty() {
        return Err(ServiceError::invalid("At least one user ID is required."));
    }
    texts.iter().map(|text| user_id(text)).collect()
}

/// Returns the role of a filter.
fn role(state: Option<i32>) -> Result<Option<GroupRole>, ServiceError> {
    let role = |number: i32| GroupRole::from_number(number.into());
    state.map(|number| role(number).ok_or_else(|| ServiceError::invalid("State must be from 0 to 4."))).transpose()
}

fn state_of(role: GroupRole) -> i32 {
    role as i32
}

/// Returns limit and state of a list of a user's groups. nakama-js sends each in the place of the other, so values that
/// are not valid as they are and valid the other way round are exchanged.
fn unswapped(limit: Option<i32>, state: Option<i32>) -> (Option<i32>, Option<i32>) {
    let is_valid = |limit: Option<i32>, state: Option<i32>| {
        let is_limit = limit.is_none_or(|limit| (1..=LISTED_MAX as i32).contains(&limit));
        is_limit && state.is_none_or(|state| (0..=4).contains(&state))
    };
    if !is_valid(limit, state) && is_valid(state, limit) { (state, limit) } else { (limit, state) }
}

fn listed_blocks(limit: Option<i32>, default: usize) -> u32 {
    let listed = limit.map_or(default, |limit| usize::try_from(limit).unwrap_or(0));
    answer_blocks(listed.min(LISTED_MAX), ENTRY_BYTES)
}

fn group_message(group: Group) -> GroupMessage {
    let number = |count: i64| i32::try_from(count).unwrap_or(i32::MAX);
    GroupMessage {
        id: group.id.to_string(),
        creator_id: if group.creator.is_nil() { String::new() } else { group.creator.to_string() },
        name: group.name,
        description: group.description,
        lang_tag: group.language,
        metadata: group.metadata,
        avatar_url: group.avatar_url,
        open: Some(group.is_open),
        edge_count: number(group.edge_count),
        max_count: number(group.max_count),
        create_time: Some(timestamp(group.created_at_ms)),
        update_time: Some(timestamp(group.updated_at_ms)),
        tags: group.tags,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_and_state_are_exchanged_only_if_they_are_invalid_as_they_are() {
        for (given, expected) in [
            // As the protocol has it.
            ((None, None), (None, None)),
            ((Some(10), Some(2)), (Some(10), Some(2))),
            ((Some(2), Some(4)), (Some(2), Some(4))),
            // As nakama-js sends it.
            ((Some(2), Some(10)), (Some(10), Some(2))),
            ((Some(0), Some(100)), (Some(100), Some(0))),
            ((Some(0), Some(2)), (Some(2), Some(0))),
            ((None, Some(10)), (Some(10), None)),
            ((Some(0), None), (None, Some(0))),
            // Invalid either way.
            ((Some(200), Some(300)), (Some(200), Some(300))),
            ((Some(-1), Some(2)), (Some(-1), Some(2))),
        ] {
            assert_eq!(unswapped(given.0, given.1), expected, "{given:?}");
        }
    }
}
