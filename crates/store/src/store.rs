//! The store: handles, threads and queues of operations.

use crate::error::StoreError;
use crate::job::{self, Job, Mode};
use crate::metrics::StoreMetrics;
use crate::migrations::{self, MigrationStatus};
use crate::postgres::{Address, Lane, Pool, Worker};
use crate::private_file;
use crate::queue::{JobReceiver, JobSender, Rejected, job_queue};
use crate::sqlite::{Reader, Writer, presence};
use crate::statement::{Answers, Statements};
use crate::transaction::{Dialect, Transaction};
use aether_metrics::Registry;
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Time between two checks of the number of handles.
const HANDLES_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Number of PostgreSQL connections that callers share to read. A second one serves while the first waits for answers.
const READ_LANES: usize = 2;
/// Number of PostgreSQL connections that callers share to write. With one, transactions of many callers cannot wait for each
/// other, and the most callers share a commit.
const WRITE_LANES: usize = 1;

/// Location of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// SQLite in memory, lost when the process ends. For tests and trials.
    Memory,
    /// SQLite in a file.
    File(PathBuf),
    /// PostgreSQL, with its connection string.
    Postgres(String),
}

/// Settings of a store.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Location of the data.
    pub database: Database,
    /// Number of connections to PostgreSQL for operations that run alone. Three more are shared. Each is a process on the
    /// database server.
    pub connections: usize,
    /// Number of threads that read from SQLite.
    pub readers: usize,
    /// Applies pending migrations. If false, opening a database with pending migrations fails.
    pub migrate: bool,
    /// Time limit of an operation. Others wait for its thread and for the rows that it has locked.
    pub operation_time_max: Duration,
}

impl StoreSettings {
    /// Returns the default settings for a database.
    #[must_use]
    pub fn new(database: Database) -> StoreSettings {
        StoreSettings {
            database,
            connections: 16,
            readers: 2,
            migrate: true,
            operation_time_max: Duration::from_secs(10),
        }
    }
}

/// Handle of the database layer. Clones share the same threads. When the last clone is dropped, queued operations are
/// finished and the threads end.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    reads: Option<JobSender>,
    writes: Option<JobSender>,
    /// Queues of operations whose statements are known. The same as the others, except on PostgreSQL.
    shared_reads: Option<JobSender>,
    shared_writes: Option<JobSender>,
    threads: Vec<JoinHandle<()>>,
    /// Threads that only read from SQLite.
    readers: Vec<JoinHandle<()>>,
    metrics: StoreMetrics,
    dialect: Dialect,
    /// Lock file of a SQLite database. Locked as long as it is open, so that no second server writes to the database.
    _lock: Option<File>,
}

impl Store {
    /// Opens the database and applies pending migrations.
    pub async fn open(settings: &StoreSettings, registry: &Registry) -> Result<Store, StoreError> {
        let mut store = Store::start(settings, registry)?;
        let lost = match &settings.database {
            Database::File(path) if presence::is_marked(path) => Some(presence::lost(path)),
            _ => None,
        };
        migrations::apply(&store, settings.migrate, lost).await?;
        if let Database::File(path) = &settings.database {
            presence::mark(path)?;
            // Only now, because a reader cannot create the file.
            let shared = Arc::get_mut(&mut store.shared);
            shared.expect("the store was not cloned yet").add_readers(path, settings)?;
        }
        Ok(store)
    }

    /// Opens an existing, migrated database for reading while a server uses it. A SQLite file is opened read-only: writes
    /// fail.
    pub async fn open_for_reading(settings: &StoreSettings, registry: &Registry) -> Result<Store, StoreError> {
        let Database::File(path) = &settings.database else {
            return Store::open(&StoreSettings { migrate: false, ..settings.clone() }, registry).await;
        };
        presence::check(path)?;
        if !path.exists() {
            return Err(StoreError::Refused(format!(
                "The database {} does not exist. Check data_dir and database.url.",
                path.display()
            )));
        }
        let metrics = StoreMetrics::new(registry);
        let mut shared = Shared::new(None, None, Vec::new(), metrics);
        shared.add_readers(path, settings)?;
        Ok(Store { shared: Arc::new(shared) })
    }

    /// Returns the applied and pending migrations of a database without changing it. A missing file is not created.
    pub async fn inspect(settings: &StoreSettings, registry: &Registry) -> Result<MigrationStatus, StoreError> {
        if let Database::File(path) = &settings.database
            && !path.exists()
        {
            presence::check(path)?;
            return Ok(MigrationStatus::of_missing_database());
        }
        let store = Store::start(settings, registry)?;
        let status = store.migration_status().await;
        store.close().await;
        status
    }

    /// Runs an operation that only reads. Its statements may see different states of the database.
    pub async fn read<T, E>(
        &self,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.metrics.reads.inc();
        self.submit(&self.shared.reads, Mode::Read, operation).await
    }

    /// Runs an operation that only reads. All its statements see the same state of the database.
    pub async fn snapshot<T, E>(
        &self,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.metrics.reads.inc();
        self.submit(&self.shared.reads, Mode::Snapshot, operation).await
    }

    /// Runs an operation in a transaction. If this returns `Ok`, the changes are durable. If the operation returns an error,
    /// nothing is changed. The operation may run more than once, if it conflicts with another transaction.
    ///
    /// A queued operation runs even if the returned future is dropped.
    pub async fn write<T, E>(
        &self,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.metrics.writes.inc();
        self.submit(&self.shared.writes, Mode::Write, operation).await
    }

    /// Runs an operation as [`Store::write`] does, and one at a time among the operations of this process with the same
    /// `number`, including their [`Transaction::after_commit`] actions. So state in memory changes in the order of the
    /// commits.
    pub async fn write_in_order<T, E>(
        &self,
        number: u64,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.metrics.writes.inc();
        self.submit(&self.shared.writes, Mode::WriteInOrder(number), operation).await
    }

    /// Runs an operation whose statements are known before. PostgreSQL gets them in one round trip, on a connection that
    /// callers share. They take effect together or not at all, and one caller's failure affects no other.
    ///
    /// `read` gets the answers after the commit, so it cannot undo it. A statement that must not take effect in some cases
    /// has a condition that says so.
    pub async fn run<T, E>(
        &self,
        statements: Statements,
        read: impl FnOnce(&Answers) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        statements.check()?;
        let metrics = &self.shared.metrics;
        let (queue, operations) = match statements.mode {
            Mode::Read | Mode::Snapshot => (&self.shared.shared_reads, &metrics.reads),
            Mode::Write | Mode::WriteInOrder(_) => (&self.shared.shared_writes, &metrics.writes),
        };
        operations.inc();
        let (job, outcome) = Job::of_statements(statements, read);
        self.enqueue(queue, job)?;
        outcome.await.unwrap_or_else(|_| Err(thread_ended().into()))
    }

    /// Returns the kind of database.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.shared.dialect
    }

    /// Returns `Ok` if the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.run(Statements::reading("SELECT 1", &[]), |_| Ok(())).await
    }

    /// Returns `Ok` if the database accepts writes. It writes only if the last write failed, for example because the disk
    /// is full: every other write shows the same at no cost.
    pub async fn check_writes(&self) -> Result<(), StoreError> {
        /// A statement that changes a row, but not its contents.
        const PROBE: &str = "UPDATE schema_migrations SET name = name WHERE version = 1";
        match self.shared.metrics.has_write_failed() {
            true => self.write(|transaction| transaction.execute(PROBE, &[]).map(|_| ())).await,
            false => Ok(()),
        }
    }

    /// Waits until all threads have ended. Drop all other handles first.
    pub async fn close(self) {
        // Joining the threads would block the runtime.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    /// Waits until no other handle is left, at most for `limit`, and then until all threads have ended. Returns false if
    /// another handle is left: then the threads keep running and SQLite's journal files stay beside the database.
    pub async fn close_within(self, limit: Duration) -> bool {
        let unused = async {
            while Arc::strong_count(&self.shared) > 1 {
                tokio::time::sleep(HANDLES_CHECK_INTERVAL).await;
            }
        };
        if tokio::time::timeout(limit, unused).await.is_err() {
            return false;
        }
        self.close().await;
        true
    }

    /// Opens connections and starts the threads.
    fn start(settings: &StoreSettings, registry: &Registry) -> Result<Store, StoreError> {
        let metrics = StoreMetrics::new(registry);
        let shared = match &settings.database {
            Database::Memory => Shared::sqlite(None, settings, metrics)?,
            Database::File(path) => Shared::sqlite(Some(path), settings, metrics)?,
            Database::Postgres(url) => Shared::postgres(url, settings, metrics)?,
        };
        Ok(Store { shared: Arc::new(shared) })
    }

    async fn submit<T, E>(
        &self,
        queue: &Option<JobSender>,
        mode: Mode,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (job, outcome) = Job::new(mode, operation);
        self.enqueue(queue, job)?;
        outcome.await.unwrap_or_else(|_| Err(thread_ended().into()))
    }

    fn enqueue(&self, queue: &Option<JobSender>, job: Job) -> Result<(), StoreError> {
        let Some(queue) = queue else {
            return Err(StoreError::Refused("The database was opened for reading only.".to_owned()));
        };
        self.shared.metrics.waiting.inc();
        match queue.try_send(job) {
            Ok(None) => {}
            Ok(Some(displaced)) => displaced.refuse(&self.shared.metrics),
            Err(rejected) => {
                self.shared.metrics.waiting.dec();
                self.shared.metrics.refused.inc();
                return Err(match rejected {
                    Rejected::Full => StoreError::Unavailable(job::QUEUE_FULL.to_owned()),
                    Rejected::Closed => thread_ended(),
                });
            }
        }
        Ok(())
    }
}

impl Shared {
    fn sqlite(path: Option<&Path>, settings: &StoreSettings, metrics: StoreMetrics) -> Result<Shared, StoreError> {
        let lock = path.map(lock).transpose()?;
        path.map_or(Ok(()), presence::check)?;
        let (writes, jobs) = job_queue();
        let writer = Writer::open(path, settings.operation_time_max, jobs, metrics.clone())?;
        let threads = vec![spawn("store-writer", move || writer.run())?];
        metrics.connections.inc();
        let mut shared = Shared::new(Some(writes.clone()), Some(writes), threads, metrics);
        shared._lock = lock;
        Ok(shared)
    }

    /// Starts reading threads, which take over the reads from the writing thread.
    fn add_readers(&mut self, path: &Path, settings: &StoreSettings) -> Result<(), StoreError> {
        let (reads, jobs) = job_queue();
        for _ in 0..settings.readers.max(1) {
            let jobs = JobReceiver::clone(&jobs);
            let reader = Reader::open(path, settings.operation_time_max, jobs, self.metrics.clone())?;
            self.readers.push(spawn("store-reader", move || reader.run())?);
            self.metrics.connections.inc();
        }
        self.shared_reads = Some(reads.clone());
        self.reads = Some(reads);
        Ok(())
    }

    fn postgres(url: &str, settings: &StoreSettings, metrics: StoreMetrics) -> Result<Shared, StoreError> {
        let pool = Pool::new(Address::parse(url)?, settings.operation_time_max, metrics.clone());
        let (jobs, queue) = job_queue();
        let mut threads = Vec::new();
        for _ in 0..settings.connections.max(1) {
            let worker = Worker::new(Arc::clone(&pool), queue.clone())?;
            threads.push(spawn("store-postgres", move || worker.run())?);
        }
        let mut share = |connections| {
            let (shared_jobs, queue) = job_queue();
            for _ in 0..connections {
                let lane = Lane::new(Arc::clone(&pool), queue.clone(), jobs.clone())?;
                threads.push(spawn("store-shared", move || lane.run())?);
            }
            Ok::<_, StoreError>(shared_jobs)
        };
        let (shared_reads, shared_writes) = (share(READ_LANES)?, share(WRITE_LANES)?);
        let mut shared = Shared::new(Some(jobs.clone()), Some(jobs), threads, metrics);
        (shared.shared_reads, shared.shared_writes) = (Some(shared_reads), Some(shared_writes));
        shared.dialect = Dialect::Postgres;
        Ok(shared)
    }

    fn new(
        reads: Option<JobSender>,
        writes: Option<JobSender>,
        threads: Vec<JoinHandle<()>>,
        metrics: StoreMetrics,
    ) -> Shared {
        let (shared_reads, shared_writes) = (reads.clone(), writes.clone());
        Shared {
            reads,
            writes,
            shared_reads,
            shared_writes,
            threads,
            readers: Vec::new(),
            metrics,
            dialect: Dialect::Sqlite,
            _lock: None,
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // Readers end first: the last connection that closes removes SQLite's journal, and one that only reads cannot.
        (self.reads, self.shared_reads) = (None, None);
        join_all(&mut self.readers);
        (self.writes, self.shared_writes) = (None, None);
        join_all(&mut self.threads);
    }
}

/// Waits until threads have ended. If an operation owned the last handle, this is one of the threads; it ends by itself.
fn join_all(threads: &mut Vec<JoinHandle<()>>) {
    let current = std::thread::current().id();
    for thread in threads.drain(..).filter(|thread| thread.thread().id() != current) {
        // The result of a thread that panicked does not matter here.
        let _ = thread.join();
    }
}

fn thread_ended() -> StoreError {
    StoreError::Unavailable("its thread has ended".to_owned())
}

/// Locks the database file for this process.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let failed = |error: &dyn Display| {
        let path = lock_path.display();
        StoreError::Refused(format!("Cannot open {path}: {error}. Set data_dir to a folder that the server can write."))
    };
    if let Some(folder) = path.parent() {
        private_file::create_folder(folder).map_err(|error| failed(&error))?;
    }
    let file = private_file::options().create(true).truncate(false).write(true).open(&lock_path);
    let file = file.map_err(|error| failed(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Refused(format!(
            "{} is in use by another server. Stop it first, or set data_dir to another folder.",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(failed(&error)),
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map_err(|error| StoreError::Refused(format!("Cannot start a thread of the store: {error}")))
}
