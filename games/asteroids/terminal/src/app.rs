//! The game in a terminal: reads keys, plays, draws.

use crate::arguments::Arguments;
use crate::bot;
use crate::effects::Effects;
use crate::feed::Feed;
use crate::hud::Network;
use crate::keyboard::Keyboard;
use crate::scene::{FiredShots, Scene};
use crate::screen::Screen;
use crate::session::Session;
use crate::terminal::GameTerminal;
use aether_asteroids_rules::{Controls, HEIGHT, WIDTH};
use ratatui::crossterm::event::{self, Event};
use std::error::Error;
use std::io;
use std::time::{Duration, Instant};

/// Duration of a frame: that of a tick.
const FRAME: Duration = Duration::from_micros(16_667);
/// Number of frames for each drawing: terminals are slow.
const FRAMES_PER_DRAWING: u32 = 2;
/// Time for which a new wave is announced.
const ANNOUNCEMENT: Duration = Duration::from_millis(1_800);

/// Plays until the player quits.
pub fn run(session: Session, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let mut terminal = GameTerminal::start()?;
    let mut app = App::new(session, arguments);
    let result = app.play(&mut terminal);
    // The server removes the ship meanwhile; nobody has to look at a dead screen.
    drop(terminal);
    app.session.leave();
    Ok(result?)
}

struct App<'a> {
    session: Session,
    arguments: &'a Arguments,
    keyboard: Keyboard,
    scene: Scene,
    effects: Effects,
    feed: Feed,
    fired: FiredShots,
    camera_at: [f32; 2],
    /// Number of the wave, and the time since which it is shown.
    wave: (u16, Duration),
    started_at: Instant,
}

impl<'a> App<'a> {
    fn new(session: Session, arguments: &'a Arguments) -> App<'a> {
        App {
            session,
            arguments,
            keyboard: Keyboard::default(),
            scene: Scene::default(),
            effects: Effects::default(),
            feed: Feed::default(),
            fired: FiredShots::default(),
            camera_at: [WIDTH / 2.0, HEIGHT / 2.0],
            wave: (0, Duration::ZERO),
            started_at: Instant::now(),
        }
    }

    fn play(&mut self, terminal: &mut GameTerminal) -> io::Result<()> {
        let end = self.arguments.seconds.map(Duration::from_secs);
        let mut frames = 0u32;
        let mut frame_at = Duration::ZERO;
        while end.is_none_or(|end| self.now() < end) {
            frame_at = (frame_at + FRAME).max(self.now().saturating_sub(FRAME));
            if self.read_keys(frame_at)? {
                break;
            }
            self.frame();
            frames = frames.wrapping_add(1);
            if frames.is_multiple_of(FRAMES_PER_DRAWING) {
                self.draw(terminal)?;
            }
        }
        Ok(())
    }

    fn now(&self) -> Duration {
        self.started_at.elapsed()
    }

    /// Handles keys until a time. Returns true if the player quits.
    fn read_keys(&mut self, until: Duration) -> io::Result<bool> {
        // Keys that wait are read even if the frame is late.
        while event::poll(until.saturating_sub(self.now()))? {
            match event::read()? {
                Event::Key(key) if Keyboard::is_quit(&key) => return Ok(true),
                Event::Key(key) => self.keyboard.handle(&key, self.now()),
                Event::FocusLost => self.keyboard.release_all(),
                _ => {}
            }
        }
        Ok(false)
    }

    /// Runs a frame of the game.
    fn frame(&mut self) {
        let seconds = FRAME.as_secs_f32();
        let controls = self.controls();
        for explosion in self.session.frame(controls) {
            self.effects.explode(&explosion);
            self.feed.add(&explosion, &self.scene);
        }
        self.fired.update(self.session.client());
        self.scene = Scene::of(self.session.client(), &self.fired);
        self.effects.advance(seconds);
        self.feed.advance(seconds);
        if let Some(ship) = &self.scene.own {
            self.camera_at = ship.position;
        }
        let wave = self.scene.wave.as_ref().map_or(0, |wave| wave.number);
        if wave != self.wave.0 {
            self.wave = (wave, self.now());
        }
    }

    fn controls(&self) -> Controls {
        if self.arguments.bot {
            bot::controls(self.session.client(), &self.scene)
        } else {
            self.keyboard.controls(self.now())
        }
    }

    fn draw(&mut self, terminal: &mut GameTerminal) -> io::Result<()> {
        let client = self.session.client();
        let stats = client.stats();
        let network = Network {
            ping: stats.round_trip,
            loss: self.session.loss(),
            transport: self.session.transport(),
            room: client.welcome().map(|welcome| welcome.room_code.clone()).unwrap_or_default(),
        };
        let (wave, since) = self.wave;
        let is_new = wave > 0 && self.now().saturating_sub(since) < ANNOUNCEMENT;
        let screen = Screen {
            scene: &self.scene,
            effects: &self.effects,
            feed: &self.feed,
            network: &network,
            notice: self.session.notice(),
            identity: (&self.session.server, &self.arguments.name),
            camera_at: self.camera_at,
            announcement: is_new.then(|| format!("WAVE {wave}")),
            seconds: self.now().as_secs_f32(),
        };
        terminal.terminal.draw(|frame| screen.paint(frame.area(), frame.buffer_mut()))?;
        Ok(())
    }
}
