//! Coming in, and coming back.

use crate::Backoff;
use aether_wire::{
    CloseReason, Closing, ErrorCode, ErrorNotice, Hello, RoomId, RoomSelector, SchemaHash, Token, Welcome,
};
use std::time::Duration;

/// Who the player is and where to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinOptions {
    /// The access token of a login.
    pub token: Option<Token>,
    /// The room to join; absent when the address names it.
    pub room: Option<RoomSelector>,
}

/// Where a client stands.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientPhase {
    /// On the way in.
    Connecting,
    /// In a room.
    Joined,
    /// The connection was lost, and the client comes back to the same player.
    Resuming,
    /// It is over, until the client is made anew.
    Closed(EndReason),
}

/// Why it is over.
#[derive(Clone, Debug, PartialEq)]
pub enum EndReason {
    /// The player left.
    Left,
    /// The server ended it, and does not want the client back.
    ClosedByServer(Closing),
    /// The server did not let the client in.
    JoinRejected(ErrorNotice),
    /// The room replicates something else than the game declares: client and server are of different versions.
    UnknownSchema,
    /// The server shows more entities than the settings let the client follow.
    TooManyEntities,
    /// The server states rates that no room has.
    InvalidRates,
}

/// The way in and back.
#[derive(Debug)]
pub(crate) struct ClientSession {
    login: JoinOptions,
    schema: SchemaHash,
    phase: ClientPhase,
    resume_token: Option<Token>,
    /// The room that the player was in. Another one, as the login names it, is second best.
    last_room: Option<RoomId>,
    /// Whether the hello that waits for its answer is by the resume token.
    is_resuming: bool,
    closing: Option<Closing>,
    backoff: Backoff,
    retry_at: Option<Duration>,
}

impl ClientSession {
    pub fn new(login: JoinOptions, schema: SchemaHash, seed: u64) -> Self {
        ClientSession {
            login,
            schema,
            phase: ClientPhase::Connecting,
            resume_token: None,
            last_room: None,
            is_resuming: false,
            closing: None,
            backoff: Backoff::new(seed),
            retry_at: Some(Duration::ZERO),
        }
    }

    pub fn phase(&self) -> &ClientPhase {
        &self.phase
    }

    pub fn is_joined(&self) -> bool {
        self.phase == ClientPhase::Joined
    }

    /// When to open a connection; nothing while there is one, and when it is over.
    pub fn retry_at(&self) -> Option<Duration> {
        self.retry_at
    }

    pub fn attempts(&self) -> u32 {
        self.backoff.attempts()
    }

    /// A new access token, for when the old one has run out.
    pub fn set_token(&mut self, token: Option<Token>) {
        self.login.token = token;
    }

    /// There is a connection: what to say first. Nothing if it is over.
    pub fn connected(&mut self) -> Option<Hello> {
        if matches!(self.phase, ClientPhase::Closed(_)) {
            return None;
        }
        self.retry_at = None;
        self.closing = None;
        Some(self.hello())
    }

    /// The server let the client in. True if it is back as the same player.
    pub fn welcomed(&mut self, welcome: &Welcome) -> bool {
        self.phase = ClientPhase::Joined;
        self.resume_token = welcome.resume_token.clone();
        self.last_room = Some(welcome.room.clone());
        self.backoff.reset();
        std::mem::take(&mut self.is_resuming)
    }

    /// The server did not let the client in: what to say instead, if there is something.
    pub fn refused(&mut self, notice: &ErrorNotice, now: Duration) -> Option<Hello> {
        match notice.code {
            // They pass, and the token is still good.
            ErrorCode::Unavailable | ErrorCode::Internal | ErrorCode::RateLimited | ErrorCode::Unknown => {
                self.lost(now);
                return None;
            }
            _ => self.resume_token = None,
        }
        if self.is_resuming && notice.code == ErrorCode::ResumeRefused {
            self.phase = ClientPhase::Connecting;
            return Some(self.hello());
        }
        if self.last_room.is_some() && is_of_one_room(notice.code) {
            self.last_room = None;
            return Some(self.hello());
        }
        self.close(EndReason::JoinRejected(notice.clone()));
        None
    }

    /// The server says that the connection ends. Whether the client comes back is decided when it has ended.
    pub fn closing(&mut self, closing: &Closing) {
        if closing.deadline_ms == 0 {
            self.closing = Some(closing.clone());
        }
    }

    /// The connection is gone.
    pub fn lost(&mut self, now: Duration) {
        if matches!(self.phase, ClientPhase::Closed(_)) {
            return;
        }
        match self.closing.take() {
            Some(closing) if is_final(&closing) => return self.close(EndReason::ClosedByServer(closing)),
            // A server that stops may come back and know its players.
            Some(closing) if !closing.may_resume && closing.reason != CloseReason::Shutdown => self.resume_token = None,
            _ => {}
        }
        self.is_resuming = false;
        self.phase = if self.resume_token.is_some() { ClientPhase::Resuming } else { ClientPhase::Connecting };
        self.retry_at = Some(now.saturating_add(self.backoff.pause()));
    }

    pub fn close(&mut self, why: EndReason) {
        self.phase = ClientPhase::Closed(why);
        self.retry_at = None;
        self.resume_token = None;
    }

    /// A resume token is shown until the server answers it. It is good once, but whoever lost the connection before the
    /// answer has no other, and the server takes it again from someone it has not heard from since.
    fn hello(&mut self) -> Hello {
        let schema_hash = Some(self.schema);
        let resume_token = self.resume_token.clone();
        self.is_resuming = resume_token.is_some();
        if self.is_resuming {
            return Hello { resume_token, schema_hash, ..Hello::default() };
        }
        let JoinOptions { token, room } = self.login.clone();
        let room = self.last_room.clone().map(RoomSelector::Id).or(room);
        Hello { token, room, schema_hash, resume_token: None }
    }
}

/// Whether something is refused of a certain room, where another one would do.
fn is_of_one_room(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::RoomNotFound | ErrorCode::RoomFull | ErrorCode::JoinRefused)
}

/// Whether the server does not want the client back.
fn is_final(closing: &Closing) -> bool {
    match closing.reason {
        CloseReason::Shutdown | CloseReason::Moved => false,
        CloseReason::TimedOut | CloseReason::TooSlow | CloseReason::Flooded => false,
        CloseReason::Left
        | CloseReason::RoomEnded
        | CloseReason::RoomFailed
        | CloseReason::SessionEnded
        | CloseReason::Replaced
        | CloseReason::Kicked
        | CloseReason::ProtocolViolation
        | CloseReason::Unauthenticated => true,
        CloseReason::Unknown => !closing.may_resume,
    }
}
