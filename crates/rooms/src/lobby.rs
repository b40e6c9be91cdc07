//! The lobby: checks who connects and finds the room they ask for.

use crate::durable::within_time;
use crate::attempt::RoomRef;
use crate::host::RoomHost;
use crate::resume::{ResumeLookup, ResumeRecord, ResumeRecords, hash};
use crate::sessions::LiveSessions;
use aether_engine::{JoinRequest, Rejection};
use aether_limits::{KeyedShare, KeyedShares};
use aether_metrics::{Counter, Registry};
use aether_net::lobby::{JoinAttempt, JoinGrant, Lobby, RoomMember, SessionCheck, SessionValidity};
use aether_services::Services;
use aether_services::room::{self, ResumeTarget, Visit};
use aether_services::session::tokens::{Tokens, VerifiedToken};
use aether_wire::limits::NAME_BYTES_MAX;
use aether_wire::{
    CloseReason, ErrorCode, Hello, Manifest, PROTOCOL_VERSION, PlayerId, RoomId, RoomSelector, SessionId, Token,
};
use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::warn;
use uuid::Uuid;

/// Characters of a resume token: 32 bytes in base64. A text of another length is no token.
const TOKEN_CHARACTERS: usize = 43;
/// Time for which a stored token is remembered while its room is being rebuilt.
const STORED_TOKEN_GRACE: Duration = Duration::from_secs(60);
/// Longest wait of a welcome for its resume token to be stored.
const PLACE_STORE_TIME_MAX: Duration = Duration::from_secs(3);

/// The lobby of a node's rooms.
pub struct RoomLobby {
    host: Arc<RoomHost>,
    sessions: Arc<LiveSessions>,
    tokens: Arc<Tokens>,
    services: Arc<Services>,
    resumes: ResumeRecords,
    /// Connections of each account.
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
    /// Accepts tokens under the development key from this machine.
    pub accepts_development: bool,
    /// Version of the program.
    pub version: &'static str,
}

/// Everything that a connection holds in the server while it lasts.
struct Membership {
    room: RoomRef,
    _account: KeyedShare<String>,
    /// Dropped with the connection, which starts the grace period of the resume token.
    alive: Arc<()>,
    /// Set when the client has sent something.
    heard: Arc<AtomicBool>,
    record: ResumeRecord,
    /// Hash of the token by which the player resumed.
    used: Option<[u8; 32]>,
    /// Number that the room gave; 0 until then.
    player: AtomicU32,
    services: Arc<Services>,
}

impl Drop for Membership {
    /// Rooms that do not report departures by themselves are left with the connection.
    fn drop(&mut self) {
        let player = self.player.load(Ordering::Relaxed);
        if player > 0 && !self.room.room.reports_departures() {
            self.services.rooms.note_leave(&self.room.id.0, player, CloseReason::Left.name());
        }
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
            resumed: counter("aether_resumes_total", "Players who came back by a resume token."),
            resumes_refused: counter("aether_resumes_refused_total", "Resume tokens that were not accepted."),
            registry: registry.clone(),
            started: Instant::now(),
        }
    }

    /// Connections of each account.
    #[must_use]
    pub fn accounts(&self) -> &KeyedShares<String> {
        &self.accounts
    }

    /// Removes expired resume tokens and sessions; to be called once a second.
    pub fn sweep(&self) {
        self.resumes.sweep();
        self.sessions.sweep();
    }

    async fn join_room(&self, attempt: &JoinAttempt) -> Result<JoinGrant, Rejection> {
        let identity = self.identify(&attempt.hello, attempt.is_local)?;
        let selector = attempt.room.as_ref().or(attempt.hello.room.as_ref());
        let selector = selector.cloned().or_else(|| self.only_type()).ok_or_else(|| {
            Rejection::new(ErrorCode::RoomNotFound, "say which room you mean: by id, by code or by type")
        })?;
        let account = self.account_share(&identity.user)?;
        let room = self.host.find(&selector, attempt.address).await?;
        let request = JoinRequest {
            user: identity.user.clone(),
            name: identity.name.clone(),
            permissions: identity.role.permissions(),
            metadata: Vec::new(),
        };
        let member = room.room.join(request, attempt.order)?;
        let record = ResumeRecord {
            room: room.id.clone(),
            player: PlayerId(0),
            session: identity.session,
            user: identity.user,
            name: identity.name,
            role: identity.role,
            issued_at: identity.issued_at,
        };
        Ok(grant(member, self.membership(room, account, record)))
    }

    async fn resume(&self, token: &Token, attempt: &JoinAttempt) -> Result<JoinGrant, Rejection> {
        let refused = || {
            self.resumes_refused.inc();
            Rejection::new(
                ErrorCode::ResumeRefused,
                "the resume token was not accepted: join anew with your access token",
            )
        };
        let record = match self.look_up(token).await? {
            ResumeLookup::Good(record) => *record,
            ResumeLookup::Unknown => return Err(refused()),
            ResumeLookup::Reused(record) => {
                self.revoke_reused(&record).await;
                return Err(refused());
            }
        };
        if self.sessions.validity(record.session, true) == SessionValidity::Ended {
            return Err(refused());
        }
        let account = self.account_share(&record.user)?;
        let room = self.host.find(&RoomSelector::Id(record.room.clone()), attempt.address).await;
        let room = room.map_err(|refusal| match refusal.code {
            // The room may be available in a moment, and the token is still good.
            ErrorCode::Unavailable => refusal,
            _ => refused(),
        })?;
        let member = room.room.resume(record.player, attempt.order).ok_or_else(refused)??;
        self.resumed.inc();
        let mut membership = self.membership(room, account, record);
        membership.used = Some(hash(token.reveal()));
        self.resumes.mark_used(token, &membership.heard);
        Ok(grant(member, membership))
    }

    /// Ends the session of a token that was used twice. Its successor leads nowhere either, not even after a restart.
    async fn revoke_reused(&self, record: &ResumeRecord) {
        self.sessions.revoke(record.session);
        if self.host.has_durable()
            && let Err(refusal) = self.services.rooms.remove_member(&record.room.0, record.player.0).await
        {
            warn!(%refusal, "the place of a resume token that was used twice was not removed");
        }
    }

    /// Looks a resume token up. One that this process does not know may be from before a restart.
    async fn look_up(&self, token: &Token) -> Result<ResumeLookup, Rejection> {
        let known = self.resumes.find(token);
        if known != ResumeLookup::Unknown || !self.host.has_durable() || token.reveal().len() != TOKEN_CHARACTERS {
            return Ok(known);
        }
        let found = within_time(self.services.rooms.find_by_token_hash(hash(token.reveal()))).await?;
        let Some(ResumeTarget { room, identity: holder, is_spent, .. }) = found else { return Ok(ResumeLookup::Unknown) };
        let session = SessionId(holder.session.as_u128());
        let validity = self.sessions.add(session, holder.user, holder.issued_at);
        let record = ResumeRecord {
            room: RoomId(room),
            player: PlayerId(holder.player),
            session,
            user: holder.user.to_string(),
            name: holder.name,
            role: holder.role,
            issued_at: holder.issued_at,
        };
        Ok(match (validity, is_spent) {
            (SessionValidity::Ended, _) => ResumeLookup::Unknown,
            (SessionValidity::Valid, true) => ResumeLookup::Reused(Box::new(record)),
            (SessionValidity::Valid, false) => {
                self.resumes.add(token, record.clone(), STORED_TOKEN_GRACE);
                ResumeLookup::Good(Box::new(record))
            }
        })
    }

    fn membership(&self, room: RoomRef, account: KeyedShare<String>, record: ResumeRecord) -> Membership {
        Membership {
            room,
            _account: account,
            alive: Arc::default(),
            heard: Arc::default(),
            record,
            used: None,
            player: AtomicU32::new(0),
            services: Arc::clone(&self.services),
        }
    }

    /// Notes in the history that someone joined a room.
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

    fn account_share(&self, user: &str) -> Result<KeyedShare<String>, Rejection> {
        self.accounts
            .take(user.to_owned(), self.settings.per_account_max, u32::MAX)
            .ok_or_else(|| Rejection::new(ErrorCode::LimitReached, "your account has as many connections as it may"))
    }

    fn identify(&self, hello: &Hello, is_local: bool) -> Result<VerifiedToken, Rejection> {
        let refused = |reason: &'static str| {
            let labels = [("reason", reason)];
            self.registry
                .counter("aether_logins_refused_total", "Access tokens that were not accepted.", &labels)
                .inc();
            Rejection::new(ErrorCode::Unauthenticated, "the access token was not accepted: sign in and use a fresh one")
        };
        let token = hello.token.as_ref().ok_or_else(|| refused("missing"))?;
        let allowed = self.settings.accepts_development && is_local;
        let mut identity =
            self.tokens.verify(token.reveal(), unix_seconds(), allowed).map_err(|error| refused(error.label()))?;
        let user = Uuid::try_parse(&identity.user).map_err(|_| refused("malformed"))?;
        if self.sessions.add(identity.session, user, identity.issued_at) == SessionValidity::Ended {
            return Err(refused("revoked"));
        }
        // Names of accounts may be longer than those that travel with each message.
        identity.name.truncate(identity.name.floor_char_boundary(NAME_BYTES_MAX));
        Ok(identity)
    }

    /// Selects the only room type there is, for a client that names no room.
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
        if membership.used.is_none() {
            self.note_join(membership, player);
        }
        let grace = membership.room.room_type.resume_grace();
        if grace.is_zero() {
            return Box::pin(async { None });
        }
        let record = ResumeRecord { player, ..membership.record.clone() };
        let stored = membership.room.write_queue.clone().zip(holder(&record));
        let token = self.resumes.issue(record, &membership.alive, grace);
        let (hash, previous_hash) = (hash(token.reveal()), membership.used);
        Box::pin(async move {
            if let Some((queue, holder)) = stored {
                // If the database is away, the token is good as long as this server runs, and is stored when it is back.
                queue.store_place(room::StoredMember { identity: holder, hash, previous_hash }, PLACE_STORE_TIME_MAX).await;
            }
            Some(token)
        })
    }

    fn confirm_welcome(&self, grant: &JoinGrant) {
        let Some(membership) = grant.resources.downcast_ref::<Membership>() else { return };
        // Only a player who resumed has a token that is spent now.
        if !membership.heard.swap(true, Ordering::Relaxed)
            && membership.used.is_some()
            && let Some(queue) = &membership.room.write_queue
        {
            queue.note_heard(membership.player.load(Ordering::Relaxed));
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
        let Some((membership, figures)) = membership.and_then(|it| it.room.room.figures().map(|figures| (it, figures)))
        else {
            return manifest;
        };
        Manifest {
            tick_rate: Some(membership.room.room_type.tick_hz()),
            entities_active: Some(figures.entities),
            tick_us: Some(figures.tick_time.as_micros() as u32),
            ..manifest
        }
    }

    fn sessions(&self) -> &dyn SessionCheck {
        &*self.sessions
    }
}

fn grant(member: RoomMember, membership: Membership) -> JoinGrant {
    JoinGrant {
        session: membership.record.session,
        user: membership.record.user.clone(),
        permissions: membership.record.role.permissions(),
        room: membership.room.id.clone(),
        room_code: membership.room.code.clone(),
        member,
        resources: Box::new(membership) as Box<dyn Any + Send>,
    }
}

/// Returns the player of a place, as it is stored; none if the user has no account.
fn holder(record: &ResumeRecord) -> Option<room::MemberIdentity> {
    Some(room::MemberIdentity {
        player: record.player.0,
        user: Uuid::try_parse(&record.user).ok()?,
        session: Uuid::from_u128(record.session.0),
        name: record.name.clone(),
        role: record.role,
        issued_at: record.issued_at,
    })
}

/// Returns the time in seconds since 1970.
fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
