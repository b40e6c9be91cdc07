//! Real numbers over a range, at a precision.

use super::{Codec, bits_for};
use crate::{BitReader, BitWriter, Kind, ReadError, residual};

/// The most components a vector field can have.
pub const VECTOR_LEN_MAX: usize = 4;

/// Packs `f32`, and `[f32; N]` whose components are of like magnitude, over `min..=max` in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    min: f64,
    step: f64,
    steps_per_unit: f64,
    steps_max: u32,
}

impl Number {
    /// A range of numbers. In a constant, a range that cannot work does not compile.
    ///
    /// # Panics
    /// When the range is empty or not finite, takes more than 32 bits, or asks for more than `f32` can hold.
    #[must_use]
    pub const fn new(min: f64, max: f64, step: f64) -> Self {
        assert!(
            Self::is_valid(min, max, step),
            "a number needs min < max, a step > 0, at most 2^32 steps, and a step that f32 can tell apart at both ends"
        );
        Number {
            min,
            step,
            steps_per_unit: 1.0 / step,
            steps_max: ((max - min) / step + 0.5) as u32,
        }
    }

    /// Whether [`Number::new`] would accept this range.
    #[must_use]
    pub const fn is_valid(min: f64, max: f64, step: f64) -> bool {
        let largest = if max > -min { max } else { -min };
        min < max
            && step > 0.0
            && min.is_finite()
            && max.is_finite()
            && (max - min) / step < 4_294_967_295.0
            && (max - min) / step >= 0.5
            && step > largest / 8_388_608.0
    }

    /// How many bits an absolute value takes.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        bits_for(self.steps_max as u64)
    }

    /// The number of steps from the minimum to `value`; what is not a number counts as the minimum.
    #[inline]
    #[must_use]
    pub fn quantize(&self, value: f32) -> u32 {
        let steps = (f64::from(value) - self.min) * self.steps_per_unit + 0.5;
        (steps as u32).min(self.steps_max)
    }

    /// The value that lies `steps` above the minimum.
    #[inline]
    #[must_use]
    pub fn dequantize(&self, steps: u32) -> f32 {
        (self.min + f64::from(steps) * self.step) as f32
    }

    fn max(&self) -> f64 {
        self.min + f64::from(self.steps_max) * self.step
    }

    fn kind_of(&self, len: u8) -> Kind {
        Kind::Number {
            len,
            min: self.min,
            max: self.max(),
            step: self.step,
        }
    }

    /// [`Codec::write`] over the components of a vector.
    #[inline]
    pub fn write_slice(&self, base: &[f32], value: &[f32], writer: &mut BitWriter) {
        let mut residuals = [0; VECTOR_LEN_MAX];
        let residuals = &mut residuals[..value.len()];
        for (residual, (&base, &value)) in residuals.iter_mut().zip(base.iter().zip(value)) {
            *residual = i64::from(self.quantize(value)) - i64::from(self.quantize(base));
        }
        residual::write(residuals, self.bits(), writer);
    }

    /// [`Codec::read`] over the components of a vector: `value` holds the base and then the result.
    #[inline]
    pub fn read_slice(
        &self,
        value: &mut [f32],
        reader: &mut BitReader<'_>,
    ) -> Result<(), ReadError> {
        let mut residuals = [0; VECTOR_LEN_MAX];
        let residuals = &mut residuals[..value.len()];
        residual::read(residuals, self.bits(), reader)?;
        for (value, &residual) in value.iter_mut().zip(residuals.iter()) {
            let steps = i64::from(self.quantize(*value)) + residual;
            let steps = u32::try_from(steps).map_err(|_| ReadError::OutOfRange)?;
            if steps > self.steps_max {
                return Err(ReadError::OutOfRange);
            }
            *value = self.dequantize(steps);
        }
        Ok(())
    }

    fn nearest_to_zero(&self) -> f32 {
        self.dequantize(self.quantize(0.0))
    }
}

impl Codec<f32> for Number {
    fn initial(&self) -> f32 {
        self.nearest_to_zero()
    }

    #[inline]
    fn snap(&self, value: &mut f32) {
        *value = self.dequantize(self.quantize(*value));
    }

    #[inline]
    fn write(&self, base: &f32, value: &f32, writer: &mut BitWriter) {
        self.write_slice(&[*base], &[*value], writer);
    }

    #[inline]
    fn read(&self, base: &f32, reader: &mut BitReader<'_>) -> Result<f32, ReadError> {
        let mut value = [*base];
        self.read_slice(&mut value, reader)?;
        Ok(value[0])
    }

    fn kind(&self) -> Kind {
        self.kind_of(1)
    }
}

impl<const N: usize> Codec<[f32; N]> for Number {
    fn initial(&self) -> [f32; N] {
        const {
            assert!(
                N >= 1 && N <= VECTOR_LEN_MAX,
                "a vector field has 1 to 4 components"
            )
        };
        [self.nearest_to_zero(); N]
    }

    #[inline]
    fn snap(&self, value: &mut [f32; N]) {
        for component in value {
            *component = self.dequantize(self.quantize(*component));
        }
    }

    #[inline]
    fn write(&self, base: &[f32; N], value: &[f32; N], writer: &mut BitWriter) {
        self.write_slice(base, value, writer);
    }

    #[inline]
    fn read(&self, base: &[f32; N], reader: &mut BitReader<'_>) -> Result<[f32; N], ReadError> {
        let mut value = *base;
        self.read_slice(&mut value, reader)?;
        Ok(value)
    }

    fn kind(&self) -> Kind {
        self.kind_of(N as u8)
    }
}
