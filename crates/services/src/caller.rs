//! Callers of operations, and the context of a call.

use crate::session::tokens::Role;
use http::HeaderMap;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
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
    /// Headers of the request, without credentials. `None` if the call came over no HTTP request, or if no module wants them
    /// ([`Module::wants_headers`](crate::calls::Module::wants_headers)).
    pub headers: Option<Arc<HeaderMap>>,
    /// Port of the client's connection; that of the proxy behind a trusted proxy. `None` if it is not known.
    pub port: Option<u16>,
    /// Language that the client of a socket asked for. `None` for every other call.
    pub language: Option<Arc<str>>,
    /// Number of the request in this process; one for all messages of a socket. 0 for server code.
    pub number: u64,
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
        CallContext {
            caller: Caller::Server,
            address: None,
            query: BTreeMap::new(),
            account: None,
            socket: None,
            headers: None,
            port: None,
            language: None,
            number: 0,
        }
    }

    /// Creates the context of a call by server code for an account.
    #[must_use]
    pub fn server_for(account: Uuid) -> CallContext {
        CallContext { account: Some(account), ..CallContext::server() }
    }

    /// Creates the context of a call from an address.
    #[must_use]
    pub fn from_address(caller: Caller, address: IpAddr) -> CallContext {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        CallContext { caller, address: Some(address), number, ..CallContext::server() }
    }

    /// Returns an id of the request that no other request has, for logs.
    #[must_use]
    pub fn trace_id(&self) -> Uuid {
        static PROCESS: OnceLock<u64> = OnceLock::new();
        let process = *PROCESS.get_or_init(|| Uuid::new_v4().as_u64_pair().0);
        Uuid::from_u64_pair(process, self.number)
    }
}
