//! Who comes in, and where to.

use crate::resumes::{Comeback, Presented, Resumes, hash};
use crate::rooms::{self, RoomEntry, Rooms, Started, told};
use crate::sessions::Sessions;
use crate::tokens::{Tokens, VerifiedToken};
use aether_engine::{Joiner, Refusal};
use aether_metrics::Registry;
use aether_net::lobby::{Entrance, Entry, Lobby, Place, SessionCheck, Standing};
use aether_net::{Share, Shares};
use aether_services::Services;
use aether_services::room::{self, Found, Visit};
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

/// Characters of a resume token: 32 bytes in base64. What has others is none.
const TOKEN_CHARACTERS: usize = 43;
/// For how long a token from before the server was started again is remembered while its room is being rebuilt.
const LEARNED_FOR: Duration = Duration::from_secs(60);
/// How long a welcome waits for its resume token to be stored.
const PLACE_STORED_WITHIN: Duration = Duration::from_secs(3);

/// The server's answer to everyone at the door.
pub(crate) struct Door {
    pub rooms: Arc<Rooms>,
    pub sessions: Arc<Sessions>,
    pub tokens: Arc<Tokens>,
    pub services: Arc<Services>,
    pub resumes: Resumes,
    /// How many connections each account has.
    pub accounts: Shares<String>,
    pub per_account_max: u32,
    /// Whether tokens under the development key count, for those on this machine.
    pub accepts_development: bool,
    pub registry: Registry,
    pub started: Instant,
    pub version: &'static str,
}

/// What a connection holds while it lasts.
struct Held {
    room: Arc<RoomEntry>,
    _hold: crate::rooms::Hold,
    _account: Share<String>,
    /// Tells the resume token whether the connection still lives.
    alive: Arc<()>,
    /// Whether the client was heard from.
    heard: Arc<AtomicBool>,
    comeback: Comeback,
    /// The hash of the token by which they came back, if they did.
    used: Option<[u8; 32]>,
    /// The number that the room gave, once it has.
    player: AtomicU32,
    services: Arc<Services>,
}

impl Drop for Held {
    /// Whoever is in a relay leaves with the connection; other rooms say themselves who left.
    fn drop(&mut self) {
        if let (Started::Relay(_), player @ 1..) = (&self.room.started, self.player.load(Ordering::Relaxed)) {
            self.services.rooms.note_leave(&self.room.id.0, player, CloseReason::Left.name());
        }
    }
}

impl Door {
    async fn let_in(&self, entry: Entry) -> Result<Entrance, Refusal> {
        match &entry.hello.resume_token {
            Some(token) => self.come_back(token.clone(), &entry).await,
            None => self.come_in(&entry).await,
        }
    }

    async fn come_in(&self, entry: &Entry) -> Result<Entrance, Refusal> {
        let identity = self.identify(&entry.hello, entry.is_local)?;
        let selector = entry.room.as_ref().or(entry.hello.room.as_ref());
        let selector = selector.cloned().or_else(|| self.only_type()).ok_or_else(|| {
            Refusal::new(ErrorCode::RoomNotFound, "say which room you mean: by id, by code or by type")
        })?;
        let account = self.account(&identity.user)?;
        let found = self.rooms.find(&selector, entry.address).await?;
        let joiner = Joiner {
            user: identity.user.clone(),
            name: identity.name.clone(),
            permissions: identity.role.permissions(),
            metadata: Vec::new(),
        };
        let place = match &found.room.started {
            Started::Game(_, handle) => {
                let link = handle.join(joiner, entry.link).map_err(|_| busy())?;
                Place::Room { room: handle.clone(), link }
            }
            Started::Relay(relay) => Place::Relay(relay.join(&identity.name)?),
        };
        let comeback = Comeback {
            room: found.room.id.clone(),
            player: PlayerId(0),
            session: identity.session,
            user: identity.user,
            name: identity.name,
            role: identity.role,
            issued_at: identity.issued_at,
        };
        Ok(entrance(place, self.held(found, account, comeback)))
    }

    async fn come_back(&self, token: Token, entry: &Entry) -> Result<Entrance, Refusal> {
        let refused = || {
            self.registry.counter("aether_resumes_refused_total", "Resume tokens that were not accepted.", &[]).inc();
            Refusal::new(
                ErrorCode::ResumeRefused,
                "the resume token was not accepted: join anew with your access token",
            )
        };
        let comeback = match self.look(&token).await? {
            Presented::Good(comeback) => *comeback,
            Presented::Unknown => return Err(refused()),
            Presented::Reused(comeback) => {
                self.sessions.revoke(comeback.session);
                // Nobody comes back by its successor either, not even after a restart.
                if self.rooms.has_durable()
                    && let Err(refusal) = self.services.rooms.forget_holder(&comeback.room.0, comeback.player.0).await
                {
                    warn!(%refusal, "a place whose token was used twice was not taken away");
                }
                return Err(refused());
            }
        };
        if self.sessions.standing(comeback.session, true) == Standing::Ended {
            return Err(refused());
        }
        let account = self.account(&comeback.user)?;
        let found = self.rooms.find(&RoomSelector::Id(comeback.room.clone()), entry.address).await;
        let found = found.map_err(|refusal| match refusal.code {
            // The room may be there in a moment, and the token is still good.
            ErrorCode::Unavailable => refusal,
            _ => refused(),
        })?;
        let Started::Game(_, handle) = &found.room.started else { return Err(refused()) };
        let link = handle.resume(comeback.player, entry.link).map_err(|_| busy())?;
        let place = Place::Room { room: handle.clone(), link };
        self.registry.counter("aether_resumes_total", "Players who came back by a resume token.", &[]).inc();
        let mut held = self.held(found, account, comeback);
        held.used = Some(hash(token.reveal()));
        self.resumes.use_up(&token, &held.heard);
        Ok(entrance(place, held))
    }

    /// What a token is worth. One that this server does not know may be from before it was started again.
    async fn look(&self, token: &Token) -> Result<Presented, Refusal> {
        let presented = self.resumes.look(token);
        if presented != Presented::Unknown || !self.rooms.has_durable() || token.reveal().len() != TOKEN_CHARACTERS {
            return Ok(presented);
        }
        let found = self.services.rooms.find_holder(hash(token.reveal())).await.map_err(told)?;
        let Some(Found { room, holder, is_spent, .. }) = found else { return Ok(Presented::Unknown) };
        let session = SessionId(holder.session.as_u128());
        let standing = self.sessions.enter(session, holder.user, holder.issued_at);
        let comeback = Comeback {
            room: RoomId(room),
            player: PlayerId(holder.player),
            session,
            user: holder.user.to_string(),
            name: holder.name,
            role: holder.role,
            issued_at: holder.issued_at,
        };
        Ok(match (standing, is_spent) {
            (Standing::Ended, _) => Presented::Unknown,
            (Standing::Good, true) => Presented::Reused(Box::new(comeback)),
            (Standing::Good, false) => {
                self.resumes.learn(token, comeback.clone(), LEARNED_FOR);
                Presented::Good(Box::new(comeback))
            }
        })
    }

    fn held(&self, found: rooms::Found, account: Share<String>, comeback: Comeback) -> Held {
        Held {
            room: found.room,
            _hold: found.hold,
            _account: account,
            alive: Arc::default(),
            heard: Arc::default(),
            comeback,
            used: None,
            player: AtomicU32::new(0),
            services: Arc::clone(&self.services),
        }
    }

    /// Notes that someone came into a room.
    fn note_join(&self, held: &Held, player: PlayerId) {
        let Comeback { session, user, room, .. } = &held.comeback;
        let Ok(user) = Uuid::try_parse(user) else { return };
        self.services.rooms.note_join(Visit {
            user,
            session: Uuid::from_u128(session.0),
            room: room.0.clone(),
            room_type: held.room.kind.clone(),
            player: player.0,
            node: self.rooms.node().to_owned(),
        });
    }

    fn account(&self, user: &str) -> Result<Share<String>, Refusal> {
        self.accounts
            .take(user.to_owned(), self.per_account_max, u32::MAX)
            .ok_or_else(|| Refusal::new(ErrorCode::LimitReached, "your account has as many connections as it may"))
    }

    fn identify(&self, hello: &Hello, is_local: bool) -> Result<VerifiedToken, Refusal> {
        let refused = |kind: &'static str| {
            let labels = [("reason", kind)];
            self.registry
                .counter("aether_logins_refused_total", "Access tokens that were not accepted.", &labels)
                .inc();
            Refusal::new(ErrorCode::Unauthenticated, "the access token was not accepted: sign in and use a fresh one")
        };
        let token = hello.token.as_ref().ok_or_else(|| refused("missing"))?;
        let allowed = self.accepts_development && is_local;
        let mut identity =
            self.tokens.verify(token.reveal(), unix_seconds(), allowed).map_err(|error| refused(error.label()))?;
        let user = Uuid::try_parse(&identity.user).map_err(|_| refused("malformed"))?;
        if self.sessions.enter(identity.session, user, identity.issued_at) == Standing::Ended {
            return Err(refused("revoked"));
        }
        // Names of accounts may be longer than those that travel with each message.
        identity.name.truncate(identity.name.floor_char_boundary(NAME_BYTES_MAX));
        Ok(identity)
    }

    /// Whoever names no room means the only type there is.
    fn only_type(&self) -> Option<RoomSelector> {
        let mut kinds = self.rooms.kinds();
        let only = kinds.next()?;
        kinds.next().is_none().then(|| RoomSelector::Type { name: only.name.clone(), label: None })
    }
}

impl Lobby for Door {
    fn enter<'a>(&'a self, entry: Entry) -> Pin<Box<dyn Future<Output = Result<Entrance, Refusal>> + Send + 'a>> {
        Box::pin(self.let_in(entry))
    }

    fn admitted<'a>(
        &'a self,
        entrance: &Entrance,
        player: PlayerId,
    ) -> Pin<Box<dyn Future<Output = Option<Token>> + Send + 'a>> {
        let Some(held) = entrance.hold.downcast_ref::<Held>() else { return Box::pin(async { None }) };
        held.player.store(player.0, Ordering::Relaxed);
        if held.used.is_none() {
            self.note_join(held, player);
        }
        let grace = held.room.grace();
        if grace.is_zero() {
            return Box::pin(async { None });
        }
        let comeback = Comeback { player, ..held.comeback.clone() };
        let stored = held.room.keeper.clone().zip(holder(&comeback));
        let token = self.resumes.issue(comeback, &held.alive, grace);
        let (hash, previous_hash) = (hash(token.reveal()), held.used);
        Box::pin(async move {
            if let Some((keeper, holder)) = stored {
                // If the database is away, the token is good as long as this server runs, and is stored when it is back.
                keeper.place(room::Place { holder, hash, previous_hash }, PLACE_STORED_WITHIN).await;
            }
            Some(token)
        })
    }

    fn heard(&self, entrance: &Entrance) {
        let Some(held) = entrance.hold.downcast_ref::<Held>() else { return };
        // Only who came back by a token has one that is spent now.
        if !held.heard.swap(true, Ordering::Relaxed)
            && held.used.is_some()
            && let Some(keeper) = &held.room.keeper
        {
            keeper.heard(held.player.load(Ordering::Relaxed));
        }
    }

    fn manifest(&self, entrance: &Entrance) -> Manifest {
        let manifest = Manifest {
            version_server: self.version.to_owned(),
            version_protocol: PROTOCOL_VERSION,
            ..Manifest::default()
        };
        if !entrance.permissions.inspect {
            return manifest;
        }
        let manifest = Manifest {
            clients_active: Some(self.rooms.players()),
            rooms_active: Some(self.rooms.len() as u32),
            uptime_s: Some(self.started.elapsed().as_secs() as u32),
            ..manifest
        };
        let Place::Room { room, .. } = &entrance.place else { return manifest };
        let figures = room.figures();
        Manifest {
            tick_rate: Some(room.settings().tick_hz),
            entities_active: Some(figures.entities),
            tick_us: Some(figures.tick_time.as_micros() as u32),
            ..manifest
        }
    }

    fn sessions(&self) -> &dyn SessionCheck {
        &*self.sessions
    }
}

fn entrance(place: Place, held: Held) -> Entrance {
    Entrance {
        session: held.comeback.session,
        user: held.comeback.user.clone(),
        permissions: held.comeback.role.permissions(),
        room: held.room.id.clone(),
        room_code: held.room.code.clone(),
        place,
        hold: Box::new(held) as Box<dyn Any + Send>,
    }
}

/// Who has a place, as it is stored.
fn holder(comeback: &Comeback) -> Option<room::Holder> {
    Some(room::Holder {
        player: comeback.player.0,
        user: Uuid::try_parse(&comeback.user).ok()?,
        session: Uuid::from_u128(comeback.session.0),
        name: comeback.name.clone(),
        role: comeback.role,
        issued_at: comeback.issued_at,
    })
}

fn busy() -> Refusal {
    Refusal::new(ErrorCode::Unavailable, "the room does not keep up; try again in a moment")
}

/// The time, in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
