//! Set-up of the terminal, and its restoration also after a panic.

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{
    DisableFocusChange, EnableFocusChange, KeyboardEnhancementFlags, PopKeyboardEnhancementFlags,
    PushKeyboardEnhancementFlags,
};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, SetTitle, disable_raw_mode, enable_raw_mode,
    supports_keyboard_enhancement,
};
use ratatui::crossterm::{cursor, execute};
use std::io::{self, IsTerminal as _, Stdout, stdin, stdout};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};

/// True while keyboard flags are pushed.
static HAS_RELEASES: AtomicBool = AtomicBool::new(false);

/// The terminal in game mode. Dropping it restores the terminal.
pub struct GameTerminal {
    /// Terminal to draw to.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
    /// True if the terminal reports the release of keys.
    pub has_releases: bool,
}

impl GameTerminal {
    /// Switches the terminal to game mode.
    pub fn start() -> io::Result<GameTerminal> {
        if !stdin().is_terminal() || !stdout().is_terminal() {
            let text = "this is not a terminal; to play without one, use --bot --headless --seconds N";
            return Err(io::Error::other(text));
        }
        restore_after_panic();
        enable_raw_mode()?;
        let has_releases = supports_keyboard_enhancement().unwrap_or(false);
        execute!(stdout(), EnterAlternateScreen, cursor::Hide, EnableFocusChange, SetTitle("Asteroids"))?;
        if has_releases {
            execute!(stdout(), PushKeyboardEnhancementFlags(KeyboardEnhancementFlags::REPORT_EVENT_TYPES))?;
            HAS_RELEASES.store(true, Ordering::Relaxed);
        }
        let terminal = Terminal::new(CrosstermBackend::new(stdout()))?;
        Ok(GameTerminal { terminal, has_releases })
    }
}

impl Drop for GameTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal. Errors are ignored, because there is nothing left to do about them.
fn restore() {
    if HAS_RELEASES.swap(false, Ordering::Relaxed) {
        let _ = execute!(stdout(), PopKeyboardEnhancementFlags);
    }
    let _ = execute!(stdout(), DisableFocusChange, LeaveAlternateScreen, cursor::Show);
    let _ = disable_raw_mode();
}

/// Restores the terminal before the message of a panic is printed.
fn restore_after_panic() {
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        restore();
        print(info);
    }));
}
