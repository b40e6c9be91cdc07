//! Lua scripts compared with the same in Rust: matches per core, memory of a match, and functions over HTTP.
//!
//! A match has ten members over the services socket. Each sends a move 20 times a second, as JSON, and each tick the match
//! sends all positions to all members. The Rust game does the same with the same texts.

mod game;

pub use game::Duel;

use crate::api::{self, Setting};
use crate::child::Server;
use crate::result::print_result;
use crate::swarm::{JoiningClient, SendSchedule, Swarm};
use crate::{Length, Outcome};
use aether_messages::prost::Message as _;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Envelope, MatchDataSend};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::LocalSet;

/// Match type of the Rust game.
pub const RUST_TYPE: &str = "duel_rust";
/// Match type of the Lua game: the name of its module.
const LUA_TYPE: &str = "duel";
/// Function of the server that creates a match of a type.
pub const CREATE: &str = "create_match";

const MEMBERS: usize = 10;
const TICK_HZ: u32 = 20;
/// Matches that are measured at once, so that the core is neither idle nor full.
const MATCHES: usize = 20;
/// Matches without members whose memory is measured.
const MATCHES_OF_MEMORY: usize = 300;
/// Measurements of each kind, in turns. The median counts.
const ROUNDS: usize = 3;
/// Lowest share of the matches per core of the Rust game.
const SHARE_MIN: f64 = 0.4;
/// Lowest share of the rate of `health` for an RPC function.
const RPC_SHARE_MIN: f64 = 0.8;
/// Most memory of a VM, in bytes.
const VM_BYTES_MAX: f64 = 150_000.0;

pub fn run(length: Length) -> Outcome {
    let folder = std::env::temp_dir().join(format!("aether-bench-lua-{}", std::process::id()));
    let modules = Modules::write(&folder)?;
    measure_memory(&modules.0, length)?;
    measure_rpc(&modules.0, length)?;
    measure_matches(&modules.0, length)
}

/// Folder of the modules, which is removed at the end.
struct Modules(PathBuf);

impl Modules {
    fn write(folder: &Path) -> Outcome<Modules> {
        std::fs::create_dir_all(folder)?;
        std::fs::write(folder.join("duel.lua"), include_str!("duel.lua"))?;
        std::fs::write(folder.join("echo.lua"), include_str!("echo.lua"))?;
        Ok(Modules(folder.to_owned()))
    }
}

impl Drop for Modules {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn serve(modules: &Path) -> Outcome<Server> {
    let folder = format!("script.folder={}", modules.display());
    Server::games(&["webtransport.enabled=false".to_owned(), folder])
}

/// Compares the CPU time of matches in Lua and in Rust.
fn measure_matches(modules: &Path, length: Length) -> Outcome {
    let matches = length.pick(MATCHES, 2);
    println!("{matches} matches of {MEMBERS} at {TICK_HZ} Hz over the services socket, server on one core");
    let mut shares = (Vec::new(), Vec::new());
    for _ in 0..length.pick(ROUNDS, 1) {
        shares.0.push(match_share(modules, RUST_TYPE, matches, length)?);
        shares.1.push(match_share(modules, LUA_TYPE, matches, length)?);
    }
    let (rust, lua) = (median(shares.0), median(shares.1));
    println!("Rust: {:.0} matches per core ({:.0} µs per match and tick)", 1.0 / rust, rust * 1e6 / f64::from(TICK_HZ));
    println!("Lua:  {:.0} matches per core ({:.0} µs per match and tick)", 1.0 / lua, lua * 1e6 / f64::from(TICK_HZ));
    print_result("lua", rust / lua, "of the same game in Rust", "0.4 or more", rust / lua >= SHARE_MIN);
    Ok(())
}

/// Returns the share of a core that one match takes.
fn match_share(modules: &Path, match_type: &str, matches: usize, length: Length) -> Outcome<f64> {
    let server = serve(modules)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let accounts = runtime.block_on(api::accounts(server.http, matches * MEMBERS))?;
    let ids = runtime.block_on(create(&server, &accounts[0].0, match_type, matches))?;
    let mut swarm = Swarm::new()?;
    let joining = accounts.iter().enumerate();
    let joining = joining.map(|(number, (token, _))| JoiningClient::of_running(token, ids[number / MEMBERS].clone()));
    swarm.join(server.http, joining.collect())?;
    let clients = swarm.len() as u64;
    let mut schedule = SendSchedule::per_second(clients as u32 * TICK_HZ);
    let epoch = Instant::now();
    let (from, to) = (Duration::from_millis(length.pick(1_000, 200)), length.measured());
    let (mut began, mut received) = (None, 0_u64);
    while epoch.elapsed() < from + to {
        if began.is_none() && epoch.elapsed() >= from {
            (began, received) = (Some((Instant::now(), server.cpu_seconds()?)), 0);
        }
        while let Some((number, _)) = schedule.due(Instant::now()) {
            let client = (number % clients) as usize;
            let message = move_message(swarm.joined_id(client), number);
            swarm.send(client, &message);
        }
        swarm.poll(schedule.next().min(epoch + from + to), &mut |_, _| received += 1)?;
    }
    let (began, cpu) = began.ok_or("nothing was measured")?;
    let took = began.elapsed().as_secs_f64();
    let expected = clients as f64 * f64::from(TICK_HZ) * took;
    if swarm.lost > 0 || (received as f64) < expected * 0.9 {
        return Err(
            format!("{match_type}: {received} of {expected:.0} messages arrived, {} clients lost", swarm.lost).into()
        );
    }
    Ok((server.cpu_seconds()? - cpu) / took / matches as f64)
}

/// Compares the memory of a match in Lua with one in Rust: the difference is the VM.
fn measure_memory(modules: &Path, length: Length) -> Outcome {
    let matches = length.pick(MATCHES_OF_MEMORY, 20);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut bytes = Vec::new();
    for match_type in [RUST_TYPE, LUA_TYPE] {
        let server = serve(modules)?;
        let accounts = runtime.block_on(api::accounts(server.http, 1))?;
        runtime.block_on(create(&server, &accounts[0].0, match_type, 10))?;
        let before = server.memory_bytes()?;
        runtime.block_on(create(&server, &accounts[0].0, match_type, matches))?;
        std::thread::sleep(Duration::from_millis(500));
        bytes.push((server.memory_bytes()? as f64 - before as f64) / matches as f64);
        println!("{match_type}: {:.0} kB of resident memory per match", bytes[bytes.len() - 1] / 1_000.0);
    }
    let vm = bytes[1] - bytes[0];
    print_result("lua-memory", vm / 1_000.0, "kB per VM of a match", "under 150 kB", vm < VM_BYTES_MAX);
    Ok(())
}

/// Compares an RPC function in Lua with `health`.
fn measure_rpc(modules: &Path, length: Length) -> Outcome {
    let server = serve(modules)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let accounts = runtime.block_on(api::accounts(server.http, 100))?;
    let setting = Rc::new(Setting::of(accounts));
    let rate = |make: fn(&Setting, u64) -> String| {
        let load = api::load(server.http, Rc::clone(&setting), make, length.measured());
        runtime.block_on(LocalSet::new().run_until(load))
    };
    let (mut health, mut rpc) = (Vec::new(), Vec::new());
    for _ in 0..length.pick(ROUNDS, 1) {
        health.push(rate(|_, _| api::get("/healthcheck", ""))?.checked()?);
        let echo = |setting: &Setting, number: u64| {
            api::request("POST", "/v2/rpc/echo", &setting.bearer(number), "\"{\\\"text\\\":\\\"a short payload\\\"}\"")
        };
        rpc.push(rate(echo)?.checked()?);
    }
    let (health, rpc) = (median(health), median(rpc));
    println!("health: {health:.0} per second; echo in Lua: {rpc:.0} per second");
    print_result("lua-rpc", rpc / health, "of health", "0.8 or more", rpc / health >= RPC_SHARE_MIN);
    Ok(())
}

/// Creates matches, and returns their ids.
async fn create(server: &Server, token: &str, match_type: &str, count: usize) -> Outcome<Vec<String>> {
    let mut connection = api::Connection::open(server.http).await?;
    let mut ids = Vec::new();
    for _ in 0..count {
        let bearer = format!("Authorization: Bearer {token}\r\n");
        let body = json!(match_type).to_string();
        let (status, body) =
            connection.ask(&api::request("POST", &format!("/v2/rpc/{CREATE}"), &bearer, &body)).await?;
        let answer: serde_json::Value = serde_json::from_slice(body)?;
        let id = answer["payload"].as_str().filter(|_| status == 200);
        ids.push(id.ok_or_else(|| format!("a match could not be created: {status} {answer}"))?.to_owned());
    }
    Ok(ids)
}

fn move_message(match_id: &str, number: u64) -> Vec<u8> {
    let data = format!(r#"{{"x":{},"y":{}}}"#, (number % 7) as i64 - 3, (number % 5) as i64 - 2);
    let send = MatchDataSend {
        match_id: match_id.to_owned(),
        op_code: 1,
        data: data.into_bytes().into(),
        reliable: true,
        ..MatchDataSend::default()
    };
    Envelope { cid: String::new(), message: Some(Message::MatchDataSend(send)) }.encode_to_vec()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
