//! Requests of the client API per second, with server and database on one core.
//!
//! Each of 50 connections sends a request, waits for its answer, and sends the next. Requests rotate over accounts,
//! keys and leaderboards, so that answers do not come from a single row.
//!
//! On PostgreSQL, a bare loop then gets the same requests: it runs the same statements on the same database and does nothing
//! else. The share of its rate that the server reaches does not depend on the machine.

use crate::bare_api::BareKind;
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
pub const ACCOUNTS: usize = 1_000;
/// Largest answer.
const ANSWER_BYTES_MAX: usize = 65_536;

/// Lowest share of the bare loop's rate on PostgreSQL.
const SHARE_MIN: f64 = 0.7;

/// Kind of request.
struct Kind {
    name: &'static str,
    /// Statements of the bare loop. `None` if the request needs no database.
    bare: Option<BareKind>,
    make: fn(&Setting, u64) -> String,
}

const KINDS: [Kind; 7] = [
    Kind { name: "health", bare: None, make: |_, _| get("/healthcheck", "") },
    Kind {
        name: "login",
        bare: Some(BareKind::Login),
        make: |_, number| login(&format!("bench-device-{:06}", number as usize % ACCOUNTS), "false"),
    },
    Kind {
        name: "new-account",
        bare: Some(BareKind::NewAccount),
        make: |setting, number| login(&format!("bench-fresh-{}-{number:09}", setting.fresh), "true"),
    },
    Kind {
        name: "storage-write",
        bare: Some(BareKind::StorageWrite),
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
        bare: Some(BareKind::StorageRead),
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
        bare: Some(BareKind::LeaderboardWrite),
        make: |setting, number| {
            let record = format!("{{\"score\":\"{}\",\"operator\":2}}", number.wrapping_mul(2_654_435_761) % 1_000_000);
            request("POST", "/v2/leaderboard/open", &setting.bearer(number), &record)
        },
    },
    Kind {
        name: "account",
        bare: Some(BareKind::Account),
        make: |setting, number| get("/v2/account", &setting.bearer(number)),
    },
];

/// Accounts of the benchmark.
#[derive(Default)]
pub struct Setting {
    /// Token and user id of each account.
    accounts: Vec<(String, String)>,
    /// Distinguishes the new accounts of different runs.
    fresh: u32,
}

impl Setting {
    /// Returns a setting with existing accounts.
    pub fn of(accounts: Vec<(String, String)>) -> Setting {
        Setting { accounts, fresh: std::process::id() }
    }

    /// Returns the header of an account.
    pub fn bearer(&self, number: u64) -> String {
        format!("Authorization: Bearer {}\r\n", self.accounts[number as usize % self.accounts.len()].0)
    }

    fn user(&self, number: u64) -> &str {
        &self.accounts[number as usize % self.accounts.len()].1
    }
}

/// Result of a kind of request.
pub struct Measured {
    per_second: f64,
    answered: u64,
    times: Times,
    failures: u64,
    answer_bytes: usize,
}

impl Measured {
    /// Returns the answers per second, or an error if a request failed.
    pub fn checked(&self) -> Outcome<f64> {
        match self.failures {
            0 => Ok(self.per_second),
            failures => Err(format!("{failures} requests failed").into()),
        }
    }
}

/// Counters of the server.
#[derive(Clone, Copy, Default)]
struct Counters {
    cpu_seconds: f64,
    round_trips: f64,
    statements: f64,
}

pub fn run(length: Length) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    measure(&runtime, "sqlite", None, length)?;
    let folder = std::env::temp_dir().join(format!("aether-bench-postgres-{}", std::process::id()));
    let mut cluster = match Cluster::create(&folder) {
        Ok(cluster) => cluster,
        Err(error) => {
            println!("PostgreSQL is skipped: {error}");
            return Ok(());
        }
    };
    cluster.start()?;
    child::pin_to_server(cluster.process().ok_or("PostgreSQL has no process")?)?;
    let worst = measure(&runtime, "postgres", Some(&cluster.url()), length);
    cluster.discard()?;
    let worst = worst?;
    print_result("api", worst, "of the bare loop, worst kind", &format!("{SHARE_MIN} or more"), worst >= SHARE_MIN);
    Ok(())
}

/// Measures all kinds of requests. Returns the lowest share of the bare loop's rate.
fn measure(
    runtime: &tokio::runtime::Runtime,
    database: &'static str,
    url: Option<&str>,
    length: Length,
) -> Outcome<f64> {
    // A leaderboard that clients may write to.
    let mut settings = vec!["api.open_leaderboards=open".to_owned()];
    settings.extend(url.map(|url| format!("database.url={url}")));
    let server = Server::aether(&settings)?;
    println!("{database}: {CONNECTIONS} connections, server and database on one core, load on the other");
    let setting = Rc::new(runtime.block_on(LocalSet::new().run_until(sign_up(server.http)))?);
    let mut worst = f64::INFINITY;
    for kind in &KINDS {
        let before = runtime.block_on(counters(&server))?;
        let load = |address| {
            let load = load(address, Rc::clone(&setting), kind.make, length.measured());
            runtime.block_on(LocalSet::new().run_until(load))
        };
        let measured = load(server.http)?;
        let after = runtime.block_on(counters(&server))?;
        report(kind, database, &measured, before, after);
        if let (Some(bare), Some(url)) = (kind.bare, url) {
            let bare = Server::bare(&bare.arguments(url, measured.answer_bytes))?;
            let share = compare(kind, &measured, &load(bare.http)?)?;
            worst = worst.min(if measured.failures > 0 { 0.0 } else { share });
        }
    }
    Ok(worst)
}

/// Returns the share of the bare loop's rate that the server reached. The bare loop runs on the same database, with the same
/// load.
fn compare(kind: &Kind, measured: &Measured, bare: &Measured) -> Outcome<f64> {
    if bare.failures > 0 {
        return Err(format!("the bare loop failed {} requests of {}", bare.failures, kind.name).into());
    }
    let share = measured.per_second / bare.per_second;
    println!("    bare loop: {:.0} per second", bare.per_second);
    let aim = format!("{SHARE_MIN} or more");
    print_result(&format!("api-{}", kind.name), share, "of the bare loop", &aim, share >= SHARE_MIN);
    Ok(share)
}

fn report(kind: &Kind, database: &str, measured: &Measured, before: Counters, after: Counters) {
    let requests = measured.answered.max(1) as f64;
    let per_request = |after: f64, before: f64| (after - before) / requests;
    println!(
        "  {} on {database}: {:.0} per second, p50 {:.2} ms, p99 {:.2} ms, {:.1} µs of the server's CPU, {:.2} \
         statements and {:.2} round trips per request, {} failed",
        kind.name,
        measured.per_second,
        measured.times.percentile_ms(50.0),
        measured.times.percentile_ms(99.0),
        per_request(after.cpu_seconds, before.cpu_seconds) * 1e6,
        per_request(after.statements, before.statements),
        per_request(after.round_trips, before.round_trips),
        measured.failures
    );
}

/// Reads the counters of the server.
async fn counters(server: &Server) -> Outcome<Counters> {
    let mut stream = TcpStream::connect(server.admin.ok_or("the server has no admin listener")?).await?;
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").await?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await?;
    let value = |name: &str| {
        let mut values = text.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        values.next().and_then(|value| value.trim().parse::<f64>().ok())
    };
    Ok(Counters {
        cpu_seconds: server.cpu_seconds()?,
        // Earlier versions do not count them.
        round_trips: value("aether_database_round_trips_total").unwrap_or(f64::NAN),
        statements: value("aether_database_statements_total").unwrap_or(f64::NAN),
    })
}

/// Creates the accounts.
async fn sign_up(address: SocketAddr) -> Outcome<Setting> {
    Ok(Setting::of(accounts(address, ACCOUNTS).await?))
}

/// Creates accounts, and returns the token and user id of each.
pub async fn accounts(address: SocketAddr, count: usize) -> Outcome<Vec<(String, String)>> {
    let mut connection = Connection::open(address).await?;
    let mut accounts = Vec::new();
    for number in 0..count {
        let answer = connection.ask(&login(&format!("bench-device-{number:06}"), "true")).await?;
        if answer.0 != 200 {
            return Err(
                format!("an account could not be created: {} {}", answer.0, String::from_utf8_lossy(answer.1)).into()
            );
        }
        let session: Value = serde_json::from_slice(answer.1)?;
        let token = session["token"].as_str().ok_or("the answer contains no token")?.to_owned();
        let user = user_of(&token)?;
        accounts.push((token, user));
    }
    Ok(accounts)
}

/// Reads the user id from a token.
fn user_of(token: &str) -> Outcome<String> {
    let claims = token.split('.').nth(1).ok_or("the token is malformed")?;
    let claims = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(claims)?;
    let claims: Value = serde_json::from_slice(&claims)?;
    Ok(claims["uid"].as_str().ok_or("the token has no user")?.to_owned())
}

/// Sends requests over all connections for a while.
pub async fn load(
    address: SocketAddr,
    setting: Rc<Setting>,
    make: fn(&Setting, u64) -> String,
    length: Duration,
) -> Outcome<Measured> {
    let number = Rc::new(Cell::new(0));
    let times = Rc::new(RefCell::new(Times::new()));
    let failures = Rc::new(Cell::new(0));
    let answer_bytes = Rc::new(Cell::new(0));
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS {
        connections.push(Connection::open(address).await?);
    }
    let began = Instant::now();
    let tasks = connections.into_iter().map(|mut connection| {
        let (setting, number) = (Rc::clone(&setting), Rc::clone(&number));
        let (times, failures, answer_bytes) = (Rc::clone(&times), Rc::clone(&failures), Rc::clone(&answer_bytes));
        tokio::task::spawn_local(async move {
            let mut answered = 0_u64;
            while began.elapsed() < length {
                let request = make(&setting, number.replace(number.get() + 1));
                let asked = Instant::now();
                let Ok((status, body)) = connection.ask(&request).await else {
                    failures.set(failures.get() + 1);
                    return answered;
                };
                times.borrow_mut().record(asked.elapsed());
                answer_bytes.set(body.len());
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
    Ok(Measured { per_second, answered, times, failures: failures.get(), answer_bytes: answer_bytes.get() })
}

fn login(device: &str, create: &str) -> String {
    let key = format!("Authorization: Basic {}\r\n", STANDARD.encode("defaultkey:"));
    let path = format!("/v2/account/authenticate/device?create={create}&");
    request("POST", &path, &key, &format!("{{\"id\":\"{device}\"}}"))
}

/// Returns a request without a body.
pub fn get(path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n")
}

/// Returns a request with a body.
pub fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Keep-alive HTTP connection.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> Outcome<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4_096) })
    }

    /// Sends a request and waits for its answer: status and body.
    pub async fn ask(&mut self, request: &str) -> Outcome<(u16, &[u8])> {
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
