//! PostgreSQL for tests: a cluster of one's own, made in seconds and thrown away.
//!
//! ```no_run
//! # fn main() -> Result<(), aether_testkit_postgres::ClusterError> {
//! use aether_testkit_postgres::Cluster;
//!
//! let mut cluster = Cluster::create(&std::env::temp_dir().join("trial"))?;
//! cluster.start()?;
//! println!("{}", cluster.url());
//! cluster.kill()?; // As a power cut would; what was committed is there after the next start.
//! cluster.start()?;
//! # Ok(()) }
//! ```
//!
//! It has no dependencies, so that the project's menu can use it too.

mod account;
mod cluster;
mod programs;

pub use account::can_enter;
pub use cluster::Cluster;
pub use programs::is_installed;

use std::fmt;

/// Where tests find PostgreSQL: its connection string.
pub const URL_VARIABLE: &str = "TEST_POSTGRES_URL";

/// Set where a test without PostgreSQL is a failure rather than half a test.
pub const REQUIRED_VARIABLE: &str = "TEST_POSTGRES_REQUIRED";

/// Why there is no PostgreSQL, in a sentence.
#[derive(Debug)]
pub struct ClusterError(String);

impl ClusterError {
    fn new(why: impl Into<String>) -> ClusterError {
        ClusterError(why.into())
    }
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ClusterError {}
