//! Who is where, and who sees whom.
//!
//! - [`SlotSet`] is a set of entities by their slots: small, dense numbers.
//! - [`SpatialIndex`] finds entities by place. It is rebuilt every tick, and there are two: [`Grid`] and
//!   [`Quadtree`].
//! - [`InterestManager`] keeps, for each viewer, the set of entities in view, and tells what entered and
//!   what left.
//!
//! # Which index
//!
//! Take the [`Grid`]: it is the faster one, two to three times, wherever the world has bounds,
//! whether its entities are spread evenly, stand in clumps, or are thinly sown over a huge map.
//! Take the [`Quadtree`] where entities may be anywhere: points outside of a grid's bounds all share
//! its border cells, and once most of them are there, a grid is more than ten times slower.
//! `cargo bench -p aether-space` measures both.
//!
//! # Example
//!
//! ```
//! use aether_space::{
//!     WorldBounds, InterestChanges, Grid, SpatialIndex, InterestManager, InterestSettings, IndexedPoint, SlotSet, Viewer,
//! };
//!
//! let settings = InterestSettings::default();
//! let mut grid = Grid::new(WorldBounds::default(), settings.outer_radius())?;
//! let mut interest = InterestManager::new(settings)?;
//! let (nobody, mut visible, mut changes) = (SlotSet::new(), SlotSet::new(), InterestChanges::new());
//!
//! grid.rebuild(&[IndexedPoint { slot: 0, x: 0.0, y: 0.0 }, IndexedPoint { slot: 1, x: 150.0, y: 0.0 }]);
//! let viewer = Viewer { center: Some([0.0, 0.0]), always: &nobody, hidden: &nobody };
//! interest.update(&grid, &viewer, &mut visible, &mut changes);
//! assert_eq!(changes.entered, [0, 1]);
//! # Ok::<(), aether_space::InterestSettingsError>(())
//! ```

mod changes;
mod grid;
mod index;
mod interest;
mod quadtree;
mod settings;
mod slot_set;

pub use changes::InterestChanges;
pub use grid::Grid;
pub use index::{IndexedPoint, NearbyEntity, PointRun, SpatialIndex, distance_squared};
pub use interest::{InterestManager, Viewer};
pub use quadtree::Quadtree;
pub use settings::{InterestSettings, InterestSettingsError, WorldBounds};
pub use slot_set::{SlotSet, SlotSetIntersection, SlotSetIter};
