//! The names that most games use: `use aether::prelude::*;`.

#[cfg(feature = "rules")]
pub use aether_bits::facade::Replicate;
#[cfg(feature = "rules")]
pub use aether_bits::{BitReader, BitWriter, Component, Random, ReadError, StateHasher};
#[cfg(feature = "rules")]
pub use aether_wire::{EntityId, PlayerId, Tick};

#[cfg(feature = "game")]
pub use aether_engine::authority::{MovementRules, Mover, Violation};
#[cfg(feature = "game")]
pub use aether_engine::recording::{Recording, Replay};
#[cfg(feature = "game")]
pub use aether_engine::{
    Answer, BuildError, Context, EntryNumber, Game, GameSchemaBuilder, JoinMetadata, JoinRequest, NoObserver,
    Permissions, PlayerMessage, PlaygroundCommand, Rejection, Request, RestoreData, Room, RoomCheckpoint, RoomSettings,
    RuntimeGame, Viewpoint,
};
#[cfg(feature = "game")]
pub use aether_replication::{DeliveryOrder, SendSettings, UpdateRing};
#[cfg(feature = "game")]
pub use aether_space::{IndexKind, InterestSettings, WorldBounds};
#[cfg(feature = "game")]
pub use aether_wire::{CloseReason, CommandSeq, ErrorCode, GameBody, RequestId};
#[cfg(feature = "game")]
pub use aether_world::{FoundEntity, SpatialQuery, SpawnError, Visibility, World};

#[cfg(feature = "server")]
pub use aether_server::{PageAsset, Pages, RelaySettings, RunningServer, Server};

#[cfg(feature = "server")]
pub use aether_wire::{ClientMessage, DecodeError, EncodeError, MessageEncoding, ServerMessage};

#[cfg(feature = "client")]
pub use aether_client::{
    Angle, Client, ClientEvent, ClientGame, ClientPhase, ClientSchemaBuilder, ClientSettings, ClientStats, EndReason,
    Interpolate, JoinOptions, Predict,
};
#[cfg(all(feature = "client", not(target_family = "wasm")))]
pub use aether_client_native::{
    Connection, ConnectionError, Connector, NativeClient, NativeClientSettings, ServerAddress, TokenSource,
    TransportKind, TransportPreference, TrustStore,
};
#[cfg(feature = "client")]
pub use aether_replication::Mirror;
#[cfg(feature = "client")]
pub use aether_wire::{Encoding, RoomSelector, Token};

#[cfg(feature = "test")]
pub use aether_testkit::{Bandwidth, ClientNumber, Conditioner, Conditions, Delivery, Harness, TestClient, Traffic};
