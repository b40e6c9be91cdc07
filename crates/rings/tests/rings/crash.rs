//! Processes that are killed in the middle of their work.
//!
//! The test program starts itself again as the process to be killed: see [`victim`].

use crate::support::{PATIENCE, Random, SocketPath, check, message};
use aether_rings::{BellEvent, RING_BYTES_MIN, RingEndpoint, RingListener, TrySendError, attach, create};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Kills of each kind.
const KILLS: u64 = 40;
/// Variables that make this program a victim.
const SOCKET: &str = "AETHER_RINGS_TEST_SOCKET";
const ROLE: &str = "AETHER_RINGS_TEST_ROLE";

/// The process that is killed: sends and receives without an end. An ordinary run of the tests passes it by.
#[test]
fn victim() {
    let Some(path) = std::env::var_os(SOCKET) else { return };
    let path = Path::new(&path);
    let mut endpoint = match std::env::var(ROLE).unwrap().as_str() {
        "creator" => {
            let listener = RingListener::bind(path).unwrap();
            create(listener.accept().unwrap(), RING_BYTES_MIN, 1, b"").unwrap()
        }
        _ => attach(path).unwrap().endpoint,
    };
    let mut received = Vec::new();
    let (mut sent, mut expected) = (0, 0);
    loop {
        while endpoint.sender.try_send(&[&message(sent)]).is_ok() {
            sent += 1;
        }
        while endpoint.receiver.receive(&mut received).unwrap() {
            check(&received, expected);
            expected += 1;
        }
        if endpoint.sender.wait_for_space(message(sent).len()).unwrap()
            && endpoint.receiver.wait(None).unwrap() == BellEvent::Gone
        {
            // The test has failed, and this process must not stay.
            return;
        }
    }
}

fn start_victim(path: &Path, role: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["crash::victim", "--exact", "--test-threads=1"])
        .env(SOCKET, path)
        .env(ROLE, role)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Exchanges messages with the victim, kills it after a number of them, and returns when its end is noticed.
fn outlive(mut endpoint: RingEndpoint, mut victim: Child, random: &mut Random) {
    let mut received = Vec::new();
    let (mut sent, mut expected, kill_at) = (0, 0, random.below(2_000));
    let mut is_killed = false;
    loop {
        // Reading less often than writing, and the reverse, fills one ring or the other.
        if random.below(4) != 0 {
            while random.below(64) != 0 && endpoint.sender.try_send(&[&message(sent)]).is_ok() {
                sent += 1;
            }
        }
        while random.below(64) != 0 && endpoint.receiver.receive(&mut received).unwrap() {
            check(&received, expected);
            expected += 1;
        }
        if expected >= kill_at && !is_killed {
            is_killed = true;
            victim.kill().unwrap();
        }
        match endpoint.receiver.wait(PATIENCE).unwrap() {
            BellEvent::Rung => {}
            BellEvent::TimedOut => panic!("nobody woke this process after {expected} messages"),
            BellEvent::Gone => break,
        }
    }
    assert!(is_killed, "the victim ended by itself");
    victim.wait().unwrap();
    // Everything that was published before the kill is whole; nothing else is visible.
    while endpoint.receiver.receive(&mut received).unwrap() {
        check(&received, expected);
        expected += 1;
    }
    assert!(expected >= kill_at);
    // The ring fills up at last; nothing blocks.
    while endpoint.sender.try_send(&[&message(sent)]).is_ok() {
        sent += 1;
    }
    assert_eq!(endpoint.sender.try_send(&[&message(sent)]), Err(TrySendError::Full));
    assert_eq!(endpoint.receiver.wait(None), Ok(BellEvent::Gone));
}

#[test]
fn a_killed_attacher_is_noticed_and_leaves_no_torn_message() {
    let path = SocketPath::new();
    let listener = RingListener::bind(&path).unwrap();
    for seed in 0..KILLS {
        let mut random = Random(seed);
        let victim = start_victim(&path, "attacher");
        let endpoint = create(listener.accept().unwrap(), RING_BYTES_MIN, seed, b"").unwrap();
        outlive(endpoint, victim, &mut random);
    }
}

#[test]
fn a_killed_creator_is_noticed_and_leaves_no_torn_message() {
    let path = SocketPath::new();
    for seed in 0..KILLS {
        let mut random = Random(1_000 + seed);
        let victim = start_victim(&path, "creator");
        let attached = loop {
            match attach(&path) {
                Ok(attached) => break attached,
                // It has not created its socket yet; the last one left a stale one.
                Err(_) => std::thread::sleep(Duration::from_millis(1)),
            }
        };
        outlive(attached.endpoint, victim, &mut random);
    }
}
