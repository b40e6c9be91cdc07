//! The lobby: authenticates clients and joins them to rooms.

use crate::durable::within_time;
use crate::entry::RoomRef;
use crate::host::{RoomHost, RoomRequester, draining};
use crate::places::PlacesTaken;
use crate::presence::{ConnectingSession, Presence};
use crate::resume::{ResumeLookup, ResumeRecord, ResumeRecords, hash};
use crate::sessions::{LiveSessions, VerifiedSession};
use aether_engine::{JoinRequest, Rejection};
use aether_limits::{KeyedShare, KeyedShares};
use aether_metrics::{Counter, Registry};
use aether_net::lobby::{JoinAttempt, JoinGrant, Lobby, RoomMember, SessionCheck, SessionValidity, VerifiedAccount};
use aether_services::Services;
use aether_services::room::{self, ResumeTarget, Visit};
use aether_services::router::SocketSession;
use aether_services::session::tokens::{Role, Tokens, VerifiedToken};
use aether_wire::limits::NAME_BYTES_MAX;
use aether_wire::{
    CloseReason, ErrorCode, Hello, Manifest, PROTOCOL_VERSION, PlayerId, RoomId, RoomSelector, SessionId, Token,
};
use std::any::Any;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::warn;
use uuid::Uuid;

/// Length of a resume token in characters: 32 bytes in base64. Texts of other lengths are not looked up.
const TOKEN_CHARACTERS: usize = 43;
/// Lifetime of a token that was loaded from the store, while its room is rebuilt.
const STORED_TOKEN_GRACE: Duration = Duration::from_secs(60);
/// Longest time that a welcome waits for its resume token to be stored.
const MEMBER_STORE_TIME_MAX: Duration = Duration::from_secs(3);

/// Lobby of a node's rooms.
pub struct RoomLobby {
    host: Arc<RoomHost>,
    sessions: Arc<LiveSessions>,
    tokens: Arc<Tokens>,
    services: Arc<Services>,
    resumes: ResumeRecords,
    /// Shares of the connection limit of each account.
    accounts: KeyedShares<String>,
    settings: LobbySettings,
    registry: Registry,
    resumed: Counter,
    resumes_refused: Counter,
    started: Instant,
}

/// Settings of the lobby.
pub struct LobbySettings {
    /// Most connections of one account.
    pub per_account_max: u32,
    /// True if tokens of the development key are accepted from this machine.
    pub accepts_development: bool,
    /// Version of the program.
    pub version: &'static str,
}

/// Resources that a connection owns in the server.
struct Membership {
    room: RoomRef,
    _account: KeyedShare<String>,
    /// Place of the network in the room, until the room has admitted the player. A resumed player has one already.
    place: Mutex<Option<KeyedShare<IpAddr>>>,
    /// Dropped with the connection; that starts the grace period of the resume token.
    alive: Arc<()>,
    /// Set when the client has sent a message.
    is_confirmed: Arc<AtomicBool>,
    record: ResumeRecord,
    /// Hash of the token that the player resumed with.
    used_token: Option<[u8; 32]>,
    /// Player id; 0 until the room has admitted the player.
    player: AtomicU32,
    services: Arc<Services>,
    presence: Arc<Presence>,
    /// Makes the session connecting until the room has admitted the player, or the connection ends.
    _connecting: ConnectingSession,
}

impl Drop for Membership {
    /// Notes the departure, for rooms that do not report departures themselves.
    fn drop(&mut self) {
        let player = self.player.load(Ordering::Relaxed);
        if player == 0 {
            return;
        }
        let reports_departures = self.room.room.reports_departures();
        if !reports_departures {
            self.services.rooms.note_leave(&self.room.id.0, player, CloseReason::Left.name());
        }
        let grace = if reports_departures { self.room.room_type.resume_grace() } else { Duration::ZERO };
        self.presence.disconnected(&self.room.id, PlayerId(player), grace);
        self.room.members.hide(PlayerId(player), &self.alive);
    }
}

impl RoomLobby {
    /// Creates the lobby of a host.
    #[must_use]
    pub fn new(
        host: Arc<RoomHost>,
        sessions: Arc<LiveSessions>,
        tokens: Arc<Tokens>,
        settings: LobbySettings,
        registry: &Registry,
    ) -> RoomLobby {
        let counter = |name, help| registry.counter(name, help, &[]);
        RoomLobby {
            services: Arc::clone(host.requests.services()),
            host,
            sessions,
            tokens,
            resumes: ResumeRecords::default(),
            accounts: KeyedShares::default(),
            settings,
            resumed: counter("aether_resumes_total", "Players who resumed with a resume token."),
            resumes_refused: counter("aether_resumes_refused_total", "Rejected resume tokens."),
            registry: registry.clone(),
            started: Instant::now(),
        }
    }

    /// Shares of the connection limit of each account.
    #[must_use]
    pub fn accounts(&self) -> &KeyedShares<String> {
        &self.accounts
    }

    /// Removes expired resume tokens and sessions, removes players of ended sessions from their rooms, and notes
    /// heartbeats. Call it once a second.
    pub fn sweep(&self) {
        self.resumes.sweep();
        let presence = &self.host.requests.presence;
        presence.sweep();
        for session in self.sessions.sweep() {
            presence.heartbeat(session);
        }
        let is_ended = |session| self.sessions.validity(session, false) == SessionValidity::Ended;
        for (room, player) in presence.players_of(is_ended) {
            if let Some(room) = self.host.directory.local(&RoomSelector::Id(room)) {
                room.room.remove(player, CloseReason::SessionEnded);
            }
        }
    }

    /// Returns the account of a player who may resume with this token. The token stays unused. A used one also has an
    /// account: the hello with it then ends the session.
    pub async fn account_of_resume_token(&self, token: &Token) -> Option<String> {
        match self.look_up(token).await.ok()? {
            ResumeLookup::Valid(record) | ResumeLookup::Reused(record) => Some(record.user),
            ResumeLookup::Unknown => None,
        }
    }

    async fn join_room(&self, attempt: &JoinAttempt) -> Result<JoinGrant, Rejection> {
        let identity = self.identify(&attempt.hello, attempt.is_local)?;
        self.check_account(attempt, &identity.user)?;
        if self.host.is_draining() {
            return Err(draining());
        }
        let connecting = self.host.requests.presence.connecting(identity.session);
        let selector = attempt.room.as_ref().or(attempt.hello.room.as_ref());
        let selector = selector
            .cloned()
            .or_else(|| self.only_type())
            .ok_or_else(|| Rejection::new(ErrorCode::RoomNotFound, "name a room to join: by id, by code or by type"))?;
        self.check_encoding(&selector, attempt)?;
        let account = self.account_share(&identity.user)?;
        let room = self.host.find(&selector, requester(attempt, &identity.user)).await?;
        room.room_type.check_encoding(attempt.encoding)?;
        if let Ok(user) = Uuid::try_parse(&identity.user) {
            self.host.check_seat(&room, user)?;
        }
        let request = JoinRequest {
            user: identity.user.clone(),
            name: identity.name.clone(),
            username: identity.name.clone(),
            session: Uuid::from_u128(identity.session.0).to_string(),
            permissions: self.role_of(identity.role, &identity.user).permissions(),
            metadata: attempt.hello.metadata.clone(),
        };
        let place = room.places.take(attempt.address).map_err(|PlacesTaken| {
            let sentence = "your network has reached its limit of players in this room; join another one";
            Rejection::new(ErrorCode::LimitReached, sentence)
        })?;
        let member = room.room.join(request, attempt.order)?;
        let record = ResumeRecord {
            room: room.id.clone(),
            player: PlayerId(0),
            session: identity.session,
            user: identity.user,
            name: identity.name,
            role: identity.role,
            issued_at: identity.issued_at,
            metadata: attempt.hello.metadata.clone(),
        };
        let membership = self.membership(room, account, record, connecting);
        *lock(&membership.place) = place;
        Ok(self.grant(member, membership))
    }

    /// Returns the current role of a user.
    fn role_of(&self, granted: Role, user: &str) -> Role {
        Uuid::try_parse(user).map_or(granted, |user| self.sessions.role(granted, user))
    }

    async fn resume(&self, token: &Token, attempt: &JoinAttempt) -> Result<JoinGrant, Rejection> {
        let rejected = || {
            self.resumes_refused.inc();
            Rejection::new(
                ErrorCode::ResumeRefused,
                "the resume token was not accepted: join again with your access token",
            )
        };
        let record = match self.look_up(token).await? {
            ResumeLookup::Valid(record) => *record,
            ResumeLookup::Unknown => return Err(rejected()),
            ResumeLookup::Reused(record) => {
                self.revoke_reused(&record).await;
                return Err(rejected());
            }
        };
        if self.sessions.validity(record.session, true) == SessionValidity::Ended {
            return Err(rejected());
        }
        self.check_account(attempt, &record.user)?;
        let connecting = self.host.requests.presence.connecting(record.session);
        let account = self.account_share(&record.user)?;
        let selector = RoomSelector::Id(record.room.clone());
        let room = self.host.find(&selector, requester(attempt, &record.user)).await;
        let room = room.map_err(|rejection| match rejection.code {
            // The room may be available later, and the token is still valid.
            ErrorCode::Unavailable | ErrorCode::LimitReached => rejection,
            _ => rejected(),
        })?;
        room.room_type.check_encoding(attempt.encoding)?;
        // The role may have changed while the player was away.
        let permissions = self.role_of(record.role, &record.user).permissions();
        room.room.set_permissions(record.player, permissions)?;
        let member = room.room.resume(record.player, attempt.order).ok_or_else(rejected)??;
        self.resumed.inc();
        let mut membership = self.membership(room, account, record, connecting);
        membership.used_token = Some(hash(token.reveal()));
        self.resumes.mark_used(token, &membership.is_confirmed);
        Ok(self.grant(member, membership))
    }

    /// Ends the session of a token that was used twice: its connections, the token that replaced it, and its access and
    /// refresh tokens for the API, even after a restart. The thief and the owner cannot be told apart.
    async fn revoke_reused(&self, record: &ResumeRecord) {
        self.sessions.revoke(record.session);
        if let Ok(user) = Uuid::try_parse(&record.user) {
            let session = Uuid::from_u128(record.session.0);
            let revoked = self.services.sessions.revoke_at_once(session, user, "a resume token was used twice");
            if let Err(error) = within_time(revoked).await {
                warn!(error = %error.message, "revocation of a session is stored later: database unavailable");
            }
        }
        if self.host.has_durable()
            && let Err(error) = self.services.rooms.remove_member(&record.room.0, record.player.0).await
        {
            warn!(%error, "member of a reused resume token was not removed");
        }
    }

    /// Looks a resume token up, also in the store: it may have been issued before a restart.
    async fn look_up(&self, token: &Token) -> Result<ResumeLookup, Rejection> {
        let known = self.resumes.find(token);
        if known != ResumeLookup::Unknown || !self.host.has_durable() || token.reveal().len() != TOKEN_CHARACTERS {
            return Ok(known);
        }
        let found = within_time(self.services.rooms.find_by_token_hash(hash(token.reveal()))).await?;
        let Some(ResumeTarget { room, identity, is_spent, .. }) = found else {
            return Ok(ResumeLookup::Unknown);
        };
        let session = SessionId(identity.session.as_u128());
        let (user, issued_at, granted) = (identity.user, identity.issued_at, identity.role);
        let validity = self.sessions.add(VerifiedSession { session, user, issued_at, granted });
        let record = ResumeRecord {
            room: RoomId(room),
            player: PlayerId(identity.player),
            session,
            user: identity.user.to_string(),
            name: identity.name,
            role: identity.role,
            issued_at: identity.issued_at,
            metadata: identity.metadata,
        };
        Ok(match (validity, is_spent) {
            (SessionValidity::Ended, _) => ResumeLookup::Unknown,
            (SessionValidity::Valid, true) => ResumeLookup::Reused(Box::new(record)),
            (SessionValidity::Valid, false) => {
                self.resumes.add(token, record.clone(), STORED_TOKEN_GRACE);
                ResumeLookup::Valid(Box::new(record))
            }
        })
    }

    fn membership(
        &self,
        room: RoomRef,
        account: KeyedShare<String>,
        record: ResumeRecord,
        connecting: ConnectingSession,
    ) -> Membership {
        Membership {
            room,
            _account: account,
            place: Mutex::default(),
            alive: Arc::default(),
            is_confirmed: Arc::default(),
            record,
            used_token: None,
            player: AtomicU32::new(0),
            services: Arc::clone(&self.services),
            presence: Arc::clone(&self.host.requests.presence),
            _connecting: connecting,
        }
    }

    /// Returns the player of a connection as members over the services socket see it; none if the user has no account.
    fn shown(&self, membership: &Membership) -> Option<SocketSession> {
        let ResumeRecord { session, user, name, .. } = &membership.record;
        Some(SocketSession {
            session: Uuid::from_u128(session.0),
            user: Uuid::try_parse(user).ok()?,
            username: name.as_str().into(),
            node: self.host.settings.node_name.as_str().into(),
        })
    }

    /// Adds a join to the history.
    fn note_join(&self, membership: &Membership, player: PlayerId) {
        let ResumeRecord { session, user, room, .. } = &membership.record;
        let Ok(user) = Uuid::try_parse(user) else { return };
        self.services.rooms.note_join(Visit {
            user,
            session: Uuid::from_u128(session.0),
            room: room.0.clone(),
            room_type: membership.room.room_type.name().to_owned(),
            player: player.0,
            node: self.host.node_id().to_owned(),
        });
    }

    fn grant(&self, member: RoomMember, membership: Membership) -> JoinGrant {
        let record = &membership.record;
        JoinGrant {
            session: record.session,
            user: record.user.clone(),
            permissions: self.role_of(record.role, &record.user).permissions(),
            room: membership.room.id.clone(),
            room_code: membership.room.code.clone(),
            member,
            resources: Box::new(membership) as Box<dyn Any + Send>,
        }
    }

    fn account_share(&self, user: &str) -> Result<KeyedShare<String>, Rejection> {
        self.accounts.take(user.to_owned(), self.settings.per_account_max, u32::MAX).ok_or_else(|| {
            Rejection::new(
                ErrorCode::LimitReached,
                "your account has reached its limit of connections; close one first",
            )
        })
    }

    /// Rejects the hello of another account than the one that opened the connection.
    fn check_account(&self, attempt: &JoinAttempt, user: &str) -> Result<(), Rejection> {
        if attempt.account.as_deref().is_none_or(|account| account == user) {
            return Ok(());
        }
        self.count_refused_login("other_account");
        let sentence = "the connection was opened with a connect token of another account: get one of your own";
        Err(Rejection::new(ErrorCode::Unauthenticated, sentence))
    }

    fn count_refused_login(&self, reason: &'static str) {
        let labels = [("reason", reason)];
        self.registry.counter("aether_logins_refused_total", "Rejected access tokens.", &labels).inc();
    }

    fn identify(&self, hello: &Hello, is_local: bool) -> Result<VerifiedToken, Rejection> {
        let rejected = |reason: &'static str| {
            self.count_refused_login(reason);
            Rejection::new(ErrorCode::Unauthenticated, "the access token was not accepted: sign in and use a fresh one")
        };
        let token = hello.token.as_ref().ok_or_else(|| rejected("missing"))?;
        let allowed = self.settings.accepts_development && is_local;
        let mut identity =
            self.tokens.verify(token.reveal(), unix_seconds(), allowed).map_err(|error| rejected(error.label()))?;
        let user = Uuid::try_parse(&identity.user).map_err(|_| rejected("malformed"))?;
        let VerifiedToken { session, issued_at, role: granted, .. } = identity;
        if self.sessions.add(VerifiedSession { session, user, issued_at, granted }) == SessionValidity::Ended {
            return Err(rejected("revoked"));
        }
        // Names of earlier versions may have characters that deceive others.
        let name = aether_names::cleaned(&identity.name);
        // Names of accounts may be longer than names in the protocol.
        identity.name = aether_names::shortened(&name, NAME_BYTES_MAX).into_owned();
        Ok(identity)
    }

    /// Rejects a client whose encoding the type of the wanted room does not serve, before a room is created for it.
    fn check_encoding(&self, selector: &RoomSelector, attempt: &JoinAttempt) -> Result<(), Rejection> {
        match selector {
            RoomSelector::Type { name, .. } | RoomSelector::NewPrivate { name, .. } => {
                self.host.types.find(name).map_or(Ok(()), |room_type| room_type.check_encoding(attempt.encoding))
            }
            RoomSelector::Id(_) | RoomSelector::Code(_) => Ok(()),
        }
    }

    /// Selects the only room type, for a client that names no room.
    fn only_type(&self) -> Option<RoomSelector> {
        let types = self.host.types.all();
        let [only] = &types[..] else { return None };
        Some(RoomSelector::Type { name: only.name().to_owned(), label: None })
    }
}

impl Lobby for RoomLobby {
    fn join<'a>(
        &'a self,
        attempt: JoinAttempt,
    ) -> Pin<Box<dyn Future<Output = Result<JoinGrant, Rejection>> + Send + 'a>> {
        Box::pin(async move {
            match &attempt.hello.resume_token {
                Some(token) => self.resume(token, &attempt).await,
                None => self.join_room(&attempt).await,
            }
        })
    }

    fn issue_resume_token<'a>(
        &'a self,
        grant: &JoinGrant,
        player: PlayerId,
    ) -> Pin<Box<dyn Future<Output = Option<Token>> + Send + 'a>> {
        let Some(membership) = grant.resources.downcast_ref::<Membership>() else { return Box::pin(async { None }) };
        membership.player.store(player.0, Ordering::Relaxed);
        if membership.room.room.reports_departures()
            && let Some(place) = lock(&membership.place).take()
        {
            membership.room.places.keep(player.0, place);
        }
        membership.presence.connected(&membership.room.id, player, membership.record.session);
        if let Some(shown) = self.shown(membership) {
            self.services.matchmaker.claim_seat(&membership.room.id.0, shown.user);
            membership.room.members.show(player, &shown, &membership.alive);
        }
        if membership.used_token.is_none() {
            self.note_join(membership, player);
        }
        let grace = membership.room.room_type.resume_grace();
        if grace.is_zero() {
            return Box::pin(async { None });
        }
        let record = ResumeRecord { player, ..membership.record.clone() };
        let stored = membership.room.write_queue.clone().zip(member_identity(&record));
        let token = self.resumes.issue(record, &membership.alive, grace);
        let (hash, previous_hash) = (hash(token.reveal()), membership.used_token);
        Box::pin(async move {
            if let Some((queue, identity)) = stored {
                // Without the database, the token is valid while this server runs; the write is retried.
                let member = room::StoredMember { identity, hash, previous_hash };
                queue.store_member(member, MEMBER_STORE_TIME_MAX).await;
            }
            Some(token)
        })
    }

    fn confirm_welcome(&self, grant: &JoinGrant) {
        let Some(membership) = grant.resources.downcast_ref::<Membership>() else { return };
        // Only a resumed player has an earlier token, which is now spent.
        if !membership.is_confirmed.swap(true, Ordering::Relaxed)
            && membership.used_token.is_some()
            && let Some(queue) = &membership.room.write_queue
        {
            queue.push_confirmation(membership.player.load(Ordering::Relaxed));
        }
    }

    fn manifest(&self, grant: &JoinGrant) -> Manifest {
        let manifest = Manifest {
            version_server: self.settings.version.to_owned(),
            version_protocol: PROTOCOL_VERSION,
            ..Manifest::default()
        };
        if !grant.permissions.inspect {
            return manifest;
        }
        let manifest = Manifest {
            clients_active: Some(self.host.players()),
            rooms_active: Some(self.host.len() as u32),
            uptime_s: Some(self.started.elapsed().as_secs() as u32),
            ..manifest
        };
        let membership = grant.resources.downcast_ref::<Membership>();
        let Some((membership, stats)) = membership.and_then(|it| it.room.room.stats().map(|stats| (it, stats))) else {
            return manifest;
        };
        Manifest {
            tick_rate: Some(membership.room.room_type.tick_hz()),
            entities_active: Some(stats.entities),
            tick_us: Some(stats.tick_time.as_micros() as u32),
            ..manifest
        }
    }

    fn admit_account(&self, account: VerifiedAccount) -> Result<Box<dyn Any + Send>, Rejection> {
        let VerifiedAccount { session, user, issued_at } = account;
        let ended = || Rejection::new(ErrorCode::Unauthenticated, "the session has ended: sign in again");
        let id = Uuid::try_parse(&user).map_err(|_| ended())?;
        let share = self.account_share(&user)?;
        let verified = VerifiedSession { session, user: id, issued_at, granted: Role::default() };
        match self.sessions.add(verified) {
            SessionValidity::Ended => Err(ended()),
            SessionValidity::Valid => Ok(Box::new((share, self.host.requests.presence.socket(session)))),
        }
    }

    fn sessions(&self) -> &dyn SessionCheck {
        &*self.sessions
    }
}

/// Returns the identity of a member for the store; none if the user has no account.
fn member_identity(record: &ResumeRecord) -> Option<room::MemberIdentity> {
    Some(room::MemberIdentity {
        player: record.player.0,
        user: Uuid::try_parse(&record.user).ok()?,
        session: Uuid::from_u128(record.session.0),
        name: record.name.clone(),
        role: record.role,
        issued_at: record.issued_at,
        metadata: record.metadata.clone(),
    })
}

/// Returns the client as the requester of a room.
fn requester(attempt: &JoinAttempt, user: &str) -> RoomRequester {
    RoomRequester { address: attempt.address, user: Uuid::try_parse(user).ok() }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the time in seconds since 1970.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
