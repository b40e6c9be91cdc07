//! Handlers of the account and user operations. Those of sign-in are in [`sign_in`], those of lost passwords in
//! [`recovery`].

mod recovery;
mod sign_in;

use crate::ServiceError;
use crate::account::export::EXPORT_BYTES_IN_FLIGHT;
use crate::account::fields::METADATA_BYTES_MAX;
use crate::account::operation::{AccountExport, ExportAccount};
use crate::account::{Account, OwnerClaim, Update, User, provider};
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};
use aether_messages::api::{self, AccountDevice, GetUsersRequest, UpdateAccountRequest, Users};
use aether_messages::operation::{DeleteAccount, GetAccount, GetUsers, UpdateAccount};
use aether_messages::{Empty, timestamp};
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<GetAccount>()
        .with::<UpdateAccount>()
        .with::<DeleteAccount>()
        .with::<ExportAccount>()
        .with::<GetUsers>()
        .and(sign_in::operations)
        .and(recovery::operations)
}

impl Serve for GetAccount {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, _: Empty) -> Result<api::Account, ServiceError> {
        call.services.accounts.account(call.identity()?.user).await.map(|found| account(call, found))
    }
}

impl Serve for UpdateAccount {
    async fn serve(call: &Call<'_>, request: UpdateAccountRequest) -> Result<Empty, ServiceError> {
        let update = Update {
            username: request.username,
            display_name: request.display_name,
            avatar_url: request.avatar_url,
            language: request.lang_tag,
            location: request.location,
            timezone: request.timezone,
            metadata: None,
        };
        call.services.accounts.update(call.identity()?.user, update).await?;
        Ok(Empty::default())
    }
}

impl Serve for DeleteAccount {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, _: Empty) -> Result<Empty, ServiceError> {
        let owner = OwnerClaim::of_session(call.identity()?, call.context.address);
        call.services.accounts.check_owner(&owner).await?;
        call.services.accounts.delete(owner.user).await?;
        Ok(Empty::default())
    }
}

impl Serve for ExportAccount {
    const PRESET: RatePreset = RatePreset::Expensive;
    const STREAMED_BYTES: usize = EXPORT_BYTES_IN_FLIGHT;

    async fn serve(call: &Call<'_>, _: Empty) -> Result<AccountExport, ServiceError> {
        let owner = OwnerClaim::of_session(call.identity()?, call.context.address);
        call.services.accounts.check_owner(&owner).await?;
        call.services.accounts.account(owner.user).await?;
        Ok(AccountExport::default())
    }
}

impl Serve for GetUsers {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &GetUsersRequest) -> u32 {
        let users = request.ids.len() + request.usernames.len() + request.facebook_ids.len();
        // Metadata is set by server code alone, and is usually short.
        answer_blocks(users, METADATA_BYTES_MAX / 4)
    }

    async fn serve(call: &Call<'_>, request: GetUsersRequest) -> Result<Users, ServiceError> {
        let ids = request.ids.iter().map(|id| user_id(id)).collect::<Result<Vec<Uuid>, ServiceError>>()?;
        let users = call.services.accounts.users(ids, request.usernames, request.facebook_ids).await?;
        Ok(Users { users: users.into_iter().map(|found| user(call, found)).collect() })
    }
}

/// Parses the id of a user.
pub(crate) fn user_id(text: &str) -> Result<Uuid, ServiceError> {
    Uuid::try_parse(text).map_err(|_| ServiceError::invalid("A user's ID must be a UUID."))
}

/// Converts a user to the message of the API.
pub(crate) fn user(call: &Call<'_>, user: User) -> api::User {
    let User { mut identities, .. } = user;
    let mut identity = |provider| identities.remove(provider).unwrap_or_default();
    api::User {
        facebook_id: identity(provider::FACEBOOK),
        google_id: identity(provider::GOOGLE),
        gamecenter_id: identity(provider::GAME_CENTER),
        steam_id: identity(provider::STEAM),
        facebook_instant_game_id: identity(provider::FACEBOOK_INSTANT),
        apple_id: identity(provider::APPLE),
        id: user.id.to_string(),
        username: user.username,
        display_name: user.display_name,
        avatar_url: user.avatar_url,
        lang_tag: user.language,
        location: user.location,
        timezone: user.timezone,
        metadata: user.metadata,
        online: call.services.is_online(user.id),
        edge_count: i32::try_from(user.edge_count).unwrap_or(i32::MAX),
        create_time: Some(timestamp(user.created_at)),
        update_time: Some(timestamp(user.updated_at)),
    }
}

fn account(call: &Call<'_>, account: Account) -> api::Account {
    let devices = account.devices.into_iter().map(|id| AccountDevice { id, ..AccountDevice::default() });
    api::Account {
        user: Some(user(call, account.user)),
        wallet: account.wallet,
        email: account.email.unwrap_or_default(),
        devices: devices.collect(),
        custom_id: account.custom_id.unwrap_or_default(),
        verify_time: account.verified_at.map(timestamp),
        disable_time: account.disabled_at.map(timestamp),
    }
}
