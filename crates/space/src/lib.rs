//! Spatial indexes and interest sets.
//!
//! - [`SlotSet`] is a set of entities by their slots: small, dense numbers.
//! - [`SpatialIndex`] finds entities by position. It is rebuilt every tick. There are two: [`Grid`] and [`Quadtree`].
//! - [`QueryGrid`] answers the queries of games: boxes and rays of any size.
//! - [`InterestManager`] updates the set of visible entities of each viewer, and reports the changes.
//!
//! # Choosing an index
//!
//! Use the [`Grid`] if the world has bounds. It is two to three times faster, for entities that are spread evenly, in
//! clusters, or sparse on a huge map. Use the [`Quadtree`] if entities may be anywhere: all points outside the bounds
//! of a grid share its border cells, and if most points are there, a grid is more than ten times slower. `cargo bench
//! -p aether-space` measures both.
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
//! let (none, mut visible, mut changes) = (SlotSet::new(), SlotSet::new(), InterestChanges::new());
//!
//! grid.rebuild(&[IndexedPoint { slot: 0, x: 0.0, y: 0.0 }, IndexedPoint { slot: 1, x: 150.0, y: 0.0 }]);
//! let viewer = Viewer { center: Some([0.0, 0.0]), always: &none, hidden: &none };
//! interest.update(&grid, &viewer, &mut visible, &mut changes);
//! assert_eq!(changes.entered, [0, 1]);
//! # Ok::<(), aether_space::InterestSettingsError>(())
//! ```

mod changes;
mod grid;
mod index;
mod interest;
mod quadtree;
mod query_grid;
mod settings;
mod slot_set;

pub use changes::InterestChanges;
pub use grid::Grid;
pub use index::{IndexedPoint, NearbyEntity, PointRun, SpatialIndex, distance_squared};
pub use interest::{InterestManager, Viewer};
pub use quadtree::Quadtree;
pub use query_grid::{QueryArea, QueryGrid, QueryPoint};
pub use settings::{IndexKind, InterestSettings, InterestSettingsError, WorldBounds};
pub use slot_set::{SlotSet, SlotSetIntersection, SlotSetIter};
