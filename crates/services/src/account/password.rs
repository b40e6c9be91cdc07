//! Passwords: stored as argon2id hashes, with limited concurrency.
//!
//! A hash takes 19 MiB and some hundredths of a second of one core, on purpose. So only a few are computed at once, a
//! few more wait, and further requests are rejected: a thousand concurrent logins take no more memory than the first
//! few.

use crate::error::{INTERNAL, ServiceError, TOO_OFTEN};
use argon2::password_hash::phc::{Output, PasswordHash, Salt};
use argon2::password_hash::{self, phc};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, oneshot};
use tracing::error;

/// Cost of a hash: memory in KiB, passes over it, lanes.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Bytes of the salt.
const SALT_BYTES: usize = 16;
/// Maximum waiting hashes per thread: about a second of waiting.
const WAITING_PER_THREAD: usize = 32;

/// Hash that no password matches, of the usual cost. It replaces the hash of a missing account, so that the answer
/// takes as long.
const DUMMY_HASH: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Computes and compares hashes, a few at a time.
pub(super) struct Passwords {
    /// Permits for running and waiting jobs.
    permits: Arc<Semaphore>,
    /// Channel to the hashing threads.
    jobs: Sender<Job>,
}

/// Working memory of a thread. It is reused: allocating and freeing this much repeatedly fragments the heap.
type Memory = Vec<Block>;
type Job = Box<dyn FnOnce(&mut Memory) + Send>;

impl Passwords {
    /// Creates the service with a number of threads.
    pub fn new(threads: usize) -> Passwords {
        let threads = threads.max(1);
        let permits = threads.saturating_mul(1 + WAITING_PER_THREAD);
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..threads {
            let waiting = Arc::clone(&waiting);
            let thread = std::thread::Builder::new().name("passwords".to_owned()).spawn(move || work(&waiting));
            thread.expect("the system can start threads");
        }
        Passwords { permits: Arc::new(Semaphore::new(permits)), jobs }
    }

    /// Returns the hash of a password as it is stored.
    pub async fn hash(&self, password: String) -> Result<String, ServiceError> {
        self.run(move |memory| {
            let mut salt = [0; SALT_BYTES];
            getrandom::fill(&mut salt).expect("the system provides random numbers");
            hashed(password.as_bytes(), Salt::new(&salt)?, &params(), memory).map(|hash| hash.to_string())
        })
        .await?
        .map_err(|error| {
            error!(%error, "password hashing failed");
            INTERNAL
        })
    }

    /// Returns true if a password matches the stored hash. Without a hash the answer is false, and takes as long.
    pub async fn verify(&self, password: String, stored: Option<String>) -> Result<bool, ServiceError> {
        self.run(move |memory| matches_hash(password.as_bytes(), stored.as_deref().unwrap_or(DUMMY_HASH), memory)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let permit = Arc::clone(&self.permits).try_acquire_owned().map_err(|_| TOO_OFTEN)?;
        let (done, outcome) = oneshot::channel();
        let job = Box::new(move |memory: &mut Memory| {
            let outcome = work(memory);
            drop(permit);
            // The caller may be gone.
            let _ = done.send(outcome);
        });
        self.jobs.send(job).map_err(|_| INTERNAL)?;
        outcome.await.map_err(|_| INTERNAL)
    }
}

/// Runs jobs until all senders are dropped.
fn work(waiting: &Mutex<Receiver<Job>>) {
    let mut memory = Memory::new();
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // After a panic the caller gets an error, and the thread continues.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut memory)));
    }
}

/// Returns the cost of new hashes.
fn params() -> Params {
    Params::new(MEMORY_KIB, PASSES, LANES, None).expect("the cost is within what argon2 allows")
}

fn hashed(password: &[u8], salt: Salt, params: &Params, memory: &mut Memory) -> password_hash::Result<PasswordHash> {
    let blocks = params.block_count();
    if memory.len() < blocks {
        memory.resize(blocks, Block::default());
    }
    let mut out = [0; Output::MAX_LENGTH];
    let length = params.output_len().unwrap_or(Params::DEFAULT_OUTPUT_LEN);
    let out = out.get_mut(..length).ok_or(password_hash::Error::OutputSize)?;
    let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params.clone());
    argon2.hash_password_into_with_memory(password, &salt, out, &mut memory[..blocks])?;
    Ok(PasswordHash {
        algorithm: Algorithm::Argon2id.ident(),
        version: Some(Version::V0x13.into()),
        params: phc::ParamsString::try_from(params)?,
        salt: Some(salt),
        hash: Some(Output::new(out)?),
    })
}

/// Returns true if a password has this hash. A malformed hash matches nothing.
fn matches_hash(password: &[u8], stored: &str, memory: &mut Memory) -> bool {
    let Ok(stored) = PasswordHash::new(stored) else { return false };
    let (Some(salt), Ok(params)) = (stored.salt, Params::try_from(&stored)) else { return false };
    // Outputs are compared in constant time.
    hashed(password, salt, &params, memory).is_ok_and(|computed| {
        (computed.algorithm, computed.version) == (stored.algorithm, stored.version)
            && computed.hash == stored.hash
            && stored.hash.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_matches_its_password_only_at_the_decided_cost() {
        let passwords = Passwords::new(1);
        let stored = passwords.hash("correct horse".to_owned()).await.expect("a permit is free");
        assert!(stored.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{stored}");
        assert_ne!(
            passwords.hash("correct horse".to_owned()).await.expect("a permit is free"),
            stored,
            "each hash has its own salt"
        );
        assert_eq!(passwords.verify("correct horse".to_owned(), Some(stored.clone())).await, Ok(true));
        assert_eq!(passwords.verify("correct house".to_owned(), Some(stored)).await, Ok(false));
        assert_eq!(passwords.verify("correct horse".to_owned(), None).await, Ok(false));
        for none in ["", "correct horse", "$argon2id$v=19$m=19456,t=2,p=1", &DUMMY_HASH.replace("argon2id", "argon2d")]
        {
            assert_eq!(passwords.verify("correct horse".to_owned(), Some(none.to_owned())).await, Ok(false), "{none}");
        }
    }

    #[test]
    fn hashes_match_the_plain_argon2_api() {
        let mut memory = Memory::new();
        let params = Params::new(64, 2, 1, Some(32)).expect("it is allowed");
        let salt = Salt::new(b"somesaltsomesalt").expect("it is a salt");
        let ours = hashed(b"password", salt, &params, &mut memory).expect("it can be hashed");
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut theirs = [0; 32];
        argon2.hash_password_into(b"password", b"somesaltsomesalt", &mut theirs).expect("it can be hashed");
        assert_eq!(ours.hash, Some(Output::new(&theirs).expect("it is an output")));
        let again = hashed(b"password", salt, &Params::new(64, 2, 1, Some(32)).expect("allowed"), &mut memory);
        assert_eq!(again.expect("it can be hashed"), ours, "leftover memory has no effect");
    }

    #[test]
    fn the_dummy_hash_is_valid() {
        let dummy = PasswordHash::new(DUMMY_HASH).expect("it is a hash");
        let params = Params::try_from(&dummy).expect("it has a cost");
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (MEMORY_KIB, PASSES, LANES));
        assert_eq!(dummy.hash.map(|hash| hash.len()), Some(Params::DEFAULT_OUTPUT_LEN));
    }

    #[tokio::test]
    async fn concurrent_hashing_is_bounded() {
        let passwords = Arc::new(Passwords::new(2));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..1_000 {
            let passwords = Arc::clone(&passwords);
            tasks.spawn(async move { passwords.verify("correct horse".to_owned(), None).await });
        }
        let outcomes = tasks.join_all().await;
        let rejected = outcomes.iter().filter(|outcome| **outcome == Err(TOO_OFTEN)).count();
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(false)).count(), 1_000 - rejected);
        assert!(rejected >= 1_000 - 2 * 2 * (1 + WAITING_PER_THREAD), "{rejected} of 1000 were rejected");
        assert_eq!(passwords.permits.available_permits(), 2 * (1 + WAITING_PER_THREAD), "all permits are returned");
    }
}
