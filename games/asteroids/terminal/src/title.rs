//! Title screen: the name of the game in lines, among drifting asteroids.

use crate::canvas::{Canvas, Ink};
use crate::palette;
use crate::shapes;
use aether::prelude::*;
use aether_asteroids_rules::AsteroidSize;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;

/// Name of the game.
const TITLE: &str = "ASTEROIDS";
/// Width of a letter with its gap, and its height, in units of [`strokes`].
const LETTER: [f32; 2] = [5.6, 6.0];
/// Largest size of a unit, in dots.
const UNIT_MAX: f32 = 5.0;
/// Number of asteroids.
const ASTEROIDS: u64 = 9;
/// Number of stars for each 1,000 dots.
const STARS: f32 = 4.0;
/// Units of an asteroid for each dot.
const UNITS_PER_DOT: f32 = 5.5;

/// Draws the title screen. Returns the row below the title.
pub fn paint(area: Rect, seconds: f32, buffer: &mut Buffer) -> u16 {
    let mut canvas = Canvas::new(area);
    paint_sky(&mut canvas, seconds);
    let [width, height] = canvas.size();
    let letters = TITLE.len() as f32;
    let unit = (width * 0.86 / (letters * LETTER[0])).min(height * 0.3 / LETTER[1]).min(UNIT_MAX);
    let (left, top) = ((width - (letters * LETTER[0] - 1.6) * unit) / 2.0, height * 0.14);
    let ink = Ink { color: palette::ACCENT, rank: 9 };
    for (index, letter) in TITLE.chars().enumerate() {
        let at = |[x, y]: [f32; 2]| [left + (index as f32 * LETTER[0] + x) * unit, top + y * unit];
        for stroke in strokes(letter) {
            for pair in stroke.windows(2) {
                canvas.line(at(pair[0]), at(pair[1]), ink);
            }
        }
    }
    canvas.render(area, buffer);
    area.y + ((top + LETTER[1] * unit) / 4.0).ceil() as u16
}

fn paint_sky(canvas: &mut Canvas, seconds: f32) {
    let [width, height] = canvas.size();
    let mut random = Random::new(1979);
    for _ in 0..(width * height * STARS / 1_000.0) as u32 {
        let place = [random.unit() * width, random.unit() * height];
        let color = palette::STARS[random.below(palette::STARS.len() as u32) as usize];
        canvas.dot(place, Ink { color, rank: 1 });
    }
    for key in 1..=ASTEROIDS {
        let size = [AsteroidSize::Large, AsteroidSize::Medium, AsteroidSize::Small][(key % 3) as usize];
        let mut random = Random::new(key * 77);
        let reach = 2.0 * size.radius() / UNITS_PER_DOT;
        let drift = [random.between(-9.0, 9.0), random.between(-6.0, 6.0)];
        let start = [random.unit() * width, random.unit() * height];
        let place =
            |axis: usize, length: f32| (start[axis] + drift[axis] * seconds).rem_euclid(length + reach) - reach / 2.0;
        let center = [place(0, width), place(1, height)];
        let outline = shapes::asteroid(key, size, seconds);
        let points: Vec<[f32; 2]> =
            outline.iter().map(|[x, y]| [center[0] + x / UNITS_PER_DOT, center[1] + y / UNITS_PER_DOT]).collect();
        canvas.clear(&points);
        canvas.polygon(&points, Ink { color: palette::ROCK, rank: 2 });
    }
}

/// Returns the lines of a letter, four units wide and six high.
fn strokes(letter: char) -> &'static [&'static [[f32; 2]]] {
    match letter {
        'A' => &[&[[0.0, 6.0], [0.0, 2.0], [2.0, 0.0], [4.0, 2.0], [4.0, 6.0]], &[[0.0, 4.0], [4.0, 4.0]]],
        'S' => &[&[[4.0, 0.0], [0.0, 0.0], [0.0, 3.0], [4.0, 3.0], [4.0, 6.0], [0.0, 6.0]]],
        'T' => &[&[[0.0, 0.0], [4.0, 0.0]], &[[2.0, 0.0], [2.0, 6.0]]],
        'E' => &[&[[4.0, 0.0], [0.0, 0.0], [0.0, 6.0], [4.0, 6.0]], &[[0.0, 3.0], [3.0, 3.0]]],
        'R' => &[&[[0.0, 6.0], [0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]], &[[1.0, 3.0], [4.0, 6.0]]],
        'O' => &[&[[0.0, 0.0], [4.0, 0.0], [4.0, 6.0], [0.0, 6.0], [0.0, 0.0]]],
        'I' => &[&[[0.0, 0.0], [4.0, 0.0]], &[[2.0, 0.0], [2.0, 6.0]], &[[0.0, 6.0], [4.0, 6.0]]],
        'D' => &[&[[0.0, 0.0], [2.6, 0.0], [4.0, 1.4], [4.0, 4.6], [2.6, 6.0], [0.0, 6.0], [0.0, 0.0]]],
        _ => &[],
    }
}
