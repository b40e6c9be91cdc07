//! Protocol of one services socket: envelopes from the client, answers with the same `cid`, and messages of the router.

use super::SocketServer;
use super::dispatch::{Dispatched, Origin, class_of, dispatch};
use super::error::SocketError;
use super::requests::{Answer, Request, Requests};
use crate::answers::AnswerShare;
use crate::routing::Calls as _;
use aether_limits::RateLimit;
use aether_messages::realtime::Envelope;
use aether_messages::realtime::error::Code;
use aether_messages::socket::{FrameError, SocketFormat, decode_json, decode_protobuf};
use aether_net::lobby::SessionValidity;
use aether_net::{ConnectionEnd, MessageClass, MessageRates, OutgoingMessages, Protocol, RateMeter, Transport};
use aether_services::clock::new_id;
use aether_services::router::{MatchBatch, OpenSocket, OutboxItem, Outgoing, SocketSession};
use aether_services::session::ReportedSession;
use aether_services::{CallContext, Caller, ServiceError, UserIdentity, status};
use aether_wire::{CloseReason, Closing, DeliveryPath, SessionId};
use std::any::Any;
use std::collections::VecDeque;
use std::net::IpAddr;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Most messages that are written at a time, so that other connections get their turn.
const MESSAGES_PER_FILL: usize = 64;
/// Bytes that are written at a time; a longer message is written alone.
const BYTES_PER_FILL: usize = 65_536;

/// Client that was admitted.
pub(super) struct NewSocket {
    pub format: SocketFormat,
    /// True if the session starts with an empty status.
    pub is_shown: bool,
    pub address: IpAddr,
    pub port: u16,
    pub language: Arc<str>,
    pub identity: UserIdentity,
    /// Shares of limits.
    pub resources: Box<dyn Any + Send>,
}

/// Protocol of a services socket.
pub(super) struct SocketProtocol {
    server: SocketServer,
    context: Arc<CallContext>,
    /// Session of the token.
    session: SessionId,
    session_epoch: u64,
    format: SocketFormat,
    requests: Requests,
    answers: VecDeque<QueuedAnswer>,
    /// Shares of answers that are being written.
    writing: Vec<AnswerShare>,
    open: OpenSocket,
    /// Reason for which the router closes the connection.
    closing: Option<Closing>,
    /// Dropped after the socket has left its streams.
    _reported: ReportedSession,
    _resources: Box<dyn Any + Send>,
}

/// Answer that waits to be written.
struct QueuedAnswer {
    message: Arc<Outgoing>,
    share: Option<AnswerShare>,
}

impl SocketProtocol {
    /// Connects a client to the router.
    pub fn new(server: SocketServer, client: NewSocket) -> Result<SocketProtocol, ServiceError> {
        let NewSocket { format, is_shown, address, port, language, identity, resources } = client;
        let services = Arc::clone(server.services());
        let socket = SocketSession {
            session: new_id(services.clock.now_ms()),
            user: identity.user,
            username: identity.username.as_str().into(),
            node: Arc::clone(&server.settings.node),
        };
        let session = SessionId(identity.session.as_u128());
        let session_epoch = server.gateway.sessions().epoch();
        let context = CallContext {
            socket: Some(socket.session),
            port: Some(port),
            language: Some(language),
            ..CallContext::from_address(Caller::User(Arc::new(identity)), address)
        };
        let open = services.router.open(socket)?;
        status::start(&services.router, &open.socket, is_shown)?;
        let context = Arc::new(context);
        Ok(SocketProtocol {
            _reported: ReportedSession::start(&services.session_handlers, &context),
            requests: Requests::new(server.settings.requests_max),
            server,
            context,
            session,
            session_epoch,
            format,
            answers: VecDeque::new(),
            writing: Vec::new(),
            open,
            closing: None,
            _resources: resources,
        })
    }

    /// Closes the connection of a session that was revoked, and notes a changed role. It costs one atomic load if nothing
    /// has changed.
    fn check_session(&mut self, meter: &mut RateMeter<'_>) {
        let sessions = self.server.gateway.sessions();
        let epoch = sessions.epoch();
        if epoch == self.session_epoch {
            return;
        }
        if sessions.validity(self.session, true) == SessionValidity::Ended {
            return meter.close(CloseReason::SessionEnded);
        }
        self.session_epoch = epoch;
        let Caller::User(identity) = &self.context.caller else { return };
        let role = self.server.services().sessions.roles().of(identity.user);
        if role != identity.role {
            let identity = UserIdentity { role, ..UserIdentity::clone(identity) };
            Arc::make_mut(&mut self.context).caller = Caller::User(Arc::new(identity));
        }
    }

    /// Queues the answer of a request. An error of the protocol ends the connection.
    fn answer_request(&mut self, cid: String, answer: Answer, meter: &mut RateMeter<'_>) {
        let message = match answer {
            // Nothing to say, and no request to say it to.
            Ok(None) if cid.is_empty() => return,
            Ok(message) => message,
            Err(error) => {
                if error.closes() {
                    let text = format!("unrecognized message: {}", error.message);
                    meter.end(violation(text));
                }
                Some(error.into_message())
            }
        };
        let message = Outgoing::of(Envelope { cid, message });
        let bytes = message.frame(self.format).map_or(0, |frame| frame.len());
        match self.server.client_api.answers().take_request(&self.context, bytes) {
            Ok(share) => self.answers.push_back(QueuedAnswer { message, share }),
            Err(error) => {
                let cid = message.envelope().cid.clone();
                self.queue_error(cid, SocketError::new(Code::RuntimeException, error.message));
            }
        }
    }

    /// Answers a message that no operation handles, after the requests before it.
    fn refuse(&mut self, cid: String, error: SocketError) {
        self.requests.push_ordered(Request { cid, answer: Box::pin(std::future::ready(Err(error))) });
    }

    fn queue_error(&mut self, cid: String, error: SocketError) {
        let message = Outgoing::of(Envelope { cid, message: Some(error.into_message()) });
        self.answers.push_back(QueuedAnswer { message, share: None });
    }

    /// Writes answers, then messages of the router. Returns true if nothing is left.
    fn write<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> bool {
        for _ in 0..MESSAGES_PER_FILL {
            if out.backlog_bytes() >= BYTES_PER_FILL {
                return false;
            }
            let message = match self.answers.pop_front() {
                Some(QueuedAnswer { message, share }) => {
                    self.writing.extend(share);
                    message
                }
                None => match self.open.outbox.take() {
                    Some(OutboxItem::Message(message)) => message,
                    Some(OutboxItem::Batch { batch, member }) => {
                        self.write_batch(&batch, member, out);
                        continue;
                    }
                    None => return true,
                },
            };
            match message.frame(self.format) {
                Some(frame) => out.queue(DeliveryPath::Reliable, frame),
                // Only counted.
                None => drop(out.write(DeliveryPath::Reliable, |_| Err(()))),
            }
        }
        false
    }

    /// Writes the match data for a member. Connections with the same framing share the bytes.
    fn write_batch<T: Transport>(&self, batch: &MatchBatch, member: u32, out: &mut OutgoingMessages<'_, T>) {
        for run in batch.runs(member) {
            match (self.format, out.shared_framing()) {
                (SocketFormat::Protobuf, Some(framing)) => {
                    let frames = batch.framed(framing, &run);
                    out.queue_framed(frames, frames.len());
                }
                (format, _) => {
                    for message in batch.messages(format, run) {
                        out.queue(DeliveryPath::Reliable, message);
                    }
                }
            }
        }
    }
}

impl Protocol for SocketProtocol {
    type Message = Envelope;
    type Unreadable = FrameError;

    fn message_bytes_max(&self) -> usize {
        self.server.settings.message_bytes_max
    }

    fn rates(&self) -> MessageRates {
        let usual = self.server.settings.rate;
        MessageRates { usual, frequent: RateLimit::REALTIME, fragments: usual, costly: RateLimit::STRICT }
    }

    fn can_receive(&self) -> bool {
        !self.requests.is_busy() && self.answers.len() < self.server.settings.requests_max
    }

    fn decode(&mut self, bytes: &[u8]) -> Result<Envelope, FrameError> {
        match self.format {
            SocketFormat::Protobuf => decode_protobuf(bytes),
            SocketFormat::Json => decode_json(|| serde_json::from_slice(bytes)),
        }
    }

    fn class(&self, envelope: &Envelope) -> MessageClass {
        class_of(envelope.message.as_ref())
    }

    fn handle_message(&mut self, _path: DeliveryPath, envelope: Envelope, meter: &mut RateMeter<'_>) {
        self.check_session(meter);
        if meter.has_end() {
            return;
        }
        let Envelope { cid, message } = envelope;
        if self.requests.is_full() {
            let text = "Too many requests at once. Wait for answers before you send more.";
            meter.strike(1);
            return self.queue_error(cid, SocketError::new(Code::RuntimeException, text));
        }
        let Some(message) = message else {
            return self.refuse(cid, SocketError::new(Code::MissingPayload, "Missing message."));
        };
        match dispatch(&Origin { server: &self.server, context: &self.context }, message) {
            Dispatched::Ordered(answer) => self.requests.push_ordered(Request { cid, answer }),
            Dispatched::Function(answer) => self.requests.push_function(Request { cid, answer }),
            Dispatched::Ignored => {}
            Dispatched::Unrecognized => {
                self.refuse(cid, SocketError::new(Code::UnrecognizedPayload, "Unrecognized message."));
            }
        }
    }

    fn handle_excess(&mut self, envelope: Envelope) {
        let text = "Too many messages. Send fewer per second.";
        self.queue_error(envelope.cid, SocketError::new(Code::RuntimeException, text));
    }

    fn handle_unreadable(&mut self, error: FrameError, meter: &mut RateMeter<'_>) {
        meter.end(violation(error.to_string()));
    }

    fn handle_second(&mut self, is_active: bool, meter: &mut RateMeter<'_>) {
        self.check_session(meter);
        if self.server.gateway.sessions().validity(self.session, is_active) == SessionValidity::Ended {
            meter.close(CloseReason::SessionEnded);
        }
    }

    fn poll_work(&mut self, cx: &mut Context<'_>, meter: &mut RateMeter<'_>) {
        while let Poll::Ready((cid, answer)) = self.requests.poll(cx) {
            let is_last = answer.as_ref().is_err_and(SocketError::closes);
            self.answer_request(cid, answer, meter);
            // What the client sent after an unrecognized message is not handled.
            if is_last {
                break;
            }
        }
        self.open.outbox.wake_by(cx.waker());
        if self.closing.is_none() {
            let closing = self.open.outbox.closing();
            self.closing = closing.map(|it| Closing { reason: it.reason, text: it.text, ..Closing::default() });
        }
    }

    fn has_output(&self) -> bool {
        !self.answers.is_empty() || self.closing.is_some() || self.open.outbox.has_output()
    }

    fn fill<T: Transport>(&mut self, out: &mut OutgoingMessages<'_, T>) -> Option<ConnectionEnd> {
        // Earlier output was flushed.
        self.writing.clear();
        let is_done = self.write(out);
        let closing = self.closing.as_ref().filter(|_| is_done)?;
        Some(ConnectionEnd::Closing(closing.clone()))
    }

    fn closing(&self) -> Option<&Closing> {
        self.closing.as_ref()
    }

    /// The protocol has no message for it. The router closes the sockets when the server stops.
    fn handle_stop<T: Transport>(&mut self, _deadline_ms: u32, _out: &mut OutgoingMessages<'_, T>) {}

    fn handle_end<T: Transport>(&mut self, end: &mut ConnectionEnd, out: &mut OutgoingMessages<'_, T>) {
        if let ConnectionEnd::Closing(_) = end {
            self.write(out);
        }
    }
}

/// Returns the end of a connection whose client does not follow the protocol.
fn violation(text: String) -> ConnectionEnd {
    ConnectionEnd::Closing(Closing { reason: CloseReason::ProtocolViolation, text, ..Closing::default() })
}
