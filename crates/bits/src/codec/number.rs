//! Real numbers in a range, with a precision.

use super::{Codec, bits_for};
use crate::field::ExpectedValue;
use crate::{BasisAges, DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};

/// 1.5 times 2^52. Adding it to an `f64` rounds to a whole number.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Upper bound of the components of a vector field.
pub const VECTOR_LEN_MAX: usize = 4;

/// A vector, and optionally its velocity, as the receiver knows them.
#[derive(Clone, Copy, Debug)]
pub struct VectorBasis<'a> {
    /// The vector at the baseline.
    pub value: &'a [f32],
    /// The vector shortly before the baseline.
    pub earlier: Option<&'a [f32]>,
    /// The velocity at the baseline and now.
    pub velocity: Option<(&'a [f32], &'a [f32])>,
    /// The times between these states.
    pub ages: BasisAges,
}

/// Fields that a [`Number`] packs: one number, or a few of similar magnitude.
pub trait NumberField: Copy {
    /// All zero.
    const ZERO: Self;
    /// The numbers.
    fn as_slice(&self) -> &[f32];
    /// The numbers, mutable.
    fn as_mut_slice(&mut self) -> &mut [f32];
}

impl NumberField for f32 {
    const ZERO: Self = 0.0;

    fn as_slice(&self) -> &[f32] {
        std::slice::from_ref(self)
    }

    fn as_mut_slice(&mut self) -> &mut [f32] {
        std::slice::from_mut(self)
    }
}

impl<const N: usize> NumberField for [f32; N] {
    const ZERO: Self = [0.0; N];

    fn as_slice(&self) -> &[f32] {
        const { assert!(N >= 1 && N <= VECTOR_LEN_MAX, "a vector field has 1 to 4 components") };
        self
    }

    fn as_mut_slice(&mut self) -> &mut [f32] {
        self
    }
}

/// Packs `f32`, and `[f32; N]` whose components are of similar magnitude, over `min..=max` in steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Number {
    min: f64,
    step: f64,
    steps_per_unit: f64,
    steps_max: u32,
}

impl Number {
    /// A range of numbers.
    ///
    /// # Panics
    /// If the range is empty or not finite, takes more than 32 bits, or needs more precision than `f32` has. In a
    /// constant, this is a compile error.
    #[must_use]
    pub const fn new(min: f64, max: f64, step: f64) -> Self {
        assert!(
            Self::is_valid(min, max, step),
            "a number needs min < max, a step > 0, at most 2^32 steps, and a step that f32 can tell apart at both ends"
        );
        Number { min, step, steps_per_unit: 1.0 / step, steps_max: ((max - min) / step + 0.5) as u32 }
    }

    /// True if [`Number::new`] accepts this range.
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

    /// Number of bits of an absolute value.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        bits_for(self.steps_max as u64)
    }

    /// Returns the number of steps from the minimum to `value`. NaN counts as the minimum.
    #[inline]
    #[must_use]
    pub fn quantize(&self, value: f32) -> u32 {
        self.quantize_wide(f64::from(value))
    }

    #[inline]
    fn quantize_wide(&self, value: f64) -> u32 {
        let steps = (value - self.min) * self.steps_per_unit;
        // Comparisons instead of `max` and `min`: the compiler makes one instruction of each. NaN becomes zero.
        let steps = if steps > 0.0 { steps } else { 0.0 };
        let last = f64::from(self.steps_max);
        let steps = if steps < last { steps } else { last };
        // The sum has no bits left for a fraction: the addition rounds, and the lowest bits are the whole number.
        (steps + ROUNDER).to_bits() as u32
    }

    /// Returns the value that is `steps` above the minimum.
    #[inline]
    #[must_use]
    pub fn dequantize(&self, steps: u32) -> f32 {
        (self.min + f64::from(steps) * self.step) as f32
    }

    fn max(&self) -> f64 {
        self.min + f64::from(self.steps_max) * self.step
    }

    /// Appends the components of a vector.
    pub fn write_vector(&self, basis: &VectorBasis<'_>, value: &[f32], fields: &mut FieldWriter<'_>) {
        for axis in 0..value.len() {
            self.write_component(basis, value, axis, fields);
        }
    }

    /// Appends the components of a vector whose length the compiler knows: without a loop, more of each component is
    /// known as well.
    #[inline(always)]
    fn write_unrolled(&self, basis: &VectorBasis<'_>, value: &[f32], fields: &mut FieldWriter<'_>) {
        const { assert!(VECTOR_LEN_MAX == 4, "all components are written") };
        self.write_component(basis, value, 0, fields);
        if value.len() > 1 {
            self.write_component(basis, value, 1, fields);
        }
        if value.len() > 2 {
            self.write_component(basis, value, 2, fields);
        }
        if value.len() > 3 {
            self.write_component(basis, value, 3, fields);
        }
    }

    #[inline(always)]
    fn write_component(&self, basis: &VectorBasis<'_>, value: &[f32], axis: usize, fields: &mut FieldWriter<'_>) {
        let component = value[axis];
        let is_still = component == basis.value[axis] && basis.earlier.is_none_or(|earlier| component == earlier[axis]);
        if is_still && basis.velocity.is_none() {
            fields.write_still(basis.earlier.is_some(), basis.ages, self.bits());
            return;
        }
        let expected = self.expected(basis, axis, basis.velocity.map(|(_, now)| now[axis]));
        fields.write(u64::from(self.quantize(component)), expected, self.bits());
    }

    /// Reads the components of a vector.
    #[inline]
    pub fn read_vector(
        &self,
        basis: &VectorBasis<'_>,
        value: &mut [f32],
        fields: &mut FieldReader<'_, '_>,
    ) -> Result<(), ReadError> {
        for (axis, component) in value.iter_mut().enumerate() {
            let expected = self.expected(basis, axis, basis.velocity.map(|(_, now)| now[axis]));
            let steps = fields.read(expected, self.bits())? as u32;
            if steps > self.steps_max {
                return Err(ReadError::OutOfRange);
            }
            *component = self.dequantize(steps);
        }
        Ok(())
    }

    #[inline(always)]
    fn expected(&self, basis: &VectorBasis<'_>, axis: usize, velocity_now: Option<f32>) -> ExpectedValue {
        let base = basis.value[axis];
        match (basis.velocity, velocity_now) {
            (Some((then, _)), Some(now)) => {
                // A game usually updates the velocity first, then the position. If the velocity changes evenly over n
                // ticks, the position moves by (n + 1) / 2 times the new velocity plus (n - 1) / 2 times the old one.
                // Over one tick that is the new velocity.
                let ticks = f64::from(basis.ages.elapsed);
                let twice = (ticks + 1.0) * f64::from(now) + (ticks - 1.0) * f64::from(then[axis]);
                let moved = twice * 0.5 * f64::from(basis.ages.seconds_per_tick);
                ExpectedValue::sharp(u64::from(self.quantize_wide(f64::from(base) + moved)))
            }
            _ => {
                let earlier = basis.earlier.map(|earlier| u64::from(self.quantize(earlier[axis])));
                ExpectedValue::continued(u64::from(self.quantize(base)), earlier, basis.ages, self.bits())
            }
        }
    }

    /// Appends a field that moves by another one. `velocity` is that field at the baseline and now.
    #[inline]
    pub fn write_moving<T: NumberField>(
        &self,
        basis: DeltaBasis<'_, T>,
        velocity: (&T, &T),
        value: &T,
        fields: &mut FieldWriter<'_>,
    ) {
        self.write_unrolled(&VectorBasis::new(&basis, Some(velocity)), value.as_slice(), fields);
    }

    /// Reads a field that moves by another one. `velocity` is that field at the baseline and now.
    #[inline]
    pub fn read_moving<T: NumberField>(
        &self,
        basis: DeltaBasis<'_, T>,
        velocity: (&T, &T),
        fields: &mut FieldReader<'_, '_>,
    ) -> Result<T, ReadError> {
        let mut value = *basis.value;
        self.read_vector(&VectorBasis::new(&basis, Some(velocity)), value.as_mut_slice(), fields)?;
        Ok(value)
    }
}

impl<'a> VectorBasis<'a> {
    fn new<T: NumberField>(basis: &DeltaBasis<'a, T>, velocity: Option<(&'a T, &'a T)>) -> Self {
        VectorBasis {
            value: basis.value.as_slice(),
            earlier: basis.earlier.map(T::as_slice),
            velocity: velocity.map(|(then, now)| (then.as_slice(), now.as_slice())),
            ages: basis.ages,
        }
    }
}

impl<T: NumberField> Codec<T> for Number {
    fn initial(&self) -> T {
        let mut value = T::ZERO;
        self.snap(&mut value);
        value
    }

    #[inline]
    fn snap(&self, value: &mut T) {
        for component in value.as_mut_slice() {
            *component = self.dequantize(self.quantize(*component));
        }
    }

    #[inline]
    fn write(&self, basis: DeltaBasis<'_, T>, value: &T, fields: &mut FieldWriter<'_>) {
        self.write_unrolled(&VectorBasis::new(&basis, None), value.as_slice(), fields);
    }

    #[inline]
    fn read(&self, basis: DeltaBasis<'_, T>, fields: &mut FieldReader<'_, '_>) -> Result<T, ReadError> {
        let mut value = *basis.value;
        self.read_vector(&VectorBasis::new(&basis, None), value.as_mut_slice(), fields)?;
        Ok(value)
    }

    fn kind(&self) -> FieldKind {
        let len = T::ZERO.as_slice().len() as u8;
        FieldKind::Number { len, min: self.min, max: self.max(), step: self.step }
    }
}
