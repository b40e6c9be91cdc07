//! Glenn Fiedler's snapshot compression, as the size to beat.
//!
//! Two forms are public: the one that the article "Snapshot Compression" describes, and the reference program of the data
//! compression challenge that followed it, which also predicts positions from two acknowledged snapshots. Both are
//! modelled here to the bit. Sizes are all that the comparison needs, so bits are counted and not written. Each snapshot
//! is charged one header, the indices of its cubes in the cheaper of his two forms (distances between the indices, or a
//! flag for every cube), and their states. His cubes also carry an "interacting" flag of one bit, which this scene does
//! not have and which is not charged.

use crate::cubes_scene::{CUBE_COUNT, CubeState};

/// Steps of a position in a metre.
const UNITS_PER_METRE: f32 = 512.0;
/// Bits of each of the three smallest components of a rotation.
const ROTATION_BITS: u32 = 9;

/// Sequence, sequence of the baseline, and whether the baseline is the initial state.
const PACKET_HEADER_BITS: u64 = 16 + 16 + 1;
/// Horizontal positions span ±256 m, vertical ones 32 m.
const POSITION_BITS: u64 = 18 + 18 + 14;
const ROTATION_ABSOLUTE_BITS: u64 = 2 + 3 * ROTATION_BITS as u64;

/// A cube on the grid of the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuantizedCube {
    /// In units of 1/512 m.
    pub position: [i32; 3],
    /// Index of the rotation's component that is left out.
    pub largest: u8,
    /// The other components, from −1/√2 (0) to 1/√2 (511).
    pub smallest: [i32; 3],
}

impl QuantizedCube {
    /// Rounds a cube to the grid.
    pub fn new(state: CubeState) -> Self {
        let rotation = state.rotation;
        let largest = (1..4).fold(
            0,
            |largest, index| {
                if rotation[index].abs() > rotation[largest].abs() { index } else { largest }
            },
        );
        let sign = rotation[largest].signum();
        let steps = ((1 << ROTATION_BITS) - 1) as f32;
        let mut others = (0..4).filter(|&index| index != largest);
        let smallest = std::array::from_fn(|_| {
            let part = sign * rotation[others.next().expect("three components remain")];
            ((part * std::f32::consts::FRAC_1_SQRT_2 + 0.5) * steps).round() as i32
        });
        Self {
            position: state.position.map(|metres| (metres * UNITS_PER_METRE).round() as i32),
            largest: largest as u8,
            smallest,
        }
    }
}

/// A cube that goes into a snapshot because it differs from its baseline.
#[derive(Clone, Copy, Debug)]
pub struct ChangedCube {
    pub index: usize,
    pub now: QuantizedCube,
    pub baseline: QuantizedCube,
    /// State in the snapshot that the baseline was itself encoded against: velocities are derived from it.
    pub before: QuantizedCube,
}

/// Bits of a snapshot of these cubes, in ascending order of indices, by the article's scheme.
pub fn article_bits(cubes: &[ChangedCube]) -> u64 {
    let indices: u64 = gaps(cubes).map(article_index_bits).sum();
    let states: u64 = cubes
        .iter()
        .map(|ChangedCube { now, baseline, .. }| {
            let mut bits = 2;
            if now.position != baseline.position {
                bits += article_position_bits(differences(now.position, baseline.position));
            }
            if (now.largest, now.smallest) != (baseline.largest, baseline.smallest) {
                bits += article_rotation_bits(now, baseline);
            }
            bits
        })
        .sum();
    PACKET_HEADER_BITS + 1 + indices.min(CUBE_COUNT as u64) + states
}

/// Bits of a snapshot of these cubes by the reference program.
pub fn reference_bits(cubes: &[ChangedCube]) -> u64 {
    let indices: u64 = 8 + gaps(cubes).map(reference_index_bits).sum::<u64>();
    let states: u64 = cubes
        .iter()
        .map(|ChangedCube { now, baseline, before, .. }| {
            let mut bits = 1;
            if now.position != baseline.position {
                let expected = reference_estimate(baseline.position, before.position);
                bits += reference_position_bits(differences(now.position, expected));
            }
            bits + reference_rotation_bits(now, baseline)
        })
        .sum();
    let flags = CUBE_COUNT as u64;
    PACKET_HEADER_BITS + 1 + if cubes.len() > 256 { flags } else { indices.min(flags) } + states
}

/// Distances between the cubes' indices; the first counts from before the first cube.
fn gaps(cubes: &[ChangedCube]) -> impl Iterator<Item = usize> + '_ {
    let before = std::iter::once(0).chain(cubes.iter().map(|cube| cube.index + 1));
    cubes.iter().zip(before).map(|(cube, before)| cube.index + 1 - before)
}

fn differences(value: [i32; 3], base: [i32; 3]) -> [i32; 3] {
    std::array::from_fn(|axis| value[axis] - base[axis])
}

fn article_index_bits(gap: usize) -> u64 {
    match gap {
        ..=8 => 1 + 3,
        9..=40 => 2 + 5,
        _ => 2 + 10,
    }
}

/// Each component small (five bits) or large (nine, not repeating the small range), or all three
/// absolute.
fn article_position_bits(differences: [i32; 3]) -> u64 {
    article_component_bits(differences, 256, 9).unwrap_or(1 + POSITION_BITS)
}

fn article_rotation_bits(cube: &QuantizedCube, base: &QuantizedCube) -> u64 {
    let relative = (cube.largest == base.largest)
        .then(|| article_component_bits(differences(cube.smallest, base.smallest), 128, 8));
    relative.flatten().unwrap_or(1 + ROTATION_ABSOLUTE_BITS)
}

fn article_component_bits(differences: [i32; 3], bound: i32, large_bits: u64) -> Option<u64> {
    const SMALL: i32 = 16;
    let large = -bound - (SMALL - 1)..bound + (SMALL - 1);
    let mut bits = 1;
    for difference in differences {
        bits += match difference {
            near if (-SMALL..SMALL).contains(&near) => 1 + 5,
            far if large.contains(&far) => 1 + large_bits,
            _ => return None,
        };
    }
    Some(bits)
}

fn reference_index_bits(gap: usize) -> u64 {
    match gap {
        1 => 1,
        2..=6 => 2 + 3,
        7..=14 => 3 + 3,
        15..=30 => 4 + 4,
        31..=62 => 5 + 5,
        63..=126 => 6 + 6,
        _ => 6 + 10,
    }
}

/// Extrapolates with the last velocity, some drag, and gravity down to the ground.
fn reference_estimate(base: [i32; 3], before: [i32; 3]) -> [i32; 3] {
    const GRAVITY: i32 = 3;
    const DRAG: f32 = 0.062;
    /// The height at which a small cube rests.
    const GROUND: i32 = 102;
    let mut estimate = std::array::from_fn(|axis| {
        let step = base[axis] - before[axis];
        base[axis] + step - (step as f32 * DRAG).ceil() as i32
    });
    estimate[2] = (estimate[2] - GRAVITY).max(GROUND);
    estimate
}

fn reference_position_bits(differences: [i32; 3]) -> u64 {
    let folded = differences.map(folded);
    if folded.iter().all(|&value| value <= 15) {
        return 1 + 3 * 4;
    }
    match ranges_bits(folded, [5, 6, 7]) {
        Some(bits) => 2 + bits,
        // The program knows no absolute form and writes eleven bits; a greater jump, which its data
        // did not have, is charged as a whole position.
        None if folded.iter().all(|&value| value < 2048) => 2 + 3 * 11,
        None => 2 + POSITION_BITS,
    }
}

fn reference_rotation_bits(cube: &QuantizedCube, base: &QuantizedCube) -> u64 {
    if cube.largest != base.largest {
        return 1 + ROTATION_ABSOLUTE_BITS;
    }
    let folded = differences(cube.smallest, base.smallest).map(folded);
    if folded.iter().all(|&value| value <= 3) {
        return 2 + 3 * 2;
    }
    match ranges_bits(folded, [4, 5, 7]) {
        Some(bits) => 2 + bits,
        None => 1 + ROTATION_ABSOLUTE_BITS,
    }
}

/// Each value in the first of three consecutive ranges that holds it, found by up to two flags.
fn ranges_bits(values: [u32; 3], range_bits: [u32; 3]) -> Option<u64> {
    let mut total = 0;
    for value in values {
        let [first, second, third] = range_bits.map(|bits| 1 << bits);
        total += match value {
            low if low < first => 1 + range_bits[0],
            middle if middle < first + second => 2 + range_bits[1],
            high if high < first + second + third => 2 + range_bits[2],
            _ => return None,
        };
    }
    Some(u64::from(total))
}

fn folded(value: i32) -> u32 {
    (value << 1 ^ value >> 31) as u32
}
