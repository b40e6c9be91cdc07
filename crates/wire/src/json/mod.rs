//! JSON encoding of messages, for debugging and simple clients.
//!
//! ```json
//! {"v":2,"kind":"command","seq":9,"feature":"playground","action":"stress",
//!  "payload":{"count":100,"rotate":true}}
//! ```

mod base64;
mod client;
mod envelope;
mod ids;
mod scan;
mod server;

use serde::{Deserialize, Serialize};

use self::base64::Base64;
use self::envelope::Envelope;
use self::scan::Bounds;
use crate::check;
use crate::client::ClientMessage;
use crate::error::{DecodeError, EncodeError};
use crate::fragment::Fragment;
use crate::ids::MessageId;
use crate::server::ServerMessage;

impl ClientMessage {
    /// Appends this message as a JSON envelope.
    ///
    /// # Errors
    /// If the receiver would reject the message. Nothing is appended then.
    pub fn encode_json(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        check::client_message(self)?;
        append(out, Bounds::CLIENT, |out| client::write(self, out))
    }

    /// Decodes a JSON envelope.
    ///
    /// # Errors
    /// If the bytes are not a valid message.
    pub fn decode_json(bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        Bounds::CLIENT.check(bytes)?;
        let message = client::read(Envelope::parse(bytes)?)?;
        check::client_message(&message)?;
        Ok(message)
    }
}

impl ServerMessage {
    /// Appends this message as a JSON envelope.
    ///
    /// # Errors
    /// If the receiver would reject the message. Nothing is appended then.
    pub fn encode_json(&self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        check::server_message(self)?;
        append(out, Bounds::SERVER, |out| server::write(self, out))
    }

    /// Decodes a JSON envelope.
    ///
    /// # Errors
    /// If the bytes are not a valid message.
    pub fn decode_json(bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
        Bounds::SERVER.check(bytes)?;
        let message = server::read(Envelope::parse(bytes)?)?;
        check::server_message(&message)?;
        Ok(message)
    }
}

/// Writes a message and checks it against the bounds of the receiver: values by name may exceed them.
fn append(out: &mut Vec<u8>, bounds: Bounds, write: impl FnOnce(&mut Vec<u8>)) -> Result<(), EncodeError> {
    let start = out.len();
    write(out);
    if let Err(error) = bounds.check(&out[start..]) {
        out.truncate(start);
        return Err(error.into());
    }
    Ok(())
}

/// Packed body of a game message. `data` is base64.
#[derive(Serialize, Deserialize)]
struct PackedBody<'a> {
    code: u16,
    data: Base64<'a>,
}

#[derive(Serialize, Deserialize)]
struct JsonFragment<'a> {
    message: u32,
    index: u16,
    total: u16,
    data: Base64<'a>,
}

impl<'a> From<&'a Fragment> for JsonFragment<'a> {
    fn from(fragment: &'a Fragment) -> JsonFragment<'a> {
        JsonFragment {
            message: fragment.message.0,
            index: fragment.index,
            total: fragment.total,
            data: Base64::of(&fragment.bytes),
        }
    }
}

impl From<JsonFragment<'_>> for Fragment {
    fn from(fragment: JsonFragment<'_>) -> Fragment {
        Fragment {
            message: MessageId(fragment.message),
            index: fragment.index,
            total: fragment.total,
            bytes: fragment.data.into_bytes(),
        }
    }
}
