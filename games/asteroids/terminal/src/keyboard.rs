//! Keys that are held down.
//!
//! Some terminals report the release of a key. Others only repeat the key that was pressed last: there a key counts as
//! held for a short time after each report, and a little longer if another key interrupted its repetition. A terminal is
//! of the first kind once it has reported a release.

use aether_asteroids_rules::Controls;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::Duration;

/// Hold after a repetition: longer than the interval of a slow keyboard.
const REPEAT_HOLD: Duration = Duration::from_millis(130);
/// Longest time between two reports of a key that is held: longer than the delay before the first repetition.
const REPEAT_WAIT: Duration = Duration::from_millis(650);

/// Keys of the game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Left,
    Right,
    Thrust,
    Fire,
}

const ACTIONS: [Action; 4] = [Action::Left, Action::Right, Action::Thrust, Action::Fire];

/// Keys that are held down.
#[derive(Debug, Default)]
pub struct Keyboard {
    has_releases: bool,
    keys: [KeyState; 4],
}

#[derive(Clone, Copy, Debug, Default)]
struct KeyState {
    /// Held, as reported by a terminal with releases.
    is_down: bool,
    /// Time until which it counts as held, in other terminals.
    until: Duration,
    last_report: Option<Duration>,
    is_repeating: bool,
}

impl Action {
    /// Hold after the first report. A tap turns a little, and thrust lasts until its repetition begins.
    fn first_hold(self) -> Duration {
        Duration::from_millis(match self {
            Action::Left | Action::Right => 80,
            Action::Thrust => 320,
            Action::Fire => 100,
        })
    }

    /// Hold after another key interrupted the repetition: the key may still be down.
    fn interrupted_hold(self) -> Duration {
        Duration::from_millis(match self {
            Action::Left | Action::Right => 160,
            Action::Thrust => 700,
            Action::Fire => 450,
        })
    }

    fn of(code: KeyCode) -> Option<Action> {
        match code {
            KeyCode::Up | KeyCode::Char('w' | 'W') => Some(Action::Thrust),
            KeyCode::Left | KeyCode::Char('a' | 'A') => Some(Action::Left),
            KeyCode::Right | KeyCode::Char('d' | 'D') => Some(Action::Right),
            KeyCode::Char(' ') => Some(Action::Fire),
            _ => None,
        }
    }
}

impl Keyboard {
    /// Returns true if a key ends the game: Q, or Ctrl and C.
    pub fn is_quit(key: &KeyEvent) -> bool {
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            _ if key.kind == KeyEventKind::Release => false,
            KeyCode::Char('c' | 'C') => is_control,
            KeyCode::Char('q' | 'Q') => true,
            _ => false,
        }
    }

    /// Handles a key.
    pub fn handle(&mut self, key: &KeyEvent, now: Duration) {
        let Some(action) = Action::of(key.code) else { return };
        self.keys[action as usize].is_down = key.kind != KeyEventKind::Release;
        self.has_releases |= key.kind == KeyEventKind::Release;
        if self.has_releases {
            return;
        }
        for other in ACTIONS.into_iter().filter(|other| *other != action) {
            let state = &mut self.keys[other as usize];
            if std::mem::take(&mut state.is_repeating) && state.until > now && !are_opposed(other, action) {
                state.until = now + other.interrupted_hold();
            }
        }
        let state = &mut self.keys[action as usize];
        state.is_repeating = state.last_report.is_some_and(|last| now.saturating_sub(last) < REPEAT_WAIT);
        state.last_report = Some(now);
        let hold = if state.is_repeating { REPEAT_HOLD } else { action.first_hold() };
        state.until = state.until.max(now + hold);
        if let Some(opposite) = ACTIONS.into_iter().find(|other| are_opposed(*other, action)) {
            self.keys[opposite as usize].until = now;
        }
    }

    /// Controls at a time.
    pub fn controls(&self, now: Duration) -> Controls {
        let is_held = |action: Action| {
            let state = &self.keys[action as usize];
            if self.has_releases { state.is_down } else { state.until > now }
        };
        Controls {
            turn: i8::from(is_held(Action::Right)) - i8::from(is_held(Action::Left)),
            thrust: is_held(Action::Thrust),
            fire: is_held(Action::Fire),
        }
    }

    /// Releases all keys, as when the terminal loses the focus.
    pub fn release_all(&mut self) {
        self.keys = Default::default();
    }
}

fn are_opposed(a: Action, b: Action) -> bool {
    matches!((a, b), (Action::Left, Action::Right) | (Action::Right, Action::Left))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(code: KeyCode) -> KeyEvent {
        KeyEvent::new(code, KeyModifiers::NONE)
    }

    fn release(code: KeyCode) -> KeyEvent {
        KeyEvent { kind: KeyEventKind::Release, ..press(code) }
    }

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn with_releases_a_key_is_held_until_its_release() {
        let mut keyboard = Keyboard::default();
        keyboard.handle(&press(KeyCode::Char(' ')), ms(0));
        keyboard.handle(&release(KeyCode::Char(' ')), ms(50));
        keyboard.handle(&press(KeyCode::Up), ms(60));
        keyboard.handle(&press(KeyCode::Char('d')), ms(70));
        assert_eq!(keyboard.controls(ms(9_000)), Controls { turn: 1, thrust: true, fire: false });
        keyboard.handle(&release(KeyCode::Up), ms(9_001));
        assert_eq!(keyboard.controls(ms(9_002)), Controls { turn: 1, thrust: false, fire: false });
        keyboard.release_all();
        assert_eq!(keyboard.controls(ms(9_003)), Controls::default());
    }

    #[test]
    fn without_releases_a_tap_is_short() {
        let mut keyboard = Keyboard::default();
        keyboard.handle(&press(KeyCode::Left), ms(100));
        assert_eq!(keyboard.controls(ms(120)).turn, -1);
        assert_eq!(keyboard.controls(ms(190)).turn, 0);
    }

    #[test]
    fn a_repeated_key_is_held_without_gaps() {
        let mut keyboard = Keyboard::default();
        keyboard.handle(&press(KeyCode::Char('a')), ms(0));
        for at in (400..1_000).step_by(33) {
            keyboard.handle(&press(KeyCode::Char('a')), ms(at));
            assert_eq!(keyboard.controls(ms(at + 32)).turn, -1, "at {at}");
        }
        assert_eq!(keyboard.controls(ms(1_150)).turn, 0, "it ends soon after the last report");
    }

    #[test]
    fn another_key_does_not_stop_the_engine_at_once() {
        let mut keyboard = Keyboard::default();
        for at in [0, 400, 433, 466] {
            keyboard.handle(&press(KeyCode::Up), ms(at));
        }
        keyboard.handle(&press(KeyCode::Char(' ')), ms(500));
        let controls = keyboard.controls(ms(560));
        assert!(controls.thrust && controls.fire);
        assert!(!keyboard.controls(ms(1_300)).thrust);
    }

    #[test]
    fn the_other_direction_counts_at_once() {
        let mut keyboard = Keyboard::default();
        for at in [0, 400, 433] {
            keyboard.handle(&press(KeyCode::Left), ms(at));
        }
        keyboard.handle(&press(KeyCode::Right), ms(440));
        assert_eq!(keyboard.controls(ms(441)).turn, 1);
    }

    #[test]
    fn q_and_control_c_quit() {
        assert!(Keyboard::is_quit(&press(KeyCode::Char('q'))));
        assert!(Keyboard::is_quit(&KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)));
        assert!(!Keyboard::is_quit(&press(KeyCode::Char('c'))));
        assert!(!Keyboard::is_quit(&release(KeyCode::Char('q'))));
    }
}
