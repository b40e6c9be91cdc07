//! PostgreSQL for tests: temporary clusters, created in seconds.
//!
//! ```no_run
//! # fn main() -> Result<(), aether_testkit_postgres::ClusterError> {
//! use aether_testkit_postgres::Cluster;
//!
//! let mut cluster = Cluster::create(&std::env::temp_dir().join("trial"))?;
//! cluster.start()?;
//! println!("{}", cluster.url());
//! cluster.kill()?; // As a power cut would. Committed data is there after the next start.
//! cluster.start()?;
//! # Ok(()) }
//! ```
//!
//! The crate has no dependencies, so that `cargo xtask` can use it too.

mod account;
mod cluster;
mod programs;

pub use account::can_enter;
pub use cluster::Cluster;
pub use programs::is_installed;

use std::fmt;

/// Environment variable with the connection string of PostgreSQL for tests.
pub const URL_VARIABLE: &str = "TEST_POSTGRES_URL";

/// Environment variable that makes tests fail without PostgreSQL.
pub const REQUIRED_VARIABLE: &str = "TEST_POSTGRES_REQUIRED";

/// Error of a cluster, as a sentence.
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
