//! Opening of a connection to a room: from the first message to the welcome.

use super::session::JoinedClient;
use super::{Answers, Newcomer};
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

/// Hellos that a client may send. A token may just have expired; one that fails thrice will not get better.
const ATTEMPTS_MAX: u32 = 3;

/// The sentence for a client whose hello was not answered in time.
const UNAVAILABLE: &str = "the server could not answer your hello in time; try again in a moment";

type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A client that is not in yet.
pub(super) struct RoomHandshake<'a> {
    gateway: &'a Gateway,
    step: Step<'a>,
    /// Hellos that were refused.
    refused: u32,
    /// Time of the last hello.
    hello_at: Duration,
    /// True if the last hello shows a resume token.
    resumes: bool,
    pub answers: Answers,
}

/// Event that is waited for.
enum Step<'a> {
    /// A hello.
    Hello,
    /// The lobby's decision.
    Lobby(BoxFuture<'a, Result<JoinGrant, Rejection>>),
    /// The room's next tick.
    Admission(JoinGrant),
    /// The resume token.
    Token { entrance: JoinGrant, player: PlayerId, token: BoxFuture<'a, Option<Token>> },
}

impl<'a> RoomHandshake<'a> {
    pub fn new(gateway: &'a Gateway) -> RoomHandshake<'a> {
        RoomHandshake {
            gateway,
            step: Step::Hello,
            refused: 0,
            hello_at: Duration::ZERO,
            resumes: false,
            answers: Answers::new(),
        }
    }

    /// Returns true while a hello is waited for.
    pub fn is_listening(&self) -> bool {
        matches!(self.step, Step::Hello)
    }

    pub fn handle_message(&mut self, message: ClientMessage, newcomer: &Newcomer, meter: &mut RateMeter<'_>) {
        match message {
            ClientMessage::Hello(hello) if self.is_listening() => self.handle_hello(hello, newcomer),
            _ => {
                self.gateway.connections.counters.room.drops.before_hello.inc();
                meter.strike(1);
            }
        }
    }

    fn handle_hello(&mut self, hello: Hello, newcomer: &Newcomer) {
        self.hello_at = self.gateway.now();
        self.resumes = hello.resume_token.is_some();
        let entry = JoinAttempt {
            hello,
            room: newcomer.room.clone(),
            address: newcomer.address,
            is_local: newcomer.is_local,
            link: newcomer.link,
        };
        self.step = Step::Lobby(self.gateway.lobby.enter(entry));
    }

    /// A client of another version cannot get in, but it can be told why.
    pub fn handle_unreadable(&mut self, error: DecodeError, meter: &mut RateMeter<'_>) {
        if matches!(error, DecodeError::Version { .. }) {
            self.notify(ErrorCode::VersionMismatch, error.to_string(), true);
            meter.close(CloseReason::ProtocolViolation);
        }
    }

    /// A client that said no good hello was too slow; one that waits for an answer to its hello was not.
    pub fn handle_deadline(&mut self) -> Closing {
        if self.is_listening() {
            return closing(CloseReason::Unauthenticated);
        }
        self.notify(ErrorCode::Unavailable, UNAVAILABLE.to_owned(), true);
        // Of all reasons, this is the one after which clients try again with what they have.
        Closing { text: UNAVAILABLE.to_owned(), may_resume: self.resumes, ..closing(CloseReason::TimedOut) }
    }

    /// Goes on as far as the lobby and the room have decided. Returns the session of a client that is in.
    pub fn poll(
        &mut self,
        cx: &mut Context<'_>,
        newcomer: &Newcomer,
        meter: &mut RateMeter<'_>,
    ) -> Option<Box<JoinedClient<'a>>> {
        loop {
            match std::mem::replace(&mut self.step, Step::Hello) {
                Step::Hello => return None,
                Step::Lobby(mut decision) => match decision.as_mut().poll(cx) {
                    Poll::Pending => return self.wait(Step::Lobby(decision)),
                    Poll::Ready(Ok(entrance)) => self.step = Step::Admission(entrance),
                    Poll::Ready(Err(refusal)) => self.refuse(refusal, meter),
                },
                Step::Admission(entrance) => match entrance.place.poll_admission(cx) {
                    Poll::Pending => return self.wait(Step::Admission(entrance)),
                    Poll::Ready(Ok(player)) => {
                        let token = self.gateway.lobby.admitted(&entrance, player);
                        self.step = Step::Token { entrance, player, token };
                    }
                    Poll::Ready(Err(refusal)) => self.refuse(refusal, meter),
                },
                Step::Token { entrance, player, mut token } => match token.as_mut().poll(cx) {
                    Poll::Pending => return self.wait(Step::Token { entrance, player, token }),
                    Poll::Ready(token) => return Some(Box::new(self.session(newcomer, entrance, player, token))),
                },
            }
        }
    }

    fn wait(&mut self, step: Step<'a>) -> Option<Box<JoinedClient<'a>>> {
        self.step = step;
        None
    }

    fn refuse(&mut self, refusal: Rejection, meter: &mut RateMeter<'_>) {
        self.notify(refusal.code, refusal.message, false);
        self.refused += 1;
        if self.refused == ATTEMPTS_MAX {
            meter.end(ConnectionEnd::told(CloseReason::Unauthenticated));
        }
    }

    fn notify(&mut self, code: ErrorCode, message: String, fatal: bool) {
        self.answers.push((DeliveryPath::Reliable, ServerMessage::Error(ErrorNotice { code, message, fatal })));
    }

    fn session(
        &mut self,
        newcomer: &Newcomer,
        entrance: JoinGrant,
        player: PlayerId,
        resume_token: Option<Token>,
    ) -> JoinedClient<'a> {
        let welcome = entrance.place.complete(Welcome {
            player,
            room: entrance.room.clone(),
            session: entrance.session,
            connection: newcomer.connection,
            room_code: entrance.room_code.clone(),
            resume_token,
            ..Welcome::default()
        });
        let answers = std::mem::take(&mut self.answers);
        JoinedClient::new(self.gateway, (newcomer.encoding, self.hello_at), (entrance, player), welcome, answers)
    }
}
