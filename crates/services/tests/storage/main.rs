//! Stored objects, on every kind of database.

mod batches;
mod fixture;
mod lists;
mod objects;
mod permissions;
mod queries;
mod quotas;
mod speed;
mod versions;
