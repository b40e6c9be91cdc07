//! Tests of the messages: their JSON, their bytes, and the table of operations.

mod agreement;
mod json;
mod operations;
mod realtime;
mod refusals;
