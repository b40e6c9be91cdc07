//! Part of the world that is visible, and the way from the world to dots.

use aether_asteroids_rules::{HEIGHT, WIDTH, offset};

/// Units per dot up to which the whole world is shown. A coarser picture could not be read.
const UNITS_PER_DOT_MAX: f32 = 6.5;
/// Units per dot of a view that follows the own ship.
const UNITS_PER_DOT_FOLLOWING: f32 = 5.5;

/// View of the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    center: [f32; 2],
    /// Scale.
    pub units_per_dot: f32,
    /// Width and height of the view, in dots.
    pub size: [f32; 2],
    /// True if the whole world fits the view.
    pub is_whole: bool,
}

impl Camera {
    /// Returns the view for a canvas: of the whole world if it fits, otherwise of the surroundings of a position.
    pub fn new(canvas: [f32; 2], follows: [f32; 2]) -> Camera {
        let fit = (WIDTH / canvas[0].max(1.0)).max(HEIGHT / canvas[1].max(1.0));
        let is_whole = fit <= UNITS_PER_DOT_MAX;
        match is_whole {
            true => Camera {
                center: [WIDTH / 2.0, HEIGHT / 2.0],
                units_per_dot: fit,
                size: [WIDTH / fit, HEIGHT / fit],
                is_whole,
            },
            false => {
                // A view is never larger than the world, which would be shown twice.
                let size =
                    [canvas[0].min(WIDTH / UNITS_PER_DOT_FOLLOWING), canvas[1].min(HEIGHT / UNITS_PER_DOT_FOLLOWING)];
                Camera { center: follows, units_per_dot: UNITS_PER_DOT_FOLLOWING, size, is_whole }
            }
        }
    }

    /// Returns the places of a position in the view, in dots. What is near the seam of the world may be on both sides.
    /// Places farther outside than a radius, in units, are left out.
    pub fn places(&self, position: [f32; 2], radius: f32) -> impl Iterator<Item = [f32; 2]> + use<> {
        let way = offset(self.center, position);
        let (half, scale) = (self.size.map(|length| length / 2.0), self.units_per_dot);
        let reach = half.map(|half| half * scale + radius);
        let copies = [-1.0, 0.0, 1.0].into_iter().flat_map(|x| [-1.0, 0.0, 1.0].map(|y| [x * WIDTH, y * HEIGHT]));
        copies.filter_map(move |copy| {
            let at = [way[0] + copy[0], way[1] + copy[1]];
            let is_inside = at[0].abs() <= reach[0] && at[1].abs() <= reach[1];
            is_inside.then(|| [half[0] + at[0] / scale, half[1] + at[1] / scale])
        })
    }

    /// Converts a length to dots.
    pub fn dots(&self, units: f32) -> f32 {
        units / self.units_per_dot
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_canvas_shows_the_whole_world_and_a_small_one_follows() {
        let large = Camera::new([400.0, 232.0], [3.0, 3.0]);
        assert!(large.is_whole && large.size[0] <= 400.0 && large.size[1] <= 232.0);
        let small = Camera::new([160.0, 88.0], [3.0, 3.0]);
        assert!(!small.is_whole);
        let places: Vec<_> = small.places([3.0, 3.0], 0.0).collect();
        assert_eq!(places, [[80.0, 44.0]], "the followed position is in the middle");
    }

    #[test]
    fn what_is_beyond_the_seam_is_near() {
        let camera = Camera::new([160.0, 88.0], [3.0, 3.0]);
        let places: Vec<_> = camera.places([WIDTH - 8.0, 3.0], 0.0).collect();
        assert_eq!(places, [[78.0, 44.0]]);
    }

    #[test]
    fn what_touches_the_edge_of_the_whole_world_is_on_both_sides() {
        let camera = Camera::new([400.0, 232.0], [0.0, 0.0]);
        assert_eq!(camera.places([1.0, 500.0], 60.0).count(), 2);
        assert_eq!(camera.places([1.0, 1.0], 60.0).count(), 4);
        assert_eq!(camera.places([1_000.0, 500.0], 60.0).count(), 1);
    }

    #[test]
    fn any_size_of_canvas_is_possible() {
        for canvas in [[0.0, 0.0], [2.0, 4.0], [2_000.0, 8.0], [8.0, 2_000.0]] {
            let camera = Camera::new(canvas, [5.0, 5.0]);
            assert!(camera.places([5.0, 5.0], 10.0).all(|place| place.iter().all(|part| part.is_finite())));
        }
    }
}
