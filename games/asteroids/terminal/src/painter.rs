//! Draws the world.

use crate::camera::Camera;
use crate::canvas::{Canvas, Ink};
use crate::effects::{Effects, Particle};
use crate::palette;
use crate::scene::{Scene, SeenAsteroid};
use crate::shapes;
use aether::prelude::*;
use aether_asteroids_rules::{HEIGHT, Ship, WIDTH};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Style};
use std::f32::consts::TAU;

/// Number of stars in the world.
const STARS: u32 = 260;
/// Seed of the stars.
const STARS_SEED: u64 = 1979;
/// Radius of the shield of a protected ship, and number of its dots.
const SHIELD_RADIUS: f32 = 30.0;
const SHIELD_DOTS: u32 = 18;
/// Distance of a name from its ship.
const NAME_DISTANCE: f32 = 34.0;

/// Distance between the dots of an edge of the world, in dots.
const EDGE_GAP: usize = 4;

/// Ranks of inks: higher ones cover lower ones.
mod rank {
    pub const STAR: u8 = 1;
    pub const CRATER: u8 = 2;
    pub const ASTEROID: u8 = 3;
    pub const DUST: u8 = 4;
    pub const SHIELD: u8 = 5;
    pub const FLAME: u8 = 6;
    pub const SHIP: u8 = 7;
    pub const SHOT: u8 = 8;
}

/// Draws the world into an area. Returns the camera.
pub fn paint(scene: &Scene, effects: &Effects, camera_at: [f32; 2], area: Rect, buffer: &mut Buffer) -> Camera {
    let whole = Canvas::new(area).size();
    let camera = Camera::new(whole, camera_at);
    let area = centered(area, camera.size);
    let mut canvas = Canvas::new(area);
    let mut painter = Painter { canvas: &mut canvas, camera, seconds: scene.seconds };
    painter.stars();
    if camera.is_whole {
        painter.edges();
    }
    scene.asteroids.iter().for_each(|seen| painter.asteroid(seen));
    effects.particles.iter().for_each(|particle| painter.particle(particle));
    for ship in &scene.others {
        painter.ship(ship, palette::player(ship.player, scene.player));
    }
    for shot in &scene.shots {
        let color = if shot.player == scene.player { palette::SHOT } else { palette::SHOT_OTHER };
        painter.shot(shot.position, shot.velocity, color);
    }
    if let Some(ship) = &scene.own {
        painter.ship(ship, palette::OWN);
    }
    canvas.render(area, buffer);
    name_ships(scene, &camera, area, buffer);
    camera
}

struct Painter<'a> {
    canvas: &'a mut Canvas,
    camera: Camera,
    seconds: f32,
}

impl Painter<'_> {
    fn stars(&mut self) {
        let mut random = Random::new(STARS_SEED);
        for _ in 0..STARS {
            let position = [random.between(0.0, WIDTH), random.between(0.0, HEIGHT)];
            let color = palette::STARS[random.below(palette::STARS.len() as u32) as usize];
            for place in self.camera.places(position, 0.0) {
                self.canvas.dot(place, Ink { color, rank: rank::STAR });
            }
        }
    }

    /// Marks the edges of the world.
    fn edges(&mut self) {
        let ink = Ink { color: palette::STARS[1], rank: rank::STAR };
        let [right, bottom] = self.canvas.size().map(|length| length - 1.0);
        for x in (0..=right as u32).step_by(EDGE_GAP) {
            self.canvas.dot([x as f32, 0.0], ink);
            self.canvas.dot([x as f32, bottom], ink);
        }
        for y in (0..=bottom as u32).step_by(EDGE_GAP) {
            self.canvas.dot([0.0, y as f32], ink);
            self.canvas.dot([right, y as f32], ink);
        }
    }

    fn asteroid(&mut self, seen: &SeenAsteroid) {
        let size = seen.asteroid.size;
        let outline = shapes::asteroid(seen.key, size, self.seconds);
        let craters = shapes::craters(seen.key, size, self.seconds);
        for place in self.camera.places(seen.asteroid.position, size.radius() * 1.1) {
            let points = self.at(place, &outline);
            self.canvas.clear(&points);
            for (center, radius) in &craters {
                let center = self.at(place, &[*center])[0];
                self.ring(center, *radius, 9, Ink { color: palette::ROCK, rank: rank::CRATER });
            }
            let color = palette::ASTEROIDS[size as usize];
            self.canvas.polygon(&points, Ink { color, rank: rank::ASTEROID });
        }
    }

    fn ship(&mut self, ship: &Ship, color: Color) {
        let outline = shapes::ship(ship.heading);
        for place in self.camera.places(ship.position, SHIELD_RADIUS) {
            if ship.is_thrusting {
                let flame = self.at(place, &shapes::flame(ship.heading, self.seconds));
                let hot = palette::FLAME[(self.seconds * 15.0) as usize % 2];
                self.canvas.line(flame[0], flame[1], Ink { color: hot, rank: rank::FLAME });
                self.canvas.line(flame[1], flame[2], Ink { color: hot, rank: rank::FLAME });
            }
            if ship.is_protected {
                // It turns and blinks, so that its end is no surprise.
                let dots = if (self.seconds * 4.0) as u32 % 4 == 3 { SHIELD_DOTS / 2 } else { SHIELD_DOTS };
                self.ring(place, SHIELD_RADIUS, dots, Ink { color: palette::SHIELD, rank: rank::SHIELD });
            }
            let points = self.at(place, &outline);
            self.canvas.clear(&points);
            self.canvas.polygon(&points, Ink { color, rank: rank::SHIP });
        }
    }

    fn shot(&mut self, position: [f32; 2], velocity: [f32; 2], color: Color) {
        let tail = velocity.map(|part| part * -0.012);
        for place in self.camera.places(position, 0.0) {
            let end = self.at(place, &[tail])[0];
            self.canvas.line(place, end, Ink { color, rank: rank::SHOT });
        }
    }

    fn particle(&mut self, particle: &Particle) {
        let colors = if particle.is_hot { palette::SPARKS } else { palette::DUST };
        let color = colors[((particle.age() * colors.len() as f32) as usize).min(colors.len() - 1)];
        let ink = Ink { color, rank: rank::DUST };
        for place in self.camera.places(particle.position, 0.0) {
            let (length, direction) = particle.debris;
            let end = self.at(place, &[shapes::turned([length, 0.0], direction)])[0];
            self.canvas.line(place, end, ink);
        }
    }

    /// Draws dots on a circle.
    fn ring(&mut self, center: [f32; 2], radius: f32, dots: u32, ink: Ink) {
        for index in 0..dots {
            let angle = index as f32 / dots as f32 * TAU + self.seconds;
            let [x, y] = shapes::turned([self.camera.dots(radius), 0.0], angle);
            self.canvas.dot([center[0] + x, center[1] + y], ink);
        }
    }

    /// Places an outline in the view.
    fn at(&self, place: [f32; 2], outline: &[[f32; 2]]) -> Vec<[f32; 2]> {
        let dots = |units: f32| self.camera.dots(units);
        outline.iter().map(|[x, y]| [place[0] + dots(*x), place[1] + dots(*y)]).collect()
    }
}

/// Writes names below the ships of other players.
fn name_ships(scene: &Scene, camera: &Camera, area: Rect, buffer: &mut Buffer) {
    for ship in &scene.others {
        let Some(standing) = scene.standing_of(ship.player) else { continue };
        let below = [ship.position[0], ship.position[1] + NAME_DISTANCE];
        for [x, y] in camera.places(below, 0.0) {
            let width = standing.name.chars().count() as i32;
            let column = (x / 2.0) as i32 - width / 2;
            let row = (y / 4.0) as i32;
            // A name stays inside, also if its ship is at the edge.
            let column = column.clamp(0, (i32::from(area.width) - width).max(0)) as u16;
            if (0..i32::from(area.height)).contains(&row) && width <= i32::from(area.width) {
                let style = Style::new().fg(palette::player(ship.player, scene.player));
                buffer.set_stringn(area.x + column, area.y + row as u16, &standing.name, width as usize, style);
            }
        }
    }
}

/// Returns the part in the middle of an area that has a size in dots.
fn centered(area: Rect, [width, height]: [f32; 2]) -> Rect {
    let columns = ((width / 2.0).ceil() as u16).min(area.width);
    let rows = ((height / 4.0).ceil() as u16).min(area.height);
    Rect::new(area.x + (area.width - columns) / 2, area.y + (area.height - rows) / 2, columns, rows)
}
