//! A thread with a connection.

use super::failed;
use super::pool::Pool;
use super::session::{PostgresConnection, StatementError, wait};
use super::transaction::PostgresTransaction;
use crate::error::StoreError;
use crate::job::{Action, Job, Mode, act};
use crate::transaction::Transaction;
use crossbeam_channel::Receiver;
use std::sync::Arc;
use std::time::Instant;
use tokio::runtime::Runtime;

/// How often an operation is begun anew because another was in its way or the connection was lost.
const ATTEMPTS_MAX: u32 = 10;

/// A thread with a connection.
pub(crate) struct Worker {
    pool: Arc<Pool>,
    jobs: Receiver<Job>,
    runtime: Runtime,
    session: Option<PostgresConnection>,
}

/// How an attempt at an operation ended.
struct Attempt {
    kept: Result<(), StoreError>,
    after_commit: Vec<Action>,
    /// Whether it may be begun anew.
    again: bool,
}

impl Worker {
    pub fn new(pool: Arc<Pool>, jobs: Receiver<Job>) -> Result<Worker, StoreError> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| StoreError::Refused(format!("no runtime for PostgreSQL: {error}")))?;
        Ok(Worker { pool, jobs, runtime, session: None })
    }

    /// Works until nobody is left who could ask.
    pub fn run(mut self) {
        while let Ok(job) = self.jobs.recv() {
            if let Some(job) = job.taken(&self.pool.figures) {
                self.serve(job);
            }
        }
        self.leave();
    }

    fn serve(&mut self, job: Job) {
        let Mode::WriteInTurn(number) = job.mode else { return self.perform(job) };
        let mut turn = self.pool.take_turn(number, job);
        while let Some(job) = turn {
            self.perform(job);
            turn = self.next_turn(number);
        }
    }

    fn next_turn(&self, number: u64) -> Option<Job> {
        // One that has waited too long is answered, and then it is the turn of the next.
        std::iter::from_fn(|| self.pool.next_turn(number)).find_map(|job| job.taken(&self.pool.figures))
    }

    fn perform(&mut self, mut job: Job) {
        let deadline = Instant::now() + self.pool.time_max;
        let mut attempt = self.attempt(&mut job, deadline);
        let mut attempts = 1;
        while attempt.again && attempts < ATTEMPTS_MAX && Instant::now() < deadline {
            self.pool.figures.retries.inc();
            attempt = self.attempt(&mut job, deadline);
            attempts += 1;
        }
        if attempt.kept.is_ok() {
            act(attempt.after_commit);
        }
        job.answer(attempt.kept, &self.pool.figures);
    }

    fn attempt(&mut self, job: &mut Job, deadline: Instant) -> Attempt {
        let session = match connected(&self.pool, &self.runtime, &mut self.session) {
            Ok(session) => session,
            Err(error) => return Attempt { kept: Err(error), after_commit: Vec::new(), again: false },
        };
        let mut again = false;
        let view = PostgresTransaction::new(&self.runtime, session, job.mode, deadline, &mut again);
        let mut transaction = Transaction::postgres(view);
        let run = job.run(&mut transaction, &self.pool.figures);
        let open = transaction.is_open();
        drop(transaction);
        let (kept, after_commit) = match run.keep {
            Ok(true) if open && session.is_lost() => {
                // It never heard of the commit.
                again = true;
                (Err(StoreError::Unavailable("the connection was lost".to_owned())), Vec::new())
            }
            Ok(true) if open => (end(&self.pool, &self.runtime, session, "COMMIT"), run.after_commit),
            Ok(keep) => {
                self.roll_back(open);
                (Ok(()), if keep { run.after_commit } else { Vec::new() })
            }
            Err(error) => {
                self.roll_back(open);
                (Err(error), Vec::new())
            }
        };
        Attempt { kept, after_commit, again }
    }

    /// Undoes what was done. If that fails, so does the connection, and then it is undone as well.
    fn roll_back(&mut self, open: bool) {
        if let Some(session) = self.session.as_mut().filter(|session| open && !session.is_lost()) {
            let _ = end(&self.pool, &self.runtime, session, "ROLLBACK");
        }
    }

    fn leave(&mut self) {
        leave(&self.pool, &mut self.session);
    }
}

/// Ends a transaction. If the connection is lost meanwhile, nobody can say whether it was committed; so it is not done
/// again.
fn end(pool: &Pool, runtime: &Runtime, session: &mut PostgresConnection, sql: &str) -> Result<(), StoreError> {
    let began = Instant::now();
    let outcome = wait(runtime, Some(began + pool.time_max), session.client.batch_execute(sql));
    if sql == "COMMIT" {
        pool.figures.commit_seconds.observe(began.elapsed().as_secs_f64());
    }
    outcome.map_err(|trouble| {
        session.note(&trouble);
        match trouble {
            StatementError::Late => StoreError::Unavailable("it does not answer whether it was done".to_owned()),
            StatementError::Said(error) => failed(&error),
        }
    })
}

/// The connection, a new one if there is none or it was lost.
fn connected<'a>(
    pool: &Pool,
    runtime: &Runtime,
    session: &'a mut Option<PostgresConnection>,
) -> Result<&'a mut PostgresConnection, StoreError> {
    if session.as_ref().is_some_and(PostgresConnection::is_lost) {
        leave(pool, session);
    }
    if session.is_none() {
        pool.check_outage()?;
        let opened = runtime.block_on(PostgresConnection::open(pool));
        pool.note_outage(opened.as_ref().err());
        *session = Some(opened?);
        pool.figures.connections.inc();
    }
    session.as_mut().ok_or_else(|| StoreError::Failed("there is no connection".to_owned()))
}

fn leave(pool: &Pool, session: &mut Option<PostgresConnection>) {
    if session.take().is_some() {
        pool.figures.connections.dec();
    }
}
