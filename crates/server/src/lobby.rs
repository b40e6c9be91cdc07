//! Who comes in, and where to.

use crate::resumes::{Comeback, Presented, Resumes};
use crate::rooms::{Rooms, Started};
use crate::sessions::Sessions;
use crate::tokens::{Identity, Tokens};
use aether_engine::{Joiner, Refusal};
use aether_metrics::Registry;
use aether_net::lobby::{Entrance, Entry, Lobby, Place, SessionCheck, Standing};
use aether_net::{Share, Shares};
use aether_wire::limits::NAME_BYTES_MAX;
use aether_wire::{ErrorCode, Hello, Manifest, PROTOCOL_VERSION, PlayerId, RoomSelector, Token};
use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use uuid::Uuid;

/// The server's answer to everyone at the door.
pub(crate) struct Door {
    pub rooms: Arc<Rooms>,
    pub sessions: Arc<Sessions>,
    pub tokens: Arc<Tokens>,
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
    _room: crate::rooms::Hold,
    _account: Share<String>,
    /// Tells the resume token whether the connection still lives.
    alive: Arc<()>,
    /// Whether the client was heard from.
    heard: Arc<AtomicBool>,
    comeback: Comeback,
    grace: Duration,
}

impl Held {
    fn new(room: crate::rooms::Hold, account: Share<String>, comeback: Comeback, grace: Duration) -> Held {
        Held { _room: room, _account: account, alive: Arc::default(), heard: Arc::default(), comeback, grace }
    }
}

impl Door {
    fn let_in(&self, entry: Entry) -> Result<Entrance, Refusal> {
        match &entry.hello.resume_token {
            Some(token) => self.come_back(token.clone(), &entry),
            None => self.come_in(&entry),
        }
    }

    fn come_in(&self, entry: &Entry) -> Result<Entrance, Refusal> {
        let identity = self.identify(&entry.hello, entry.is_local)?;
        let selector = entry.room.as_ref().or(entry.hello.room.as_ref());
        let selector = selector.cloned().or_else(|| self.only_type()).ok_or_else(|| {
            Refusal::new(ErrorCode::RoomNotFound, "say which room you mean: by id, by code or by type")
        })?;
        let account = self.account(&identity.user)?;
        let (room, hold) = self.rooms.find(&selector, entry.address)?;
        let joiner = Joiner {
            user: identity.user.clone(),
            name: identity.name.clone(),
            permissions: identity.role.permissions(),
            metadata: Vec::new(),
        };
        let place = match &room.started {
            Started::Game(_, handle) => {
                let link = handle.join(joiner, entry.link).map_err(|_| busy())?;
                Place::Room { room: handle.clone(), link }
            }
            Started::Relay(relay) => Place::Relay(relay.join(&identity.name)?),
        };
        let comeback = Comeback {
            room: room.id.clone(),
            player: PlayerId(0),
            session: identity.session,
            user: identity.user,
            name: identity.name,
            role: identity.role,
        };
        Ok(entrance(&room, place, Held::new(hold, account, comeback, room.grace())))
    }

    fn come_back(&self, token: Token, entry: &Entry) -> Result<Entrance, Refusal> {
        let refused = || {
            self.registry.counter("aether_resumes_refused_total", "Resume tokens that were not accepted.", &[]).inc();
            Refusal::new(
                ErrorCode::ResumeRefused,
                "the resume token was not accepted: join anew with your access token",
            )
        };
        let comeback = match self.resumes.look(&token) {
            Presented::Good(comeback) => *comeback,
            Presented::Unknown => return Err(refused()),
            Presented::Reused(session) => {
                self.sessions.revoke(session);
                return Err(refused());
            }
        };
        if self.sessions.standing(comeback.session, true) == Standing::Ended {
            return Err(refused());
        }
        let account = self.account(&comeback.user)?;
        let (room, hold) =
            self.rooms.find(&RoomSelector::Id(comeback.room.clone()), entry.address).map_err(|_| refused())?;
        let Started::Game(_, handle) = &room.started else { return Err(refused()) };
        let link = handle.resume(comeback.player, entry.link).map_err(|_| busy())?;
        let place = Place::Room { room: handle.clone(), link };
        self.registry.counter("aether_resumes_total", "Players who came back by a resume token.", &[]).inc();
        let held = Held::new(hold, account, comeback, room.grace());
        self.resumes.use_up(&token, &held.heard);
        Ok(entrance(&room, place, held))
    }

    fn account(&self, user: &str) -> Result<Share<String>, Refusal> {
        self.accounts
            .take(user.to_owned(), self.per_account_max, u32::MAX)
            .ok_or_else(|| Refusal::new(ErrorCode::LimitReached, "your account has as many connections as it may"))
    }

    fn identify(&self, hello: &Hello, is_local: bool) -> Result<Identity, Refusal> {
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
        Box::pin(async move { self.let_in(entry) })
    }

    fn resume_token(&self, entrance: &Entrance, player: PlayerId) -> Option<Token> {
        let held = entrance.hold.downcast_ref::<Held>()?;
        if held.grace.is_zero() {
            return None;
        }
        let comeback = Comeback { player, ..held.comeback.clone() };
        Some(self.resumes.issue(comeback, &held.alive, held.grace))
    }

    fn heard(&self, entrance: &Entrance) {
        if let Some(held) = entrance.hold.downcast_ref::<Held>() {
            held.heard.store(true, Ordering::Relaxed);
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

fn entrance(room: &crate::rooms::RoomEntry, place: Place, held: Held) -> Entrance {
    Entrance {
        session: held.comeback.session,
        user: held.comeback.user.clone(),
        permissions: held.comeback.role.permissions(),
        room: room.id.clone(),
        room_code: room.code.clone(),
        place,
        hold: Box::new(held) as Box<dyn Any + Send>,
    }
}

fn busy() -> Refusal {
    Refusal::new(ErrorCode::Unavailable, "the room does not keep up; try again in a moment")
}

/// The time, in seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |passed| passed.as_secs())
}
