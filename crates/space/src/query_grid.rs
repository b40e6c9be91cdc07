//! Grid for the queries of games: boxes and rays in any size, in two or three dimensions.

use crate::grid::Axis;
use crate::settings::WorldBounds;
use std::ops::Range;

/// Columns per row. The cells of a row are adjacent in memory, so narrow columns cost a query nothing.
const COLUMNS_PER_ROW: f32 = 4.0;

/// Upper bound of the rows: 128 times 512 counters are 256 KiB.
const ROWS_MAX: f32 = 128.0;

/// Up to this number of points, the grid has a single cell; see [`crate::Grid`].
const FEW_POINTS: usize = 32;

/// Error of a computed point on a ray, relative to the coordinates.
const RAY_ERROR: f32 = 1e-5;

/// A point of a [`QueryGrid`]: slot and position. The third coordinate is zero in a world with two.
pub type QueryPoint = (u32, [f32; 3]);

/// Area of a query, in the plane of the first two coordinates.
#[derive(Clone, Copy, Debug)]
pub enum QueryArea {
    /// From the lower to the upper corner, the border included.
    Box {
        /// Lower corner.
        min: [f32; 2],
        /// Upper corner.
        max: [f32; 2],
    },
    /// All points within `reach` of a line from `origin`.
    Ray {
        /// First point of the line.
        origin: [f32; 2],
        /// Change of the position per unit of `length`.
        direction: [f32; 2],
        /// End of the line.
        length: f32,
        /// Distance from the line.
        reach: f32,
    },
}

/// A uniform grid over the first two coordinates. Its cells depend on the number of points, because the sizes of the
/// queries are not known. Points outside the bounds of the world are stored in the border cells.
///
/// Unlike a [`SpatialIndex`](crate::SpatialIndex) it has no result of its own: it returns candidates, and the caller
/// compares them.
#[derive(Clone, Debug)]
pub struct QueryGrid {
    bounds: WorldBounds,
    rows: Axis,
    columns: Axis,
    /// First point of each cell. The next entry is the end of the cell.
    starts: Vec<u32>,
    points: Vec<QueryPoint>,
    /// Largest absolute coordinate.
    extent: f32,
}

impl QueryGrid {
    /// An empty grid.
    #[must_use]
    pub fn new(bounds: WorldBounds) -> Self {
        let [rows, columns] = [1, 0].map(|axis| Axis::with_cells(&bounds, axis, 1.0));
        QueryGrid { bounds, rows, columns, starts: Vec::new(), points: Vec::new(), extent: 0.0 }
    }

    /// Replaces all points. Points with a coordinate that is not finite are omitted. The iterator runs twice and has
    /// about `expected` points.
    pub fn rebuild(&mut self, expected: usize, points: impl Iterator<Item = QueryPoint> + Clone) {
        let points = points.filter(|(_, position)| position.iter().all(|coordinate| coordinate.is_finite()));
        let rows = match expected > FEW_POINTS {
            true => (expected as f32 / COLUMNS_PER_ROW).sqrt().clamp(1.0, ROWS_MAX).floor(),
            false => 1.0,
        };
        let columns = if rows > 1.0 { rows * COLUMNS_PER_ROW } else { 1.0 };
        self.rows = Axis::with_cells(&self.bounds, 1, rows);
        self.columns = Axis::with_cells(&self.bounds, 0, columns);
        // As in `Grid`: counts are stored two entries up, and writing the points turns starts into ends.
        self.starts.clear();
        self.starts.resize(self.rows.count() * self.columns.count() + 2, 0);
        self.extent = 0.0;
        let mut count = 0;
        for (_, position) in points.clone() {
            let cell = self.cell(position);
            self.starts[cell + 2] += 1;
            self.extent = position.iter().fold(self.extent, |extent, coordinate| extent.max(coordinate.abs()));
            count += 1;
        }
        self.place(count, points);
    }

    /// Number of points.
    #[must_use]
    pub fn len(&self) -> usize {
        self.points.len()
    }

    /// True if there are no points.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.points.is_empty()
    }

    /// Distance between neighbours if all points were spread evenly over the bounds.
    #[must_use]
    pub fn spacing(&self, points: usize) -> f32 {
        let [width, height] = [0, 1].map(|axis| self.bounds.max[axis] - self.bounds.min[axis]);
        (width / points.max(1) as f32).sqrt() * height.sqrt()
    }

    /// Largest absolute coordinate of a point.
    #[must_use]
    pub fn extent(&self) -> f32 {
        self.extent
    }

    /// Visits runs of points that together contain every point of the area once. They may contain other points too.
    pub fn visit(&self, area: &QueryArea, mut visit: impl FnMut(&[QueryPoint])) {
        if self.points.is_empty() {
            return;
        }
        match *area {
            QueryArea::Box { min, max } => {
                // A NaN belongs to the first cell. The caller's comparison then finds nothing.
                let columns = self.columns.cell(min[0]) as usize..self.columns.cell(max[0]) as usize + 1;
                for row in self.rows.cell(min[1])..=self.rows.cell(max[1]) {
                    visit(self.run(row, &columns));
                }
            }
            QueryArea::Ray { origin, direction, length, reach } => {
                self.visit_ray(origin, direction, length, reach, visit)
            }
        }
    }

    fn visit_ray(
        &self,
        origin: [f32; 2],
        direction: [f32; 2],
        length: f32,
        reach: f32,
        mut visit: impl FnMut(&[QueryPoint]),
    ) {
        let size = origin[0].abs() + origin[1].abs() + length + self.extent;
        let reach = reach + size * RAY_ERROR;
        if !reach.is_finite() {
            return visit(&self.points);
        }
        let ends = [origin[1], origin[1] + direction[1] * length];
        let first = self.rows.cell(ends[0].min(ends[1]) - reach);
        let last = self.rows.cell(ends[0].max(ends[1]) + reach);
        for row in first..=last {
            let (low, high) = self.rows.edges(row);
            // Part of the line that is near the row.
            let (mut start, mut end) = (0.0, length);
            if direction[1] != 0.0 {
                let [a, b] = [low - reach, high + reach].map(|edge| (edge - origin[1]) / direction[1]);
                start = a.min(b).clamp(0.0, length);
                end = a.max(b).clamp(0.0, length);
            }
            let [a, b] = [start, end].map(|at| origin[0] + direction[0] * at);
            let columns =
                self.columns.cell(a.min(b) - reach) as usize..self.columns.cell(a.max(b) + reach) as usize + 1;
            visit(self.run(row, &columns));
        }
    }

    fn place(&mut self, count: usize, points: impl Iterator<Item = QueryPoint>) {
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.points.resize(count, (0, [0.0; 3]));
        for point in points {
            let cell = self.cell(point.1);
            let start = &mut self.starts[cell + 1];
            self.points[*start as usize] = point;
            *start += 1;
        }
    }

    fn cell(&self, position: [f32; 3]) -> usize {
        self.rows.cell(position[1]) as usize * self.columns.count() + self.columns.cell(position[0]) as usize
    }

    fn run(&self, row: u32, columns: &Range<usize>) -> &[QueryPoint] {
        let row = row as usize * self.columns.count();
        &self.points[self.starts[row + columns.start] as usize..self.starts[row + columns.end] as usize]
    }
}
