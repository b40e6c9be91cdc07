//! Work of a full room.

use crate::support::{asteroids, join, play, stage};
use std::time::Instant;

/// Prints the time of a tick with ten players. A development build must stay far below the 16 ms of a tick; the test
/// asserts only that nothing fails, because the machine may be busy.
#[test]
fn ten_players_among_many_asteroids() {
    let mut stage = stage(51);
    let players: Vec<_> = (0..10).map(|number| join(&mut stage, &format!("player {number}"))).collect();
    let mut most = 0;
    let started_at = Instant::now();
    let ticks = 1_200;
    for _ in 0..ticks {
        for player in &players {
            play(&mut stage, *player);
        }
        stage.tick(1);
        most = most.max(asteroids(&stage).len());
    }
    println!("{most} asteroids at most, {:?} per tick with ten clients in memory", started_at.elapsed() / ticks);
    assert!(most >= 20);
    assert_eq!(stage.room().totals().inputs_dropped, 0);
}
