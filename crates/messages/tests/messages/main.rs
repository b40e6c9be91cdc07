//! Tests of the messages: their JSON, their bytes, and the table of operations.

mod agreement;
mod json;
mod malformed;
mod operations;
mod realtime;
mod socket;
