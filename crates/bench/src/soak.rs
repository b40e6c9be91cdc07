//! Soak test: bots join and leave, while memory and rooms must not grow.

use crate::Outcome;
use crate::child::Server;
use aether_bits::Random;
use aether_bits::{BitWriter, Replicate};
use aether_client_native::{Connection, Connector, TransportKind};
use aether_sandbox_rules::Controls;
use aether_wire::{
    ClientMessage, CommandSeq, GameBody, GameMessage, Hello, InputBytes, InputPayload, InputSeq, Inputs, RoomSelector,
    ServerMessage, StateAck, Token, ViewTick, Welcome,
};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Allowed growth of memory.
const GROWTH_SHARE_MAX: f64 = 0.10;
const GROWTH_BYTES_MAX: f64 = 8e6;
/// Sample interval. A short soak test is sampled more often.
const SAMPLE: Duration = Duration::from_secs(5);
const SAMPLES_MIN: u32 = 12;
/// Lifetime of empty rooms, and of players without a connection.
const EMPTY_SECONDS: u64 = 2;
const RESUME_SECONDS: u64 = 3;
/// Additional time until everything is removed.
const EMPTY_GRACE: Duration = Duration::from_secs(10);
/// Longest stay of a bot.
const STAY: Duration = Duration::from_secs(10);
/// Longest wait for the answer to a hello.
const WELCOME_DEADLINE: Duration = Duration::from_secs(15);
const PLAY_INTERVAL: Duration = Duration::from_millis(50);
/// Number of labels per room type.
const LABELS: u32 = 8;

/// Arguments of the soak test.
#[derive(clap::Args)]
pub struct SoakArguments {
    /// Duration in minutes
    #[arg(long)]
    minutes: f64,
    /// Number of bots
    #[arg(long, default_value_t = 100)]
    bots: usize,
}

/// State shared by all bots.
struct Shared {
    connector: Connector,
    tokens: Vec<String>,
    has_ended: AtomicBool,
    joins: AtomicU64,
    resumes: AtomicU64,
    /// Number of errors by kind.
    errors: Mutex<BTreeMap<String, u64>>,
}

/// State of the server at one time.
#[derive(Clone, Copy, Default)]
struct Sample {
    memory: f64,
    rooms: u64,
    connections: u64,
    players: u64,
}

pub fn run(arguments: &SoakArguments) -> Outcome {
    rlimit::increase_nofile_limit(u64::MAX)?;
    let server = Server::aether(&[
        format!("rooms.empty_seconds={EMPTY_SECONDS}"),
        format!("room.sandbox.resume_seconds={RESUME_SECONDS}"),
        "connections.per_account_max=0".to_owned(),
    ])?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let outcome = runtime.block_on(soak(&server, arguments));
    runtime.shutdown_timeout(Duration::from_secs(1));
    outcome?;
    let status = server.stop()?;
    if !status.success() {
        return Err(format!("the server ended with {status}").into());
    }
    println!("soak: memory is flat, no room is stuck, nothing is left behind, exit code 0");
    Ok(())
}

async fn soak(server: &Server, arguments: &SoakArguments) -> Outcome {
    let length = Duration::from_secs_f64(arguments.minutes * 60.0);
    let address = format!("http://{}", server.http).parse()?;
    let shared = Arc::new(Shared {
        connector: Connector::new(&address),
        tokens: server.tokens(arguments.bots)?,
        has_ended: AtomicBool::new(false),
        joins: AtomicU64::new(0),
        resumes: AtomicU64::new(0),
        errors: Mutex::default(),
    });
    println!(
        "{} bots join, play for up to {} s and leave, for {:.1} minutes.",
        arguments.bots,
        STAY.as_secs(),
        arguments.minutes
    );
    let bots: Vec<_> = (0..arguments.bots).map(|number| tokio::spawn(run_bot(Arc::clone(&shared), number))).collect();
    let samples = sample_server(server, &shared, length).await;
    shared.has_ended.store(true, Ordering::Relaxed);
    for bot in bots {
        bot.await?;
    }
    let samples = samples?;
    shared.report();
    check_memory(&samples)?;
    wait_until_empty(server).await
}

/// Samples the server at intervals.
async fn sample_server(server: &Server, shared: &Shared, length: Duration) -> Outcome<Vec<Sample>> {
    println!("\nseconds   memory MB   rooms   connections   players   joins   resumes   drops");
    let interval = SAMPLE.min(length / SAMPLES_MIN);
    let start = Instant::now();
    let mut samples = Vec::new();
    while start.elapsed() < length {
        tokio::time::sleep(interval).await;
        let sample = sample(server).await?;
        println!(
            "{:>7.0} {:>11.1} {:>7} {:>13} {:>9} {:>7} {:>9} {:>7}",
            start.elapsed().as_secs_f64(),
            sample.memory / 1e6,
            sample.rooms,
            sample.connections,
            sample.players,
            shared.joins.load(Ordering::Relaxed),
            shared.resumes.load(Ordering::Relaxed),
            drops(server).await?,
        );
        samples.push(sample);
    }
    Ok(samples)
}

/// Fails if memory in the last quarter is larger than in the second.
fn check_memory(samples: &[Sample]) -> Outcome {
    let quarter = samples.len() / 4;
    let (early, late) = (median(&samples[quarter..2 * quarter]), median(&samples[samples.len() - quarter..]));
    println!("memory: {:.1} MB in the second quarter, {:.1} MB in the last", early / 1e6, late / 1e6);
    if late > early * (1.0 + GROWTH_SHARE_MAX) + GROWTH_BYTES_MAX {
        return Err("memory grows from the second to the last quarter".into());
    }
    Ok(())
}

fn median(samples: &[Sample]) -> f64 {
    let mut memory: Vec<f64> = samples.iter().map(|sample| sample.memory).collect();
    memory.sort_by(f64::total_cmp);
    memory.get(memory.len() / 2).copied().unwrap_or_default()
}

/// Waits until no connection, player or room is left.
async fn wait_until_empty(server: &Server) -> Outcome {
    let start = Instant::now();
    let limit = Duration::from_secs(EMPTY_SECONDS + RESUME_SECONDS) + EMPTY_GRACE;
    loop {
        let sample = sample(server).await?;
        if (sample.connections, sample.players, sample.rooms) == (0, 0, 0) {
            println!("everything was removed {:.1} s after the last bot", start.elapsed().as_secs_f64());
            return Ok(());
        }
        if start.elapsed() > limit {
            return Err(format!(
                "{} connections, {} players and {} rooms are left behind",
                sample.connections, sample.players, sample.rooms
            )
            .into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Reads the health endpoint. Fails if the server is not ready, for example because a room is stuck.
async fn sample(server: &Server) -> Outcome<Sample> {
    let health: Value = serde_json::from_str(&get(server, "/health").await?)?;
    if health["ready"] != true {
        return Err(format!("the server is not ready: {}", health["problem"]).into());
    }
    let count = |name: &str| health[name].as_u64().ok_or_else(|| format!("the health endpoint does not report {name}"));
    let memory = server.memory_bytes()? as f64;
    Ok(Sample { memory, rooms: count("rooms")?, connections: count("connections")?, players: count("players")? })
}

/// Number of messages that the server dropped.
async fn drops(server: &Server) -> Outcome<u64> {
    let metrics = get(server, "/metrics").await?;
    let lines = metrics.lines().filter(|line| line.starts_with("aether_messages_dropped_total"));
    Ok(lines.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum::<f64>() as u64)
}

async fn get(server: &Server, path: &str) -> Outcome<String> {
    let admin = server.admin.ok_or("the server has no admin listener")?;
    let mut stream = TcpStream::connect(admin).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or("the admin listener does not speak HTTP")?;
    Ok(body.to_owned())
}

/// Joins, plays for a while and leaves, repeatedly.
async fn run_bot(shared: Arc<Shared>, number: usize) {
    let mut random = Random::new(number as u64 + 1);
    let mut resume = None;
    while !shared.has_ended.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_secs(1).mul_f32(random.unit())).await;
        match play_once(&shared, number, &mut random, resume.take()).await {
            Ok(token) => resume = token,
            Err(error) => shared.record_error(error),
        }
    }
}

/// Plays once. Returns a resume token if the bot dropped its connection and should resume.
async fn play_once(
    shared: &Shared,
    number: usize,
    random: &mut Random,
    resume: Option<Token>,
) -> Result<Option<Token>, String> {
    let is_sandbox = resume.is_some() || random.chance(70);
    let name = if is_sandbox { "sandbox" } else { "relay" };
    let label = Some(format!("soak-{}", random.below(LABELS)));
    let transport = if random.chance(30) { TransportKind::WebTransport } else { TransportKind::WebSocket };
    let is_resuming = resume.is_some();
    let hello = match resume {
        Some(token) => Hello { resume_token: Some(token), ..Hello::default() },
        None => Hello {
            token: Some(Token::new(shared.tokens[number].as_str())),
            room: Some(RoomSelector::Type { name: name.to_owned(), label }),
            ..Hello::default()
        },
    };
    let mut connection = shared.connector.connect(transport, &hello).await.map_err(|error| error.label())?;
    let welcome = tokio::time::timeout(WELCOME_DEADLINE, wait_for_welcome(&mut connection)).await;
    let welcome = welcome.map_err(|_| "no welcome in time".to_owned())??;
    let counter = if is_resuming { &shared.resumes } else { &shared.joins };
    counter.fetch_add(1, Ordering::Relaxed);
    play(shared, &mut connection, random, is_sandbox).await?;
    match random.below(4) {
        // Drops the connection; resumes in some cases.
        0 | 1 => return Ok(welcome.resume_token.filter(|_| random.chance(60))),
        2 => {
            let _ = connection.send(&ClientMessage::Leave).await;
        }
        _ => {}
    }
    connection.close().await;
    Ok(None)
}

/// Waits for the welcome. A datagram of the first state may arrive before it.
async fn wait_for_welcome(connection: &mut Connection) -> Result<Welcome, String> {
    loop {
        match connection.next_message().await.map_err(|error| error.label())? {
            ServerMessage::Welcome(welcome) => return Ok(welcome),
            ServerMessage::Error(error) => return Err(error.code.name().to_owned()),
            ServerMessage::Closing(closing) => return Err(closing.reason.name().to_owned()),
            _ => {}
        }
    }
}

async fn play(
    shared: &Shared,
    connection: &mut Connection,
    random: &mut Random,
    is_sandbox: bool,
) -> Result<(), String> {
    let end = Instant::now() + STAY.mul_f32(random.unit());
    let mut interval = tokio::time::interval(PLAY_INTERVAL);
    let mut seq = 0;
    while Instant::now() < end && !shared.has_ended.load(Ordering::Relaxed) {
        let mut closed = false;
        let mut handle = |frame: &[u8]| closed |= matches!(ServerMessage::decode(frame), Ok(ServerMessage::Closing(_)));
        tokio::select! {
            _ = interval.tick() => {
                seq += 1;
                let message = if is_sandbox { steer(seq, random) } else { chat(random) };
                connection.queue(&message).map_err(|error| error.label())?;
            }
            received = connection.receive(&mut handle) => received.map_err(|error| error.label())?,
        }
        if closed {
            return Err("closed by the server".to_owned());
        }
    }
    Ok(())
}

fn steer(seq: u32, random: &mut Random) -> ClientMessage {
    let [thrust, left, right, fire] = [70, 30, 30, 20].map(|percent| random.chance(percent));
    let mut writer = BitWriter::new();
    Controls { thrust, left, right, fire }.write_full(&mut writer);
    let payloads = vec![InputPayload::Packed(InputBytes::new(&writer.to_bytes()).unwrap_or_default())].into();
    ClientMessage::Inputs(Inputs { first_seq: InputSeq(seq), payloads, ack: StateAck::NONE, view: ViewTick::default() })
}

fn chat(random: &mut Random) -> ClientMessage {
    let payload = vec![7; 1 + random.below(200) as usize];
    ClientMessage::Game(GameMessage { seq: CommandSeq(0), body: GameBody::Packed { code: 1, payload } })
}

impl Shared {
    fn record_error(&self, error: String) {
        *self.errors.lock().unwrap_or_else(PoisonError::into_inner).entry(error).or_default() += 1;
    }

    fn report(&self) {
        println!();
        for (error, count) in self.errors.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            println!("{count} sessions ended with: {error}");
        }
    }
}
