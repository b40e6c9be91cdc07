//! Asteroids in the terminal: a client that predicts its own ship and draws with braille characters.

mod app;
mod arguments;
mod bot;
mod camera;
mod canvas;
mod client_game;
mod device;
mod effects;
mod feed;
mod headless;
mod hud;
mod keyboard;
mod notice;
mod painter;
mod palette;
mod panels;
mod scene;
mod screen;
mod session;
mod shapes;
mod terminal;
mod title;

pub use arguments::Arguments;
pub use client_game::{AsteroidsClient, Drawn, OwnShip};

use std::error::Error;
use std::path::Path;

/// Plays until the player quits. `data_dir` is the folder of the device id, if there is one.
pub fn run(arguments: &Arguments, data_dir: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let session = session::Session::start(arguments, data_dir)?;
    if arguments.headless { headless::run(session, arguments) } else { app::run(session, arguments) }
}
