//! Envelope of JSON messages.

use std::borrow::Cow;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::PROTOCOL_VERSION;
use crate::error::DecodeError;
use crate::ids::{ClientTime, CommandSeq};

const US_PER_MS: f64 = 1_000.0;

/// Envelope of a message. The payload has any type when written, and is text when read.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Envelope<'a, Payload = &'a RawValue> {
    v: u32,
    #[serde(borrow, default)]
    pub kind: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u32>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub feature: Option<Cow<'a, str>>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub action: Option<Cow<'a, str>>,
    /// Milliseconds, with a fraction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_time: Option<f64>,
    #[serde(default = "none", skip_serializing_if = "Option::is_none")]
    payload: Option<Payload>,
}

fn none<Payload>() -> Option<Payload> {
    None
}

impl<'a> Envelope<'a> {
    /// Parses an envelope whose bounds were checked.
    pub fn parse(bytes: &'a [u8]) -> Result<Envelope<'a>, DecodeError> {
        let envelope: Envelope<'a> = serde_json::from_slice(bytes).map_err(|_| DecodeError::Malformed)?;
        if envelope.v != PROTOCOL_VERSION {
            return Err(DecodeError::Version { found: envelope.v });
        }
        Ok(envelope)
    }

    /// Parses the payload as the type of the message. A missing payload counts as an empty one.
    pub fn payload<Content: DeserializeOwned>(&self) -> Result<Content, DecodeError> {
        let text = self.payload.map_or("{}", RawValue::get);
        serde_json::from_str(text).map_err(|_| DecodeError::Malformed)
    }

    /// Number of the command, or zero if the client requests no answer.
    pub fn command_seq(&self) -> CommandSeq {
        CommandSeq(self.seq.unwrap_or_default())
    }

    /// Time of the client, which is required.
    pub fn client_time(&self) -> Result<ClientTime, DecodeError> {
        let ms = self.client_time.ok_or(DecodeError::Missing { field: "clientTime" })?;
        if ms < 0.0 {
            return Err(DecodeError::BadNumber { field: "clientTime" });
        }
        // A number that is too large saturates, and its limit rejects it later.
        Ok(ClientTime((ms * US_PER_MS).round() as u64))
    }
}

impl<'a> Envelope<'a, ()> {
    /// An envelope of this kind.
    pub fn of(kind: &'a str) -> Envelope<'a, ()> {
        Envelope {
            v: PROTOCOL_VERSION,
            kind: Cow::Borrowed(kind),
            seq: None,
            feature: None,
            action: None,
            client_time: None,
            payload: None,
        }
    }

    /// An envelope of a command.
    pub fn command(feature: &'a str, action: &'a str) -> Envelope<'a, ()> {
        Envelope::of("command").named(feature, action)
    }

    pub fn named(mut self, feature: &'a str, action: &'a str) -> Envelope<'a, ()> {
        self.feature = Some(Cow::Borrowed(feature));
        self.action = Some(Cow::Borrowed(action));
        self
    }

    pub fn seq(mut self, seq: u32) -> Envelope<'a, ()> {
        self.seq = Some(seq);
        self
    }

    pub fn time(mut self, time: ClientTime) -> Envelope<'a, ()> {
        self.client_time = Some(time.0 as f64 / US_PER_MS);
        self
    }

    /// Writes the envelope without a payload.
    pub fn write(self, out: &mut Vec<u8>) {
        write(&self, out);
    }

    /// Writes the envelope with a payload.
    pub fn write_with(self, payload: impl Serialize, out: &mut Vec<u8>) {
        let envelope = Envelope {
            v: self.v,
            kind: self.kind,
            seq: self.seq,
            feature: self.feature,
            action: self.action,
            client_time: self.client_time,
            payload: Some(payload),
        };
        write(&envelope, out);
    }
}

fn write(envelope: &impl Serialize, out: &mut Vec<u8>) {
    serde_json::to_writer(out, envelope).expect("payloads have text keys, and writing to a vector cannot fail");
}
