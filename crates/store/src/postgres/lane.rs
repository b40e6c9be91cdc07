//! A thread whose connection is shared by callers.
//!
//! It takes all operations that wait, sends their statements in one flush, and waits for all answers. While it waits, the
//! next operations queue up, so the higher the load, the more of them share a round trip.
//!
//! Statements that only read stand alone. Those that write share a transaction, because a commit for twenty callers costs
//! hardly more than one for a single caller. If a statement in it fails, PostgreSQL rolls back all of them. Then they run
//! again, each operation in a transaction of its own, so no caller notices the failure of another.
//!
//! Operations that take long would delay the others. One that waits for a lock, or exceeds the time limit of this
//! connection, moves to the threads that run one operation at a time.

use super::connection::{ConnectionLimits, PostgresConnection, StatementError};
use super::pipeline::{self, Step, StepError};
use super::pool::Pool;
use super::worker::{ensure_connected, new_runtime};
use super::{is_in_failed_transaction, is_retryable, is_timeout};
use crate::error::StoreError;
use crate::job::{Job, Mode};
use crate::queue::{JobReceiver, JobSender};
use crate::statement::{Answer, Answers};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Maximum number of operations in one flush, so that the first does not wait long for the last.
const BATCH_MAX: usize = 64;
/// Bytes of parameters after which a flush takes no further operation. Large values would delay small ones.
const BATCH_BYTES_MAX: usize = 1 << 20;
/// Maximum number of attempts at operations whose connection is lost.
const ATTEMPTS_MAX: u32 = 10;
/// Time limits of statements, because other callers wait for them. A lock is held for some milliseconds at most, unless its
/// owner waits too.
const LIMITS: ConnectionLimits =
    ConnectionLimits { statement: Duration::from_secs(1), lock: Duration::from_millis(10), is_shared: true };

/// A thread whose connection is shared by callers.
pub(crate) struct Lane {
    pool: Arc<Pool>,
    jobs: JobReceiver,
    /// Queue of the threads that run one operation at a time.
    exclusive: JobSender,
    /// Operations that have their turn, because an earlier one of their number is done.
    next_in_order: VecDeque<Job>,
    runtime: Runtime,
    connection: Option<PostgresConnection>,
}

/// Jobs that succeed or fail together.
struct Unit {
    jobs: Vec<Job>,
    /// True if the statements need a transaction around them.
    is_transaction: bool,
}

/// Reason why a unit failed.
struct UnitError {
    error: StatementError,
    /// Job whose statement failed. `None` for the begin or end of the transaction.
    culprit: Option<usize>,
    may_have_run: bool,
}

/// Outcome of sending a batch.
struct Attempt {
    units: Vec<(Unit, Result<Vec<Answers>, UnitError>)>,
    /// True if the connection was lost.
    is_lost: bool,
}

impl Lane {
    pub fn new(pool: Arc<Pool>, jobs: JobReceiver, exclusive: JobSender) -> Result<Lane, StoreError> {
        let (next_in_order, runtime) = (VecDeque::new(), new_runtime()?);
        Ok(Lane { pool, jobs, exclusive, next_in_order, runtime, connection: None })
    }

    /// Runs jobs until all handles of the store are dropped.
    pub fn run(mut self) {
        while let Some(batch) = self.next_batch() {
            self.serve(batch);
        }
        self.pool.disconnect(&mut self.connection);
    }

    /// Waits for operations and takes all that are there, up to the limits of a batch.
    fn next_batch(&mut self) -> Option<Vec<Job>> {
        let mut batch: Vec<Job> = Vec::new();
        let mut bytes = 0;
        while batch.len() < BATCH_MAX && bytes < BATCH_BYTES_MAX {
            let next = match self.next_in_order.pop_front() {
                Some(job) => Some(job),
                None if batch.is_empty() => Some(self.jobs.recv()?),
                None => self.jobs.try_recv(),
            };
            let Some(job) = next else { break };
            if let Some(job) = self.admit(job) {
                bytes += job.bytes();
                batch.push(job);
            }
        }
        Some(batch)
    }

    /// Returns the job if it can run now.
    fn admit(&mut self, job: Job) -> Option<Job> {
        let (mode, has_turn) = (job.mode, job.has_turn);
        let started = job.start(&self.pool.metrics);
        match mode {
            Mode::WriteInOrder(number) if has_turn && started.is_none() => {
                self.pass_turn(number);
                None
            }
            Mode::WriteInOrder(number) if !has_turn => self.pool.enqueue_ordered(number, started?),
            _ => started,
        }
    }

    fn serve(&mut self, mut batch: Vec<Job>) {
        let deadline = Instant::now() + self.pool.time_max;
        let mut share_transaction = true;
        for attempt in 1.. {
            if batch.is_empty() {
                return;
            }
            let Attempt { units, is_lost } = self.attempt(batch, deadline, share_transaction);
            let may_repeat = attempt < ATTEMPTS_MAX && Instant::now() < deadline;
            if is_lost && may_repeat {
                self.pool.metrics.retries.inc();
            }
            share_transaction &= is_lost;
            let left = units.into_iter().map(|(unit, outcome)| self.settle(unit, outcome, is_lost && may_repeat));
            batch = left.flatten().collect();
        }
    }

    /// Sends the statements of a batch and waits for their answers.
    fn attempt(&mut self, batch: Vec<Job>, deadline: Instant, share_transaction: bool) -> Attempt {
        let connection = match ensure_connected(&self.pool, &self.runtime, &mut self.connection, &LIMITS) {
            Ok(connection) => connection,
            Err(error) => {
                batch.into_iter().for_each(|job| self.finish(job, Err(error.clone())));
                return Attempt { units: Vec::new(), is_lost: false };
            }
        };
        let began = Instant::now();
        let mut failed = Vec::new();
        let mut units: Vec<Unit> = Vec::new();
        for job in batch {
            let prepared = job.statements().iter();
            let prepared = prepared.map(|statement| connection.prepare(&self.runtime, deadline, &statement.sql));
            match prepared.collect::<Result<Vec<_>, _>>() {
                Ok(_) => Unit::add(&mut units, job, share_transaction),
                Err(error) => failed.push((job, error)),
            }
        }
        let steps = units.iter().flat_map(|unit| unit.steps(connection)).collect::<Vec<_>>();
        let outcomes = match steps.is_empty() {
            true => Vec::new(),
            false => pipeline::send(&self.runtime, connection, deadline, &steps),
        };
        drop(steps);
        let mut outcomes = outcomes.into_iter();
        let units = units.into_iter().map(|unit| {
            let outcome = unit.outcome(&mut outcomes);
            (unit, outcome)
        });
        let mut units: Vec<_> = units.collect();
        let is_lost = connection.is_lost();
        if units.iter().any(|(unit, _)| unit.is_writing()) {
            self.pool.metrics.commit_seconds.observe(began.elapsed().as_secs_f64());
        }
        units.extend(failed.into_iter().map(|(job, error)| {
            let failed = UnitError { error, culprit: Some(0), may_have_run: false };
            (Unit { jobs: vec![job], is_transaction: false }, Err(failed))
        }));
        Attempt { units, is_lost }
    }

    /// Answers the jobs of a unit. Returns those that have to run again.
    fn settle(&mut self, unit: Unit, outcome: Result<Vec<Answers>, UnitError>, may_repeat: bool) -> Vec<Job> {
        let failed = match outcome {
            Ok(answers) => {
                if unit.is_writing() {
                    self.pool.metrics.batch.observe(unit.jobs.len() as f64);
                }
                for (mut job, answers) in unit.jobs.into_iter().zip(answers) {
                    job.accept(answers);
                    self.finish(job, Ok(()));
                }
                return Vec::new();
            }
            Err(failed) => failed,
        };
        let is_lost = failed.error.is_lost();
        if is_lost && may_repeat && (!unit.is_writing() || !failed.may_have_run) {
            return unit.jobs;
        }
        let needs_own_connection =
            failed.error.database().is_some_and(|error| is_timeout(error) || is_retryable(error));
        let is_shared = unit.jobs.len() > 1;
        let mut left = Vec::new();
        for (index, job) in unit.jobs.into_iter().enumerate() {
            let is_culprit = failed.culprit == Some(index);
            match is_lost {
                false if needs_own_connection && (is_culprit || !is_shared) => self.forward(job),
                // An error of the culprit may be due to another operation in the transaction, so it runs again too.
                false if is_shared => left.push(job),
                _ => self.finish(job, Err(failed.error.to_store_error(failed.may_have_run))),
            }
        }
        left
    }

    /// Answers a job and passes its turn on.
    fn finish(&mut self, job: Job, outcome: Result<(), StoreError>) {
        let mode = job.mode;
        job.answer(outcome, &self.pool.metrics);
        if let Mode::WriteInOrder(number) = mode {
            self.pass_turn(number);
        }
    }

    /// Moves a job, with its turn, to the threads that run one operation at a time.
    fn forward(&mut self, job: Job) {
        self.pool.metrics.forwarded.inc();
        self.pool.metrics.waiting.inc();
        self.exclusive.forward(job);
    }

    /// Gives the turn of a number to the next job.
    fn pass_turn(&mut self, number: u64) {
        match self.pool.next_ordered(number) {
            Some(job) if job.statements().is_empty() => self.exclusive.forward(job),
            Some(job) => self.next_in_order.push_back(job),
            None => {}
        }
    }
}

impl Unit {
    /// Adds a job to the last unit, if they may share a transaction, or else to a new one.
    fn add(units: &mut Vec<Unit>, job: Job, share_transaction: bool) {
        let is_writing = job.mode != Mode::Read;
        match units.last_mut() {
            Some(unit) if share_transaction && is_writing => {
                unit.jobs.push(job);
                unit.is_transaction = true;
            }
            _ => units.push(Unit { is_transaction: is_writing && job.statements().len() > 1, jobs: vec![job] }),
        }
    }

    fn is_writing(&self) -> bool {
        self.jobs.iter().any(|job| job.mode != Mode::Read)
    }

    /// Returns the statements with the begin and end of their transaction.
    fn steps<'a>(&'a self, connection: &PostgresConnection) -> Vec<Step<'a>> {
        let mark = |sql| connection.cached_statement(sql).map(|statement| Step { statement, parameters: &[] });
        let statements = self.jobs.iter().flat_map(Job::statements).filter_map(|one| {
            let statement = connection.cached_statement(&one.sql)?;
            Some(Step { statement, parameters: &one.parameters })
        });
        let begin = mark("BEGIN").filter(|_| self.is_transaction);
        let commit = mark("COMMIT").filter(|_| self.is_transaction);
        begin.into_iter().chain(statements).chain(commit).collect()
    }

    /// Takes the outcomes of the steps of this unit.
    fn outcome(
        &self,
        outcomes: &mut impl Iterator<Item = Result<Answer, StepError>>,
    ) -> Result<Vec<Answers>, UnitError> {
        let owners = self.jobs.iter().enumerate();
        let owners = owners.flat_map(|(index, job)| job.statements().iter().map(move |_| Some(index)));
        let mark = || std::iter::once(None).filter(|_| self.is_transaction);
        let mut answers: Vec<Answers> = self.jobs.iter().map(|_| Answers::default()).collect();
        let mut failed: Option<UnitError> = None;
        let mut has_run = false;
        for owner in mark().chain(owners).chain(mark()) {
            let missing = || Err(StepError { error: StatementError::TimedOut, may_have_run: true });
            match (outcomes.next().unwrap_or_else(missing), owner) {
                (Ok(answer), Some(owner)) => answers[owner].0.push(answer),
                (Ok(_), None) => {}
                (Err(StepError { error, may_have_run }), owner) => {
                    let is_consequence = error.database().is_some_and(is_in_failed_transaction);
                    if failed.is_none() && !is_consequence {
                        failed = Some(UnitError { error, culprit: owner, may_have_run: may_have_run || has_run });
                    }
                }
            }
            has_run = true;
        }
        failed.map_or(Ok(answers), Err)
    }
}
