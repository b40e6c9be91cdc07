//! Friends: inviting, deleting, blocking, listing and importing them.

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::api::{AccountFacebook, AccountSteam};
use aether_messages::operation::{
    AddFriends, BlockFriends, DeleteFriends, ImportFacebookFriends, ImportSteamFriends, ListFriends,
    ListFriendsOfFriends,
};
use http::Method;

const FRIEND: &str = "/v2/friend";

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<AddFriends>(Method::POST, FRIEND)
        .address::<DeleteFriends>(Method::DELETE, FRIEND)
        .address::<ListFriends>(Method::GET, FRIEND)
        .address::<BlockFriends>(Method::POST, "/v2/friend/block")
        .address::<ListFriendsOfFriends>(Method::GET, "/v2/friend/friends")
        .field::<ImportFacebookFriends, Option<AccountFacebook>>(
            Method::POST,
            "/v2/friend/facebook",
            |request, account| {
                request.account = account;
            },
        )
        .field::<ImportSteamFriends, Option<AccountSteam>>(Method::POST, "/v2/friend/steam", |request, account| {
            request.account = account;
        })
}
