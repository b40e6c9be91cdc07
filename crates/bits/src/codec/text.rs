//! Bounded text.

use super::{Codec, bits_for};
use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};

/// Packs a string of bounded length. A change sends the whole string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    bytes_max: u32,
}

impl Text {
    /// Upper bound of a text in a component: a full state must fit one packet.
    pub const BYTES_MAX: u32 = 255;

    /// A text of at most `bytes_max` bytes.
    ///
    /// # Panics
    /// If `bytes_max` is zero or above [`Text::BYTES_MAX`]. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(bytes_max: u32) -> Self {
        assert!(bytes_max >= 1 && bytes_max <= Self::BYTES_MAX, "a text holds 1 to 255 bytes");
        Text { bytes_max }
    }
}

impl Codec<String> for Text {
    fn initial(&self) -> String {
        String::new()
    }

    fn snap(&self, value: &mut String) {
        value.truncate(value.floor_char_boundary(self.bytes_max as usize));
    }

    fn write(&self, basis: DeltaBasis<'_, String>, value: &String, fields: &mut FieldWriter<'_>) {
        let value = &value[..value.floor_char_boundary(self.bytes_max as usize)];
        let changed = basis.value != value;
        fields.bits(u64::from(changed), 1);
        if changed {
            fields.bits(value.len() as u64, bits_for(u64::from(self.bytes_max)));
            for byte in value.bytes() {
                fields.bits(u64::from(byte), 8);
            }
        }
    }

    fn read(&self, basis: DeltaBasis<'_, String>, fields: &mut FieldReader<'_, '_>) -> Result<String, ReadError> {
        if fields.bits(1)? == 0 {
            return Ok(basis.value.clone());
        }
        let len = fields.bits(bits_for(u64::from(self.bytes_max)))?;
        if len > u64::from(self.bytes_max) {
            return Err(ReadError::TooLong);
        }
        let bytes = (0..len).map(|_| fields.bits(8).map(|byte| byte as u8)).collect::<Result<Vec<_>, _>>()?;
        String::from_utf8(bytes).map_err(|_| ReadError::BadText)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Text { bytes_max: self.bytes_max as u8 }
    }
}
