//! Accounts and users: what is known about them, and what their owner may change. Signing in is in [`sign_in`], what to do
//! about a lost password in [`recovery`].

mod recovery;
mod sign_in;

use super::{Call, Desk, Preset, Routes, Serve};
use aether_messages::api::{self, AccountDevice, GetUsersRequest, UpdateAccountRequest, Users};
use aether_messages::operation::{DeleteAccount, GetAccount, GetUsers, UpdateAccount};
use aether_messages::{Empty, timestamp};
use aether_services::Refusal;
use aether_services::account::operation::{AccountExport, ExportAccount};
use aether_services::account::{Account, Update, User, provider};
use http::Method;
use uuid::Uuid;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .address::<GetAccount>(Method::GET, "/v2/account")
        .body::<UpdateAccount>(Method::PUT, "/v2/account")
        .address::<DeleteAccount>(Method::DELETE, "/v2/account")
        .address::<ExportAccount>(Method::GET, "/v2/account/export")
        .address::<GetUsers>(Method::GET, "/v2/user")
        .with(sign_in::routes)
        .with(recovery::routes)
}

impl Serve for GetAccount {
    const PRESET: Preset = Preset::Read;

    async fn serve(desk: &Desk, call: &Call, _: Empty) -> Result<api::Account, Refusal> {
        desk.services().accounts.account(call.identity()?.user).await.map(|found| account(desk, found))
    }
}

impl Serve for UpdateAccount {
    async fn serve(desk: &Desk, call: &Call, request: UpdateAccountRequest) -> Result<Empty, Refusal> {
        let update = Update {
            username: request.username,
            display_name: request.display_name,
            avatar_url: request.avatar_url,
            language: request.lang_tag,
            location: request.location,
            timezone: request.timezone,
            metadata: None,
        };
        desk.services().accounts.update(call.identity()?.user, update).await?;
        Ok(Empty::default())
    }
}

impl Serve for DeleteAccount {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(desk: &Desk, call: &Call, _: Empty) -> Result<Empty, Refusal> {
        desk.services().accounts.delete(call.identity()?.user).await?;
        Ok(Empty::default())
    }
}

impl Serve for ExportAccount {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(desk: &Desk, call: &Call, _: Empty) -> Result<AccountExport, Refusal> {
        let document = desk.services().accounts.export(call.identity()?.user).await?;
        Ok(AccountExport { document: document.to_string() })
    }
}

impl Serve for GetUsers {
    const PRESET: Preset = Preset::Read;

    async fn serve(desk: &Desk, _: &Call, request: GetUsersRequest) -> Result<Users, Refusal> {
        let ids = request.ids.iter().map(|id| user_id(id)).collect::<Result<Vec<Uuid>, Refusal>>()?;
        let users = desk.services().accounts.users(ids, request.usernames, request.facebook_ids).await?;
        Ok(Users { users: users.into_iter().map(|found| user(desk, found)).collect() })
    }
}

/// The id of a user, if it is one.
pub(super) fn user_id(text: &str) -> Result<Uuid, Refusal> {
    Uuid::try_parse(text).map_err(|_| Refusal::invalid("A user's ID must be a UUID."))
}

/// A user as clients know them.
pub(super) fn user(desk: &Desk, user: User) -> api::User {
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
        online: desk.is_online(user.id),
        edge_count: i32::try_from(user.edge_count).unwrap_or(i32::MAX),
        create_time: Some(timestamp(user.created_at)),
        update_time: Some(timestamp(user.updated_at)),
    }
}

fn account(desk: &Desk, account: Account) -> api::Account {
    let devices = account.devices.into_iter().map(|id| AccountDevice { id, ..AccountDevice::default() });
    api::Account {
        user: Some(user(desk, account.user)),
        wallet: account.wallet,
        email: account.email.unwrap_or_default(),
        devices: devices.collect(),
        custom_id: account.custom_id.unwrap_or_default(),
        verify_time: account.verified_at.map(timestamp),
        disable_time: account.disabled_at.map(timestamp),
    }
}
