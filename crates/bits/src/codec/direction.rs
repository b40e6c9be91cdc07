//! Unit vectors and rotations: the largest component is left out and computed from the others.
//!
//! While the largest component stays the same, the others are packed as ordinary fields. When another one becomes the
//! largest, its index is written, and the others are expected to equal those of the baseline without that component.
//! This is integer arithmetic, so both sides get the same result. If the baseline is near the border to another largest
//! component, a flag says that the largest one changed. Elsewhere a change is rare, and a first residual that no value
//! can have marks it.
//!
//! ```text
//! near a border:  changed 1 · (largest 2 · sign 1) if changed · components
//! elsewhere:      components,   or   2^bits as the first residual · largest 2 · sign 1 · components
//! ```
//!
//! Only unit vectors have the sign: a quaternion and its negative are the same rotation.

use super::Codec;
use crate::field::{ExpectedValue, restored};
use crate::{BasisAges, DeltaBasis, FieldKind, FieldReader, FieldWriter, ReadError};
use std::f32::consts::FRAC_1_SQRT_2;

/// Packs a quaternion `[x, y, z, w]` as its smallest three components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    bits: u32,
}

/// Packs a unit vector `[x, y, z]` as its smallest two components and the sign of the third.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnitVector {
    bits: u32,
}

/// Upper bound of the bits of a component: above it, `f32` cannot recompute the largest one exactly.
pub const COMPONENT_BITS_MAX: u32 = 16;

const fn check_bits(bits: u32) {
    assert!(bits >= 2 && bits <= COMPONENT_BITS_MAX, "a component takes 2 to 16 bits");
}

impl Rotation {
    /// A rotation whose three components take `bits` bits each.
    ///
    /// # Panics
    /// If `bits` is below 2 or above 16. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        check_bits(bits);
        Rotation { bits }
    }

    /// Returns the packed form: the index of the largest component, and the steps of the others.
    #[must_use]
    pub fn quantize(&self, value: [f32; 4]) -> (u32, [u32; 3]) {
        let packed = quantize::<4, 3>(value, self.bits, Sign::Ignored);
        (packed.largest, packed.rest)
    }

    /// Returns the quaternion of a packed form. Its largest component is positive.
    #[must_use]
    pub fn dequantize(&self, largest: u32, rest: [u32; 3]) -> [f32; 4] {
        dequantize::<4, 3>(&Packed { largest, negative: false, rest }, self.bits)
    }
}

impl UnitVector {
    /// A unit vector whose two components take `bits` bits each.
    ///
    /// # Panics
    /// If `bits` is below 2 or above 16. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        check_bits(bits);
        UnitVector { bits }
    }
}

impl Codec<[f32; 4]> for Rotation {
    fn initial(&self) -> [f32; 4] {
        let mut value = [0.0, 0.0, 0.0, 1.0];
        self.snap(&mut value);
        value
    }

    fn snap(&self, value: &mut [f32; 4]) {
        *value = dequantize::<4, 3>(&quantize::<4, 3>(*value, self.bits, Sign::Ignored), self.bits);
    }

    fn write(&self, basis: DeltaBasis<'_, [f32; 4]>, value: &[f32; 4], fields: &mut FieldWriter<'_>) {
        let quantize = |value: &[f32; 4]| quantize::<4, 3>(*value, self.bits, Sign::Ignored);
        let format = DirectionFormat { bits: self.bits, sign: Sign::Ignored, ages: basis.ages };
        format.write::<4, 3>(quantize(basis.value), basis.earlier.map(quantize), quantize(value), fields);
    }

    fn read(&self, basis: DeltaBasis<'_, [f32; 4]>, fields: &mut FieldReader<'_, '_>) -> Result<[f32; 4], ReadError> {
        let quantize = |value: &[f32; 4]| quantize::<4, 3>(*value, self.bits, Sign::Ignored);
        let format = DirectionFormat { bits: self.bits, sign: Sign::Ignored, ages: basis.ages };
        let packed = format.read::<4, 3>(quantize(basis.value), basis.earlier.map(quantize), fields)?;
        Ok(dequantize(&packed, self.bits))
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Rotation { bits: self.bits as u8 }
    }
}

impl Codec<[f32; 3]> for UnitVector {
    fn initial(&self) -> [f32; 3] {
        let mut value = [1.0, 0.0, 0.0];
        self.snap(&mut value);
        value
    }

    fn snap(&self, value: &mut [f32; 3]) {
        *value = dequantize::<3, 2>(&quantize::<3, 2>(*value, self.bits, Sign::Significant), self.bits);
    }

    fn write(&self, basis: DeltaBasis<'_, [f32; 3]>, value: &[f32; 3], fields: &mut FieldWriter<'_>) {
        let quantize = |value: &[f32; 3]| quantize::<3, 2>(*value, self.bits, Sign::Significant);
        let format = DirectionFormat { bits: self.bits, sign: Sign::Significant, ages: basis.ages };
        format.write::<3, 2>(quantize(basis.value), basis.earlier.map(quantize), quantize(value), fields);
    }

    fn read(&self, basis: DeltaBasis<'_, [f32; 3]>, fields: &mut FieldReader<'_, '_>) -> Result<[f32; 3], ReadError> {
        let quantize = |value: &[f32; 3]| quantize::<3, 2>(*value, self.bits, Sign::Significant);
        let format = DirectionFormat { bits: self.bits, sign: Sign::Significant, ages: basis.ages };
        let packed = format.read::<3, 2>(quantize(basis.value), basis.earlier.map(quantize), fields)?;
        Ok(dequantize(&packed, self.bits))
    }

    fn kind(&self) -> FieldKind {
        FieldKind::UnitVector { bits: self.bits as u8 }
    }
}

/// Meaning of the common sign: a quaternion and its negative are the same rotation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Ignored,
    Significant,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed<const REST: usize> {
    largest: u32,
    negative: bool,
    rest: [u32; REST],
}

fn quantize<const N: usize, const REST: usize>(mut value: [f32; N], bits: u32, sign: Sign) -> Packed<REST> {
    let length = value.iter().map(|c| c * c).sum::<f32>().sqrt();
    if length.is_finite() && length > f32::MIN_POSITIVE {
        value = value.map(|c| c / length);
    } else {
        value = [0.0; N];
        value[N - 1] = 1.0;
    }
    let largest = largest_of(&value);
    let negative = value[largest] < 0.0;
    if negative && sign == Sign::Ignored {
        value = value.map(|c| -c);
    }
    let scale = (steps(bits) as f32) / 2.0 / FRAC_1_SQRT_2;
    let mut rest = [0; REST];
    for (rest, (_, &component)) in rest.iter_mut().zip(value.iter().enumerate().filter(|&(i, _)| i != largest)) {
        *rest = (((component + FRAC_1_SQRT_2) * scale + 0.5) as u32).min(steps(bits));
    }
    let packed = Packed { largest: largest as u32, negative: negative && sign == Sign::Significant, rest };
    settle::<N, REST>(packed, bits)
}

/// Makes a packed form stable. Rounding may make another component the largest, and packing the result again would then
/// give another form. Such a component is moved towards zero until packing again gives the same form.
fn settle<const N: usize, const REST: usize>(mut packed: Packed<REST>, bits: u32) -> Packed<REST> {
    let middle = steps(bits) / 2;
    loop {
        let value = dequantize::<N, REST>(&packed, bits);
        let largest = largest_of(&value);
        if largest as u32 == packed.largest {
            return packed;
        }
        let index = if (largest as u32) < packed.largest { largest } else { largest - 1 };
        packed.rest[index] = if packed.rest[index] > middle { packed.rest[index] - 1 } else { packed.rest[index] + 1 };
    }
}

fn dequantize<const N: usize, const REST: usize>(packed: &Packed<REST>, bits: u32) -> [f32; N] {
    let scale = 2.0 * FRAC_1_SQRT_2 / steps(bits) as f32;
    let mut value = [0.0; N];
    let mut sum = 0.0;
    let indexes = (0..N).filter(|&i| i != packed.largest as usize);
    for (index, &rest) in indexes.zip(&packed.rest) {
        value[index] = rest as f32 * scale - FRAC_1_SQRT_2;
        sum += value[index] * value[index];
    }
    let largest = (1.0 - sum).max(0.0).sqrt();
    value[packed.largest as usize] = if packed.negative { -largest } else { largest };
    value
}

/// Parameters of packing a direction.
#[derive(Clone, Copy)]
struct DirectionFormat {
    bits: u32,
    sign: Sign,
    ages: BasisAges,
}

impl DirectionFormat {
    fn write<const N: usize, const REST: usize>(
        self,
        base: Packed<REST>,
        earlier: Option<Packed<REST>>,
        value: Packed<REST>,
        fields: &mut FieldWriter<'_>,
    ) {
        let changed = !value.has_same_largest(&base);
        let mut expected = self.continued(&base, earlier);
        if self.is_near_border(&base) {
            fields.bits(u64::from(changed), 1);
        } else if changed {
            fields.write_residual(1 << self.bits, expected[0], self.bits);
        }
        if changed {
            fields.bits(u64::from(value.largest), 2);
            if self.sign == Sign::Significant {
                fields.bits(u64::from(value.negative), 1);
            }
            expected = self.without::<N, REST>(&base, value.largest);
        }
        for (&rest, expected) in value.rest.iter().zip(expected) {
            fields.write(u64::from(rest), expected, self.bits);
        }
    }

    fn read<const N: usize, const REST: usize>(
        self,
        base: Packed<REST>,
        earlier: Option<Packed<REST>>,
        fields: &mut FieldReader<'_, '_>,
    ) -> Result<Packed<REST>, ReadError> {
        let mut packed = base;
        let mut expected = self.continued(&base, earlier);
        let mut known = 0;
        let changed = if self.is_near_border(&base) {
            fields.bits(1)? == 1
        } else {
            let first = fields.read_residual(expected[0], self.bits)?;
            if first < 1 << self.bits {
                packed.rest[0] = restored(first, expected[0], self.bits) as u32;
                known = 1;
            }
            known == 0
        };
        if changed {
            packed.largest = fields.bits(2)? as u32;
            packed.negative = self.sign == Sign::Significant && fields.bits(1)? == 1;
            if packed.largest as usize >= N {
                return Err(ReadError::OutOfRange);
            }
            expected = self.without::<N, REST>(&base, packed.largest);
        }
        for (rest, expected) in packed.rest.iter_mut().zip(expected).skip(known) {
            *rest = fields.read(expected, self.bits)? as u32;
        }
        let in_range = packed.rest.iter().all(|&rest| rest <= steps(self.bits));
        // A form that no value packs to is rejected, so a value that was read is always on the grid.
        let settled = in_range && largest_of(&dequantize::<N, REST>(&packed, self.bits)) == packed.largest as usize;
        if settled { Ok(packed) } else { Err(ReadError::OutOfRange) }
    }

    /// The expected components. Only states that leave out the same component can be compared.
    fn continued<const REST: usize>(self, base: &Packed<REST>, earlier: Option<Packed<REST>>) -> [ExpectedValue; REST] {
        let earlier = earlier.filter(|earlier| earlier.has_same_largest(base));
        std::array::from_fn(|index| {
            let earlier = earlier.map(|earlier| u64::from(earlier.rest[index]));
            ExpectedValue::continued(u64::from(base.rest[index]), earlier, self.ages, self.bits)
        })
    }

    /// True if another component is nearly as large as the largest.
    fn is_near_border<const REST: usize>(self, packed: &Packed<REST>) -> bool {
        let all = steps(self.bits) as i32;
        packed.rest.iter().any(|&rest| (2 * rest as i32 - all).abs() > all * BORDER_SIXTEENTHS / 16)
    }

    /// The expected components when another one is left out.
    fn without<const N: usize, const REST: usize>(self, packed: &Packed<REST>, largest: u32) -> [ExpectedValue; REST] {
        // Doubled and centred, a component runs from -all to all, and `all` stands for 1/sqrt(2). The squared radius of
        // the sphere is twice the square of `all`, so the missing component is an integer square root.
        let all = i64::from(steps(self.bits));
        let mut rest = packed.rest.iter().map(|&rest| 2 * i64::from(rest) - all);
        let mut square = 2 * all * all;
        let mut components = [0; N];
        for (index, component) in components.iter_mut().enumerate() {
            if index != packed.largest as usize {
                *component = rest.next().unwrap_or(0);
                square -= *component * *component;
            }
        }
        let root = square.max(0).isqrt();
        components[packed.largest as usize] = if packed.negative { -root } else { root };
        let flip = self.sign == Sign::Ignored && components[largest as usize] < 0;
        let mut others = components.iter().enumerate().filter(|&(index, _)| index != largest as usize);
        std::array::from_fn(|_| {
            let component = others.next().map_or(0, |(_, &component)| if flip { -component } else { component });
            ExpectedValue::unchanged(((component + all + 1) >> 1).clamp(0, all) as u64)
        })
    }
}

/// A component above this share of its range is near the border.
const BORDER_SIXTEENTHS: i32 = 10;

impl<const REST: usize> Packed<REST> {
    /// True if both leave out the same component with the same sign.
    fn has_same_largest(&self, other: &Self) -> bool {
        self.largest == other.largest && self.negative == other.negative
    }
}

/// Number of steps of a component. It is even, so that zero is one of them.
fn steps(bits: u32) -> u32 {
    (1 << bits) - 2
}

fn largest_of(value: &[f32]) -> usize {
    let mut largest = 0;
    for (index, component) in value.iter().enumerate() {
        if component.abs() > value[largest].abs() {
            largest = index;
        }
    }
    largest
}
