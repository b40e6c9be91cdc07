//! Groups: search, changes, members and their roles.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{
    AddGroupUsers, BanGroupUsers, CreateGroup, DeleteGroup, DemoteGroupUsers, JoinGroup, KickGroupUsers, LeaveGroup,
    ListGroupUsers, ListGroups, ListUserGroups, PromoteGroupUsers, UpdateGroup,
};
use http::Method;

const GROUP: &str = "/v2/group/{group_id}";

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<ListGroups>(Method::GET, "/v2/group")
        .body::<CreateGroup>(Method::POST, "/v2/group")
        .address::<DeleteGroup>(Method::DELETE, GROUP)
        .body_and_path::<UpdateGroup>(Method::PUT, GROUP, |request, path| request.group_id = path.group_id)
        .address::<AddGroupUsers>(Method::POST, "/v2/group/{group_id}/add")
        .address::<BanGroupUsers>(Method::POST, "/v2/group/{group_id}/ban")
        .address::<DemoteGroupUsers>(Method::POST, "/v2/group/{group_id}/demote")
        .address::<JoinGroup>(Method::POST, "/v2/group/{group_id}/join")
        .address::<KickGroupUsers>(Method::POST, "/v2/group/{group_id}/kick")
        .address::<LeaveGroup>(Method::POST, "/v2/group/{group_id}/leave")
        .address::<PromoteGroupUsers>(Method::POST, "/v2/group/{group_id}/promote")
        .address::<ListGroupUsers>(Method::GET, "/v2/group/{group_id}/user")
        .address::<ListUserGroups>(Method::GET, "/v2/user/{user_id}/group")
}
