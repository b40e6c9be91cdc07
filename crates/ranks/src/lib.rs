//! Rankings in memory.
//!
//! A [`Ranking`] holds one [`Score`] for each [`RankOwner`]. Writing a score, reading a rank and listing the records around
//! an owner take O(log n) each, for every distribution of scores and owners.
//!
//! # Ties
//!
//! No two owners share a rank. Records are ordered by score, then subscore, then the owner's bytes. An ascending ranking
//! begins at the least record and a descending one at the greatest, so each is the exact reverse of the other. A database
//! gives the same orders for `ORDER BY score, subscore, owner_id`, and with `DESC` on all three columns. One index serves
//! both.
//!
//! # Implementation
//!
//! Records are in one table, 32 bytes each, and never move. Two indexes of four-byte slots of that table sort them by owner
//! and by score. Both are counted B+ trees. There is no hash map, so no owners can collide on purpose, nothing pauses to
//! grow, and results do not differ from run to run. A record takes 45 to 50 bytes in all, as `cargo bench -p aether-ranks`
//! prints. A hash map with a tree of whole records was a fifth faster and took 130 bytes.
//!
//! # Example
//!
//! ```
//! use aether_ranks::{RankOrder, RankOwner, Ranking, Score};
//!
//! let [ann, bob, cleo] = [1, 2, 3].map(RankOwner::from);
//! let points = |score| Score { score, subscore: 0 };
//!
//! let mut ranking = Ranking::from_records(RankOrder::Descending, [(ann, points(30)), (bob, points(-5))]);
//! assert_eq!(ranking.set(cleo, points(40)), 1);
//! assert_eq!(ranking.rank(ann), Some(2));
//!
//! let around_bob = ranking.around(bob, 2).expect("bob has a record");
//! let owners: Vec<(u64, RankOwner)> = around_bob.map(|record| (record.rank, record.owner)).collect();
//! assert_eq!(owners, [(2, ann), (3, bob)]);
//! ```

mod index;
mod ranked_records;
mod ranking;
mod record;

pub use ranked_records::{RankedRecord, RankedRecords};
pub use ranking::Ranking;
pub use record::{RankOrder, RankOwner, Score};
