//! Interface between connections and the rooms of a server.

mod member;

use aether_engine::Rejection;
use aether_replication::DeliveryOrder;
use aether_wire::{Encoding, Hello, Manifest, Permissions, PlayerId, RoomId, RoomSelector, SessionId, Token};
pub(crate) use member::PassOutcome;
pub use member::RoomMember;
use std::any::Any;
use std::net::IpAddr;
use std::pin::Pin;

/// Checks clients and selects the rooms that they join.
pub trait Lobby: Send + Sync + 'static {
    /// Authenticates a client and joins it to the requested room.
    fn join<'a>(
        &'a self,
        attempt: JoinAttempt,
    ) -> Pin<Box<dyn Future<Output = Result<JoinGrant, Rejection>> + Send + 'a>>;

    /// Issues a resume token after the room has admitted the player; `None` if the room type does not allow resuming.
    /// The token of a durable room is stored before the future resolves.
    fn issue_resume_token<'a>(
        &'a self,
        grant: &JoinGrant,
        player: PlayerId,
    ) -> Pin<Box<dyn Future<Output = Option<Token>> + Send + 'a>>;

    /// Notes that the client has sent a message after its welcome, so it has received the resume token in it.
    fn confirm_welcome(&self, grant: &JoinGrant);

    /// Returns the description of the server. Everything except the versions needs a permission.
    fn manifest(&self, grant: &JoinGrant) -> Manifest;

    /// Admits a connection of an account that joins no room, such as the services socket. The token was verified. Returns
    /// the resources that the server keeps until the connection ends, such as a share of a limit.
    fn admit_account(&self, account: VerifiedAccount) -> Result<Box<dyn Any + Send>, Rejection>;

    /// Returns the session check.
    fn sessions(&self) -> &dyn SessionCheck;
}

/// Checks the validity of sessions.
pub trait SessionCheck: Send + Sync {
    /// Number that changes with every revocation and every change of a role. While it is unchanged, valid sessions stay
    /// valid and keep their permissions, so the check on each message costs one atomic load.
    fn epoch(&self) -> u64;

    /// Returns the validity of a session. `is_active` is true if its client has sent a message since the last check.
    fn validity(&self, session: SessionId, is_active: bool) -> SessionValidity;

    /// Returns the current permissions of a session. They change with the role of the account, and so does the epoch.
    fn permissions(&self, session: SessionId) -> Permissions;
}

/// Validity of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionValidity {
    /// The session is valid.
    Valid,
    /// The session was revoked or has expired.
    Ended,
}

/// Account whose access token was verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedAccount {
    /// Session of the token.
    pub session: SessionId,
    /// Id of the account.
    pub user: String,
    /// Time at which the token was issued, in seconds since 1970.
    pub issued_at: u64,
}

/// A client's request to join a room, made by its hello.
#[derive(Clone, Debug)]
pub struct JoinAttempt {
    /// Hello of the client.
    pub hello: Hello,
    /// Room that the URL named, if any.
    pub room: Option<RoomSelector>,
    /// Account that the transport has authenticated, if it has: the hello must be of the same one.
    pub account: Option<String>,
    /// Address of the client, past any trusted proxy.
    pub address: IpAddr,
    /// True if the client is a program on this machine; otherwise development tokens are rejected. It may be a tunnel, so it
    /// grants nothing without such a token.
    pub is_local: bool,
    /// Delivery order of state packets.
    pub order: DeliveryOrder,
    /// Encoding of the connection's messages.
    pub encoding: Encoding,
}

/// Permission to join a room, with the membership and all resources of the connection.
pub struct JoinGrant {
    /// Session of the account.
    pub session: SessionId,
    /// Id of the account.
    pub user: String,
    /// Permissions of the account's role.
    pub permissions: Permissions,
    /// Room id.
    pub room: RoomId,
    /// Room code.
    pub room_code: String,
    /// Membership of the room.
    pub member: RoomMember,
    /// Resources that the server keeps until the connection ends, such as a share of a limit.
    pub resources: Box<dyn Any + Send>,
}
