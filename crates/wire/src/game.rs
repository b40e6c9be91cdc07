//! Messages and events that a game defines.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::CommandSeq;

/// Values by name, as in JSON. The connection converts them to bits and back with the game's schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldValues(pub BTreeMap<String, Value>);

/// Content of a game message or an event, packed or by name.
#[derive(Clone, Debug, PartialEq)]
pub enum GameBody {
    /// Code of the message in the game, and bytes that the schema describes.
    Packed {
        /// Code of the message or event.
        code: u16,
        /// Packed fields.
        payload: Vec<u8>,
    },
    /// The readable form, in JSON only: `feature.action` and values by name.
    Named {
        /// Feature channel of the game, such as `build`.
        feature: String,
        /// Action, such as `place`.
        action: String,
        /// Fields by name.
        fields: FieldValues,
    },
}

/// A reliable message from a player to the game. It is answered by an acknowledgement.
#[derive(Clone, Debug, PartialEq)]
pub struct GameMessage {
    /// Number of the command, which the answer repeats.
    pub seq: CommandSeq,
    /// Content of the message.
    pub body: GameBody,
}
