//! Ids, protocol messages, fragments and named limits.

mod ids;

pub use ids::{EntityId, InputSeq, MessageId, PacketSeq, PlayerId, RequestId, Tick};
