//! Where a list goes on: opaque to clients, and refused when it was altered beyond recognition.

use crate::error::{GrpcCode, ServiceError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Bytes of a cursor from a client. Ours are shorter.
const CURSOR_BYTES_MAX: usize = 2_048;

/// Writes a place in a list as text.
#[must_use]
pub fn encode(place: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(place).expect("places are plain values"))
}

/// Reads a place; an empty text is the beginning.
pub fn decode<T: DeserializeOwned>(cursor: &str) -> Result<Option<T>, ServiceError> {
    const INVALID: ServiceError = ServiceError::new(GrpcCode::InvalidArgument, "Cursor is invalid or expired.");
    if cursor.is_empty() {
        return Ok(None);
    }
    if cursor.len() > CURSOR_BYTES_MAX {
        return Err(INVALID);
    }
    let bytes = URL_SAFE_NO_PAD.decode(cursor).map_err(|_| INVALID)?;
    serde_json::from_slice(&bytes).map(Some).map_err(|_| INVALID)
}
