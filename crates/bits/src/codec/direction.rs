//! Unit vectors and rotations: the largest component is left out and found again from the others.

use super::Codec;
use crate::{BitReader, BitWriter, Kind, ReadError, residual};
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

/// The most bits a component can have: above this `f32` no longer finds the largest one again exactly.
pub const COMPONENT_BITS_MAX: u32 = 16;

const fn check_bits(bits: u32) {
    assert!(
        bits >= 2 && bits <= COMPONENT_BITS_MAX,
        "a component takes 2 to 16 bits"
    );
}

impl Rotation {
    /// A rotation whose three components take `bits` bits each.
    ///
    /// # Panics
    /// When `bits` is below 2 or above [`COMPONENT_BITS_MAX`]; in a constant that does not compile.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        check_bits(bits);
        Rotation { bits }
    }

    /// The packed form: the place of the largest component, and the steps of the others.
    #[must_use]
    pub fn quantize(&self, value: [f32; 4]) -> (u32, [u32; 3]) {
        let packed = quantize::<4, 3>(value, self.bits, Sign::Either);
        (packed.largest, packed.rest)
    }

    /// The quaternion that a packed form stands for, its largest component positive.
    #[must_use]
    pub fn dequantize(&self, largest: u32, rest: [u32; 3]) -> [f32; 4] {
        dequantize::<4, 3>(
            &Packed {
                largest,
                negative: false,
                rest,
            },
            self.bits,
        )
    }
}

impl UnitVector {
    /// A unit vector whose two components take `bits` bits each.
    ///
    /// # Panics
    /// When `bits` is below 2 or above [`COMPONENT_BITS_MAX`]; in a constant that does not compile.
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
        *value = dequantize::<4, 3>(
            &quantize::<4, 3>(*value, self.bits, Sign::Either),
            self.bits,
        );
    }

    fn write(&self, base: &[f32; 4], value: &[f32; 4], writer: &mut BitWriter) {
        let base = quantize::<4, 3>(*base, self.bits, Sign::Either);
        let value = quantize::<4, 3>(*value, self.bits, Sign::Either);
        write(&base, &value, self.bits, Sign::Either, writer);
    }

    fn read(&self, base: &[f32; 4], reader: &mut BitReader<'_>) -> Result<[f32; 4], ReadError> {
        let base = quantize::<4, 3>(*base, self.bits, Sign::Either);
        Ok(dequantize::<4, 3>(
            &read(&base, self.bits, Sign::Either, reader)?,
            self.bits,
        ))
    }

    fn kind(&self) -> Kind {
        Kind::Rotation {
            bits: self.bits as u8,
        }
    }
}

impl Codec<[f32; 3]> for UnitVector {
    fn initial(&self) -> [f32; 3] {
        let mut value = [1.0, 0.0, 0.0];
        self.snap(&mut value);
        value
    }

    fn snap(&self, value: &mut [f32; 3]) {
        *value = dequantize::<3, 2>(&quantize::<3, 2>(*value, self.bits, Sign::Kept), self.bits);
    }

    fn write(&self, base: &[f32; 3], value: &[f32; 3], writer: &mut BitWriter) {
        let base = quantize::<3, 2>(*base, self.bits, Sign::Kept);
        let value = quantize::<3, 2>(*value, self.bits, Sign::Kept);
        write(&base, &value, self.bits, Sign::Kept, writer);
    }

    fn read(&self, base: &[f32; 3], reader: &mut BitReader<'_>) -> Result<[f32; 3], ReadError> {
        let base = quantize::<3, 2>(*base, self.bits, Sign::Kept);
        Ok(dequantize::<3, 2>(
            &read(&base, self.bits, Sign::Kept, reader)?,
            self.bits,
        ))
    }

    fn kind(&self) -> Kind {
        Kind::UnitVector {
            bits: self.bits as u8,
        }
    }
}

/// Whether the sign of the whole matters: a quaternion and its negative are the same rotation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sign {
    Either,
    Kept,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Packed<const REST: usize> {
    largest: u32,
    negative: bool,
    rest: [u32; REST],
}

fn quantize<const N: usize, const REST: usize>(
    mut value: [f32; N],
    bits: u32,
    sign: Sign,
) -> Packed<REST> {
    let length = value.iter().map(|c| c * c).sum::<f32>().sqrt();
    if length.is_finite() && length > f32::MIN_POSITIVE {
        value = value.map(|c| c / length);
    } else {
        value = [0.0; N];
        value[N - 1] = 1.0;
    }
    let largest = largest_of(&value);
    let negative = value[largest] < 0.0;
    if negative && sign == Sign::Either {
        value = value.map(|c| -c);
    }
    let scale = (steps(bits) as f32) / 2.0 / FRAC_1_SQRT_2;
    let mut rest = [0; REST];
    for (rest, (_, &component)) in rest
        .iter_mut()
        .zip(value.iter().enumerate().filter(|&(i, _)| i != largest))
    {
        *rest = (((component + FRAC_1_SQRT_2) * scale + 0.5) as u32).min(steps(bits));
    }
    let packed = Packed {
        largest: largest as u32,
        negative: negative && sign == Sign::Kept,
        rest,
    };
    settle::<N, REST>(packed, bits)
}

/// Rounding may make another component the largest, and packing again would then give another form.
/// Such a component is moved towards zero, until the packed form is the one its own value has.
fn settle<const N: usize, const REST: usize>(mut packed: Packed<REST>, bits: u32) -> Packed<REST> {
    let middle = steps(bits) / 2;
    loop {
        let value = dequantize::<N, REST>(&packed, bits);
        let largest = largest_of(&value);
        if largest as u32 == packed.largest {
            return packed;
        }
        let place = if (largest as u32) < packed.largest {
            largest
        } else {
            largest - 1
        };
        packed.rest[place] = if packed.rest[place] > middle {
            packed.rest[place] - 1
        } else {
            packed.rest[place] + 1
        };
    }
}

fn dequantize<const N: usize, const REST: usize>(packed: &Packed<REST>, bits: u32) -> [f32; N] {
    let scale = 2.0 * FRAC_1_SQRT_2 / steps(bits) as f32;
    let mut value = [0.0; N];
    let mut sum = 0.0;
    let places = (0..N).filter(|&i| i != packed.largest as usize);
    for (place, &rest) in places.zip(&packed.rest) {
        value[place] = rest as f32 * scale - FRAC_1_SQRT_2;
        sum += value[place] * value[place];
    }
    let largest = (1.0 - sum).max(0.0).sqrt();
    value[packed.largest as usize] = if packed.negative { -largest } else { largest };
    value
}

fn write<const REST: usize>(
    base: &Packed<REST>,
    value: &Packed<REST>,
    bits: u32,
    sign: Sign,
    writer: &mut BitWriter,
) {
    let near = base.largest == value.largest && base.negative == value.negative;
    writer.write_bool(near);
    if near {
        let mut residuals = [0; REST];
        for (residual, (&base, &value)) in
            residuals.iter_mut().zip(base.rest.iter().zip(&value.rest))
        {
            *residual = i64::from(value) - i64::from(base);
        }
        residual::write(&residuals, bits, writer);
        return;
    }
    writer.write(u64::from(value.largest), 2);
    if sign == Sign::Kept {
        writer.write_bool(value.negative);
    }
    for &rest in &value.rest {
        writer.write(u64::from(rest), bits);
    }
}

fn read<const REST: usize>(
    base: &Packed<REST>,
    bits: u32,
    sign: Sign,
    reader: &mut BitReader<'_>,
) -> Result<Packed<REST>, ReadError> {
    let mut packed = *base;
    if reader.read_bool()? {
        let mut residuals = [0; REST];
        residual::read(&mut residuals, bits, reader)?;
        for (rest, &residual) in packed.rest.iter_mut().zip(&residuals) {
            let steps = i64::from(*rest) + residual;
            *rest = u32::try_from(steps).map_err(|_| ReadError::OutOfRange)?;
        }
    } else {
        packed.largest = reader.read(2)? as u32;
        packed.negative = sign == Sign::Kept && reader.read_bool()?;
        for rest in &mut packed.rest {
            *rest = reader.read(bits)? as u32;
        }
    }
    let in_range =
        packed.largest as usize <= REST && packed.rest.iter().all(|&rest| rest <= steps(bits));
    if in_range {
        Ok(packed)
    } else {
        Err(ReadError::OutOfRange)
    }
}

/// An even number of steps, so that zero is one of them.
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
