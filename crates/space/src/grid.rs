//! A uniform grid, sorted by counting.

use crate::index::{IndexedPoint, PointRun, SpatialIndex, is_query, least, most};
use crate::settings::{InterestSettingsError, WorldBounds, is_length};

/// Rows are this many to a radius. More rows follow the circle more closely but make shorter runs.
/// Measured: from 1.5 to 2.5 it makes no difference, outside of that it gets slower.
const ROWS_PER_RADIUS: f32 = 2.0;

/// Columns are this many to a radius. They are finer than rows because the cells of a row lie side
/// by side: a query pays for the row, not for its cells.
const COLUMNS_PER_RADIUS: f32 = 8.0;

/// The most rows and columns, so that a small radius in a large world does not make a rebuild walk
/// over more cells than points: 128 times 512 counters are 256 KiB.
const ROWS_MAX: f32 = 128.0;
/// See [`ROWS_MAX`].
const COLUMNS_MAX: f32 = 512.0;

/// Up to so many points lie in a single cell: to look at them all is quicker than to walk over a thousand empty counters, and
/// a server with thousands of small rooms has no cache for those.
const FEW_POINTS: usize = 64;

/// Rows whose runs a query finds before it visits them. A query with the radius that the grid was
/// made for touches six rows at most.
const ROWS_PER_BATCH: usize = 8;

/// From here on floats have no fraction, so adding it rounds to a whole number, which then stands
/// in the lower bits. It is quicker than a conversion, which has to care for every float.
const ROUNDING: f32 = 8_388_608.0;

/// A query reaches this much farther than its radius, so that rounding never loses a point that
/// lies on the border.
const REACH_FACTOR: f32 = 1.0 + 1e-5;
/// The same for radii so small that their square vanishes.
const REACH_MIN: f32 = 1e-18;

/// How far the computed edge of a row may be off, as a part of the bounds' coordinates.
const EDGE_ERROR: f32 = 1e-6;

/// A uniform grid over the world's bounds. Points outside of the bounds are kept in the border
/// cells: they are found like all others, but many of them make queries slow.
///
/// A rebuild is a counting sort into one array per coordinate. Cells of a row are neighbours in
/// memory, so a query reads one run of points per row.
#[derive(Clone, Debug)]
pub struct Grid {
    bounds: WorldBounds,
    /// Rows and columns of the last rebuild: fine ones, or one each for a few points.
    rows: Axis,
    columns: Axis,
    fine: [Axis; 2],
    whole: [Axis; 2],
    /// The cell of each point of the last rebuild.
    cells: Vec<u32>,
    /// Where each cell's points start; the entry after it is where they end.
    starts: Vec<u32>,
    x: Vec<f32>,
    y: Vec<f32>,
    slot: Vec<u32>,
    len: usize,
    slot_end: usize,
}

impl Grid {
    /// An empty grid. The cells suit queries with this `radius`; other radii work too.
    pub fn new(bounds: WorldBounds, radius: f32) -> Result<Self, InterestSettingsError> {
        bounds.validate()?;
        if !is_length(radius) {
            return Err(InterestSettingsError::Radius);
        }
        let fine = [
            Axis::new(&bounds, 1, radius / ROWS_PER_RADIUS, ROWS_MAX),
            Axis::new(&bounds, 0, radius / COLUMNS_PER_RADIUS, COLUMNS_MAX),
        ];
        let whole = [1, 0].map(|axis| Axis::new(&bounds, axis, radius, 1.0));
        let [rows, columns] = whole;
        Ok(Self {
            bounds,
            rows,
            columns,
            fine,
            whole,
            cells: Vec::new(),
            starts: Vec::new(),
            x: Vec::new(),
            y: Vec::new(),
            slot: Vec::new(),
            len: 0,
            slot_end: 0,
        })
    }

    fn cell_count(&self) -> usize {
        self.rows.count() * self.columns.count()
    }

    #[inline]
    fn run(&self, start: usize, end: usize) -> PointRun<'_> {
        PointRun { x: &self.x[start..end], y: &self.y[start..end], slot: &self.slot[start..end] }
    }
}

impl SpatialIndex for Grid {
    fn rebuild(&mut self, points: &[IndexedPoint]) {
        let [rows, columns] = if points.len() > FEW_POINTS { self.fine } else { self.whole };
        (self.rows, self.columns) = (rows, columns);
        let cell_count = self.cell_count();
        let mut slot_end = 0;
        self.cells.clear();
        self.cells.extend(points.iter().map(|point| {
            slot_end = slot_end.max(point.slot as usize + 1);
            let cell = rows.cell(point.y) * columns.count() as u32 + columns.cell(point.x);
            // Points without a place gather behind the last cell, where no query looks.
            if point.x.is_finite() && point.y.is_finite() { cell } else { cell_count as u32 }
        }));
        self.slot_end = slot_end;

        // Counts go two entries up: the sum turns entry `cell + 1` into the start of `cell`, and
        // placing the points moves it on to the cell's end, which is the start of the next one.
        self.starts.clear();
        self.starts.resize(cell_count + 3, 0);
        for &cell in &self.cells {
            self.starts[cell as usize + 2] += 1;
        }
        let mut sum = 0;
        for start in &mut self.starts {
            sum += *start;
            *start = sum;
        }
        self.x.resize(points.len(), 0.0);
        self.y.resize(points.len(), 0.0);
        self.slot.resize(points.len(), 0);
        for (point, &cell) in points.iter().zip(&self.cells) {
            let start = &mut self.starts[cell as usize + 1];
            let at = *start as usize;
            *start += 1;
            self.x[at] = point.x;
            self.y[at] = point.y;
            self.slot[at] = point.slot;
        }
        self.len = self.starts[cell_count] as usize;
    }

    fn len(&self) -> usize {
        self.len
    }

    fn slot_end(&self) -> usize {
        self.slot_end
    }

    fn spacing(&self) -> f32 {
        let [width, height] = [0, 1].map(|axis| self.bounds.max[axis] - self.bounds.min[axis]);
        (width / self.len as f32).sqrt() * height.sqrt()
    }

    #[inline]
    fn visit_runs(&self, center: [f32; 2], radius: f32, mut visit: impl FnMut(PointRun<'_>)) {
        if self.len == 0 || !is_query(center, radius) {
            return;
        }
        let reach = radius * REACH_FACTOR + REACH_MIN;
        if !(reach * reach).is_finite() {
            // Where squares overflow, every point may count as within the radius.
            visit(self.run(0, self.len));
            return;
        }
        let columns = self.columns.count();
        let first_row = self.rows.cell(center[1] - reach);
        let last_row = self.rows.cell(center[1] + reach);
        let mut rows = first_row..last_row + 1;
        while !rows.is_empty() {
            // Where the rows' runs lie is found out for several rows before the first of them is
            // visited: the end of a run is hard to guess for the processor, and after a wrong guess
            // it would wait for the next row's square root and loads every time.
            let mut runs = [(0, 0); ROWS_PER_BATCH];
            let mut count = 0;
            for (run, row) in runs.iter_mut().zip(&mut rows) {
                let gap = self.rows.gap(row, center[1]);
                let half_width = most(reach * reach - gap * gap, 0.0).sqrt();
                let first = self.columns.cell(center[0] - half_width) as usize;
                let last = self.columns.cell(center[0] + half_width) as usize;
                let row_start = row as usize * columns;
                *run = (self.starts[row_start + first], self.starts[row_start + last + 1]);
                count += 1;
            }
            for &(start, end) in &runs[..count] {
                visit(self.run(start as usize, end as usize));
            }
        }
    }
}

/// How the positions along one axis fall into cells.
#[derive(Clone, Copy, Debug)]
struct Axis {
    min: f32,
    cell_length: f32,
    cells_per_unit: f32,
    /// The last cell's number, as a float because positions are clamped to it.
    last: f32,
    /// How far a computed edge may be off.
    edge_error: f32,
}

impl Axis {
    fn new(bounds: &WorldBounds, axis: usize, cell_length: f32, cells_max: f32) -> Self {
        let (min, max) = (bounds.min[axis], bounds.max[axis]);
        let cells = ((max - min) / cell_length).ceil().clamp(1.0, cells_max);
        let cell_length = (max - min) / cells;
        Self {
            min,
            cell_length,
            cells_per_unit: cell_length.recip(),
            last: cells - 1.0,
            edge_error: (min.abs() + max.abs()) * EDGE_ERROR,
        }
    }

    fn count(&self) -> usize {
        self.last as usize + 1
    }

    /// The cell of a position; positions outside of the bounds belong to the first or last cell.
    #[inline]
    fn cell(&self, position: f32) -> u32 {
        // Half a cell less, because the rounding goes to the nearest number and not down.
        let place = (position - self.min) * self.cells_per_unit - 0.5;
        (least(most(place, 0.0), self.last) + ROUNDING).to_bits() - ROUNDING.to_bits()
    }

    /// A lower bound for the distance between a position and anything in a cell.
    #[inline]
    fn gap(&self, cell: u32, position: f32) -> f32 {
        let cell = cell as f32;
        let low = self.min + cell * self.cell_length;
        let high = low + self.cell_length;
        // The first cell has no lower edge and the last one no upper edge, because they also hold
        // what is outside of the bounds.
        let below = if cell > 0.0 { low - position } else { 0.0 };
        let above = if cell < self.last { position - high } else { 0.0 };
        most(most(below, above) - self.edge_error, 0.0)
    }
}
