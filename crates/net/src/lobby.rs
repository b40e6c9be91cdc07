//! What a connection asks of the server that it belongs to.

mod place;

use aether_engine::Refusal;
use aether_replication::Link;
use aether_wire::{Hello, Manifest, Permissions, PlayerId, RoomId, RoomSelector, SessionId, Token};
pub(crate) use place::Passed;
pub use place::Place;
use std::any::Any;
use std::net::IpAddr;
use std::pin::Pin;

/// Decides who comes in, and where to.
pub trait Lobby: Send + Sync + 'static {
    /// Checks who is there and finds the room that is meant.
    fn enter<'a>(&'a self, entry: Entry) -> Pin<Box<dyn Future<Output = Result<Entrance, Refusal>> + Send + 'a>>;

    /// The room has let the player in. The answer is a fresh token by which they can come back once; `None` where rooms do
    /// not allow it. Where it outlasts the server, it is stored before this returns.
    fn admitted<'a>(
        &'a self,
        entrance: &Entrance,
        player: PlayerId,
    ) -> Pin<Box<dyn Future<Output = Option<Token>> + Send + 'a>>;

    /// The client has spoken, so it has its welcome, and the resume token in it.
    fn heard(&self, entrance: &Entrance);

    /// What the server is; everything beyond the versions is for those with permission.
    fn manifest(&self, entrance: &Entrance) -> Manifest;

    /// Whether a session is still good. It is asked often.
    fn sessions(&self) -> &dyn SessionCheck;
}

/// Tells whether sessions are still good.
pub trait SessionCheck: Send + Sync {
    /// Changes with every revocation: while it stays the same, a session that was good still is. So asking on each message
    /// costs one load.
    fn epoch(&self) -> u64;

    /// Whether a session is good now. `active` says whether its client sent something since the last time.
    fn standing(&self, session: SessionId, active: bool) -> Standing;
}

/// What a session is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is good.
    Good,
    /// It was revoked, or has expired.
    Ended,
}

/// Someone at the door.
#[derive(Clone, Debug)]
pub struct Entry {
    /// What they said.
    pub hello: Hello,
    /// The room that the address named, if it did.
    pub room: Option<RoomSelector>,
    /// Where they come from, past any trusted proxy.
    pub address: IpAddr,
    /// Whether they surely are on this machine; only then a development token counts.
    pub is_local: bool,
    /// What kind of link they have.
    pub link: Link,
}

/// A way in.
pub struct Entrance {
    /// The account's session.
    pub session: SessionId,
    /// The account.
    pub user: String,
    /// What the account's role allows.
    pub permissions: Permissions,
    /// The room's id.
    pub room: RoomId,
    /// The room's short code.
    pub room_code: String,
    /// The place in the room.
    pub place: Place,
    /// What the server holds for as long as the connection lasts, such as its share of a limit.
    pub hold: Box<dyn Any + Send>,
}
