//! Clients connected to rooms, in virtual time and over simulated networks.

mod allocations;
mod conditioner;
mod described;
mod event_order;
mod hostile;
mod interference;
mod messages;
mod prediction;
mod remote;
mod resume;
mod ticks;
mod view_events;
