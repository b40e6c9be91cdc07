//! Writer and reader for the bytes of a recording.

use super::RecordingError;

/// Appends values to a buffer.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

/// Reads values. Reading past the end is an error, and lengths are checked before memory is allocated.
pub struct Reader<'a> {
    rest: &'a [u8],
}

impl Writer {
    pub fn append_to(bytes: Vec<u8>) -> Self {
        Writer { bytes }
    }

    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }

    pub fn raw(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    pub fn fixed(&mut self, value: u64) {
        self.raw(&value.to_le_bytes());
    }

    pub fn float(&mut self, value: f32) {
        self.raw(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.raw(bytes);
    }

    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub fn raw(&mut self, len: usize) -> Result<&'a [u8], RecordingError> {
        let (bytes, rest) = self.rest.split_at_checked(len).ok_or(RecordingError::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    pub fn byte(&mut self) -> Result<u8, RecordingError> {
        Ok(self.raw(1)?[0])
    }

    pub fn number(&mut self) -> Result<u64, RecordingError> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(RecordingError::Damaged)
    }

    pub fn number_up_to(&mut self, max: u64) -> Result<u64, RecordingError> {
        let value = self.number()?;
        if value <= max { Ok(value) } else { Err(RecordingError::Damaged) }
    }

    pub fn small(&mut self) -> Result<u32, RecordingError> {
        Ok(self.number_up_to(u64::from(u32::MAX))? as u32)
    }

    pub fn fixed(&mut self) -> Result<u64, RecordingError> {
        let bytes = self.raw(8)?.try_into().map_err(|_| RecordingError::Damaged)?;
        Ok(u64::from_le_bytes(bytes))
    }

    pub fn float(&mut self) -> Result<f32, RecordingError> {
        let bytes = self.raw(4)?.try_into().map_err(|_| RecordingError::Damaged)?;
        Ok(f32::from_le_bytes(bytes))
    }

    pub fn bytes(&mut self) -> Result<Vec<u8>, RecordingError> {
        let len = usize::try_from(self.number()?).map_err(|_| RecordingError::Damaged)?;
        Ok(self.raw(len)?.to_vec())
    }

    pub fn text(&mut self) -> Result<String, RecordingError> {
        String::from_utf8(self.bytes()?).map_err(|_| RecordingError::Damaged)
    }
}
