//! Random inputs for a game that is known only by its schema.

use std::collections::VecDeque;

use aether_bits::Random;
use aether_bits::{BitWriter, DeltaBasis, FieldKind, Schema, SchemaValue};
use aether_wire::{InputBytes, InputPayload, InputSeq, Inputs, StateAck, Tick, ViewTick};

/// Inputs per message with unordered delivery: two consecutive lost messages lose no input.
const INPUTS_PER_MESSAGE: usize = 3;

/// Mean number of equal inputs in a row, as when keys are held.
const INPUTS_HELD: u32 = 8;

/// Creates the inputs of a bot.
pub(crate) struct InputMaker {
    kind: FieldKind,
    value: SchemaValue,
    last: InputSeq,
    recent: VecDeque<InputBytes>,
    repeated: usize,
}

impl InputMaker {
    /// Creates a maker. `None` if the game takes no inputs.
    pub(crate) fn new(schema: &Schema, is_ordered: bool) -> Option<Self> {
        let kind = schema.inputs.first()?.kind.clone();
        let value = kind.initial();
        let repeated = if is_ordered { 1 } else { INPUTS_PER_MESSAGE };
        Some(Self { kind, value, last: InputSeq(0), recent: VecDeque::new(), repeated })
    }

    /// Returns the next input, preceded by those that may have been lost.
    pub(crate) fn next(&mut self, random: &mut Random, ack: StateAck, tick: Tick) -> Option<Inputs> {
        if random.below(INPUTS_HELD) == 0 {
            self.value = random_value(&self.kind, random);
        }
        let mut writer = BitWriter::new();
        self.kind.write_delta(DeltaBasis::new(&self.kind.initial()), &self.value, &mut writer).ok()?;
        let input = InputBytes::new(&writer.to_bytes())?;
        self.last.0 += 1;
        if self.recent.len() == self.repeated {
            self.recent.pop_front();
        }
        self.recent.push_back(input);
        let first_seq = InputSeq(self.last.0 + 1 - self.recent.len() as u32);
        let payloads = self.recent.iter().copied().map(InputPayload::Packed).collect();
        Some(Inputs { first_seq, payloads, ack, view: ViewTick { tick, fraction: 0 } })
    }

    /// Number of the newest input.
    pub(crate) fn last(&self) -> InputSeq {
        self.last
    }
}

/// Returns a random value of a kind.
fn random_value(kind: &FieldKind, random: &mut Random) -> SchemaValue {
    match kind {
        FieldKind::Flag => SchemaValue::Flag(random.below(2) == 1),
        FieldKind::Whole { min, max } => SchemaValue::Whole(integer_between(*min, *max, random)),
        FieldKind::Number { len, min, max, .. } => {
            SchemaValue::Numbers((0..*len).map(|_| random.between(*min as f32, *max as f32)).collect())
        }
        FieldKind::Angle { .. } => SchemaValue::Numbers(vec![random.between(-3.1, 3.1)]),
        FieldKind::Rotation { .. } | FieldKind::UnitVector { .. } => kind.initial(),
        FieldKind::Choice { names } => SchemaValue::Choice(random.below(names.len() as u32)),
        FieldKind::Text { .. } => SchemaValue::Text(String::new()),
        FieldKind::List { len_max, element } => {
            let len = random.below(u32::from(*len_max) + 1);
            SchemaValue::List((0..len).map(|_| random_value(element, random)).collect())
        }
        FieldKind::Record { fields } => {
            SchemaValue::List(fields.iter().map(|field| random_value(&field.kind, random)).collect())
        }
    }
}

fn integer_between(min: i64, max: i64, random: &mut Random) -> i64 {
    let steps = max.wrapping_sub(min) as u64;
    let offset = if steps == u64::MAX { random.bits() } else { random.bits() % (steps + 1) };
    min.wrapping_add(offset as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_bits::{BitReader, RecordSchema, Replicate};

    #[derive(Clone, Debug, PartialEq, Replicate)]
    enum Gear {
        Park,
        Drive,
        Reverse,
    }

    #[derive(Clone, Debug, PartialEq, Replicate)]
    struct Controls {
        thrust: bool,
        #[replicate(range = -1.0..=1.0, step = 0.01)]
        stick: [f32; 2],
        #[replicate(angle = 8)]
        aim: f32,
        #[replicate(range = -5..=7)]
        slot: i32,
        gear: Gear,
    }

    fn schema() -> Schema {
        Schema { inputs: vec![RecordSchema::of::<Controls>()], ..Schema::default() }
    }

    #[test]
    fn inputs_are_valid_and_differ() {
        let mut maker = InputMaker::new(&schema(), true).expect("the game takes inputs");
        let mut random = Random::new(1);
        let mut seen: Vec<Controls> = Vec::new();
        for seq in 1..=500 {
            let inputs = maker.next(&mut random, StateAck::NONE, Tick(seq)).expect("an input");
            assert_eq!((inputs.first_seq, inputs.payloads.len()), (InputSeq(seq), 1));
            let InputPayload::Packed(bytes) = inputs.payloads[0] else { panic!("a packed input") };
            let controls = Controls::read_full(&mut BitReader::new(bytes.as_slice())).expect("a valid input");
            if !seen.contains(&controls) {
                seen.push(controls);
            }
        }
        assert!((30..120).contains(&seen.len()), "{} different inputs of 500", seen.len());
    }

    #[test]
    fn unordered_delivery_repeats_the_last_inputs() {
        let mut maker = InputMaker::new(&schema(), false).expect("the game takes inputs");
        let mut random = Random::new(1);
        let runs: Vec<_> = (0..4)
            .map(|_| maker.next(&mut random, StateAck::NONE, Tick(1)).expect("an input"))
            .map(|inputs| (inputs.first_seq.0, inputs.payloads.len()))
            .collect();
        assert_eq!(runs, [(1, 1), (1, 2), (1, 3), (2, 3)]);
        assert_eq!(maker.last(), InputSeq(4));
    }

    #[test]
    fn a_game_without_inputs_gets_none() {
        assert!(InputMaker::new(&Schema::default(), true).is_none());
    }
}
