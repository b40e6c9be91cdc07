//! Query language of match listings, the matchmaker, parties and the storage index.
//!
//! A [`Query`] is parsed once and checked against [`Document`]s: values with dotted names, made from JSON. A
//! [`DocumentIndex`] holds many documents and finds the matching ones without checking all of them. The crate does no I/O
//! and reads no clock, and results have the same order in every run.
//!
//! # Language
//!
//! A query is a list of clauses with spaces between them.
//!
//! | clause | accepts documents with |
//! |---|---|
//! | `field:value` | this text in the field, exactly and with case; a boolean is `T` or `F` |
//! | `field:"some text"` | the same, for text with spaces |
//! | `field:5`, `field:-5` | this number, or this text |
//! | `field:>5`, `field:>=5`, `field:<5`, `field:<=5` | a number in this range |
//! | `field:>"2026-01-31T12:00:00Z"` and so on | a time in this range |
//! | `field:ma?p*` | text like this: `?` is one character, `*` any number of them |
//! | `field:/(duel\|team)-\d+/` | text that matches this regular expression as a whole |
//! | `field:word~`, `field:word~2` | text that differs from the word by at most one change, or two |
//! | `field:*` | any value in the field |
//! | `*` | anything; so does an empty query |
//! | `value` | this in any field; all forms but ranges can stand without a field |
//!
//! | around a clause | effect |
//! |---|---|
//! | `+clause` | it must hold |
//! | `-clause` | it must not hold |
//! | neither | it adds to the score; without any `+`, one such clause must hold |
//! | `clause^2.5` | it adds 2.5 to the score instead of 1 |
//! | `\` before one of ``+-=&\|><!(){}[]^"~*?:\/`` or a space | the character itself |
//!
//! Two bounds on one field are two clauses: `+skill:>=1000 +skill:<=1200`. Groups with parentheses and words such as
//! `AND` have no meaning. In a regular expression, a backslash before one of the characters above is removed first, as
//! everywhere: a literal dot is `\.`, a literal star `\\*`.
//!
//! # Cost
//!
//! A search takes the `+` clause with the fewest documents and checks only these against the whole query; bounds on one
//! field count together. Without a `+`, it checks the documents of all other clauses together. It checks every document if
//! that is less work, and always if a query has only `-` clauses or only clauses without a field. The time of a pattern
//! grows only with the text: see [`limits`].
//!
//! # Example
//!
//! ```
//! use aether_query::{Document, DocumentIndex, Query, SearchOrder};
//! use serde_json::json;
//!
//! let mut index = DocumentIndex::new();
//! for (room, label) in [
//!     ("F4MDHS", json!({"mode": "duel", "map": "ice", "open": true})),
//!     ("K2PQ7N", json!({"mode": "duel", "map": "lava", "open": true})),
//!     ("TT98XA", json!({"mode": "duel", "map": "lava", "open": false})),
//! ] {
//!     index.insert(room, Document::builder().json("label", &label).build()?);
//! }
//! let query = Query::parse("+label.mode:duel +label.open:T label.map:lava^2")?;
//! assert_eq!(index.search(&query, 10, &SearchOrder::best_then_newest()), ["K2PQ7N", "F4MDHS"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod clause;
mod document;
mod error;
mod index;
pub mod limits;
mod order;
mod parse;
mod pattern;
mod plan;
mod postings;
mod query;
mod time;
mod token;

pub use document::{Document, DocumentBuilder, DocumentError, FieldValue};
pub use error::{QueryError, QueryErrorKind};
pub use index::DocumentIndex;
pub use order::{SearchOrder, SortKey};
pub use query::{MatchScore, Query};
