//! Clients against rooms, in virtual time and over networks that are as bad as a seed makes them.

mod allocations;
mod described;
mod hostile;
mod interference;
mod messages;
mod prediction;
mod remote;
mod resume;
mod ticks;
