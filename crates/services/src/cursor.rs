//! Page cursors: opaque to clients, and rejected if they cannot be decoded.

use crate::error::{GrpcCode, ServiceError};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Maximum bytes of a cursor from a client. Cursors of this server are shorter.
const CURSOR_BYTES_MAX: usize = 2_048;

/// Encodes a position in a list as text.
#[must_use]
pub fn encode(position: &impl Serialize) -> String {
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(position).expect("positions are plain values"))
}

/// Decodes a position. Empty text means the beginning, and gives `None`.
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
