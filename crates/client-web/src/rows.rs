//! Interpolation of rows.

use crate::{ComponentRow, InterpolationPath, RowLayout, RowMotion};
use aether_client::{Interpolate, wrapped_difference};
use std::f32::consts::TAU;
use std::rc::Rc;

/// Predicted component of the own entity.
#[derive(Clone, Debug)]
pub struct PredictedRow {
    /// Values of the component.
    pub row: Vec<f64>,
    pub(crate) layout: Rc<RowLayout>,
}

/// Displayed components of an entity.
#[derive(Clone, Debug)]
pub struct DisplayedRows {
    /// Rows by component.
    pub rows: Rc<[Option<ComponentRow>]>,
    pub(crate) layouts: Rc<[RowLayout]>,
}

impl Interpolate for PredictedRow {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        let mut moved = self.clone();
        move_row(&self.layout, &mut moved.row, (&from.row, &to.row), fraction);
        moved
    }

    fn distance(&self, other: &Self) -> f32 {
        distance(&self.layout, &self.row, &other.row)
    }
}

impl Interpolate for DisplayedRows {
    fn moved(&self, from: &Self, to: &Self, fraction: f32) -> Self {
        if Rc::ptr_eq(&from.rows, &to.rows) {
            return self.clone();
        }
        let rows = self.rows.iter().enumerate().map(|(component, row)| {
            let row = row.as_ref()?;
            let layout = self.layouts.get(component)?;
            let ends = (from.rows.get(component)?.as_ref(), to.rows.get(component)?.as_ref());
            let (Some(from), Some(to)) = ends else { return Some(Rc::clone(row)) };
            if layout.motions().is_empty() || Rc::ptr_eq(from, to) {
                return Some(Rc::clone(row));
            }
            let mut moved = row.to_vec();
            move_row(layout, &mut moved, (from, to), fraction);
            Some(moved.into())
        });
        DisplayedRows { rows: rows.collect(), layouts: Rc::clone(&self.layouts) }
    }

    fn distance(&self, other: &Self) -> f32 {
        let pairs = self.rows.iter().zip(other.rows.iter()).zip(self.layouts.iter());
        let distances =
            pairs.filter_map(|((row, other), layout)| Some(distance(layout, row.as_ref()?, other.as_ref()?)));
        distances.fold(0.0, f32::max)
    }
}

fn move_row(layout: &RowLayout, row: &mut [f64], (from, to): (&[f64], &[f64]), fraction: f32) {
    for motion in layout.motions() {
        let numbers = motion.at..motion.at + motion.len;
        let ends = (from.get(numbers.clone()), to.get(numbers.clone()));
        if let (Some(row), (Some(from), Some(to))) = (row.get_mut(numbers), ends) {
            move_numbers(motion.path, row, (from, to), f64::from(fraction));
        }
    }
}

fn move_numbers(path: InterpolationPath, row: &mut [f64], (from, to): (&[f64], &[f64]), fraction: f64) {
    for (axis, number) in row.iter_mut().enumerate() {
        *number += match path {
            InterpolationPath::Turn => {
                f64::from(wrapped_difference(from[axis] as f32, to[axis] as f32, TAU)) * fraction
            }
            // A quaternion and its negative are the same rotation; the nearer one is the target.
            InterpolationPath::Direction if is_opposite_rotation(from, to) => (-to[axis] - from[axis]) * fraction,
            InterpolationPath::Straight | InterpolationPath::Direction => (to[axis] - from[axis]) * fraction,
        };
    }
    if path == InterpolationPath::Direction {
        let length = row.iter().map(|number| number * number).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|number| *number /= length);
        }
    }
}

/// Returns true for two quaternions (four numbers) in opposite hemispheres.
fn is_opposite_rotation(from: &[f64], to: &[f64]) -> bool {
    from.len() == 4 && from.iter().zip(to).map(|(from, to)| from * to).sum::<f64>() < 0.0
}

/// Distance of the positions of two rows. 0 for rows without a position.
fn distance(layout: &RowLayout, row: &[f64], other: &[f64]) -> f32 {
    let Some(RowMotion { at, len, .. }) = layout.position() else { return 0.0 };
    let (Some(row), Some(other)) = (row.get(at..at + len), other.get(at..at + len)) else { return 0.0 };
    row.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt() as f32
}
