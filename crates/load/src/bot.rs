//! One bot: it connects, plays until it is told to stop, and comes back if it was cut off.

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
use crate::deliveries::Rooms;
use crate::measures::BotMetrics;
use crate::tokens::Tokens;
use session::{Ended, Session};

/// Bots that are connecting at once at most, so that a server sees a queue and not a wall.
const OPENING_MAX: usize = 128;

/// Measures are spread over this many places, so that bots on different threads seldom wait
/// for each other.
const SHARDS: u32 = 16;

/// How long a server may take to answer a hello.
const WELCOME_DEADLINE: Duration = Duration::from_secs(15);

/// How often a bot tries to resume before it gives up, and how long it waits in between.
const RESUMES_MAX: u32 = 5;
const RESUME_PAUSE: Duration = Duration::from_millis(300);

/// What all bots share.
pub(crate) struct Shared {
    pub(crate) arguments: LoadArguments,
    pub(crate) rooms: Rooms,
    /// The bots' common clock.
    pub(crate) start: Instant,
    connector: Connector,
    tokens: Tokens,
    schemas: Mutex<BTreeMap<SchemaHash, Arc<Schema>>>,
    shards: Vec<Mutex<BotMetrics>>,
    phase: AtomicU8,
    settled: AtomicU32,
    opening: Semaphore,
}

/// What the run is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Bots come in; nothing is measured yet.
    Ramp,
    /// All are in that could come in.
    Play,
    /// Nothing new is sent, so that what is under way can arrive.
    Drain,
    /// Bots leave.
    End,
}

impl Shared {
    pub(crate) fn new(arguments: LoadArguments, tokens: Tokens) -> Self {
        let connector = Connector::new(&arguments.address);
        let connector = if arguments.allow_remote { connector } else { connector.address_filter(is_this_machine) };
        Self {
            rooms: Rooms::new(arguments.bots, arguments.per_room),
            start: Instant::now(),
            connector,
            tokens,
            schemas: Mutex::new(BTreeMap::new()),
            shards: (0..SHARDS).map(|_| Mutex::new(BotMetrics::default())).collect(),
            phase: AtomicU8::new(Phase::Ramp as u8),
            settled: AtomicU32::new(0),
            opening: Semaphore::new(OPENING_MAX),
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

    /// How many bots are in, or have failed to come in.
    pub(crate) fn settled(&self) -> u32 {
        self.settled.load(Ordering::Relaxed)
    }

    /// What all bots have seen so far.
    pub(crate) fn measures(&self) -> BotMetrics {
        let mut sum = BotMetrics::default();
        for shard in &self.shards {
            sum.add(&lock(shard));
        }
        sum
    }

    /// Where a bot writes down what it sees.
    fn shard(&self, bot: u32) -> MutexGuard<'_, BotMetrics> {
        lock(&self.shards[(bot % SHARDS) as usize])
    }

    fn schema(&self, hash: SchemaHash) -> Option<Arc<Schema>> {
        lock(&self.schemas).get(&hash).cloned()
    }

    fn add_schema(&self, hash: SchemaHash, schema: Arc<Schema>) {
        /// One per game of a server; a server that makes up more gets no memory for it.
        const SCHEMAS_MAX: usize = 64;
        let mut schemas = lock(&self.schemas);
        if schemas.len() < SCHEMAS_MAX {
            schemas.insert(hash, schema);
        }
    }
}

/// One bot.
pub(crate) struct Bot {
    number: u32,
    shared: Arc<Shared>,
    random: Random,
    settled: bool,
    /// Who the bot was on its last connection, and what brings it back.
    resume: Option<(Token, PlayerId)>,
}

impl Bot {
    pub(crate) fn new(number: u32, shared: Arc<Shared>) -> Self {
        let random = Random::new(shared.arguments.seed << 32 | u64::from(number));
        Self { number, shared, random, settled: false, resume: None }
    }

    /// Plays until the run ends or the server does not want it any more.
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
                    Ended::Lost
                }
                Err(reason) => {
                    self.shared.shard(self.number).failures.count(&reason);
                    Ended::Finished
                }
            };
            self.settle();
            resumes += 1;
            let goes_on = self.resume.is_some() && resumes <= RESUMES_MAX && self.shared.phase() < Phase::Drain;
            if ended == Ended::Finished || !goes_on {
                return;
            }
            tokio::time::sleep(RESUME_PAUSE * (resumes - 1)).await;
        }
    }

    /// Opens a connection, or says why it could not.
    async fn connect(&mut self) -> Result<(Connection, Welcome), String> {
        let shared = Arc::clone(&self.shared);
        let _permit = shared.opening.acquire().await.map_err(|error| error.to_string())?;
        let (hello, before) = self.hello().await?;
        let began = Instant::now();
        let transport = shared.arguments.transport_of(self.number);
        let mut connection = match shared.connector.connect(transport, &hello).await {
            Ok(connection) => connection,
            Err(error) => {
                // The server has not seen the token, so it is still good.
                self.resume = hello.resume_token.zip(before);
                return Err(error.label());
            }
        };
        let welcome = tokio::time::timeout(WELCOME_DEADLINE, welcomed(&mut connection));
        let welcome = welcome.await.map_err(|_| "no welcome in time".to_owned())?;
        let mut measures = shared.shard(self.number);
        let welcome = welcome.inspect_err(|_| measures.resumes_refused += u64::from(before.is_some()))?;
        match before {
            None => {
                measures.connected += 1;
                measures.connecting.record(began.elapsed());
            }
            Some(player) => {
                measures.resumes += 1;
                measures.resumes_as_another += u64::from(player != welcome.player);
            }
        }
        self.resume = welcome.resume_token.clone().map(|token| (token, welcome.player));
        drop(measures);
        self.settle();
        Ok((connection, welcome))
    }

    /// What to say first, and who the bot was before. A resume token is good once.
    async fn hello(&mut self) -> Result<(Hello, Option<PlayerId>), String> {
        if let Some((token, player)) = self.resume.take() {
            return Ok((Hello { resume_token: Some(token), ..Hello::default() }, Some(player)));
        }
        let Shared { arguments, rooms, tokens, connector, .. } = &*self.shared;
        let token = tokens.take(connector, self.number).await.map_err(|error| error.label())?;
        let label = Some(rooms.label(self.number));
        let room = RoomSelector::Type { name: arguments.room_type.clone(), label };
        Ok((Hello { token: Some(token), room: Some(room), ..Hello::default() }, None))
    }

    async fn play(&mut self, connection: Connection, welcome: Welcome) -> Ended {
        let shared = Arc::clone(&self.shared);
        let session =
            Session::new(self.number, &shared, welcome, connection.transport(), Random::new(self.random.bits()));
        let ended = session.run(connection).await;
        if ended == Ended::Refused {
            self.resume = None;
        }
        ended
    }

    /// The run waits until every bot has been here once.
    fn settle(&mut self) {
        if !std::mem::replace(&mut self.settled, true) {
            self.shared.settled.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits for the welcome, or says why there is none.
async fn welcomed(connection: &mut Connection) -> Result<Welcome, String> {
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

/// A load test against somebody else's server is an attack.
pub(crate) fn is_this_machine(address: IpAddr) -> bool {
    address.is_loopback()
}

/// What another bot counted before it panicked still counts.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
