//! What a game and its clients say to each other in the game's own words.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::CommandSeq;

/// Values by name, as JSON clients write them. The connection turns them into bits, and bits
/// into them, with the game's schema.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FieldValues(pub BTreeMap<String, Value>);

/// The content of a game message or an event, in one of its two forms.
#[derive(Clone, Debug, PartialEq)]
pub enum GameBody {
    /// A number that the game gave its kind of message, and bytes that the schema explains.
    Packed {
        /// Which of the game's messages this is.
        code: u16,
        /// Its fields, packed.
        payload: Vec<u8>,
    },
    /// The readable form, in JSON only: `feature.action` and values by name.
    Named {
        /// The feature channel of the game, such as `build`.
        feature: String,
        /// What happens in it, such as `place`.
        action: String,
        /// Its fields by name.
        fields: FieldValues,
    },
}

/// A reliable message from a player to the game. It is answered by an acknowledgement.
#[derive(Clone, Debug, PartialEq)]
pub struct GameMessage {
    /// The number that the answer will name.
    pub seq: CommandSeq,
    /// What is said.
    pub body: GameBody,
}
