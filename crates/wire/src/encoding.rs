//! Encodings of messages.

use crate::limits::{ENCODING_NAME_BYTES_MAX, JSON_SERVER_MESSAGE_BYTES_MAX};
use crate::{ClientMessage, DecodeError, EncodeError, SUBPROTOCOL_JSON, SUBPROTOCOL_PROTOBUF, ServerMessage, check};
use std::fmt;

/// Encoding of the messages of a connection.
#[derive(Clone, Copy)]
pub enum Encoding {
    /// Protobuf: compact and fast.
    Protobuf,
    /// JSON: for people and simple clients.
    Json,
    /// An encoding of the program.
    Own(&'static dyn MessageEncoding),
}

/// An encoding of messages that a program defines and registers in its server.
///
/// Messages of clients are checked against the limits of the protocol after [`MessageEncoding::decode_client`], so an
/// implementation only has to parse them. It gets bytes of any peer: it must not panic, and must not take more time or
/// memory than in proportion to their length. State is sent in order and without loss, over every transport.
pub trait MessageEncoding: Send + Sync + 'static {
    /// Name of the encoding: its WebSocket subprotocol, `encoding=<name>` in the path of a WebTransport session, and its
    /// name in the settings of room types. Letters, digits, `.`, `-` and `_`.
    fn name(&self) -> &'static str;

    /// Returns true if messages are UTF-8 text, which is sent in WebSocket text messages. Default false.
    fn is_text(&self) -> bool {
        false
    }

    /// Returns true if the encoding carries the values of components, inputs, events and messages by name, as JSON does:
    /// snapshots are [`crate::Snapshot::Readable`]. With false they are packed bits, as in protobuf, for clients that
    /// decode them by the schema. Default true.
    fn has_named_values(&self) -> bool {
        true
    }

    /// Decodes a message of a client.
    ///
    /// # Errors
    /// If the bytes are not a message. The error is counted, and sent to the client once it has joined.
    fn decode_client(&self, bytes: &[u8]) -> Result<ClientMessage, DecodeError>;

    /// Appends a message to a client.
    ///
    /// # Errors
    /// If the encoding has no form for the message: [`EncodeError::Unsupported`]. The message is dropped and counted. A
    /// connection whose welcome or state cannot be encoded is closed.
    fn encode_server(&self, message: &ServerMessage, out: &mut Vec<u8>) -> Result<(), EncodeError>;

    /// Appends a message of a client, for clients in Rust.
    ///
    /// # Errors
    /// If the encoding has no form for the message.
    fn encode_client(&self, _message: &ClientMessage, _out: &mut Vec<u8>) -> Result<(), EncodeError> {
        Err(EncodeError::Unsupported)
    }

    /// Decodes a message of the server, for clients in Rust.
    ///
    /// # Errors
    /// If the bytes are not a message.
    fn decode_server(&self, _bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
        Err(DecodeError::UnknownMessage)
    }
}

impl Encoding {
    /// Name of the encoding in settings, and in the path of a WebTransport session.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Encoding::Protobuf => "protobuf",
            Encoding::Json => "json",
            Encoding::Own(own) => own.name(),
        }
    }

    /// WebSocket subprotocol of the encoding.
    #[must_use]
    pub fn subprotocol(self) -> &'static str {
        match self {
            Encoding::Protobuf => SUBPROTOCOL_PROTOBUF,
            Encoding::Json => SUBPROTOCOL_JSON,
            Encoding::Own(own) => own.name(),
        }
    }

    /// Returns true if messages are text.
    #[must_use]
    pub fn is_text(self) -> bool {
        match self {
            Encoding::Protobuf => false,
            Encoding::Json => true,
            Encoding::Own(own) => own.is_text(),
        }
    }

    /// Returns true if the encoding carries values by name instead of packed bits.
    #[must_use]
    pub fn has_named_values(self) -> bool {
        match self {
            Encoding::Protobuf => false,
            Encoding::Json => true,
            Encoding::Own(own) => own.has_named_values(),
        }
    }

    /// Decodes a message of a client.
    ///
    /// # Errors
    /// If the bytes are not a valid message.
    pub fn decode(self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
        match self {
            Encoding::Protobuf => ClientMessage::decode(bytes),
            Encoding::Json => ClientMessage::decode_json(bytes),
            Encoding::Own(own) => {
                let message = own.decode_client(bytes)?;
                check::client_message(&message)?;
                Ok(message)
            }
        }
    }

    /// Appends a message to a client.
    ///
    /// # Errors
    /// If the encoding has no form for the message, or the receiver would reject it. Nothing is appended then.
    pub fn encode(self, message: &ServerMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Encoding::Protobuf => message.encode(out),
            Encoding::Json => message.encode_json(out),
            Encoding::Own(own) => append(own, out, |out| own.encode_server(message, out)),
        }
    }

    /// Appends a message of a client.
    ///
    /// # Errors
    /// If the encoding has no form for the message, or the receiver would reject it. Nothing is appended then.
    pub fn encode_client(self, message: &ClientMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        match self {
            Encoding::Protobuf => message.encode(out),
            Encoding::Json => message.encode_json(out),
            Encoding::Own(own) => append(own, out, |out| own.encode_client(message, out)),
        }
    }

    /// Decodes a message of the server.
    ///
    /// # Errors
    /// If the bytes are not a valid message.
    pub fn decode_server(self, bytes: &[u8]) -> Result<ServerMessage, DecodeError> {
        match self {
            Encoding::Protobuf => ServerMessage::decode(bytes),
            Encoding::Json => ServerMessage::decode_json(bytes),
            Encoding::Own(own) => own.decode_server(bytes),
        }
    }
}

/// Appends a message of an own encoding. The bounds are those of JSON, the largest encoding of the protocol.
fn append(
    own: &dyn MessageEncoding,
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Vec<u8>) -> Result<(), EncodeError>,
) -> Result<(), EncodeError> {
    let start = out.len();
    let written = write(out).and_then(|()| {
        let message = out.get(start..).ok_or(DecodeError::Malformed)?;
        let (bytes, limit) = (message.len(), JSON_SERVER_MESSAGE_BYTES_MAX);
        if bytes > limit {
            return Err(DecodeError::TooLong { bytes, limit }.into());
        }
        if own.is_text() && std::str::from_utf8(message).is_err() {
            return Err(DecodeError::Malformed.into());
        }
        Ok(())
    });
    if written.is_err() {
        out.truncate(start);
    }
    written
}

impl PartialEq for Encoding {
    fn eq(&self, other: &Encoding) -> bool {
        self.subprotocol() == other.subprotocol()
    }
}

impl Eq for Encoding {}

impl fmt::Debug for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Encodings that a server accepts: protobuf, JSON and those that its program registers.
#[derive(Clone, Debug)]
pub struct Encodings {
    all: Vec<Encoding>,
    subprotocols: Vec<&'static str>,
}

/// Reason why an encoding was not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodingNameError {
    /// The name is empty, too long or has a character that is not allowed.
    Invalid(&'static str),
    /// Another encoding has this name.
    Taken(&'static str),
}

impl fmt::Display for EncodingNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodingNameError::Invalid(name) => write!(
                f,
                "`{name}` cannot be the name of an encoding: use 1 to {ENCODING_NAME_BYTES_MAX} letters, digits, `.`, \
                 `-` and `_`"
            ),
            EncodingNameError::Taken(name) => write!(f, "an encoding `{name}` exists; use another name"),
        }
    }
}

impl std::error::Error for EncodingNameError {}

impl Default for Encodings {
    fn default() -> Encodings {
        let all = vec![Encoding::Protobuf, Encoding::Json];
        Encodings { subprotocols: all.iter().map(|encoding| encoding.subprotocol()).collect(), all }
    }
}

impl Encodings {
    /// Adds an encoding.
    ///
    /// # Errors
    /// If its name is invalid or taken.
    pub fn register(&mut self, own: &'static dyn MessageEncoding) -> Result<(), EncodingNameError> {
        let name = own.name();
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        if !(1..=ENCODING_NAME_BYTES_MAX).contains(&name.len()) || !name.bytes().all(is_allowed) {
            return Err(EncodingNameError::Invalid(name));
        }
        if self.all.iter().any(|known| known.name() == name || known.subprotocol() == name) {
            return Err(EncodingNameError::Taken(name));
        }
        self.all.push(Encoding::Own(own));
        self.subprotocols.push(name);
        Ok(())
    }

    /// WebSocket subprotocols of all encodings.
    #[must_use]
    pub fn subprotocols(&self) -> &[&'static str] {
        &self.subprotocols
    }

    /// Names of all encodings.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.all.iter().map(|encoding| encoding.name())
    }

    /// Returns the encoding of a WebSocket subprotocol.
    #[must_use]
    pub fn of_subprotocol(&self, subprotocol: &str) -> Option<Encoding> {
        self.all.iter().copied().find(|encoding| encoding.subprotocol() == subprotocol)
    }

    /// Returns the encoding with a name.
    #[must_use]
    pub fn named(&self, name: &str) -> Option<Encoding> {
        self.all.iter().copied().find(|encoding| encoding.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ClientTime, MovementDelta, Ping, Pong};

    /// Writes the time of pongs, and reads pings and movements of any size.
    struct Times(&'static str);

    impl MessageEncoding for Times {
        fn name(&self) -> &'static str {
            self.0
        }

        fn is_text(&self) -> bool {
            true
        }

        fn decode_client(&self, bytes: &[u8]) -> Result<ClientMessage, DecodeError> {
            match bytes {
                b"move" => Ok(ClientMessage::MovementDelta(MovementDelta { dx: f32::NAN, ..MovementDelta::default() })),
                b"ping" => Ok(ClientMessage::Ping(Ping::default())),
                _ => Err(DecodeError::Malformed),
            }
        }

        fn encode_server(&self, message: &ServerMessage, out: &mut Vec<u8>) -> Result<(), EncodeError> {
            match message {
                ServerMessage::Pong(pong) => out.resize(out.len() + pong.client_time.0 as usize, b'.'),
                ServerMessage::Schema(bytes) => out.extend_from_slice(bytes),
                _ => {
                    out.extend_from_slice(b"half of a message");
                    return Err(EncodeError::Unsupported);
                }
            }
            Ok(())
        }
    }

    static TIMES: Times = Times("times");

    #[test]
    fn messages_of_an_own_encoding_have_the_limits_of_the_protocol() {
        let times = Encoding::Own(&TIMES);
        assert_eq!(times.decode(b"ping"), Ok(ClientMessage::Ping(Ping::default())));
        assert_eq!(times.decode(b"pong"), Err(DecodeError::Malformed));
        assert_eq!(times.decode(b"move"), Err(DecodeError::BadNumber { field: "dx" }));
        let mut out = b"before".to_vec();
        let pong =
            |bytes: usize| ServerMessage::Pong(Pong { client_time: ClientTime(bytes as u64), ..Pong::default() });
        assert_eq!(times.encode(&pong(3), &mut out), Ok(()));
        assert_eq!(out, b"before...");
        let limit = JSON_SERVER_MESSAGE_BYTES_MAX;
        assert_eq!(times.encode(&pong(limit), &mut Vec::new()), Ok(()));
        let too_long = EncodeError::Rejected(DecodeError::TooLong { bytes: limit + 1, limit });
        assert_eq!(times.encode(&pong(limit + 1), &mut out), Err(too_long));
        let no_text = ServerMessage::Schema(vec![0xff]);
        assert_eq!(times.encode(&no_text, &mut out), Err(EncodeError::Rejected(DecodeError::Malformed)));
        let unknown = ServerMessage::Possession(crate::Possession::default());
        assert_eq!(times.encode(&unknown, &mut out), Err(EncodeError::Unsupported));
        assert_eq!(out, b"before...", "nothing of a failed message stays");
    }

    #[test]
    fn names_are_valid_and_unique() {
        static LONG: Times = Times("an-encoding-with-a-name-that-is-too-long");
        static SPACED: Times = Times("two words");
        static EMPTY: Times = Times("");
        static JSON: Times = Times("json");
        static SUBPROTOCOL: Times = Times(SUBPROTOCOL_PROTOBUF);
        let mut encodings = Encodings::default();
        for invalid in [&LONG, &SPACED, &EMPTY] {
            assert_eq!(encodings.register(invalid), Err(EncodingNameError::Invalid(invalid.0)));
        }
        assert_eq!(encodings.register(&TIMES), Ok(()));
        for taken in [&TIMES, &JSON, &SUBPROTOCOL] {
            assert_eq!(encodings.register(taken), Err(EncodingNameError::Taken(taken.0)));
        }
        assert_eq!(encodings.names().collect::<Vec<_>>(), ["protobuf", "json", "times"]);
        assert_eq!(encodings.subprotocols(), [SUBPROTOCOL_PROTOBUF, SUBPROTOCOL_JSON, "times"]);
        assert_eq!(encodings.of_subprotocol("times"), Some(Encoding::Own(&TIMES)));
        assert_eq!(encodings.named("json"), Some(Encoding::Json));
        assert_eq!(encodings.of_subprotocol("json"), None);
    }
}
