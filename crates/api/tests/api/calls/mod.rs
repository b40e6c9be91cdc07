//! The call table: operations, hooks and functions by type, by name and over HTTP.

mod all;
mod limits;
mod modules;
mod rpc;
mod same;
