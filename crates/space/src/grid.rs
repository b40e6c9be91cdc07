//! Uniform grid, built by a counting sort.

use crate::index::{IndexedPoint, PointRun, SpatialIndex, is_valid_query, least, most};
use crate::settings::{InterestSettingsError, WorldBounds, is_length};

/// Rows per radius. More rows follow the circle more closely but make shorter runs.
/// Measured: values from 1.5 to 2.5 are equally fast, others are slower.
const ROWS_PER_RADIUS: f32 = 2.0;

/// Columns per radius. They are finer than rows because the cells of a row are adjacent in memory: the cost of a query
/// depends on its rows, not on its cells.
const COLUMNS_PER_RADIUS: f32 = 8.0;

/// Upper bound of the rows. With a small radius in a large world, a rebuild must not visit more cells than points.
/// 128 times 512 counters are 256 KiB.
const ROWS_MAX: f32 = 128.0;
/// Upper bound of the columns; see [`ROWS_MAX`].
const COLUMNS_MAX: f32 = 512.0;

/// Up to this number of points, the grid has a single cell. Comparing all of them is faster than visiting a thousand
/// empty counters, which also do not stay in the cache of a server with thousands of small rooms.
const FEW_POINTS: usize = 64;

/// Length of `starts` in a grid with a single cell.
const CELLS_OF_ONE: usize = 1 + 3;

/// Rows whose runs a query computes before it visits them. A query with the radius of the grid touches at most six.
const ROWS_PER_BATCH: usize = 8;

/// 2^23. Floats of this size have no fraction, so adding it rounds to a whole number, which is then in the lower bits.
/// This is faster than a conversion, which handles every float.
const ROUNDING: f32 = 8_388_608.0;

/// Factor by which a query extends its radius, so that rounding never loses a point on the border.
const REACH_FACTOR: f32 = 1.0 + 1e-5;
/// Minimum extent, for radii whose square underflows.
const REACH_MIN: f32 = 1e-18;

/// Upper bound of the error of a computed row edge, relative to the coordinates of the bounds.
const EDGE_ERROR: f32 = 1e-6;

/// A uniform grid over the bounds of the world. Points outside the bounds are stored in the border cells: queries find
/// them, but many of them make queries slow.
///
/// A rebuild is a counting sort into one array per coordinate. The cells of a row are adjacent in memory, so a query
/// reads one run of points per row.
#[derive(Clone, Debug)]
pub struct Grid {
    bounds: WorldBounds,
    /// Rows and columns of the last rebuild: the fine ones, or one each for few points.
    rows: Axis,
    columns: Axis,
    fine: [Axis; 2],
    whole: [Axis; 2],
    /// Cell of each point of the last rebuild.
    cells: Vec<u32>,
    /// First point of each cell. The next entry is the end of the cell.
    starts: Vec<u32>,
    x: Vec<f32>,
    y: Vec<f32>,
    slot: Vec<u32>,
    len: usize,
    slot_end: usize,
}

impl Grid {
    /// An empty grid. Its cells are optimal for queries with this `radius`; other radii work too.
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
            // Points without a finite position are stored behind the last cell, where no query looks.
            if point.x.is_finite() && point.y.is_finite() { cell } else { cell_count as u32 }
        }));
        self.slot_end = slot_end;

        // Counts are stored two entries up: the prefix sum turns entry `cell + 1` into the start of `cell`, and writing
        // the points advances it to the end of the cell, which is the start of the next one.
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
        if self.len == 0 || !is_valid_query(center, radius) {
            return;
        }
        let reach = radius * REACH_FACTOR + REACH_MIN;
        if self.starts.len() == CELLS_OF_ONE || !(reach * reach).is_finite() {
            // There is one cell. Or squares overflow, so that every point may count as within the radius.
            visit(self.run(0, self.len));
            return;
        }
        let columns = self.columns.count();
        let first_row = self.rows.cell(center[1] - reach);
        let last_row = self.rows.cell(center[1] + reach);
        let mut rows = first_row..last_row + 1;
        while !rows.is_empty() {
            // The runs of several rows are computed before the first one is visited. The end of a run is hard to
            // predict for the processor, and each misprediction would wait for the square root and the loads of the
            // next row.
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

/// Cells along one axis.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    min: f32,
    cell_length: f32,
    cells_per_unit: f32,
    /// Index of the last cell, as a float because positions are clamped to it.
    last: f32,
    /// Upper bound of the error of a computed edge.
    edge_error: f32,
}

impl Axis {
    fn new(bounds: &WorldBounds, axis: usize, cell_length: f32, cells_max: f32) -> Self {
        let cells = ((bounds.max[axis] - bounds.min[axis]) / cell_length).ceil().clamp(1.0, cells_max);
        Self::with_cells(bounds, axis, cells)
    }

    /// Divides an axis of the bounds into a whole number of cells.
    pub(crate) fn with_cells(bounds: &WorldBounds, axis: usize, cells: f32) -> Self {
        let (min, max) = (bounds.min[axis], bounds.max[axis]);
        let cell_length = (max - min) / cells;
        Self {
            min,
            cell_length,
            cells_per_unit: cell_length.recip(),
            last: cells - 1.0,
            edge_error: (min.abs() + max.abs()) * EDGE_ERROR,
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.last as usize + 1
    }

    /// Lower and upper edge of a cell. The first and the last cell also contain the points outside the bounds.
    pub(crate) fn edges(&self, cell: u32) -> (f32, f32) {
        let cell = cell as f32;
        let low = self.min + cell * self.cell_length;
        (
            if cell > 0.0 { low - self.edge_error } else { f32::NEG_INFINITY },
            if cell < self.last { low + self.cell_length + self.edge_error } else { f32::INFINITY },
        )
    }

    /// Returns the cell of a position. Positions outside the bounds belong to the first or last cell.
    #[inline]
    pub(crate) fn cell(&self, position: f32) -> u32 {
        // Half a cell less, because the addition rounds to the nearest number, not down.
        let cells = (position - self.min) * self.cells_per_unit - 0.5;
        (least(most(cells, 0.0), self.last) + ROUNDING).to_bits() - ROUNDING.to_bits()
    }

    /// Lower bound of the distance between a position and any point in a cell.
    #[inline]
    fn gap(&self, cell: u32, position: f32) -> f32 {
        let cell = cell as f32;
        let low = self.min + cell * self.cell_length;
        let high = low + self.cell_length;
        // The first cell has no lower edge and the last one no upper edge: they also contain the points outside the
        // bounds.
        let below = if cell > 0.0 { low - position } else { 0.0 };
        let above = if cell < self.last { position - high } else { 0.0 };
        most(most(below, above) - self.edge_error, 0.0)
    }
}
