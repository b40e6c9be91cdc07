//! The same inputs give the same game, on every platform and in every version, unless it is changed on purpose.

use crate::support::{Pilot, controls};
use aether::prelude::*;
use aether::wire::ClientMessage;
use aether_sandbox_server::{NAME, Sandbox, settings};
use std::fmt::Write;
use std::path::Path;

const TICKS: u32 = 600;
const SEED: u64 = 20_260_101;
const COMMITTED: &str = include_str!("../golden/sandbox-600.txt");
const HEADER: &str = "\
# The state hash of the sandbox after each of 600 ticks: a hundred turning things and two players.
# A change of these lines is a change of the game or of how state is packed and hashed. If it is meant, run
# `cargo test -p aether-sandbox-server golden`: the failing test names the new file to copy here.
";

/// Runs the scripted game. Returns the hash after each tick, and the recording.
pub fn play() -> (Vec<u64>, Recording) {
    let mut room = Room::builder(Sandbox::default(), settings()).seed(SEED).record(NAME).build().expect("it is valid");
    let handle = room.handle();
    let mut ann = Pilot::join(&handle, "ann", DeliveryOrder::Ordered);
    let mut ben = Some(Pilot::join(&handle, "ben", DeliveryOrder::Unordered));
    ann.stress(100);
    let mut hashes = Vec::new();
    for tick in 0..TICKS {
        ann.steer(controls(tick, 1));
        match (tick, &mut ben) {
            (400, Some(ben)) => ben.endpoint.push(ClientMessage::Leave).expect("the inbox has room"),
            (450, _) => ben = Some(Pilot::join(&handle, "ben", DeliveryOrder::Ordered)),
            (_, Some(ben)) if ben.endpoint.closing().is_none() => ben.steer(controls(tick, 2)),
            _ => {}
        }
        room.tick(&mut NoObserver);
        ann.receive();
        ben.iter_mut().for_each(Pilot::receive);
        while let Some((id, _)) = handle.next_request() {
            handle.answer(id, Answer::Value(Some(vec![7, 0]))).expect("the mailbox has room");
        }
        hashes.push(room.hash());
    }
    assert!(room.world().len() > 120, "the things were spawned");
    let totals = room.totals();
    assert!(totals.inputs > 1_000 && totals.joins == 3 && totals.leaves == 1, "the script was played: {totals:?}");
    let recording = room.recording().expect("it is recorded").clone();
    (hashes, recording)
}

#[test]
fn golden_hashes_of_600_ticks() {
    let (hashes, _) = play();
    let mut found = HEADER.to_owned();
    for hash in &hashes {
        writeln!(found, "{hash:016x}").expect("a string takes everything");
    }
    if found == COMMITTED {
        return;
    }
    let committed: Vec<&str> = COMMITTED.lines().filter(|line| !line.starts_with('#')).collect();
    let first = hashes.iter().zip(&committed).position(|(found, committed)| format!("{found:016x}") != *committed);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sandbox-600.txt");
    std::fs::write(&path, found).expect("the target folder can be written");
    panic!(
        "the game diverges from tick {} on; if that is intended, copy {} to games/sandbox/server/tests/golden/",
        first.map_or(committed.len(), |at| at + 1),
        path.display()
    );
}
