//! Angles.

use super::Codec;
use crate::field::ExpectedValue;
use crate::{DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};
use std::f64::consts::TAU;

/// Packs an angle in radians into a number of bits. Values wrap: they run from 0 up to a full turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Angle {
    bits: u32,
}

impl Angle {
    /// Upper bound of the bits: `f32` cannot tell more steps of a turn apart.
    pub const BITS_MAX: u32 = 20;

    /// An angle of 2^`bits` steps.
    ///
    /// # Panics
    /// If `bits` is zero or above [`Angle::BITS_MAX`]. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        assert!(bits >= 1 && bits <= Self::BITS_MAX, "an angle takes 1 to 20 bits");
        Angle { bits }
    }

    /// Returns the nearest step. A value that is not finite counts as zero.
    #[inline]
    #[must_use]
    pub fn quantize(&self, radians: f32) -> u32 {
        let turns = f64::from(radians) * (1.0 / TAU);
        let steps = (turns - turns.floor()) * self.steps() + 0.5;
        steps as u32 & self.mask()
    }

    /// Returns the angle of a step, from 0 up to a full turn.
    #[inline]
    #[must_use]
    pub fn dequantize(&self, step: u32) -> f32 {
        (f64::from(step) * (TAU / self.steps())) as f32
    }

    /// Differences wrap in the field's bits, so crossing zero costs no more than any other turn.
    #[inline]
    fn expected(&self, basis: DeltaBasis<'_, f32>) -> ExpectedValue {
        let quantize = |radians: &f32| u64::from(self.quantize(*radians));
        ExpectedValue::continued(quantize(basis.value), basis.earlier.map(quantize), basis.ages, self.bits)
    }

    fn steps(&self) -> f64 {
        f64::from(1u32 << self.bits)
    }

    fn mask(&self) -> u32 {
        (1 << self.bits) - 1
    }
}

impl Codec<f32> for Angle {
    fn initial(&self) -> f32 {
        0.0
    }

    #[inline]
    fn snap(&self, value: &mut f32) {
        *value = self.dequantize(self.quantize(*value));
    }

    #[inline(always)]
    fn write(&self, basis: DeltaBasis<'_, f32>, value: &f32, fields: &mut FieldWriter<'_>) {
        if value == basis.value && basis.earlier.is_none_or(|earlier| value == earlier) {
            fields.write_still(basis.earlier.is_some(), basis.ages, self.bits);
            return;
        }
        fields.write(u64::from(self.quantize(*value)), self.expected(basis), self.bits);
    }

    #[inline]
    fn read(&self, basis: DeltaBasis<'_, f32>, fields: &mut FieldReader<'_, '_>) -> Result<f32, ReadError> {
        let step = fields.read(self.expected(basis), self.bits)?;
        Ok(self.dequantize(step as u32))
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Angle { bits: self.bits as u8 }
    }
}
