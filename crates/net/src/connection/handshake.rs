//! The beginning: who is there, and where to.

use super::{End, write};
use crate::counters::kind_in;
use crate::gateway::{Gateway, Visitor};
use crate::lobby::{Entrance, Entry, Place};
use crate::transport::{Path, Received, Transport};
use aether_engine::{LinkEnd, Refusal};
use aether_wire::{
    ClientMessage, CloseReason, ConnectionId, DecodeError, Encoding, ErrorCode, ErrorNotice, Hello, PlayerId,
    SchemaHash, ServerMessage, Tick, Vector2, Welcome, WorldParameters,
};
use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;
use tokio::time::{Instant, timeout_at};

/// How often a client may try to get in. A token may just have expired; one that fails thrice will not get better.
const ATTEMPTS_MAX: u32 = 3;
/// Messages that a client may send before its hello; they are dropped, and then it is.
const EARLY_MESSAGES_MAX: u32 = 16;

/// A client that is in.
pub(super) struct Entered {
    pub entrance: Entrance,
    pub player: PlayerId,
    pub has_resume_token: bool,
    /// When its hello came.
    pub hello_at: Duration,
}

/// Waits for a hello that is good, within the deadline, and welcomes the client.
pub(super) async fn enter(
    gateway: &Gateway,
    transport: &mut impl Transport,
    id: ConnectionId,
    visitor: &Visitor,
) -> Result<Entered, End> {
    let deadline = Instant::now() + gateway.settings.handshake;
    let late = |_| End::told(CloseReason::Unauthenticated);
    let mut listener = Listener { gateway, hello: None, other_version: None, early: 0 };
    for _ in 0..ATTEMPTS_MAX {
        let hello = timeout_at(deadline, listener.hello(transport)).await.map_err(late)??;
        let hello_at = gateway.now();
        let entry = Entry {
            hello,
            room: visitor.room.clone(),
            address: visitor.address,
            is_local: visitor.is_local,
            link: transport.link(),
        };
        let admitted = timeout_at(deadline, admit(gateway, entry)).await.map_err(late)?;
        match admitted {
            Ok((entrance, player)) => {
                transport.set_message_bytes_max(gateway.settings.message_bytes_max);
                let resume_token = gateway.lobby.admitted(&entrance, player).await;
                let welcome = Welcome { resume_token, ..welcome(&entrance, id, player) };
                let has_resume_token = welcome.resume_token.is_some();
                if !write(&gateway.counters, transport, Path::Reliable, &ServerMessage::Welcome(welcome)) {
                    return Err(End::told(CloseReason::RoomFailed));
                }
                return Ok(Entered { entrance, player, has_resume_token, hello_at });
            }
            Err(refusal) => {
                let notice = ErrorNotice { code: refusal.code, message: refusal.message, fatal: false };
                write(&gateway.counters, transport, Path::Reliable, &ServerMessage::Error(notice));
                let flushed = timeout_at(deadline, poll_fn(|cx| transport.poll_flush(cx))).await;
                flushed.map_err(late)??;
            }
        }
    }
    Err(End::told(CloseReason::Unauthenticated))
}

/// Hears a client that is not in yet.
struct Listener<'a> {
    gateway: &'a Gateway,
    hello: Option<Box<Hello>>,
    /// Set by a client that speaks another version of the protocol.
    other_version: Option<DecodeError>,
    early: u32,
}

impl Listener<'_> {
    async fn hello(&mut self, transport: &mut impl Transport) -> Result<Hello, End> {
        let encoding = transport.encoding();
        loop {
            if let Some(hello) = self.hello.take() {
                return Ok(*hello);
            }
            let received = poll_fn(|cx| transport.poll_receive(cx, &mut |_, received| self.hear(encoding, received)));
            let received = received.await;
            if let Some(error) = self.other_version {
                // Such a client cannot get in, but it can be told why.
                let (code, message) = (ErrorCode::VersionMismatch, error.to_string());
                let notice = ServerMessage::Error(ErrorNotice { code, message, fatal: true });
                write(&self.gateway.counters, transport, Path::Reliable, &notice);
                return Err(End::told(CloseReason::ProtocolViolation));
            }
            // A refusal is better than silence: what could still be understood is answered first.
            if self.early > EARLY_MESSAGES_MAX {
                return Err(End::told(CloseReason::Unauthenticated));
            }
            if self.hello.is_none() {
                received?;
            }
        }
    }

    fn hear(&mut self, encoding: Encoding, received: Received<'_>) {
        let counters = &self.gateway.counters;
        let Received::Message(bytes) = received else {
            self.early += 1;
            return;
        };
        counters.bytes_in.add(bytes.len() as u64);
        match encoding.decode(bytes) {
            Ok(ClientMessage::Hello(hello)) if self.hello.is_none() => {
                counters.packets_in[0].inc();
                self.hello = Some(Box::new(hello));
            }
            Ok(message) => {
                counters.packets_in[kind_in(&message)].inc();
                counters.drops.before_hello.inc();
                self.early += 1;
            }
            Err(error) => {
                counters.decode_errors.inc();
                self.early += 4;
                if matches!(error, DecodeError::Version { .. }) {
                    self.other_version = Some(error);
                }
            }
        }
    }
}

/// Asks the lobby, and then the room, whether a client may come in.
async fn admit(gateway: &Gateway, entry: Entry) -> Result<(Entrance, PlayerId), Refusal> {
    let entrance = gateway.lobby.enter(entry).await?;
    let player = match &entrance.place {
        Place::Room { link, .. } => admission(link).await?,
        Place::Relay(seat) => seat.player(),
    };
    Ok((entrance, player))
}

/// Waits for the room's next tick.
async fn admission(link: &LinkEnd) -> Result<PlayerId, Refusal> {
    poll_fn(|cx| {
        link.wake_by(cx.waker());
        match link.admission() {
            Some(admission) => Poll::Ready(admission.clone()),
            None if link.closing().is_some() => {
                Poll::Ready(Err(Refusal::new(ErrorCode::RoomNotFound, "the room has ended")))
            }
            None => Poll::Pending,
        }
    })
    .await
}

fn welcome(entrance: &Entrance, connection: ConnectionId, player: PlayerId) -> Welcome {
    let common = Welcome {
        player,
        room: entrance.room.clone(),
        session: entrance.session,
        connection,
        room_code: entrance.room_code.clone(),
        ..Welcome::default()
    };
    let Place::Room { room, .. } = &entrance.place else { return common };
    let settings = room.settings();
    let corner = |[x, y]: [f32; 2]| Vector2 { x, y };
    Welcome {
        tick_hz: settings.tick_hz,
        snapshot_hz: settings.snapshot_hz,
        server_tick: room.figures().tick.max(Tick(1)),
        world: WorldParameters {
            min: corner(settings.bounds.min),
            max: corner(settings.bounds.max),
            // A room where everyone sees everything shows no radius.
            interest_radius: settings.interest.map_or(0.0, |interest| interest.radius),
        },
        schema_hash: SchemaHash(room.schema().hash()),
        ..common
    }
}
