//! Handshake of a connection to a room: from the first message to the welcome.

use super::joined_client::JoinedClient;
use super::{Answers, NewClient};
use crate::connection::{ConnectionEnd, RateMeter};
use crate::gateway::Gateway;
use crate::lobby::{JoinAttempt, JoinGrant};
use aether_engine::{Rejection, closing};
use aether_wire::{
    ClientMessage, CloseReason, Closing, DecodeError, DeliveryPath, ErrorCode, ErrorNotice, Hello, PlayerId,
    ServerMessage, Token, Welcome,
};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// Most hellos of a client. A token may have just expired; after three failures another attempt is pointless.
const ATTEMPTS_MAX: u32 = 3;

/// Text for a client whose hello was not answered in time.
const UNAVAILABLE: &str = "the server could not answer your hello in time; try again in a moment";

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The handshake of a client.
pub(super) struct RoomHandshake<'a> {
    gateway: &'a Gateway,
    step: Step<'a>,
    /// Number of rejected hellos.
    rejected: u32,
    /// Time of the last hello.
    hello_at: Duration,
    /// True if the last hello has a resume token.
    is_resume: bool,
    pub answers: Answers,
}

/// Event that the handshake waits for.
enum Step<'a> {
    /// A hello.
    Hello,
    /// The lobby's decision.
    Lobby(BoxFuture<'a, Result<JoinGrant, Rejection>>),
    /// The room's next tick.
    Admission(JoinGrant),
    /// A resume token.
    Token { grant: JoinGrant, player: PlayerId, token: BoxFuture<'a, Option<Token>> },
}

impl<'a> RoomHandshake<'a> {
    pub fn new(gateway: &'a Gateway) -> RoomHandshake<'a> {
        RoomHandshake {
            gateway,
            step: Step::Hello,
            rejected: 0,
            hello_at: Duration::ZERO,
            is_resume: false,
            answers: Answers::new(),
        }
    }

    /// Returns true while waiting for a hello.
    pub fn awaits_hello(&self) -> bool {
        matches!(self.step, Step::Hello)
    }

    pub fn handle_message(&mut self, message: ClientMessage, client: &NewClient, meter: &mut RateMeter<'_>) {
        match message {
            ClientMessage::Hello(hello) if self.awaits_hello() => self.handle_hello(hello, client),
            _ => {
                self.gateway.connections.metrics.room.drops.before_hello.inc();
                meter.strike(1);
            }
        }
    }

    fn handle_hello(&mut self, hello: Hello, client: &NewClient) {
        self.hello_at = self.gateway.now();
        self.is_resume = hello.resume_token.is_some();
        let attempt = JoinAttempt {
            hello,
            room: client.room.clone(),
            account: client.account.clone(),
            address: client.address,
            is_local: client.is_local,
            order: client.order,
            encoding: client.encoding,
        };
        self.step = Step::Lobby(self.gateway.lobby.join(attempt));
    }

    /// Tells a client why its hello is rejected: it has another protocol version, or a value that is not allowed.
    pub fn handle_unreadable(&mut self, error: DecodeError, meter: &mut RateMeter<'_>) {
        match error {
            DecodeError::Version { .. } => {
                self.notify(ErrorCode::VersionMismatch, error.to_string(), true);
                meter.close(CloseReason::ProtocolViolation);
            }
            DecodeError::FieldTooLong { .. }
            | DecodeError::TooMany { .. }
            | DecodeError::Repeated { .. }
            | DecodeError::Missing { .. }
                if self.awaits_hello() =>
            {
                self.notify(ErrorCode::BadMessage, error.to_string(), false);
            }
            _ => {}
        }
    }

    /// Ends the handshake. A client without an accepted hello is unauthenticated; one that waits for the answer may
    /// retry.
    pub fn handle_deadline(&mut self) -> Closing {
        if self.awaits_hello() {
            return closing(CloseReason::Unauthenticated);
        }
        self.notify(ErrorCode::Unavailable, UNAVAILABLE.to_owned(), true);
        // After this reason clients retry with the same tokens.
        Closing { text: UNAVAILABLE.to_owned(), may_resume: self.is_resume, ..closing(CloseReason::TimedOut) }
    }

    /// Advances the handshake. Returns the joined client when it is done.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        client: &NewClient,
        meter: &mut RateMeter<'_>,
    ) -> Option<Box<JoinedClient<'a>>> {
        loop {
            match std::mem::replace(&mut self.step, Step::Hello) {
                Step::Hello => return None,
                Step::Lobby(mut decision) => match decision.as_mut().poll(cx) {
                    Poll::Pending => return self.wait(Step::Lobby(decision)),
                    Poll::Ready(Ok(grant)) => self.step = Step::Admission(grant),
                    Poll::Ready(Err(rejection)) => self.reject(rejection, meter),
                },
                Step::Admission(grant) => match grant.member.poll_admission(cx) {
                    Poll::Pending => return self.wait(Step::Admission(grant)),
                    Poll::Ready(Ok(player)) => {
                        let token = self.gateway.lobby.issue_resume_token(&grant, player);
                        self.step = Step::Token { grant, player, token };
                    }
                    Poll::Ready(Err(rejection)) => self.reject(rejection, meter),
                },
                Step::Token { grant, player, mut token } => match token.as_mut().poll(cx) {
                    Poll::Pending => return self.wait(Step::Token { grant, player, token }),
                    Poll::Ready(token) => return Some(Box::new(self.joined_client(client, grant, player, token))),
                },
            }
        }
    }

    fn wait(&mut self, step: Step<'a>) -> Option<Box<JoinedClient<'a>>> {
        self.step = step;
        None
    }

    fn reject(&mut self, rejection: Rejection, meter: &mut RateMeter<'_>) {
        self.notify(rejection.code, rejection.message, false);
        self.rejected += 1;
        if self.rejected == ATTEMPTS_MAX {
            meter.end(ConnectionEnd::closing(CloseReason::Unauthenticated));
        }
    }

    fn notify(&mut self, code: ErrorCode, message: String, fatal: bool) {
        self.answers.push((DeliveryPath::Reliable, ServerMessage::Error(ErrorNotice { code, message, fatal })));
    }

    fn joined_client(
        &mut self,
        client: &NewClient,
        grant: JoinGrant,
        player: PlayerId,
        resume_token: Option<Token>,
    ) -> JoinedClient<'a> {
        let welcome = grant.member.complete_welcome(Welcome {
            player,
            room: grant.room.clone(),
            session: grant.session,
            connection: client.connection,
            room_code: grant.room_code.clone(),
            resume_token,
            ..Welcome::default()
        });
        let answers = std::mem::take(&mut self.answers);
        JoinedClient::new(self.gateway, (client.encoding, self.hello_at), (grant, player), welcome, answers)
    }
}
