//! Stored objects, on every kind of database.

mod batches;
mod indexes;
mod lists;
mod permissions;
mod queries;
mod quotas;
mod timing;
mod versions;
