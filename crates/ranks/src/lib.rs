//! Who stands at which rank, in memory.
//!
//! A [`Ranking`] holds one [`Score`] for each [`RankOwner`] and knows all ranks at any moment: writing a score,
//! asking for a rank and looking at the neighbours take O(log n) each, however the scores are spread and
//! whoever chose the owners.
//!
//! # Ties
//!
//! No two owners share a rank. Records are ordered by score, then subscore, then the owner's bytes; an
//! ascending ranking begins at the least record and a descending one at the greatest, so each is the exact
//! reverse of the other. These are the orders that a database gives for
//! `ORDER BY score, subscore, owner_id` and for the same with `DESC` on all three columns, and one index
//! serves both.
//!
//! # How it is built
//!
//! Records lie in one table, 32 bytes each, and never move. Two indexes of four-byte places in that table
//! put them in the order of their owners and in the order of their scores. The indexes are the same
//! structure, a B+ tree that counts. There is no hash map, so there are no colliding owners to fear, no
//! pause while one grows, and nothing that differs from run to run. A record takes 45 to 50 bytes in all,
//! which `cargo bench -p aether-ranks` prints. A hash map beside a tree that holds whole records was a
//! fifth faster and took 130.
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
//! let owners: Vec<(u64, RankOwner)> = around_bob.map(|standing| (standing.rank, standing.owner)).collect();
//! assert_eq!(owners, [(2, ann), (3, bob)]);
//! ```

mod index;
mod ranking;
mod record;
mod standings;

pub use ranking::Ranking;
pub use record::{RankOrder, RankOwner, Score};
pub use standings::{RankedRecord, RankedRecords};
