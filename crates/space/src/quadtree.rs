//! Quadtree with tight node bounds.

use crate::index::{IndexedPoint, PointRun, SpatialIndex, is_valid_query, least, most};

/// Nodes with up to this many points are not split. Comparing a few points is cheaper than visiting more nodes.
const LEAF_POINTS_MAX: usize = 16;

/// Upper bound of the levels below the root. It ends the splitting of points at nearly the same position, and bounds
/// the recursion of a rebuild.
const DEPTH_MAX: u32 = 16;

/// A quadtree. It needs no bounds: the root fits the points of the last rebuild.
///
/// The nodes are stored in depth-first order, each with the index of the node after its branch. The points of a branch
/// are adjacent. So a query is one loop without a stack, and a branch that is completely inside the circle is one run.
#[derive(Clone, Debug, Default)]
pub struct Quadtree {
    nodes: Vec<Node>,
    /// Points in the order of the leaves. A rebuild sorts them here.
    points: Vec<IndexedPoint>,
    x: Vec<f32>,
    y: Vec<f32>,
    slot: Vec<u32>,
    slot_end: usize,
}

impl Quadtree {
    /// An empty quadtree.
    pub fn new() -> Self {
        Self::default()
    }

    fn grow(&mut self, start: usize, end: usize, depth: u32) {
        let points = &mut self.points[start..end];
        let area = Area::around(points);
        let node = self.nodes.len();
        self.nodes.push(Node { area, start: start as u32, end: end as u32, after: node as u32 + 1 });
        if points.len() <= LEAF_POINTS_MAX || depth == DEPTH_MAX || area.min == area.max {
            return;
        }
        let [middle_x, middle_y] = area.middle();
        let upper = partition(points, |point| point.y < middle_y);
        let (lower_half, upper_half) = points.split_at_mut(upper);
        let lower_right = partition(lower_half, |point| point.x < middle_x);
        let upper_right = upper + partition(upper_half, |point| point.x < middle_x);
        let corners = [0, lower_right, upper, upper_right, end - start];
        for pair in corners.windows(2) {
            if pair[0] < pair[1] {
                self.grow(start + pair[0], start + pair[1], depth + 1);
            }
        }
        self.nodes[node].after = self.nodes.len() as u32;
    }

    fn run(&self, start: u32, end: u32) -> PointRun<'_> {
        let span = start as usize..end as usize;
        PointRun { x: &self.x[span.clone()], y: &self.y[span.clone()], slot: &self.slot[span] }
    }
}

impl SpatialIndex for Quadtree {
    fn rebuild(&mut self, points: &[IndexedPoint]) {
        self.slot_end = (points.iter().map(|point| point.slot as usize + 1)).max().unwrap_or(0);
        let is_finite = |point: &&IndexedPoint| point.x.is_finite() && point.y.is_finite();
        self.points.clear();
        self.points.extend(points.iter().filter(is_finite));
        self.nodes.clear();
        if !self.points.is_empty() {
            self.grow(0, self.points.len(), 0);
        }
        self.x.clear();
        self.x.extend(self.points.iter().map(|point| point.x));
        self.y.clear();
        self.y.extend(self.points.iter().map(|point| point.y));
        self.slot.clear();
        self.slot.extend(self.points.iter().map(|point| point.slot));
    }

    fn len(&self) -> usize {
        self.points.len()
    }

    fn slot_end(&self) -> usize {
        self.slot_end
    }

    fn spacing(&self) -> f32 {
        let Some(root) = self.nodes.first() else {
            return 0.0;
        };
        let [width, height] = [0, 1].map(|axis| root.area.max[axis] - root.area.min[axis]);
        (width / self.len() as f32).sqrt() * height.sqrt()
    }

    #[inline]
    fn visit_runs(&self, center: [f32; 2], radius: f32, mut visit: impl FnMut(PointRun<'_>)) {
        if !is_valid_query(center, radius) {
            return;
        }
        let radius_squared = radius * radius;
        // Runs of adjacent branches are joined before they are visited.
        let (mut run_start, mut run_end) = (0, 0);
        let mut next = 0;
        while let Some(node) = self.nodes.get(next) {
            if node.area.nearest_squared(center) > radius_squared {
                next = node.after as usize;
                continue;
            }
            let is_leaf = node.after as usize == next + 1;
            if !is_leaf && node.area.farthest_squared(center) > radius_squared {
                next += 1;
                continue;
            }
            if node.start != run_end {
                visit(self.run(run_start, run_end));
                run_start = node.start;
            }
            run_end = node.end;
            next = node.after as usize;
        }
        visit(self.run(run_start, run_end));
    }
}

#[derive(Clone, Debug)]
struct Node {
    area: Area,
    start: u32,
    end: u32,
    /// Index of the node after this branch.
    after: u32,
}

/// Smallest rectangle around some points.
#[derive(Clone, Copy, Debug)]
struct Area {
    min: [f32; 2],
    max: [f32; 2],
}

impl Area {
    fn around(points: &[IndexedPoint]) -> Self {
        let nothing = Self { min: [f32::INFINITY; 2], max: [f32::NEG_INFINITY; 2] };
        points.iter().fold(nothing, |area, point| Self {
            min: [least(area.min[0], point.x), least(area.min[1], point.y)],
            max: [most(area.max[0], point.x), most(area.max[1], point.y)],
        })
    }

    fn middle(&self) -> [f32; 2] {
        [0, 1].map(|axis| self.min[axis] * 0.5 + self.max[axis] * 0.5)
    }

    /// Squared distance from `center` to the nearest position in the area. It is rounded like the distance of a point,
    /// so it is never greater than that of a point in the area.
    #[inline]
    fn nearest_squared(&self, center: [f32; 2]) -> f32 {
        let [dx, dy] = [0, 1].map(|axis| {
            let (below, above) = (self.min[axis] - center[axis], center[axis] - self.max[axis]);
            most(most(below, above), 0.0)
        });
        dx * dx + dy * dy
    }

    /// Squared distance from `center` to the farthest corner.
    #[inline]
    fn farthest_squared(&self, center: [f32; 2]) -> f32 {
        let [dx, dy] = [0, 1].map(|axis| {
            let (up, down) = (self.max[axis] - center[axis], center[axis] - self.min[axis]);
            most(up, down)
        });
        dx * dx + dy * dy
    }
}

/// Moves the points that are `first` to the front and returns their number.
///
/// It swaps every point: the sides of the points are almost random, and a branch that is mispredicted half of the time
/// costs more than a swap.
fn partition(points: &mut [IndexedPoint], first: impl Fn(&IndexedPoint) -> bool) -> usize {
    let mut count = 0;
    for index in 0..points.len() {
        let is_first = first(&points[index]);
        points.swap(count, index);
        count += usize::from(is_first);
    }
    count
}
