//! Client core of a room, without sockets, clocks or threads.
//!
//! A [`Client`] takes server messages and the current time, and returns messages to send and states to draw. It
//! synchronizes its clock with the server, predicts the player's own entity with the game's rules, corrects it by the
//! server's state, interpolates remote entities, and resumes after a lost connection. The caller owns the transport: a
//! WebSocket, a WebTransport session or a test.
//!
//! The building blocks can be used alone: [`InputHistory`], [`Prediction`], [`ErrorSmoothing`], [`EntityTrack`],
//! [`SnapshotArrivals`], [`RoundTrip`], [`Slew`] and [`Backoff`].

mod arrivals;
mod backoff;
mod client;
mod clock;
mod conditioner;
mod event;
mod game;
mod held_state;
mod inputs;
mod interpolate;
mod joined_room;
mod outbox;
mod own_entity;
mod prediction;
mod remote_entities;
mod round_trip;
mod schema_builder;
mod session;
mod settings;
mod simulated_network;
mod slew;
mod slot_set;
mod smoothing;
mod stats;
mod timing;
mod track;

pub use arrivals::SnapshotArrivals;
pub use backoff::Backoff;
pub use client::Client;
pub use clock::TickClock;
pub use conditioner::{Bandwidth, Conditioner, Conditions, Delivery, Traffic};
pub use event::ClientEvent;
pub use game::{ClientGame, Predict};
pub use inputs::{HISTORY_MAX, InputHistory};
pub use interpolate::{Angle, Interpolate, wrapped_difference};
pub use outbox::OutgoingMessage;
pub use prediction::Prediction;
pub use round_trip::RoundTrip;
pub use schema_builder::ClientSchemaBuilder;
pub use session::{ClientPhase, EndReason, JoinOptions};
pub use settings::ClientSettings;
pub use simulated_network::SimulatedNetwork;
pub use slew::{Slew, SlewBounds};
pub use smoothing::ErrorSmoothing;
pub use stats::ClientStats;
pub use track::{EntityTrack, SAMPLES_MAX, TrackSampling};
