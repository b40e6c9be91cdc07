//! Bot: connects, plays until the run ends, and resumes after a lost connection.

mod session;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aether_bits::Random;
use aether_bits::Schema;
use aether_client_native::{Connection, ConnectionError, Connector};
use aether_wire::{Hello, PlayerId, RoomSelector, SchemaHash, ServerMessage, Token, Welcome};
use tokio::sync::Semaphore;

use crate::arguments::LoadArguments;
use crate::deliveries::BotRooms;
use crate::metrics::BotMetrics;
use crate::tokens::BotTokens;
use session::{BotSession, SessionEnd};

/// Largest number of bots that connect at the same time, so that a server is not flooded.
const CONNECTING_MAX: usize = 128;

/// Number of metric shards, so that bots on different threads rarely contend for a lock.
const SHARDS: u32 = 16;

/// Longest wait for the answer to a hello.
const WELCOME_DEADLINE: Duration = Duration::from_secs(15);

/// Number of attempts to resume, and the delay between them.
const RESUMES_MAX: u32 = 5;
const RESUME_PAUSE: Duration = Duration::from_millis(300);

/// State shared by all bots.
pub(crate) struct Shared {
    pub(crate) arguments: LoadArguments,
    pub(crate) rooms: BotRooms,
    /// Common time base of the bots.
    pub(crate) start: Instant,
    connector: Connector,
    tokens: BotTokens,
    schemas: Mutex<BTreeMap<SchemaHash, Arc<Schema>>>,
    shards: Vec<Mutex<BotMetrics>>,
    phase: AtomicU8,
    settled: AtomicU32,
    connecting_permits: Semaphore,
}

/// Phase of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Bots join; nothing is measured yet.
    Ramp,
    /// Bots play, and metrics are recorded.
    Play,
    /// Nothing new is sent, so that messages in flight can arrive.
    Drain,
    /// Bots leave.
    End,
}

impl Shared {
    pub(crate) fn new(arguments: LoadArguments, tokens: BotTokens) -> Self {
        let connector = Connector::new(&arguments.address);
        let connector = if arguments.allow_remote { connector } else { connector.address_filter(is_local) };
        Self {
            rooms: BotRooms::new(arguments.bots, arguments.per_room),
            start: Instant::now(),
            connector,
            tokens,
            schemas: Mutex::new(BTreeMap::new()),
            shards: (0..SHARDS).map(|_| Mutex::new(BotMetrics::default())).collect(),
            phase: AtomicU8::new(Phase::Ramp as u8),
            settled: AtomicU32::new(0),
            connecting_permits: Semaphore::new(CONNECTING_MAX),
            arguments,
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Relaxed);
        [Phase::Ramp, Phase::Play, Phase::Drain].into_iter().find(|known| *known as u8 == phase).unwrap_or(Phase::End)
    }

    pub(crate) fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::Relaxed);
    }

    /// Number of bots that have joined or failed to.
    pub(crate) fn settled(&self) -> u32 {
        self.settled.load(Ordering::Relaxed)
    }

    /// Sum of the metrics of all bots.
    pub(crate) fn metrics(&self) -> BotMetrics {
        let mut sum = BotMetrics::default();
        for shard in &self.shards {
            sum.add(&lock(shard));
        }
        sum
    }

    /// Metric shard of a bot.
    fn shard(&self, bot: u32) -> MutexGuard<'_, BotMetrics> {
        lock(&self.shards[(bot % SHARDS) as usize])
    }

    fn schema(&self, hash: SchemaHash) -> Option<Arc<Schema>> {
        lock(&self.schemas).get(&hash).cloned()
    }

    fn add_schema(&self, hash: SchemaHash, schema: Arc<Schema>) {
        /// One schema per game. Bounded, because a server can send arbitrary ones.
        const SCHEMAS_MAX: usize = 64;
        let mut schemas = lock(&self.schemas);
        if schemas.len() < SCHEMAS_MAX {
            schemas.insert(hash, schema);
        }
    }
}

/// Bot.
pub(crate) struct Bot {
    number: u32,
    shared: Arc<Shared>,
    random: Random,
    settled: bool,
    /// Resume token and player of the last connection.
    resume: Option<(Token, PlayerId)>,
}

impl Bot {
    pub(crate) fn new(number: u32, shared: Arc<Shared>) -> Self {
        let random = Random::new(shared.arguments.seed << 32 | u64::from(number));
        Self { number, shared, random, settled: false, resume: None }
    }

    /// Plays until the run ends or the server rejects the bot.
    pub(crate) async fn run(mut self) {
        let mut resumes = 0;
        loop {
            let resuming = self.resume.is_some();
            let ended = match self.connect().await {
                Ok((connection, welcome)) => {
                    resumes = 0;
                    self.play(connection, welcome).await
                }
                Err(reason) if resuming => {
                    self.shared.shard(self.number).disconnects.count(&format!("resume failed: {reason}"));
                    SessionEnd::Lost
                }
                Err(reason) => {
                    self.shared.shard(self.number).failures.count(&reason);
                    SessionEnd::Finished
                }
            };
            self.mark_settled();
            resumes += 1;
            let should_retry = self.resume.is_some() && resumes <= RESUMES_MAX && self.shared.phase() < Phase::Drain;
            if ended == SessionEnd::Finished || !should_retry {
                return;
            }
            tokio::time::sleep(RESUME_PAUSE * (resumes - 1)).await;
        }
    }

    /// Opens a connection and waits for the welcome. Returns the reason if it fails.
    async fn connect(&mut self) -> Result<(Connection, Welcome), String> {
        let shared = Arc::clone(&self.shared);
        let _permit = shared.connecting_permits.acquire().await.map_err(|error| error.to_string())?;
        let (hello, previous_player) = self.hello().await?;
        let started_at = Instant::now();
        let transport = shared.arguments.transport_of(self.number);
        let mut connection = match shared.connector.connect(transport, &hello).await {
            Ok(connection) => connection,
            Err(error) => {
                // The server has not received the resume token, so it is still valid.
                self.resume = hello.resume_token.zip(previous_player);
                return Err(error.label());
            }
        };
        let welcome = tokio::time::timeout(WELCOME_DEADLINE, wait_for_welcome(&mut connection));
        let welcome = welcome.await.map_err(|_| "no welcome in time".to_owned())?;
        let mut metrics = shared.shard(self.number);
        let welcome = welcome.inspect_err(|_| metrics.resumes_refused += u64::from(previous_player.is_some()))?;
        match previous_player {
            None => {
                metrics.connected += 1;
                metrics.connecting.record(started_at.elapsed());
            }
            Some(player) => {
                metrics.resumes += 1;
                metrics.resumes_as_another += u64::from(player != welcome.player);
            }
        }
        self.resume = welcome.resume_token.clone().map(|token| (token, welcome.player));
        drop(metrics);
        self.mark_settled();
        Ok((connection, welcome))
    }

    /// Builds the hello. Returns the previous player with a resume.
    async fn hello(&mut self) -> Result<(Hello, Option<PlayerId>), String> {
        if let Some((token, player)) = self.resume.take() {
            return Ok((Hello { resume_token: Some(token), ..Hello::default() }, Some(player)));
        }
        let Shared { arguments, rooms, tokens, connector, .. } = &*self.shared;
        let token = tokens.token(connector, self.number).await.map_err(|error| error.label())?;
        let label = Some(rooms.label(self.number));
        let room = RoomSelector::Type { name: arguments.room_type().to_owned(), label };
        Ok((Hello { token: Some(token), room: Some(room), ..Hello::default() }, None))
    }

    async fn play(&mut self, connection: Connection, welcome: Welcome) -> SessionEnd {
        let shared = Arc::clone(&self.shared);
        let session =
            BotSession::new(self.number, &shared, welcome, connection.transport(), Random::new(self.random.bits()));
        let ended = session.run(connection).await;
        if ended == SessionEnd::Rejected {
            self.resume = None;
        }
        ended
    }

    /// Counts the bot as settled. The run waits until all bots are.
    fn mark_settled(&mut self) {
        if !std::mem::replace(&mut self.settled, true) {
            self.shared.settled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits for the welcome. Returns the reason if there is none.
async fn wait_for_welcome(connection: &mut Connection) -> Result<Welcome, String> {
    loop {
        match connection.next_message().await {
            Ok(ServerMessage::Welcome(welcome)) => return Ok(welcome),
            Ok(ServerMessage::Error(error)) => return Err(error.code.name().to_owned()),
            Ok(ServerMessage::Closing(closing)) => return Err(closing.reason.name().to_owned()),
            Ok(_) => {}
            Err(ConnectionError::Closed { reason, .. }) if !reason.is_empty() => return Err(reason),
            Err(error) => return Err(error.label()),
        }
    }
}

/// Returns true for addresses of this machine. A load test against other servers needs a flag, because it may be an
/// attack.
pub(crate) fn is_local(address: IpAddr) -> bool {
    address.is_loopback()
}

/// Locks a mutex. Metrics of a bot that panicked remain valid.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
