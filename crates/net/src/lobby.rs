//! Interface of connections to the server that they belong to.

mod place;

use aether_engine::Rejection;
use aether_replication::DeliveryOrder;
use aether_wire::{Hello, Manifest, Permissions, PlayerId, RoomId, RoomSelector, SessionId, Token};
pub(crate) use place::PassOutcome;
pub use place::RoomMember;
use std::any::Any;
use std::net::IpAddr;
use std::pin::Pin;

/// Decides who comes in, and where to.
pub trait Lobby: Send + Sync + 'static {
    /// Checks who is there and finds the room that is meant.
    fn enter<'a>(
        &'a self,
        entry: JoinAttempt,
    ) -> Pin<Box<dyn Future<Output = Result<JoinGrant, Rejection>> + Send + 'a>>;

    /// The room has let the player in. The answer is a fresh token by which they can come back once; `None` where rooms do
    /// not allow it. Where it outlasts the server, it is stored before this returns.
    fn admitted<'a>(
        &'a self,
        entrance: &JoinGrant,
        player: PlayerId,
    ) -> Pin<Box<dyn Future<Output = Option<Token>> + Send + 'a>>;

    /// The client has spoken, so it has its welcome, and the resume token in it.
    fn heard(&self, entrance: &JoinGrant);

    /// Describes the server; everything beyond the versions is for those with permission.
    fn manifest(&self, entrance: &JoinGrant) -> Manifest;

    /// Returns the check of sessions. It is asked often.
    fn sessions(&self) -> &dyn SessionCheck;
}

/// Tells whether sessions are still good.
pub trait SessionCheck: Send + Sync {
    /// Changes with every revocation: while it stays the same, a session that was good still is. So asking on each message
    /// costs one load.
    fn epoch(&self) -> u64;

    /// Returns the standing of a session now. `active` says whether its client sent something since the last time.
    fn standing(&self, session: SessionId, active: bool) -> SessionValidity;
}

/// Validity of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionValidity {
    /// It is good.
    Good,
    /// It was revoked, or has expired.
    Ended,
}

/// A client that said hello.
#[derive(Clone, Debug)]
pub struct JoinAttempt {
    /// The hello.
    pub hello: Hello,
    /// The room that the address named, if it did.
    pub room: Option<RoomSelector>,
    /// Address of the client, past any trusted proxy.
    pub address: IpAddr,
    /// True if they surely are on this machine; only then a development token counts.
    pub is_local: bool,
    /// Kind of their link.
    pub link: DeliveryOrder,
}

/// A way in.
pub struct JoinGrant {
    /// The account's session.
    pub session: SessionId,
    /// The account.
    pub user: String,
    /// Permissions of the account's role.
    pub permissions: Permissions,
    /// The room's id.
    pub room: RoomId,
    /// The room's short code.
    pub room_code: String,
    /// The place in the room.
    pub place: RoomMember,
    /// Resources that the server holds for as long as the connection lasts, such as its share of a limit.
    pub hold: Box<dyn Any + Send>,
}
