//! Rows between rows.

use crate::{ComponentRow, InterpolationPath, RowLayout, RowMotion};
use aether_client::{Interpolate, wrapped_difference};
use std::f32::consts::TAU;
use std::rc::Rc;

/// The predicted component of the own entity.
#[derive(Clone, Debug)]
pub struct PredictedRow {
    /// Its values.
    pub row: Vec<f64>,
    pub(crate) layout: Rc<RowLayout>,
}

/// All components of an entity, as they are drawn.
#[derive(Clone, Debug)]
pub struct DisplayedRows {
    /// The rows by component.
    pub rows: Rc<[Option<ComponentRow>]>,
    pub(crate) layouts: Rc<[RowLayout]>,
}

impl Interpolate for PredictedRow {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
        let mut moved = self.clone();
        move_row(&self.layout, &mut moved.row, (&from.row, &to.row), share);
        moved
    }

    fn distance(&self, other: &Self) -> f32 {
        distance(&self.layout, &self.row, &other.row)
    }
}

impl Interpolate for DisplayedRows {
    fn moved(&self, from: &Self, to: &Self, share: f32) -> Self {
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
            move_row(layout, &mut moved, (from, to), share);
            Some(moved.into())
        });
        DisplayedRows { rows: rows.collect(), layouts: Rc::clone(&self.layouts) }
    }

    fn distance(&self, other: &Self) -> f32 {
        let pairs = self.rows.iter().zip(other.rows.iter()).zip(self.layouts.iter());
        let far = pairs.filter_map(|((row, other), layout)| Some(distance(layout, row.as_ref()?, other.as_ref()?)));
        far.fold(0.0, f32::max)
    }
}

fn move_row(layout: &RowLayout, row: &mut [f64], (from, to): (&[f64], &[f64]), share: f32) {
    for motion in layout.motions() {
        let numbers = motion.at..motion.at + motion.len;
        let ends = (from.get(numbers.clone()), to.get(numbers.clone()));
        if let (Some(row), (Some(from), Some(to))) = (row.get_mut(numbers), ends) {
            move_numbers(motion.way, row, (from, to), f64::from(share));
        }
    }
}

fn move_numbers(way: InterpolationPath, row: &mut [f64], (from, to): (&[f64], &[f64]), share: f64) {
    for (axis, number) in row.iter_mut().enumerate() {
        *number += match way {
            InterpolationPath::Turn => f64::from(wrapped_difference(from[axis] as f32, to[axis] as f32, TAU)) * share,
            // Two rotations that are each other's negative are the same, so the nearer one is gone to.
            InterpolationPath::Direction if row_is_opposite(from, to) => (-to[axis] - from[axis]) * share,
            InterpolationPath::Straight | InterpolationPath::Direction => (to[axis] - from[axis]) * share,
        };
    }
    if way == InterpolationPath::Direction {
        let length = row.iter().map(|number| number * number).sum::<f64>().sqrt();
        if length > 0.0 {
            row.iter_mut().for_each(|number| *number /= length);
        }
    }
}

/// Only rotations have a negative that is the same; they have four numbers.
fn row_is_opposite(from: &[f64], to: &[f64]) -> bool {
    from.len() == 4 && from.iter().zip(to).map(|(from, to)| from * to).sum::<f64>() < 0.0
}

/// How far apart two rows are: by their places; rows without one are never far.
fn distance(layout: &RowLayout, row: &[f64], other: &[f64]) -> f32 {
    let Some(RowMotion { at, len, .. }) = layout.place() else { return 0.0 };
    let (Some(row), Some(other)) = (row.get(at..at + len), other.get(at..at + len)) else { return 0.0 };
    row.iter().zip(other).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt() as f32
}
