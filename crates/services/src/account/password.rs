//! Passwords: kept as argon2id hashes, and hashed only so many at a time.
//!
//! A hash takes 19 MiB and some hundredths of a second of one core, on purpose. So only a few are made at once, a few
//! more wait, and whoever comes beyond that is told to come back: a thousand logins at once take no more memory than
//! the first few.

use crate::error::{INTERNAL, ServiceError, TOO_OFTEN};
use argon2::password_hash::phc::{Output, PasswordHash, Salt};
use argon2::password_hash::{self, phc};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, oneshot};
use tracing::error;

/// What a hash costs: memory in KiB, passes over it, lanes.
const MEMORY_KIB: u32 = 19_456;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Bytes of the salt.
const SALT_BYTES: usize = 16;
/// Hashes that may wait for each that is being made: about a second of waiting.
const WAITING_PER_THREAD: usize = 32;

/// A hash that no password has, of the same cost as all others. It stands in for the password of an account that is not
/// there, so that the answer takes as long.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Makes and compares hashes, a few at a time.
pub(super) struct Passwords {
    /// For those who are at it and those who wait.
    places: Arc<Semaphore>,
    /// To the threads that do it.
    jobs: Sender<Job>,
}

/// What a thread hashes in. It keeps it for the next time: to ask for so much and give it back, again and again, leaves
/// holes that the next hash does not fit into.
type Memory = Vec<Block>;
type Job = Box<dyn FnOnce(&mut Memory) + Send>;

impl Passwords {
    /// So many at a time.
    pub fn new(threads: usize) -> Passwords {
        let threads = threads.max(1);
        let places = threads.saturating_mul(1 + WAITING_PER_THREAD);
        let (jobs, waiting) = mpsc::channel();
        let waiting = Arc::new(Mutex::new(waiting));
        for _ in 0..threads {
            let waiting = Arc::clone(&waiting);
            let thread = std::thread::Builder::new().name("passwords".to_owned()).spawn(move || work(&waiting));
            thread.expect("the system starts threads");
        }
        Passwords { places: Arc::new(Semaphore::new(places)), jobs }
    }

    /// The hash of a password, in the form in which it is kept.
    pub async fn hash(&self, password: String) -> Result<String, ServiceError> {
        self.run(move |memory| {
            let mut salt = [0; SALT_BYTES];
            getrandom::fill(&mut salt).expect("the system has random numbers");
            hashed(password.as_bytes(), Salt::new(&salt)?, &params(), memory).map(|hash| hash.to_string())
        })
        .await?
        .map_err(|error| {
            error!(%error, "a password could not be hashed");
            INTERNAL
        })
    }

    /// Whether a password is the one that was kept. Without one the answer is no, and takes as long.
    pub async fn verify(&self, password: String, kept: Option<String>) -> Result<bool, ServiceError> {
        self.run(move |memory| fits(password.as_bytes(), kept.as_deref().unwrap_or(NOBODYS), memory)).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Memory) -> T + Send + 'static,
    ) -> Result<T, ServiceError> {
        let place = Arc::clone(&self.places).try_acquire_owned().map_err(|_| TOO_OFTEN)?;
        let (done, outcome) = oneshot::channel();
        let job = Box::new(move |memory: &mut Memory| {
            let outcome = work(memory);
            drop(place);
            // Whoever asked may have gone away.
            let _ = done.send(outcome);
        });
        self.jobs.send(job).map_err(|_| INTERNAL)?;
        outcome.await.map_err(|_| INTERNAL)
    }
}

/// Does one job after the other, until nobody is left who could ask.
fn work(waiting: &Mutex<Receiver<Job>>) {
    let mut memory = Memory::new();
    loop {
        let job = waiting.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(job) = job else { return };
        // Whoever waits for it learns that there is no outcome; the thread goes on.
        let _ = catch_unwind(AssertUnwindSafe(|| job(&mut memory)));
    }
}

/// What new hashes cost.
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

/// Whether a password has this hash. One that is none fits nothing.
fn fits(password: &[u8], kept: &str, memory: &mut Memory) -> bool {
    let Ok(kept) = PasswordHash::new(kept) else { return false };
    let (Some(salt), Ok(params)) = (kept.salt, Params::try_from(&kept)) else { return false };
    // Outputs are compared in the same time wherever they differ.
    hashed(password, salt, &params, memory).is_ok_and(|made| {
        (made.algorithm, made.version) == (kept.algorithm, kept.version)
            && made.hash == kept.hash
            && kept.hash.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_hash_fits_its_password_alone_and_costs_what_was_decided() {
        let passwords = Passwords::new(1);
        let kept = passwords.hash("correct horse".to_owned()).await.expect("there is room");
        assert!(kept.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{kept}");
        assert_ne!(passwords.hash("correct horse".to_owned()).await.expect("there is room"), kept, "each has its salt");
        assert_eq!(passwords.verify("correct horse".to_owned(), Some(kept.clone())).await, Ok(true));
        assert_eq!(passwords.verify("correct house".to_owned(), Some(kept)).await, Ok(false));
        assert_eq!(passwords.verify("correct horse".to_owned(), None).await, Ok(false));
        for none in ["", "correct horse", "$argon2id$v=19$m=19456,t=2,p=1", &NOBODYS.replace("argon2id", "argon2d")] {
            assert_eq!(passwords.verify("correct horse".to_owned(), Some(none.to_owned())).await, Ok(false), "{none}");
        }
    }

    #[test]
    fn hashes_are_those_that_others_make() {
        let mut memory = Memory::new();
        let params = Params::new(64, 2, 1, Some(32)).expect("it is allowed");
        let salt = Salt::new(b"somesaltsomesalt").expect("it is a salt");
        let ours = hashed(b"password", salt, &params, &mut memory).expect("it can be hashed");
        let argon2 = Argon2::new(Algorithm::Argon2id, Version::V0x13, params);
        let mut theirs = [0; 32];
        argon2.hash_password_into(b"password", b"somesaltsomesalt", &mut theirs).expect("it can be hashed");
        assert_eq!(ours.hash, Some(Output::new(&theirs).expect("it is an output")));
        let again = hashed(b"password", salt, &Params::new(64, 2, 1, Some(32)).expect("allowed"), &mut memory);
        assert_eq!(again.expect("it can be hashed"), ours, "what is left in the memory does not count");
    }

    #[test]
    fn the_hash_of_nobody_is_read_like_any_other() {
        let nobodys = PasswordHash::new(NOBODYS).expect("it is a hash");
        let params = Params::try_from(&nobodys).expect("it has a cost");
        assert_eq!((params.m_cost(), params.t_cost(), params.p_cost()), (MEMORY_KIB, PASSES, LANES));
        assert_eq!(nobodys.hash.map(|hash| hash.len()), Some(Params::DEFAULT_OUTPUT_LEN));
    }

    #[tokio::test]
    async fn a_thousand_at_once_are_bounded() {
        let passwords = Arc::new(Passwords::new(2));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..1_000 {
            let passwords = Arc::clone(&passwords);
            tasks.spawn(async move { passwords.verify("correct horse".to_owned(), None).await });
        }
        let outcomes = tasks.join_all().await;
        let refused = outcomes.iter().filter(|outcome| **outcome == Err(TOO_OFTEN)).count();
        assert_eq!(outcomes.iter().filter(|outcome| **outcome == Ok(false)).count(), 1_000 - refused);
        assert!(refused >= 1_000 - 2 * 2 * (1 + WAITING_PER_THREAD), "{refused} of 1000 were refused");
        assert_eq!(passwords.places.available_permits(), 2 * (1 + WAITING_PER_THREAD), "all places are free again");
    }
}
