//! A bot without a terminal.

use crate::arguments::Arguments;
use crate::bot;
use crate::notice::Notice;
use crate::scene::{FiredShots, Scene};
use crate::session::Session;
use std::error::Error;
use std::thread;
use std::time::{Duration, Instant};

/// Duration of a frame.
const FRAME: Duration = Duration::from_micros(16_667);
/// Duration of a game if none is given.
const SECONDS_DEFAULT: u64 = 30;
/// Longest wait for the join.
const JOIN_TIME_MAX: Duration = Duration::from_secs(30);

/// Plays for some seconds and prints a line with the result.
pub fn run(mut session: Session, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    join(&mut session, arguments)?;
    let length = Duration::from_secs(arguments.seconds.unwrap_or(SECONDS_DEFAULT));
    let started_at = Instant::now();
    let (mut best, mut explosions) = (0, 0);
    while started_at.elapsed() < length {
        if let Some(Notice::Closed(text)) = session.notice() {
            return Err(text.into());
        }
        let scene = Scene::of(session.client(), &FiredShots::default());
        best = best.max(scene.standing().map_or(0, |standing| standing.score));
        let controls = bot::controls(session.client(), &scene);
        explosions += session.frame(controls).len();
        thread::sleep(FRAME);
    }
    print_result(&session, best, explosions);
    session.leave();
    Ok(())
}

/// Runs frames until the player has a ship.
fn join(session: &mut Session, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let started_at = Instant::now();
    while session.client().own_state().is_none() {
        session.frame(Default::default());
        match session.notice() {
            Some(notice @ (Notice::Closed(_) | Notice::NameTaken)) => {
                return Err(notice.lines(&session.server, &arguments.name).join("\n").into());
            }
            Some(notice) if started_at.elapsed() > JOIN_TIME_MAX => {
                return Err(notice.lines(&session.server, &arguments.name).join("\n").into());
            }
            _ => thread::sleep(FRAME),
        }
    }
    Ok(())
}

fn print_result(session: &Session, best: u32, explosions: usize) {
    let stats = session.client().stats();
    println!(
        "best score {best}, {explosions} explosions seen, {} corrections of {} inputs, ping {} ms, loss {:.1} %, {}",
        stats.corrections,
        stats.inputs,
        stats.round_trip.unwrap_or_default().as_millis(),
        session.loss() * 100.0,
        session.transport().unwrap_or("not connected"),
    );
}
