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
static HAS_FLAGS: AtomicBool = AtomicBool::new(false);

/// The terminal in game mode. Dropping it restores the terminal.
pub struct GameTerminal {
    /// Terminal to draw to.
    pub terminal: Terminal<CrosstermBackend<Stdout>>,
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
        execute!(stdout(), EnterAlternateScreen, cursor::Hide, EnableFocusChange, SetTitle("Asteroids"))?;
        // Letters are released only if they are reported like other keys.
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
            | KeyboardEnhancementFlags::REPORT_EVENT_TYPES
            | KeyboardEnhancementFlags::REPORT_ALL_KEYS_AS_ESCAPE_CODES;
        if supports_keyboard_enhancement().unwrap_or(false) {
            execute!(stdout(), PushKeyboardEnhancementFlags(flags))?;
            HAS_FLAGS.store(true, Ordering::Relaxed);
        }
        Ok(GameTerminal { terminal: Terminal::new(CrosstermBackend::new(stdout()))? })
    }
}

impl Drop for GameTerminal {
    fn drop(&mut self) {
        restore();
    }
}

/// Restores the terminal. Errors are ignored, because there is nothing left to do about them.
fn restore() {
    if HAS_FLAGS.swap(false, Ordering::Relaxed) {
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
