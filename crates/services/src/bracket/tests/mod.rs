//! Brackets: the state machine with random results, and the service over real databases.

mod formats;
mod machine;
mod service;
