//! Handlers of the friend operations.

use super::{
    Friend, FriendState, LISTED_MAX, METADATA_BYTES_MAX, NamedUsers, OF_FRIENDS_LISTED_DEFAULT, OF_FRIENDS_LISTED_MAX,
};
use crate::ServiceError;
use crate::account::provider::{self, ProviderProof};
use crate::account::serve::{user as user_message, user_id};
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use aether_messages::api::friends_of_friends_list::FriendOfFriend;
use aether_messages::api::{
    self, AddFriendsRequest, BlockFriendsRequest, DeleteFriendsRequest, FriendList, FriendsOfFriendsList,
    ImportFacebookFriendsRequest, ImportSteamFriendsRequest, ListFriendsOfFriendsRequest, ListFriendsRequest,
};
use aether_messages::operation::{
    AddFriends, BlockFriends, DeleteFriends, ImportFacebookFriends, ImportSteamFriends, ListFriends,
    ListFriendsOfFriends,
};
use aether_messages::{Empty, timestamp};
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<AddFriends>()
        .with::<DeleteFriends>()
        .with::<BlockFriends>()
        .with::<ListFriends>()
        .with::<ListFriendsOfFriends>()
        .with::<ImportFacebookFriends>()
        .with::<ImportSteamFriends>()
}

impl Serve for AddFriends {
    async fn serve(call: &Call<'_>, request: AddFriendsRequest) -> Result<Empty, ServiceError> {
        let others = named(&request.ids, request.usernames)?;
        call.services.friends.add(call.owner()?, others, &request.metadata).await?;
        Ok(Empty::default())
    }
}

impl Serve for DeleteFriends {
    async fn serve(call: &Call<'_>, request: DeleteFriendsRequest) -> Result<Empty, ServiceError> {
        call.services.friends.delete(call.owner()?, named(&request.ids, request.usernames)?).await?;
        Ok(Empty::default())
    }
}

impl Serve for BlockFriends {
    async fn serve(call: &Call<'_>, request: BlockFriendsRequest) -> Result<Empty, ServiceError> {
        call.services.friends.block(call.owner()?, named(&request.ids, request.usernames)?).await?;
        Ok(Empty::default())
    }
}

impl Serve for ListFriends {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListFriendsRequest) -> u32 {
        // Metadata is usually short.
        answer_blocks(listed(request.limit, LISTED_MAX, LISTED_MAX), METADATA_BYTES_MAX / 4)
    }

    async fn serve(call: &Call<'_>, request: ListFriendsRequest) -> Result<FriendList, ServiceError> {
        let invalid = || ServiceError::invalid("Invalid state - a friend state is a number from 0 to 3.");
        let state = request.state.map(|state| FriendState::from_number(state.into()).ok_or_else(invalid));
        let page =
            call.services.friends.list(call.owner()?, state.transpose()?, request.limit, &request.cursor).await?;
        let friends = page.friends.into_iter().map(|friend| friend_message(call, friend)).collect();
        Ok(FriendList { friends, cursor: page.cursor })
    }
}

impl Serve for ListFriendsOfFriends {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListFriendsOfFriendsRequest) -> u32 {
        let count = listed(request.limit, OF_FRIENDS_LISTED_DEFAULT, OF_FRIENDS_LISTED_MAX);
        answer_blocks(count, METADATA_BYTES_MAX)
    }

    async fn serve(
        call: &Call<'_>,
        request: ListFriendsOfFriendsRequest,
    ) -> Result<FriendsOfFriendsList, ServiceError> {
        let page = call.services.friends.list_of_friends(call.owner()?, request.limit, &request.cursor).await?;
        let found = page.friends_of_friends.into_iter();
        let messages = found.map(|found| FriendOfFriend {
            referrer: found.referrer.to_string(),
            user: Some(user_message(call, found.user)),
        });
        Ok(FriendsOfFriendsList { friends_of_friends: messages.collect(), cursor: page.cursor })
    }
}

impl Serve for ImportFacebookFriends {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, request: ImportFacebookFriendsRequest) -> Result<Empty, ServiceError> {
        let token = request.account.unwrap_or_default().token;
        import(call, call.owner()?, provider::FACEBOOK, token, request.reset.unwrap_or(false)).await?;
        Ok(Empty::default())
    }
}

impl Serve for ImportSteamFriends {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, request: ImportSteamFriendsRequest) -> Result<Empty, ServiceError> {
        let token = request.account.unwrap_or_default().token;
        import(call, call.owner()?, provider::STEAM, token, request.reset.unwrap_or(false)).await?;
        Ok(Empty::default())
    }
}

/// Imports the friends of a user at a provider. Returns the number of new ones.
pub(crate) async fn import(
    call: &Call<'_>,
    user: Uuid,
    provider: &'static str,
    token: String,
    reset: bool,
) -> Result<usize, ServiceError> {
    let services = call.services;
    services.friends.import(&services.accounts, user, provider, &ProviderProof::Token(token), reset).await
}

fn named(ids: &[String], usernames: Vec<String>) -> Result<NamedUsers, ServiceError> {
    let ids = ids.iter().map(|id| user_id(id)).collect::<Result<Vec<Uuid>, ServiceError>>()?;
    Ok(NamedUsers { ids, usernames })
}

fn listed(limit: Option<i32>, default: i32, max: i32) -> usize {
    usize::try_from(limit.unwrap_or(default).min(max)).unwrap_or(0)
}

fn friend_message(call: &Call<'_>, friend: Friend) -> api::Friend {
    api::Friend {
        state: Some(friend.state.number()),
        update_time: Some(timestamp(friend.updated_at_ms)),
        metadata: friend.metadata,
        user: Some(user_message(call, friend.user)),
    }
}
