//! Requests of the client API per second, with server and database on one core.
//!
//! Each of 50 connections sends a request, waits for its answer, and sends the next. Requests rotate over accounts,
//! keys and leaderboards, so that answers do not come from a single row.

use crate::child::{self, Server};
use crate::result::{Times, print_result};
use crate::{Length, Outcome};
use aether_testkit_postgres::Cluster;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::ops::Range;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

const CONNECTIONS: usize = 50;
/// Number of accounts that log in, write and read.
const ACCOUNTS: usize = 1_000;
/// Largest answer.
const ANSWER_BYTES_MAX: usize = 65_536;

/// Kind of request: its name, the requests per second of Nakama on PostgreSQL on a similar machine, and the aims on
/// SQLite and PostgreSQL as multiples of it.
struct Kind {
    name: &'static str,
    peer: f64,
    sqlite: f64,
    postgres: f64,
    make: fn(&Setting, u64) -> String,
}

const KINDS: [Kind; 7] = [
    Kind { name: "health", peer: 11_900.0, sqlite: 3.0, postgres: 3.0, make: |_, _| get("/healthcheck", "") },
    Kind {
        name: "login",
        peer: 3_300.0,
        sqlite: 5.0,
        postgres: 3.0,
        make: |_, number| login(&format!("bench-device-{:06}", number as usize % ACCOUNTS), "false"),
    },
    Kind {
        name: "new-account",
        peer: 1_500.0,
        sqlite: 10.0,
        postgres: 3.0,
        make: |setting, number| login(&format!("bench-fresh-{}-{number:09}", setting.fresh), "true"),
    },
    Kind {
        name: "storage-write",
        peer: 2_000.0,
        sqlite: 10.0,
        postgres: 3.0,
        make: |setting, number| {
            let object = format!(
                "{{\"objects\":[{{\"collection\":\"saves\",\"key\":\"slot{}\",\"value\":\"{{\\\"level\\\":{number},\\\"name\\\":\\\"a \
                 save of some length\\\"}}\",\"permission_read\":1,\"permission_write\":1}}]}}",
                number % 8
            );
            request("PUT", "/v2/storage", &setting.bearer(number), &object)
        },
    },
    Kind {
        name: "storage-read",
        peer: 3_600.0,
        sqlite: 5.0,
        postgres: 3.0,
        make: |setting, number| {
            let asked = format!(
                "{{\"object_ids\":[{{\"collection\":\"saves\",\"key\":\"slot{}\",\"user_id\":\"{}\"}}]}}",
                number % 8,
                setting.user(number)
            );
            request("POST", "/v2/storage", &setting.bearer(number), &asked)
        },
    },
    Kind {
        name: "leaderboard-write",
        peer: 2_200.0,
        sqlite: 10.0,
        postgres: 3.0,
        make: |setting, number| {
            let record = format!("{{\"score\":\"{}\",\"operator\":2}}", number.wrapping_mul(2_654_435_761) % 1_000_000);
            request("POST", "/v2/leaderboard/open", &setting.bearer(number), &record)
        },
    },
    Kind {
        name: "account",
        peer: 4_600.0,
        sqlite: 5.0,
        postgres: 3.0,
        make: |setting, number| get("/v2/account", &setting.bearer(number)),
    },
];

/// Accounts of the benchmark.
#[derive(Default)]
struct Setting {
    /// Token and user id of each account.
    accounts: Vec<(String, String)>,
    /// Distinguishes the new accounts of different runs.
    fresh: u32,
}

impl Setting {
    fn bearer(&self, number: u64) -> String {
        format!("Authorization: Bearer {}\r\n", self.accounts[number as usize % self.accounts.len()].0)
    }

    fn user(&self, number: u64) -> &str {
        &self.accounts[number as usize % self.accounts.len()].1
    }
}

/// Result of a kind of request.
struct Measured {
    per_second: f64,
    times: Times,
    server_share: f64,
    failures: u64,
}

pub fn run(length: Length) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut worst = measure(&runtime, "sqlite", &[], length)?;
    let folder = std::env::temp_dir().join(format!("aether-bench-postgres-{}", std::process::id()));
    match Cluster::create(&folder) {
        Err(error) => println!("PostgreSQL is skipped: {error}"),
        Ok(mut cluster) => {
            cluster.start()?;
            let process = cluster.process().ok_or("PostgreSQL has no process")?;
            child::pin_to_server(process)?;
            let url = format!("database.url={}", cluster.url());
            let outcome = measure(&runtime, "postgres", &[url], length);
            cluster.discard()?;
            worst = worst.min(outcome?);
        }
    }
    print_result("api", worst, "of the aim, worst kind", "1 or more", worst >= 1.0);
    Ok(())
}

/// Measures all kinds of requests. Returns the lowest ratio of result to aim.
fn measure(
    runtime: &tokio::runtime::Runtime,
    database: &'static str,
    settings: &[String],
    length: Length,
) -> Outcome<f64> {
    // A leaderboard that clients may write to.
    let settings = [settings, &["api.open_leaderboards=open".to_owned()]].concat();
    let server = Server::aether(&settings)?;
    let address = server.http;
    println!("{database}: {CONNECTIONS} connections, server and database on one core, load on the other");
    let setting = Rc::new(runtime.block_on(LocalSet::new().run_until(sign_up(address)))?);
    let mut worst = f64::INFINITY;
    for kind in &KINDS {
        let began = server.cpu_seconds()?;
        let own_began = child::own_cpu_seconds()?;
        let measured = LocalSet::new();
        let measured =
            runtime.block_on(measured.run_until(load(address, Rc::clone(&setting), kind.make, length.measured())))?;
        let seconds = length.measured().as_secs_f64();
        let share = (server.cpu_seconds()? - began) / seconds;
        let own_share = (child::own_cpu_seconds()? - own_began) / seconds;
        worst = worst.min(report(kind, database, Measured { server_share: share, ..measured }, own_share));
    }
    Ok(worst)
}

/// Prints a result. Returns its ratio to the aim.
fn report(kind: &Kind, database: &str, measured: Measured, own_share: f64) -> f64 {
    println!(
        "  {}: {:.0} per second, p50 {:.2} ms, p99 {:.2} ms, server process {:.0} % of a core, load {:.0} %, {} failed",
        kind.name,
        measured.per_second,
        measured.times.percentile_ms(50.0),
        measured.times.percentile_ms(99.0),
        measured.server_share * 100.0,
        own_share * 100.0,
        measured.failures
    );
    let factor = if database == "sqlite" { kind.sqlite } else { kind.postgres };
    let aim = kind.peer * factor;
    let met = measured.per_second >= aim && measured.failures == 0;
    print_result(
        &format!("api-{}-{database}", kind.name),
        measured.per_second,
        "per second",
        &format!("{aim:.0} or more"),
        met,
    );
    if measured.failures > 0 { 0.0 } else { measured.per_second / aim }
}

/// Creates the accounts.
async fn sign_up(address: SocketAddr) -> Outcome<Setting> {
    let mut connection = Connection::open(address).await?;
    let mut setting = Setting { fresh: std::process::id(), ..Setting::default() };
    for number in 0..ACCOUNTS {
        let answer = connection.ask(&login(&format!("bench-device-{number:06}"), "true")).await?;
        if answer.0 != 200 {
            return Err(
                format!("an account could not be created: {} {}", answer.0, String::from_utf8_lossy(answer.1)).into()
            );
        }
        let session: Value = serde_json::from_slice(answer.1)?;
        let token = session["token"].as_str().ok_or("the answer contains no token")?.to_owned();
        let user = user_of(&token)?;
        setting.accounts.push((token, user));
    }
    Ok(setting)
}

/// Reads the user id from a token.
fn user_of(token: &str) -> Outcome<String> {
    let claims = token.split('.').nth(1).ok_or("the token is malformed")?;
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims)?;
    let claims: Value = serde_json::from_slice(&claims)?;
    Ok(claims["uid"].as_str().ok_or("the token has no user")?.to_owned())
}

/// Sends requests over all connections for a while.
async fn load(
    address: SocketAddr,
    setting: Rc<Setting>,
    make: fn(&Setting, u64) -> String,
    length: Duration,
) -> Outcome<Measured> {
    let number = Rc::new(Cell::new(0));
    let times = Rc::new(RefCell::new(Times::new()));
    let failures = Rc::new(Cell::new(0));
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(address).await?);
    }
    let began = Instant::now();
    let tasks = connections.into_iter().map(|mut connection| {
        let (setting, number) = (Rc::clone(&setting), Rc::clone(&number));
        let (times, failures) = (Rc::clone(&times), Rc::clone(&failures));
        tokio::task::spawn_local(async move {
            let mut answered = 0_u64;
            while began.elapsed() < length {
                let request = make(&setting, number.replace(number.get() + 1));
                let asked = Instant::now();
                let Ok((status, _)) = connection.ask(&request).await else {
                    failures.set(failures.get() + 1);
                    return answered;
                };
                times.borrow_mut().record(asked.elapsed());
                match status {
                    200 => answered += 1,
                    _ => failures.set(failures.get() + 1),
                }
            }
            answered
        })
    });
    let tasks: Vec<_> = tasks.collect();
    let mut answered = 0;
    for task in tasks {
        answered += task.await?;
    }
    let per_second = answered as f64 / began.elapsed().as_secs_f64();
    let times = Rc::try_unwrap(times).map_err(|_| "a task is still running")?.into_inner();
    Ok(Measured { per_second, times, server_share: 0.0, failures: failures.get() })
}

fn login(device: &str, create: &str) -> String {
    let key = format!("Authorization: Basic {}\r\n", STANDARD.encode("defaultkey:"));
    let path = format!("/v2/account/authenticate/device?create={create}&");
    request("POST", &path, &key, &format!("{{\"id\":\"{device}\"}}"))
}

fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n")
}

fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Keep-alive HTTP connection.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    async fn open(address: SocketAddr) -> Outcome<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4_096) })
    }

    /// Sends a request and waits for its answer: status and body.
    async fn ask(&mut self, request: &str) -> Outcome<(u16, &[u8])> {
        self.stream.write_all(request.as_bytes()).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err("the server closed the connection".into());
            }
            if self.buffer.len() > ANSWER_BYTES_MAX {
                return Err("the answer is too long".into());
            }
            if let Some(Head { status, body }) = parse(&self.buffer)
                && self.buffer.len() >= body.end
            {
                return Ok((status, &self.buffer[body]));
            }
        }
    }
}

/// Head of an answer.
struct Head {
    status: u16,
    /// Range of the body in the answer.
    body: Range<usize>,
}

/// Parses the head of an answer, once it is complete.
fn parse(answer: &[u8]) -> Option<Head> {
    let start = answer.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&answer[..start]).ok()?;
    let status = head.get(9..12)?.parse().ok()?;
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse::<usize>().ok())?
    });
    Some(Head { status, body: start..start + length.unwrap_or(0) })
}
