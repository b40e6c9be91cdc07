//! Two endpoints in virtual time.

pub mod network;
pub mod pair;
pub mod random;
pub mod world;

pub use network::{Bottleneck, Faults, Link};
pub use pair::Pair;
pub use random::Random;
pub use world::World;
