//! Join, resume and close of a client.

use crate::Backoff;
use aether_wire::{
    CloseReason, Closing, ErrorCode, ErrorNotice, Hello, JoinMetadata, RoomId, RoomSelector, SchemaHash, Token, Welcome,
};
use std::time::Duration;

/// Identity of the player and the room to join.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct JoinOptions {
    /// Access token of the player.
    pub token: Option<Token>,
    /// Room to join. `None` if the address names it.
    pub room: Option<RoomSelector>,
    /// Texts for the game, which reads them at the join: [`aether_wire::limits`] has their bounds.
    pub metadata: JoinMetadata,
}

/// Phase of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum ClientPhase {
    /// Connecting to the server and joining a room.
    Connecting,
    /// Joined a room.
    Joined,
    /// The connection was lost; the client resumes its player.
    Resuming,
    /// Closed for good. To play again, create a new client.
    Closed(EndReason),
}

/// Reason why a client closed.
#[derive(Clone, Debug, PartialEq)]
pub enum EndReason {
    /// The player left.
    Left,
    /// The server closed the connection and does not allow a return.
    ClosedByServer(Closing),
    /// The server rejected the join.
    JoinRejected(ErrorNotice),
    /// The room's schema differs from the one that the game declares: client and server have different versions.
    UnknownSchema,
    /// The server sent more entities than [`ClientSettings::entities_max`](crate::ClientSettings::entities_max).
    TooManyEntities,
    /// The welcome contains tick or snapshot rates that no room has.
    InvalidRates,
}

/// State machine of join, resume and retry.
#[derive(Debug)]
pub(crate) struct ClientSession {
    join_options: JoinOptions,
    schema: SchemaHash,
    phase: ClientPhase,
    resume_token: Option<Token>,
    /// Room of the last welcome. It is tried before the room of the join options.
    last_room: Option<RoomId>,
    /// True if the unanswered hello carries the resume token.
    is_resuming: bool,
    closing: Option<Closing>,
    /// True if the owner can get another access token.
    renews_token: bool,
    token_need: TokenNeed,
    backoff: Backoff,
    retry_at: Option<Duration>,
}

/// Access token that the next hello needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TokenNeed {
    /// The last one may be used again.
    Any,
    /// The last one was rejected.
    Fresh,
    /// A fresh one was given since the last welcome. If it is rejected too, the join is rejected.
    Given,
}

impl ClientSession {
    pub fn new(join_options: JoinOptions, schema: SchemaHash, seed: u64) -> Self {
        ClientSession {
            join_options,
            schema,
            phase: ClientPhase::Connecting,
            resume_token: None,
            last_room: None,
            is_resuming: false,
            closing: None,
            renews_token: false,
            token_need: TokenNeed::Any,
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

    /// Time at which to open a connection. `None` while one is open or the client is closed.
    pub fn retry_at(&self) -> Option<Duration> {
        self.retry_at
    }

    /// Token of the next hello.
    pub fn hello_token(&self) -> Option<&Token> {
        self.resume_token.as_ref().or(self.join_options.token.as_ref())
    }

    pub fn attempts(&self) -> u32 {
        self.backoff.attempts()
    }

    /// Sets the access token of the next hello.
    pub fn set_token(&mut self, token: Option<Token>) {
        self.join_options.token = token;
        if self.token_need == TokenNeed::Fresh {
            self.token_need = TokenNeed::Given;
        }
    }

    /// Sets whether the owner can get another access token.
    pub fn set_renews_token(&mut self, renews_token: bool) {
        self.renews_token = renews_token;
    }

    /// Returns true if the last access token was rejected and another one is needed.
    pub fn needs_fresh_token(&self) -> bool {
        self.token_need == TokenNeed::Fresh
    }

    /// Handles an opened connection. Returns the hello to send, or `None` if the client is closed.
    pub fn handle_connected(&mut self) -> Option<Hello> {
        if matches!(self.phase, ClientPhase::Closed(_)) {
            return None;
        }
        self.retry_at = None;
        self.closing = None;
        Some(self.hello())
    }

    /// Handles the welcome. Returns true if the client resumed its player.
    pub fn handle_welcome(&mut self, welcome: &Welcome) -> bool {
        self.phase = ClientPhase::Joined;
        self.resume_token = welcome.resume_token.clone();
        self.last_room = Some(welcome.room.clone());
        self.backoff.reset();
        self.token_need = TokenNeed::Any;
        std::mem::take(&mut self.is_resuming)
    }

    /// Handles a rejected hello. Returns another hello to try, if there is one.
    pub fn handle_rejection(&mut self, notice: &ErrorNotice, now: Duration) -> Option<Hello> {
        match notice.code {
            // Temporary errors: the resume token remains valid.
            ErrorCode::Unavailable | ErrorCode::Internal | ErrorCode::RateLimited | ErrorCode::Unknown => {
                self.handle_disconnected(now);
                return None;
            }
            _ => self.resume_token = None,
        }
        if self.is_resuming && notice.code == ErrorCode::ResumeRefused {
            self.phase = ClientPhase::Connecting;
            return Some(self.hello());
        }
        if self.last_room.is_some() && is_room_specific(notice.code) {
            self.last_room = None;
            return Some(self.hello());
        }
        if notice.code == ErrorCode::Unauthenticated && self.renews_token && self.token_need == TokenNeed::Any {
            self.token_need = TokenNeed::Fresh;
            self.phase = ClientPhase::Connecting;
            self.retry_at = Some(now);
            return None;
        }
        self.close(EndReason::JoinRejected(notice.clone()));
        None
    }

    /// Handles the server's closing notice. It decides about a retry once the connection is lost.
    pub fn handle_closing(&mut self, closing: &Closing) {
        if closing.deadline_ms == 0 {
            self.closing = Some(closing.clone());
        }
    }

    /// Handles a lost connection.
    pub fn handle_disconnected(&mut self, now: Duration) {
        if matches!(self.phase, ClientPhase::Closed(_)) {
            return;
        }
        match self.closing.take() {
            Some(closing) if is_final(&closing) => return self.close(EndReason::ClosedByServer(closing)),
            // A server that restarts may still know its players.
            Some(closing) if !closing.may_resume && closing.reason != CloseReason::Shutdown => self.resume_token = None,
            _ => {}
        }
        self.is_resuming = false;
        self.phase = if self.resume_token.is_some() { ClientPhase::Resuming } else { ClientPhase::Connecting };
        self.retry_at = Some(now.saturating_add(self.backoff.next_delay()));
    }

    pub fn close(&mut self, reason: EndReason) {
        self.phase = ClientPhase::Closed(reason);
        self.retry_at = None;
        self.resume_token = None;
    }

    /// Builds the next hello. The resume token is sent until the server answers it: if the connection is lost before
    /// the answer, the client has no other, and the server accepts it again.
    fn hello(&mut self) -> Hello {
        let schema_hash = Some(self.schema);
        let resume_token = self.resume_token.clone();
        self.is_resuming = resume_token.is_some();
        if self.is_resuming {
            return Hello { resume_token, schema_hash, ..Hello::default() };
        }
        let JoinOptions { token, room, metadata } = self.join_options.clone();
        let room = self.last_room.clone().map(RoomSelector::Id).or(room);
        Hello { token, room, schema_hash, resume_token: None, metadata }
    }
}

/// Returns true if the error concerns one room, so that another room may accept the client.
fn is_room_specific(code: ErrorCode) -> bool {
    matches!(code, ErrorCode::RoomNotFound | ErrorCode::RoomFull | ErrorCode::JoinRefused)
}

/// Returns true if the server does not allow a return.
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
