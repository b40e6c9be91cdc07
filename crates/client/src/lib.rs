//! The client's side of a room, without sockets, clocks or threads.
//!
//! A [`Client`] is fed what the server says and what time it is, and gives back what to send and what to draw. It keeps
//! the game's clock in step with the server's, predicts the player's own entity with the game's own rules and puts it
//! right when the server knows better, shows everything else a little in the past so that it moves evenly, and knows how
//! to come back after a lost connection. Whatever carries the bytes, a WebSocket, a datagram or a test, stands around it.
//!
//! The parts are of use alone too: [`InputHistory`], [`Prediction`], [`ErrorSmoothing`], [`EntityTrack`], [`SnapshotArrivals`],
//! [`RoundTrip`], [`Slew`] and [`Backoff`].

mod arrivals;
mod backoff;
mod client;
mod clock;
mod declaration;
mod event;
mod game;
mod inputs;
mod interpolate;
mod others;
mod outbox;
mod own;
mod play;
mod prediction;
mod round_trip;
mod session;
mod settings;
mod slew;
mod slots;
mod smoothing;
mod stats;
mod timing;
mod track;

pub use arrivals::SnapshotArrivals;
pub use backoff::Backoff;
pub use client::Client;
pub use clock::TickClock;
pub use declaration::ClientSchemaBuilder;
pub use event::ClientEvent;
pub use game::{ClientGame, Predict};
pub use inputs::{HISTORY_MAX, InputHistory};
pub use interpolate::{Angle, Interpolate, wrapped_difference};
pub use outbox::OutgoingMessage;
pub use prediction::Prediction;
pub use round_trip::RoundTrip;
pub use session::{ClientPhase, EndReason, JoinOptions};
pub use settings::ClientSettings;
pub use slew::{Slew, SlewBounds};
pub use smoothing::ErrorSmoothing;
pub use stats::ClientStats;
pub use track::{EntityTrack, SAMPLES_MAX, TrackSampling};
