//! Who asks.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use uuid::Uuid;

/// Who asks for an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The server's own code: it may do everything.
    Server,
    /// Someone who has yet to say who they are.
    Stranger,
    /// A user, who may do what users may.
    User(Arc<UserIdentity>),
}

/// A user who is signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserIdentity {
    /// The user.
    pub user: Uuid,
    /// Their name.
    pub username: String,
    /// The session.
    pub session: Uuid,
    /// Variables of the session.
    pub variables: BTreeMap<String, String>,
    /// When the token was issued, in seconds since 1970.
    pub issued_at: u64,
    /// From when on the token does not count, in seconds since 1970.
    pub expires_at: u64,
}

/// An operation's circumstances, as hooks see them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallContext {
    /// Who asks.
    pub caller: Caller,
    /// Where they ask from, past any trusted proxy; none for the server's own code.
    pub address: Option<IpAddr>,
    /// Parameters of the query by which a function was called over HTTP, in the order of their names; a name may be
    /// repeated. Empty for every other call.
    pub query: BTreeMap<String, Vec<String>>,
}

impl Caller {
    /// The user, if it is one.
    #[must_use]
    pub fn user(&self) -> Option<&Arc<UserIdentity>> {
        match self {
            Caller::User(identity) => Some(identity),
            Caller::Server | Caller::Stranger => None,
        }
    }
}

impl CallContext {
    /// The server's own code.
    #[must_use]
    pub fn server() -> CallContext {
        CallContext { caller: Caller::Server, address: None, query: BTreeMap::new() }
    }

    /// Someone who asks from an address.
    #[must_use]
    pub fn from_address(caller: Caller, address: IpAddr) -> CallContext {
        CallContext { caller, address: Some(address), query: BTreeMap::new() }
    }
}
