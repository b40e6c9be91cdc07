//! Colours, of the 256 that nearly every terminal has.

use ratatui::style::Color;

/// Own ship.
pub const OWN: Color = Color::Indexed(231);
/// Ships of other players, by their number.
const OTHERS: [Color; 7] = [
    Color::Indexed(114),
    Color::Indexed(213),
    Color::Indexed(80),
    Color::Indexed(215),
    Color::Indexed(111),
    Color::Indexed(185),
    Color::Indexed(204),
];
/// Outline of asteroids, from large to small.
pub const ASTEROIDS: [Color; 3] = [Color::Indexed(137), Color::Indexed(180), Color::Indexed(223)];
/// Surface of asteroids.
pub const ROCK: Color = Color::Indexed(240);
/// Own shots.
pub const SHOT: Color = Color::Indexed(229);
/// Shots of other players.
pub const SHOT_OTHER: Color = Color::Indexed(210);
/// Flame of an engine.
pub const FLAME: [Color; 2] = [Color::Indexed(214), Color::Indexed(202)];
/// Shield of a protected ship.
pub const SHIELD: Color = Color::Indexed(45);
/// Stars, from dim to bright.
pub const STARS: [Color; 3] = [Color::Indexed(236), Color::Indexed(239), Color::Indexed(244)];
/// Particles of explosions, from hot to cold.
pub const SPARKS: [Color; 4] = [Color::Indexed(230), Color::Indexed(221), Color::Indexed(208), Color::Indexed(130)];
/// Dust of asteroids, from fresh to old.
pub const DUST: [Color; 4] = [Color::Indexed(230), Color::Indexed(180), Color::Indexed(137), Color::Indexed(240)];
/// Frame of a panel.
pub const FRAME: Color = Color::Indexed(238);
/// Label of a value.
pub const LABEL: Color = Color::Indexed(245);
/// Value.
pub const VALUE: Color = Color::Indexed(255);
/// Accent of the title and of scores.
pub const ACCENT: Color = Color::Indexed(81);
/// Warnings.
pub const WARNING: Color = Color::Indexed(209);
/// Lives.
pub const LIFE: Color = Color::Indexed(203);

/// Colour of a player.
pub fn player(player: u32, own: u32) -> Color {
    if player == own { OWN } else { OTHERS[player as usize % OTHERS.len()] }
}
