//! The code for differences: a group of small signed integers that tend to be of one magnitude.
//!
//! ```text
//! group  = width (prefix code, 0 = all are zero) · residual × n
//! residual = zigzag of the difference, in `width` bits
//! ```

use crate::{BitReader, BitWriter, ReadError};

/// Appends the residuals of a group of fields whose absolute values take `bits` bits each.
#[inline]
pub fn write(residuals: &[i64], bits: u32, writer: &mut BitWriter) {
    let all = residuals
        .iter()
        .fold(0, |all, &residual| all | zigzag(residual));
    let width = 64 - all.leading_zeros();
    debug_assert!(width <= bits + 1);
    writer.write(u64::from(width), width_bits(bits));
    if width > 0 {
        for &residual in residuals {
            writer.write(zigzag(residual), width);
        }
    }
}

/// The reverse of [`write`]: fills `residuals`.
#[inline]
pub fn read(residuals: &mut [i64], bits: u32, reader: &mut BitReader<'_>) -> Result<(), ReadError> {
    let width = reader.read(width_bits(bits))? as u32;
    if width > bits + 1 {
        return Err(ReadError::OutOfRange);
    }
    for residual in residuals {
        *residual = unzigzag(reader.read(width)?);
    }
    Ok(())
}

/// The most bits a group of `count` fields can take.
#[must_use]
pub fn bits_max(count: u32, bits: u32) -> u32 {
    width_bits(bits) + count * (bits + 1)
}

/// How many bits name a width of up to `bits + 1`.
fn width_bits(bits: u32) -> u32 {
    32 - (bits + 1).leading_zeros()
}

fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}
