//! Handlers of the admin operations.

use super::operation::{
    AuditEntryList, BanPlayer, GetPlayer, ListAuditEntries, ListAuditEntriesRequest, ListPlayerSessions,
    ListPlayerSessionsRequest, PlayerRequest, PlayerSessionList, SetPlayerRole, SetPlayerRoleRequest, ShownAuditEntry,
    ShownPlayer, ShownSession, SignOutPlayer, UnbanPlayer,
};
use crate::account::Account;
use crate::audit::AuditEntry;
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::error::{GrpcCode, ServiceError};
use crate::notification::{NewNotification, code};
use crate::session::SessionRecord;
use crate::session::tokens::{Role, RoleError};
use aether_messages::{Operation, timestamp};
use uuid::Uuid;

/// Number of rows in a list, unless the request says otherwise.
const LISTED_DEFAULT: i32 = 20;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<GetPlayer>()
        .with::<BanPlayer>()
        .with::<UnbanPlayer>()
        .with::<SignOutPlayer>()
        .with::<SetPlayerRole>()
        .with::<ListPlayerSessions>()
        .with::<ListAuditEntries>()
}

impl Serve for GetPlayer {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: PlayerRequest) -> Result<ShownPlayer, ServiceError> {
        let account = find(call, &request.player).await?;
        Ok(shown(call, &account))
    }
}

impl Serve for BanPlayer {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: PlayerRequest) -> Result<ShownPlayer, ServiceError> {
        let user = begin::<BanPlayer>(call, &request.player, "").await?;
        ban(call, user).await?;
        outcome(call, user).await
    }
}

impl Serve for UnbanPlayer {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: PlayerRequest) -> Result<ShownPlayer, ServiceError> {
        let user = begin::<UnbanPlayer>(call, &request.player, "").await?;
        call.services.accounts.unban(vec![user]).await?;
        outcome(call, user).await
    }
}

impl Serve for SignOutPlayer {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: PlayerRequest) -> Result<ShownPlayer, ServiceError> {
        let user = begin::<SignOutPlayer>(call, &request.player, "").await?;
        call.services.sessions.revoke_user(user, "signed out by an operator").await?;
        outcome(call, user).await
    }
}

impl Serve for SetPlayerRole {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: SetPlayerRoleRequest) -> Result<ShownPlayer, ServiceError> {
        let role = request.role.unwrap_or_default().role;
        let role: Role = role.parse().map_err(|error: RoleError| ServiceError::invalid(error.to_string()))?;
        let user = begin::<SetPlayerRole>(call, &request.player, role.name()).await?;
        call.services.accounts.set_role(user, role).await?;
        outcome(call, user).await
    }
}

impl Serve for ListPlayerSessions {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: ListPlayerSessionsRequest) -> Result<PlayerSessionList, ServiceError> {
        let user = find(call, &request.player).await?.user.id;
        let sessions = call.services.sessions.history(user, limit(request.limit)?).await?;
        Ok(PlayerSessionList { sessions: sessions.into_iter().map(shown_session).collect() })
    }
}

impl Serve for ListAuditEntries {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: ListAuditEntriesRequest) -> Result<AuditEntryList, ServiceError> {
        let skipped: u32 = match request.cursor.as_str() {
            "" => 0,
            cursor => cursor.parse().map_err(|_| ServiceError::invalid("The cursor is not one of an earlier list."))?,
        };
        let limit = limit(request.limit)?;
        let entries = call.services.audit.list(skipped, limit).await?;
        let is_full = entries.len() >= limit as usize;
        let cursor = if is_full { skipped.saturating_add(limit).to_string() } else { String::new() };
        Ok(AuditEntryList { entries: entries.into_iter().map(shown_entry).collect(), cursor })
    }
}

/// Bans a player, who is told over open sockets.
pub(super) async fn ban(call: &Call<'_>, user: Uuid) -> Result<(), ServiceError> {
    if !call.services.accounts.ban(vec![user]).await?.is_empty() {
        // Open sockets get it before they are closed.
        let banned = NewNotification::persistent(user, code::BANNED, "You are banned.", "{}");
        call.services.notifications.send_live(banned);
    }
    Ok(())
}

/// Finds the player, and stores what is about to be done.
pub(super) async fn begin<O: Operation>(call: &Call<'_>, player: &str, detail: &str) -> Result<Uuid, ServiceError> {
    let user = find(call, player).await?.user.id;
    call.services.audit.write(call.caller(), user, O::NAME, detail).await?;
    Ok(user)
}

/// Returns the player after a change.
pub(super) async fn outcome(call: &Call<'_>, user: Uuid) -> Result<ShownPlayer, ServiceError> {
    Ok(shown(call, &call.services.accounts.account(user).await?))
}

/// Finds an account by id or username.
pub(super) async fn find(call: &Call<'_>, player: &str) -> Result<Account, ServiceError> {
    if player.is_empty() {
        return Err(ServiceError::invalid("Name the player by id or username."));
    }
    let accounts = &call.services.accounts;
    let user = match Uuid::try_parse(player) {
        Ok(id) => Some(id),
        Err(_) => accounts.users(Vec::new(), vec![player.to_owned()], Vec::new()).await?.pop().map(|user| user.id),
    };
    let missing = || {
        let message = format!("Player {player:.64} was not found; use the id or the exact username.");
        ServiceError::with(GrpcCode::NotFound, message)
    };
    let found = accounts.accounts(user.into_iter().collect()).await?.pop();
    found.ok_or_else(missing)
}

pub(super) fn limit(limit: Option<i32>) -> Result<u32, ServiceError> {
    match limit.unwrap_or(LISTED_DEFAULT) {
        limit @ 1..=100 => Ok(limit as u32),
        _ => Err(ServiceError::invalid("`limit` must be from 1 to 100.")),
    }
}

fn shown(call: &Call<'_>, account: &Account) -> ShownPlayer {
    let Account { user, role, disabled_at, .. } = account;
    ShownPlayer {
        id: user.id.to_string(),
        username: user.username.clone(),
        display_name: user.display_name.clone(),
        role: role.name().to_owned(),
        online: call.services.is_online(user.id),
        banned: disabled_at.is_some(),
        ban_time: time(*disabled_at),
        create_time: time(Some(user.created_at)),
    }
}

fn shown_session(record: SessionRecord) -> ShownSession {
    ShownSession {
        id: record.session.to_string(),
        state: record.state,
        method: record.method,
        address: record.address,
        create_time: time(Some(record.created_at)),
        seen_time: time(Some(record.last_seen_at)),
        end_time: time(record.revoked_at),
        reason: record.reason,
    }
}

fn shown_entry(entry: AuditEntry) -> ShownAuditEntry {
    let id = |id: Uuid| if id.is_nil() { String::new() } else { id.to_string() };
    ShownAuditEntry {
        actor: id(entry.actor),
        player: id(entry.user),
        action: entry.action,
        outcome: if entry.is_allowed { "allowed" } else { "refused" }.to_owned(),
        detail: entry.detail,
        count: i32::try_from(entry.count).unwrap_or(i32::MAX),
        first_time: time(Some(entry.first_at)),
        last_time: time(Some(entry.last_at)),
    }
}

pub(super) fn time(at: Option<i64>) -> String {
    at.map_or_else(String::new, |at| timestamp(at).to_string())
}
