//! Everything that a game, its rules, its tests and its client need, in one crate.
//!
//! ```
//! # #[cfg(feature = "game")] mod game {
//! use aether::prelude::*;
//!
//! #[derive(Clone, Replicate)]
//! #[replicate(channel = "movement", position = position)]
//! struct Ball {
//!     #[replicate(range = -100.0..=100.0, step = 0.01)]
//!     position: [f32; 2],
//! }
//!
//! #[derive(Clone, Replicate)]
//! struct Push {
//!     #[replicate(range = -1.0..=1.0, step = 0.01)]
//!     direction: [f32; 2],
//! }
//!
//! struct Playground;
//!
//! impl Game for Playground {
//!     type Input = Push;
//!
//!     fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
//!         schema.component::<Ball>()
//!     }
//!
//!     fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
//!         if let Ok(ball) = room.world.spawn(Ball::initial()) {
//!             room.possess(player, ball);
//!         }
//!     }
//!
//!     fn input(&mut self, room: &mut Context<'_>, player: PlayerId, push: &Push) {
//!         if let Some(ball) = room.possession(player).and_then(|ball| room.world.get_mut::<Ball>(ball)) {
//!             ball.position[0] += push.direction[0];
//!             ball.position[1] += push.direction[1];
//!         }
//!     }
//!
//!     fn tick(&mut self, _room: &mut Context<'_>) {}
//! }
//! # }
//! ```
//!
//! # Features
//!
//! | feature | for | adds |
//! |---|---|---|
//! | `rules` | rules that server and browser share; builds for wasm32 | components, ids, random numbers, [`libm`] |
//! | `game` | a game | rooms, the game context, the world, recordings |
//! | `server` (default) | a server program | [`server::Server`] |
//! | `client` | a client in Rust | prediction, interpolation, connections |
//! | `test` | tests of a game | clients in memory, networks with loss and latency, virtual time |
//!
//! A rules crate asks for `rules` alone, so that it never compiles the server:
//! `aether-game = { version = "0.1", default-features = false, features = ["rules"] }`.

pub mod prelude;

#[cfg(feature = "rules")]
pub use aether_bits as bits;
#[cfg(feature = "rules")]
pub use aether_space as space;
#[cfg(feature = "rules")]
pub use aether_wire as wire;
#[cfg(feature = "rules")]
pub use aether_world as world;
#[cfg(feature = "rules")]
pub use libm;

#[cfg(feature = "client")]
pub use aether_client as client;
#[cfg(all(feature = "client", not(target_family = "wasm")))]
pub use aether_client_native as client_native;
#[cfg(feature = "game")]
pub use aether_engine as engine;
#[cfg(feature = "game")]
pub use aether_names as names;
#[cfg(any(feature = "game", feature = "client"))]
pub use aether_replication as replication;
#[cfg(feature = "server")]
pub use aether_server as server;
#[cfg(feature = "test")]
pub use aether_testkit as testkit;
