//! A recording replays to the same game, and a damaged or foreign one is detected.

use crate::golden::play;
use crate::support::SandboxVariant;
use aether::engine::recording::{RecordingError, ReplayError};
use aether::prelude::*;
use aether_sandbox_server::{NAME, Sandbox, settings};

fn replay(recording: &Recording) -> Result<Option<(Tick, u64)>, ReplayError> {
    Replay::new(Sandbox::default(), settings(), recording)?.run_to(Tick(u32::MAX))
}

#[test]
fn a_recording_replays_to_the_same_hashes() {
    let (hashes, recording) = play();
    let bytes = recording.to_bytes();
    let recording = Recording::from_bytes(&bytes).expect("it was written");
    assert_eq!((recording.game.as_str(), recording.ticks()), (NAME, 600));
    let mut replay = Replay::new(Sandbox::default(), settings(), &recording).expect("it is of this game");
    for (index, hash) in hashes.iter().enumerate() {
        assert_eq!(replay.step(), Ok(Some((Tick(index as u32 + 1), *hash))));
    }
    assert_eq!(replay.step(), Ok(None), "it ends where the recording ends");
}

#[test]
fn a_replay_stops_at_the_requested_tick() {
    let (hashes, recording) = play();
    let mut replay = Replay::new(Sandbox::default(), settings(), &recording).expect("it is of this game");
    assert_eq!(replay.run_to(Tick(123)), Ok(Some((Tick(123), hashes[122]))));
    assert_eq!(replay.room().now(), Tick(123));
}

#[test]
fn a_damaged_recording_is_rejected() {
    let (_, recording) = play();
    let bytes = recording.to_bytes();
    let with = |at: usize, byte: u8| {
        let mut bytes = bytes.clone();
        bytes[at] = byte;
        Recording::from_bytes(&bytes)
    };
    assert_eq!(Recording::from_bytes(&[]), Err(RecordingError::NotARecording));
    assert_eq!(with(0, b'B'), Err(RecordingError::NotARecording));
    assert_eq!(with(7, 99), Err(RecordingError::Version(99)));
    assert_eq!(Recording::from_bytes(&bytes[..bytes.len() - 1]).map(|cut| cut.ticks()), Ok(599));
    assert_eq!(Recording::from_bytes(&bytes[..20]), Err(RecordingError::Truncated));
    let mut wrong_hash = bytes.clone();
    *wrong_hash.last_mut().expect("it is not empty") ^= 1;
    let wrong_hash = Recording::from_bytes(&wrong_hash).expect("only a hash is wrong");
    assert!(matches!(replay(&wrong_hash), Err(ReplayError::Diverged { tick: Tick(600), .. })));
}

#[test]
fn no_flipped_bit_makes_a_replay_panic() {
    let (_, recording) = play();
    let bytes = recording.to_bytes();
    let mut detected = 0;
    for at in (0..bytes.len()).step_by(bytes.len() / 60) {
        let mut bytes = bytes.clone();
        bytes[at] ^= 1 << (at % 8);
        let result = Recording::from_bytes(&bytes).map_err(ReplayError::Recording);
        detected += u32::from(result.and_then(|recording| replay(&recording)).is_err());
    }
    assert!(detected > 30, "only {detected} of 60 flips were detected");
}

#[test]
fn another_seed_diverges_at_the_first_tick() {
    let (_, mut recording) = play();
    recording.seed += 1;
    let error = replay(&recording).expect_err("another seed is another game");
    assert!(matches!(error, ReplayError::Diverged { tick: Tick(1), .. }));
    assert!(error.to_string().contains("at tick 1:"), "{error}");
}

#[test]
fn a_diverging_game_is_detected_at_that_tick() {
    let (_, recording) = play();
    let game = SandboxVariant { diverges_at: Some(Tick(321)), ..SandboxVariant::default() };
    let mut replay = Replay::new(game, settings(), &recording).expect("it replicates the same");
    let error = replay.run_to(Tick(600)).expect_err("it diverges");
    assert!(matches!(error, ReplayError::Diverged { tick: Tick(321), .. }), "{error}");
}
