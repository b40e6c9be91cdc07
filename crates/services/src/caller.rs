//! Callers of operations, and the context of a call.

use crate::session::tokens::Role;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// Caller of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// Server code, which may do everything.
    Server,
    /// Client that is not signed in, such as a holder of the HTTP key who calls a function.
    Anonymous,
    /// Signed-in user, with a user's rights.
    User(Arc<UserIdentity>),
}

/// Identity of a signed-in user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserIdentity {
    /// Id of the user.
    pub user: Uuid,
    /// Username.
    pub username: String,
    /// Id of the session.
    pub session: Uuid,
    /// Variables of the session.
    pub variables: BTreeMap<String, String>,
    /// Current role of the account.
    pub role: Role,
    /// Time at which the token was issued, in seconds since 1970.
    pub issued_at: u64,
    /// Time at which the token expires, in seconds since 1970.
    pub expires_at: u64,
}

/// Context of a call, as hooks see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// Caller of the operation.
    pub caller: Caller,
    /// Address of the client behind trusted proxies. `None` for server code.
    pub address: Option<IpAddr>,
    /// Query parameters of a function call over HTTP, sorted by name; a name may occur more than once. Empty for every
    /// other call.
    pub query: BTreeMap<String, Vec<String>>,
    /// Account that server code or a room acts for: the owner of objects and records. `None` for every other call.
    pub account: Option<Uuid>,
    /// Socket session that the call came over. `None` for every other call.
    pub socket: Option<Uuid>,
}

impl Caller {
    /// Returns the identity if the caller is a user.
    #[must_use]
    pub fn user(&self) -> Option<&Arc<UserIdentity>> {
        match self {
            Caller::User(identity) => Some(identity),
            Caller::Server | Caller::Anonymous => None,
        }
    }
}

impl CallContext {
    /// Returns the id under which the store queues the operations of a call, so that callers take turns: the account, or
    /// the network of a client that is not signed in. `None` for server code.
    #[must_use]
    pub fn turn(&self) -> Option<Uuid> {
        match (&self.caller, self.address) {
            (Caller::User(identity), _) => Some(identity.user),
            (Caller::Anonymous, Some(address)) => Some(match address.to_canonical() {
                IpAddr::V4(address) => Uuid::from_u128(address.to_ipv6_mapped().to_bits()),
                // A client usually has the lower half of an address to itself.
                IpAddr::V6(address) => Uuid::from_u128(address.to_bits() & !u128::from(u64::MAX)),
            }),
            (Caller::Anonymous, None) | (Caller::Server, _) => None,
        }
    }

    /// Creates the context of a call by server code.
    #[must_use]
    pub fn server() -> CallContext {
        CallContext { caller: Caller::Server, address: None, query: BTreeMap::new(), account: None, socket: None }
    }

    /// Creates the context of a call by server code for an account.
    #[must_use]
    pub fn server_for(account: Uuid) -> CallContext {
        CallContext { account: Some(account), ..CallContext::server() }
    }

    /// Creates the context of a call from an address.
    #[must_use]
    pub fn from_address(caller: Caller, address: IpAddr) -> CallContext {
        CallContext { caller, address: Some(address), query: BTreeMap::new(), account: None, socket: None }
    }
}
