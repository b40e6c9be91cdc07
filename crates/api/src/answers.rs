//! Memory of requests and answers: of running calls, and of answers that clients have not read yet.
//!
//! A long request is in memory while its call waits for the database, so it takes a share until the call has run
//! ([`AnswerBudget::take_request`]).
//! An answer is in memory until its client has read it, so a client that does not read must not get more and more of
//! them. A call that may read much waits until it may run ([`AnswerBudget::start`]). It takes the share of its answer
//! when that is complete ([`AnswerBudget::take`]); the listener returns it with the last byte that is written, or when
//! it closes the connection.
//!
//! Memory of a running call, for each byte of values: one byte in rows (two on PostgreSQL, until they are read), at most
//! two of JSON, and after the rows at most two compressed. So running calls take at most four times their blocks, 128
//! MiB; with unread answers (256 MiB) that is 384 MiB in all.

use aether_limits::{KeyedShare, KeyedShares, NetworkShare, NetworkShares};
use aether_metrics::{Counter, Registry};
use aether_services::{CallContext, Caller, GrpcCode, ServiceError};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use uuid::Uuid;

/// Unread answers of one account, in KiB: two of the largest, except for one that alone is longer.
const ACCOUNT_KIB_MAX: u32 = 16 * 1_024;
/// Unread answers to one network, in KiB. Players behind one router share a network.
const NETWORK_KIB_MAX: u32 = 64 * 1_024;
/// Unread answers of the whole server, in KiB.
const SERVER_KIB_MAX: u32 = 256 * 1_024;
/// Part of it that answers longer than [`SMALL_KIB_MAX`] may take, so that small ones still pass.
const LARGE_KIB_MAX: u32 = SERVER_KIB_MAX / 4 * 3;
/// Longest answer that counts as small, in KiB.
const SMALL_KIB_MAX: u32 = 64;
/// Blocks of [`aether_services::calls::ANSWER_BLOCK_BYTES`] that running calls may need together: 32 MiB of values, eight
/// of the largest reads. Calls wait for them; they do not depend on clients, so they end soon.
const RUNNING_BLOCKS_MAX: u32 = 128;
/// Blocks of the running calls of one account: two of the largest reads. Its further calls wait without holding up others.
const ACCOUNT_RUNNING_BLOCKS_MAX: u32 = 32;
/// Accounts that share a queue for running calls are as likely as one in this number.
const ACCOUNT_QUEUES: usize = 256;
/// Shortest request that takes a share, in bytes. Shorter ones are bounded by their number: 4,096 wait for the database.
const REQUEST_BYTES_MIN: usize = 4_096;
/// Longest answer that takes no share of its account, in KiB: most writes have been made when their answer is complete, and
/// must not be answered as refused because of earlier answers.
const ANSWER_FREE_KIB_MAX: u32 = 4;
/// Seconds after which a refused client may try again.
const RETRY_SECONDS: u32 = 1;

const ACCOUNT_FULL: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many answers to this account are unread, or too many of its requests wait. Read the answers before the next request.",
);
const NETWORK_FULL: ServiceError = ServiceError::new(
    GrpcCode::ResourceExhausted,
    "Too many answers to this network are unread, too many of its requests wait, or those of all clients together. Try again later.",
);

/// Memory of the answers of one server.
pub(crate) struct AnswerBudget {
    running: Arc<Semaphore>,
    running_of_account: Vec<Arc<Semaphore>>,
    accounts: KeyedShares<Uuid>,
    networks: NetworkShares,
    refused_by_account: Counter,
    refused_by_network: Counter,
}

/// Share of a request or an answer. It is returned when the last clone is dropped.
#[derive(Clone, Debug)]
pub(crate) struct AnswerShare {
    _shares: Arc<(Option<KeyedShare<Uuid>>, NetworkShare)>,
}

/// Share of a running call, as an extension of its answer until that is complete. It is returned when the last clone is
/// dropped.
#[derive(Clone, Debug)]
pub(crate) struct RunningShare {
    _permits: Arc<[OwnedSemaphorePermit; 2]>,
}

impl AnswerBudget {
    pub fn new(registry: &Registry) -> AnswerBudget {
        let refused = |limit: &str| {
            let help = "Requests and answers dropped because too many waited or were unread, by limit.";
            registry.counter("aether_answers_refused_total", help, &[("limit", limit)])
        };
        let queue = || Arc::new(Semaphore::new(ACCOUNT_RUNNING_BLOCKS_MAX as usize));
        AnswerBudget {
            running_of_account: std::iter::repeat_with(queue).take(ACCOUNT_QUEUES).collect(),
            running: Arc::new(Semaphore::new(RUNNING_BLOCKS_MAX as usize)),
            accounts: KeyedShares::default(),
            networks: NetworkShares::default(),
            refused_by_account: refused("account"),
            refused_by_network: refused("network"),
        }
    }

    /// Waits until a call may run whose answer needs up to this number of blocks. `None` for a call that needs none.
    pub async fn start(&self, caller: &Caller, blocks: u32) -> Option<RunningShare> {
        let blocks = blocks.min(ACCOUNT_RUNNING_BLOCKS_MAX);
        if blocks == 0 {
            return None;
        }
        let account = caller.user().map_or(0, |identity| identity.user.as_u128());
        let queue = &self.running_of_account[(account % ACCOUNT_QUEUES as u128) as usize];
        // The queue of the account first, so that a call that waits there takes nothing from others.
        let of_account = Arc::clone(queue).acquire_many_owned(blocks).await.ok()?;
        let of_all = Arc::clone(&self.running).acquire_many_owned(blocks).await.ok()?;
        Some(RunningShare { _permits: Arc::new([of_account, of_all]) })
    }

    /// Takes the share of a long request until its call has run, or fails if its client has too much in memory.
    pub fn take_request(&self, context: &CallContext, bytes: usize) -> Result<Option<AnswerShare>, ServiceError> {
        if bytes < REQUEST_BYTES_MIN {
            return Ok(None);
        }
        let address = context.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        self.take(&context.caller, address, bytes as u64).map(Some)
    }

    /// Takes the share of a complete answer, or fails if its client has too many unread ones.
    pub fn take(&self, caller: &Caller, address: IpAddr, bytes: u64) -> Result<AnswerShare, ServiceError> {
        let kib = u32::try_from(bytes.div_ceil(1_024)).unwrap_or(u32::MAX);
        let account = match caller {
            Caller::Server | Caller::Anonymous => None,
            Caller::User(_) if kib <= ANSWER_FREE_KIB_MAX => None,
            Caller::User(identity) => {
                let share = self.accounts.take_many(identity.user, kib, ACCOUNT_KIB_MAX.max(kib), u32::MAX);
                Some(share.ok_or_else(|| {
                    self.refused_by_account.inc();
                    ACCOUNT_FULL.retry_after(RETRY_SECONDS)
                })?)
            }
        };
        // Clients on this machine share one address.
        let network_max = if address.is_loopback() { u32::MAX } else { NETWORK_KIB_MAX.max(kib) };
        let server_max = if kib > SMALL_KIB_MAX { LARGE_KIB_MAX } else { SERVER_KIB_MAX };
        let network = self.networks.take_many(address, kib, network_max, server_max).ok_or_else(|| {
            self.refused_by_network.inc();
            NETWORK_FULL.retry_after(RETRY_SECONDS)
        })?;
        Ok(AnswerShare { _shares: Arc::new((account, network)) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_services::UserIdentity;
    use aether_services::calls::ANSWER_BLOCK_BYTES;
    use aether_services::session::tokens::Role;
    use std::collections::BTreeMap;
    use std::future::{Future, poll_fn};
    use std::pin::{Pin, pin};
    use std::task::Poll;

    const MIB: u64 = 1_048_576;

    fn user(number: u128) -> Caller {
        let user = Uuid::from_u128(number);
        let (username, variables, role) = (String::new(), BTreeMap::new(), Role::Player);
        let identity = UserIdentity { user, username, session: user, role, variables, issued_at: 0, expires_at: 0 };
        Caller::User(Arc::new(identity))
    }

    async fn is_waiting(call: Pin<&mut impl Future>) -> bool {
        let mut call = call;
        poll_fn(|context| Poll::Ready(call.as_mut().poll(context).is_pending())).await
    }

    #[tokio::test]
    async fn running_calls_are_bounded_per_account_and_in_all() {
        const LARGEST: u32 = 16;
        assert_eq!(LARGEST as usize * ANSWER_BLOCK_BYTES, aether_services::storage::VALUES_BYTES_MAX);
        let budget = AnswerBudget::new(&Registry::new());
        let mut held = Vec::new();
        held.extend(budget.start(&user(1), LARGEST).await);
        held.extend(budget.start(&user(1), LARGEST).await);
        assert_eq!(held.len(), 2);
        let (first, last) = (user(1), user(9));
        let mut third = pin!(budget.start(&first, LARGEST));
        assert!(is_waiting(third.as_mut()).await, "the account has two running reads");
        assert!(budget.start(&user(1), 0).await.is_none(), "small answers do not wait");
        for number in 2..5 {
            held.extend(budget.start(&user(number), LARGEST).await);
            held.extend(budget.start(&user(number), LARGEST).await);
        }
        assert_eq!(held.len(), 8);
        let mut ninth = pin!(budget.start(&last, LARGEST));
        assert!(is_waiting(ninth.as_mut()).await, "eight reads run");
        held.pop();
        assert!(!is_waiting(ninth.as_mut()).await, "it does not wait for the account before it");
    }

    #[test]
    fn unread_answers_are_bounded_per_account_per_network_and_in_all() {
        let budget = AnswerBudget::new(&Registry::new());
        let network = |number: u8| IpAddr::from([192, 0, 2, number]);
        let first = budget.take(&user(1), network(1), 16 * MIB).unwrap();
        assert!(budget.take(&user(1), network(2), 5_000).is_err(), "the account has 16 MiB");
        assert!(budget.take(&user(1), network(2), 4_096).is_ok(), "the answer of a write passes");
        drop(first.clone());
        assert!(budget.take(&user(1), network(2), 5_000).is_err(), "a clone is the same share");
        drop(first);
        assert!(budget.take(&user(1), network(2), 100 * MIB).is_ok(), "one longer answer passes alone");
        let mut held: Vec<AnswerShare> = (0..4).map(|n| budget.take(&user(n), network(1), 16 * MIB).unwrap()).collect();
        assert!(budget.take(&user(9), network(1), 1).is_err(), "the network has 64 MiB");
        held.extend((10..18).map(|n| budget.take(&user(n), network(n as u8), 16 * MIB).unwrap()));
        assert!(budget.take(&user(30), network(30), MIB).is_err(), "large answers have 192 MiB");
        assert!(budget.take(&user(30), network(30), 65_536).is_ok(), "small ones still pass");
        assert!(budget.take(&Caller::Anonymous, network(31), 1).is_ok());
    }
}
