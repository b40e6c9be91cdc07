//! The store: where operations are handed in.

use crate::error::StoreError;
use crate::figures::StoreMetrics;
use crate::job::{Job, Mode};
use crate::migrations::{self, MigrationStatus};
use crate::postgres::{Address, Pool, Worker};
use crate::sqlite::{Reader, Writer};
use crate::transaction::Transaction;
use aether_metrics::Registry;
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use std::fmt::Display;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

/// Operations that may wait for a thread. More would wait longer than anyone wants, and take memory meanwhile.
const WAITING_MAX: usize = 4_096;

/// Time between two looks at the number of handles.
const HANDLES_CHECK_INTERVAL: Duration = Duration::from_millis(10);

/// Where the data is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Database {
    /// SQLite in memory: gone with the process, for tests and trials.
    Memory,
    /// SQLite in a file.
    File(PathBuf),
    /// PostgreSQL, by its connection string.
    Postgres(String),
}

/// How the store is to be opened.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Where the data is.
    pub database: Database,
    /// Connections to PostgreSQL. Each is a process there.
    pub connections: usize,
    /// Threads that read from SQLite.
    pub readers: usize,
    /// Whether the database is brought up to date; otherwise an old one is refused.
    pub migrate: bool,
    /// How long an operation may take before it is given up: others wait for its thread, and for what it has locked.
    pub operation_time_max: Duration,
}

impl StoreSettings {
    /// Usual settings.
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

/// The data layer. Clones are handles on the same one; when the last is dropped, what was handed in is done and the
/// threads end.
#[derive(Clone)]
pub struct Store {
    shared: Arc<Shared>,
}

struct Shared {
    reads: Option<Sender<Job>>,
    writes: Option<Sender<Job>>,
    threads: Vec<JoinHandle<()>>,
    figures: StoreMetrics,
    /// Held as long as the file is open, so that no second server writes to it.
    _lock: Option<File>,
}

impl Store {
    /// Opens the database and brings it up to date.
    pub async fn open(settings: &StoreSettings, registry: &Registry) -> Result<Store, StoreError> {
        let mut store = Store::start(settings, registry)?;
        migrations::apply(&store, settings.migrate).await?;
        if let Database::File(path) = &settings.database {
            // Only now, because a reader cannot make the file.
            let shared = Arc::get_mut(&mut store.shared);
            shared.expect("no clone was handed out yet").add_readers(path, settings)?;
        }
        Ok(store)
    }

    /// Opens a database beside a server that uses it, to read from it: nothing is changed, and writes are refused. It has to
    /// be there already, and up to date.
    pub async fn open_beside(settings: &StoreSettings, registry: &Registry) -> Result<Store, StoreError> {
        let Database::File(path) = &settings.database else {
            return Store::open(&StoreSettings { migrate: false, ..settings.clone() }, registry).await;
        };
        if !path.exists() {
            return Err(StoreError::Refused(format!("There is no database {}.", path.display())));
        }
        let figures = StoreMetrics::new(registry);
        let mut shared = Shared { reads: None, writes: None, threads: Vec::new(), figures, _lock: None };
        shared.add_readers(path, settings)?;
        Ok(Store { shared: Arc::new(shared) })
    }

    /// How far a database is, without changing it. A file that is not there yet is not made.
    pub async fn inspect(settings: &StoreSettings, registry: &Registry) -> Result<MigrationStatus, StoreError> {
        if matches!(&settings.database, Database::File(path) if !path.exists()) {
            return Ok(MigrationStatus::of_nothing());
        }
        let store = Store::start(settings, registry)?;
        let status = store.migration_status().await;
        store.close().await;
        status
    }

    /// Runs an operation that changes nothing.
    pub async fn read<T, E>(
        &self,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.figures.reads.inc();
        self.submit(&self.shared.reads, Mode::Read, operation).await
    }

    /// Runs an operation that changes nothing and sees the database as it is at one moment, across its statements.
    pub async fn snapshot<T, E>(
        &self,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.figures.reads.inc();
        self.submit(&self.shared.reads, Mode::Snapshot, operation).await
    }

    /// Runs an operation in a transaction. When this returns `Ok`, what it changed is durable; when the operation
    /// returns an error, nothing is changed. It may run more than once, if another transaction is in its way.
    ///
    /// What was handed in is done also if whoever waits for it goes away.
    pub async fn write<T, E>(
        &self,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.figures.writes.inc();
        self.submit(&self.shared.writes, Mode::Write, operation).await
    }

    /// As [`Store::write`]; and operations of this process with the same number go one after the other, with what they
    /// do after the commit: so what they keep in memory is in the order of the commits.
    pub async fn write_in_turn<T, E>(
        &self,
        number: u64,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.shared.figures.writes.inc();
        self.submit(&self.shared.writes, Mode::WriteInTurn(number), operation).await
    }

    /// Whether the database answers.
    pub async fn ping(&self) -> Result<(), StoreError> {
        self.read(|transaction| transaction.row("SELECT 1", &[], |_| Ok(())).map(|_| ())).await
    }

    /// Waits until all threads have ended. Other handles must be dropped before.
    pub async fn close(self) {
        // Threads are waited for, which must not hold up the runtime.
        let _ = tokio::task::spawn_blocking(move || drop(self)).await;
    }

    /// Waits until no other handle is left, at most for this long, and then until all threads have ended. Returns whether
    /// they have: a handle that is still held keeps them, and with them the files of SQLite beside the database.
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

    /// Starts the threads.
    fn start(settings: &StoreSettings, registry: &Registry) -> Result<Store, StoreError> {
        let figures = StoreMetrics::new(registry);
        let shared = match &settings.database {
            Database::Memory => Shared::sqlite(None, settings, figures)?,
            Database::File(path) => Shared::sqlite(Some(path), settings, figures)?,
            Database::Postgres(url) => Shared::postgres(url, settings, figures)?,
        };
        Ok(Store { shared: Arc::new(shared) })
    }

    async fn submit<T, E>(
        &self,
        queue: &Option<Sender<Job>>,
        mode: Mode,
        operation: impl Fn(&mut Transaction<'_>) -> Result<T, E> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        let (job, outcome) = Job::new(mode, operation);
        let Some(queue) = queue else {
            return Err(StoreError::Refused("The database was opened beside its server, to be read.".to_owned()).into());
        };
        self.shared.figures.waiting.inc();
        if let Err(error) = queue.try_send(job) {
            self.shared.figures.waiting.dec();
            self.shared.figures.refused.inc();
            let why = match error {
                TrySendError::Full(_) => "too many operations are waiting for it; try again in a moment",
                TrySendError::Disconnected(_) => "its thread has ended",
            };
            return Err(StoreError::Unavailable(why.to_owned()).into());
        }
        outcome.await.unwrap_or_else(|_| Err(StoreError::Unavailable("its thread has ended".to_owned()).into()))
    }
}

impl Shared {
    fn sqlite(path: Option<&Path>, settings: &StoreSettings, figures: StoreMetrics) -> Result<Shared, StoreError> {
        let lock = path.map(lock).transpose()?;
        let (writes, jobs) = bounded(WAITING_MAX);
        let writer = Writer::open(path, settings.operation_time_max, jobs, figures.clone())?;
        let threads = vec![spawn("store-writer", move || writer.run())?];
        figures.connections.inc();
        Ok(Shared { reads: Some(writes.clone()), writes: Some(writes), threads, figures, _lock: lock })
    }

    /// From now on others read than the one who writes.
    fn add_readers(&mut self, path: &Path, settings: &StoreSettings) -> Result<(), StoreError> {
        let (reads, jobs) = bounded(WAITING_MAX);
        for _ in 0..settings.readers.max(1) {
            let jobs = Receiver::clone(&jobs);
            let reader = Reader::open(path, settings.operation_time_max, jobs, self.figures.clone())?;
            self.threads.push(spawn("store-reader", move || reader.run())?);
            self.figures.connections.inc();
        }
        self.reads = Some(reads);
        Ok(())
    }

    fn postgres(url: &str, settings: &StoreSettings, figures: StoreMetrics) -> Result<Shared, StoreError> {
        let pool = Pool::new(Address::parse(url)?, settings.operation_time_max, figures.clone());
        let (jobs, taken) = bounded(WAITING_MAX);
        let threads = (0..settings.connections.max(1)).map(|_| {
            let worker = Worker::new(Arc::clone(&pool), Receiver::clone(&taken))?;
            spawn("store-postgres", move || worker.run())
        });
        let threads = threads.collect::<Result<_, _>>()?;
        Ok(Shared { reads: Some(jobs.clone()), writes: Some(jobs), threads, figures, _lock: None })
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.reads = None;
        self.writes = None;
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

/// Takes the file for this process alone.
fn lock(path: &Path) -> Result<File, StoreError> {
    let mut lock_path = path.as_os_str().to_owned();
    lock_path.push(".lock");
    let lock_path = PathBuf::from(lock_path);
    let cannot = |error: &dyn Display| {
        let shown = lock_path.display();
        StoreError::Refused(format!("{shown} cannot be opened: {error}. Set data_dir to a folder of your own."))
    };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| cannot(&error))?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(&lock_path);
    let file = file.map_err(|error| cannot(&error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::Refused(format!(
            "{} is in use by another server. Stop it first, or set data_dir to another folder.",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => Err(cannot(&error)),
    }
}

fn spawn(name: &str, run: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, StoreError> {
    let spawned = std::thread::Builder::new().name(name.to_owned()).spawn(run);
    spawned.map_err(|error| StoreError::Refused(format!("a thread of the data layer cannot be started: {error}")))
}
