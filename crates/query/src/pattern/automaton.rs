//! The automaton of a pattern.
//!
//! It is the position automaton (Glushkov): each character or class of the pattern is a position, a state is the set of
//! positions that may have matched the last character, and a set is one 128-bit word. A step looks up which positions
//! accept the character and joins the successors of those that were reached, four positions with each of at most 32
//! lookups. So a text of n characters takes O(n) for every pattern, and nothing is allocated.

use std::sync::Arc;

use super::expression::Expression;
use super::set::CharacterSet;
use crate::limits::PATTERN_POSITIONS_MAX;

const ASCII: usize = 128;
/// Positions whose successors are looked up together.
const GROUP: u32 = 4;
/// Sets of positions in a group.
const GROUP_SETS: usize = 1 << GROUP;

/// A set of positions.
type Positions = u128;

#[derive(Clone, Debug)]
pub struct Automaton {
    /// Positions that accept each ASCII character.
    accepting: Box<[Positions; ASCII]>,
    /// Characters beyond ASCII that each position accepts.
    sets: Vec<Arc<CharacterSet>>,
    /// For each group of positions, the positions that may follow each set of them.
    successors: Vec<[Positions; GROUP_SETS]>,
    whole: Part,
}

/// An automaton that is being compiled.
#[derive(Default)]
struct Builder {
    sets: Vec<Arc<CharacterSet>>,
    /// Positions that may follow each position.
    successors: Vec<Positions>,
}

/// A part of the pattern, as its ends.
#[derive(Clone, Copy, Debug)]
struct Part {
    matches_empty: bool,
    first: Positions,
    last: Positions,
}

/// The part that matches the empty text.
const EMPTY: Part = Part { matches_empty: true, first: 0, last: 0 };

impl Automaton {
    /// Compiles an expression, unless it has too many positions.
    pub fn compile(expression: &Expression) -> Option<Automaton> {
        let mut builder = Builder::default();
        let whole = builder.add(expression)?;
        let mut accepting = Box::new([0; ASCII]);
        for (position, set) in builder.sets.iter().enumerate() {
            for (code, accepting) in accepting.iter_mut().enumerate() {
                if set.contains(char::from(code as u8)) {
                    *accepting |= 1 << position;
                }
            }
        }
        let groups = builder.successors.chunks(GROUP as usize);
        let successors = groups.map(|group| {
            std::array::from_fn(|set| {
                let members = group.iter().enumerate().filter(|(member, _)| set >> member & 1 == 1);
                members.fold(0, |all, (_, successors)| all | successors)
            })
        });
        Some(Automaton { accepting, successors: successors.collect(), sets: builder.sets, whole })
    }

    /// Returns true if the whole text matches.
    pub fn is_match(&self, text: &str) -> bool {
        let mut characters = text.chars();
        let Some(first) = characters.next() else { return self.whole.matches_empty };
        let mut reached = self.whole.first & self.accepting(first, self.whole.first);
        for character in characters {
            if reached == 0 {
                return false;
            }
            let next = self.after(reached);
            reached = next & self.accepting(character, next);
        }
        reached & self.whole.last != 0
    }

    /// Positions among the candidates that accept a character.
    fn accepting(&self, character: char, candidates: Positions) -> Positions {
        if let Some(accepting) = self.accepting.get(character as usize) {
            return *accepting;
        }
        bits(candidates).filter(|position| self.sets[*position].contains(character)).fold(0, |all, bit| all | 1 << bit)
    }

    /// Positions that may follow any of these.
    fn after(&self, mut reached: Positions) -> Positions {
        let mut all = 0;
        while reached != 0 {
            let group = reached.trailing_zeros() / GROUP;
            let set = (reached >> (group * GROUP)) as usize % GROUP_SETS;
            all |= self.successors[group as usize][set];
            reached &= !((GROUP_SETS as Positions - 1) << (group * GROUP));
        }
        all
    }
}

impl Builder {
    fn add(&mut self, expression: &Expression) -> Option<Part> {
        match expression {
            Expression::Set(set) => self.add_set(set),
            Expression::Concatenation(parts) => {
                let mut whole = EMPTY;
                for part in parts {
                    let part = self.add(part)?;
                    whole = self.join(whole, part);
                }
                Some(whole)
            }
            Expression::Alternation(parts) => {
                let mut whole = Part { matches_empty: false, first: 0, last: 0 };
                for part in parts {
                    let part = self.add(part)?;
                    whole.matches_empty |= part.matches_empty;
                    whole.first |= part.first;
                    whole.last |= part.last;
                }
                Some(whole)
            }
            Expression::Repetition { repeated, least, most } => self.add_repetition(repeated, *least, *most),
        }
    }

    fn add_set(&mut self, set: &Arc<CharacterSet>) -> Option<Part> {
        let position = self.sets.len();
        if position == PATTERN_POSITIONS_MAX {
            return None;
        }
        self.sets.push(Arc::clone(set));
        self.successors.push(0);
        Some(Part { matches_empty: false, first: 1 << position, last: 1 << position })
    }

    /// Writes a repetition out: as many copies as it needs at least, then optional ones or one that may follow itself.
    fn add_repetition(&mut self, repeated: &Expression, least: u32, most: Option<u32>) -> Option<Part> {
        let copies = most.unwrap_or(least.max(1));
        let mut whole = EMPTY;
        for copy in 1..=copies {
            let before = self.sets.len();
            let mut part = self.add(repeated)?;
            if self.sets.len() == before {
                // It matches only the empty text, and so would more copies.
                return Some(EMPTY);
            }
            if copy == copies && most.is_none() {
                self.connect(part.last, part.first);
            }
            part.matches_empty |= copy > least;
            whole = self.join(whole, part);
        }
        Some(whole)
    }

    fn join(&mut self, left: Part, right: Part) -> Part {
        self.connect(left.last, right.first);
        Part {
            matches_empty: left.matches_empty && right.matches_empty,
            first: left.first | if left.matches_empty { right.first } else { 0 },
            last: right.last | if right.matches_empty { left.last } else { 0 },
        }
    }

    fn connect(&mut self, from: Positions, to: Positions) {
        for position in bits(from) {
            self.successors[position] |= to;
        }
    }
}

/// Numbers of the bits that are set.
fn bits(mut positions: Positions) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let position = positions.trailing_zeros();
        positions &= positions.wrapping_sub(1);
        (position < Positions::BITS).then_some(position as usize)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// Returns the ends of all matches that begin at `start`, by brute force.
    fn ends(expression: &Expression, text: &[char], start: usize) -> BTreeSet<usize> {
        match expression {
            Expression::Set(set) => {
                text.get(start).filter(|character| set.contains(**character)).map(|_| start + 1).into_iter().collect()
            }
            Expression::Concatenation(parts) => parts.iter().fold(BTreeSet::from([start]), |starts, part| {
                starts.into_iter().flat_map(|start| ends(part, text, start)).collect()
            }),
            Expression::Alternation(parts) => parts.iter().flat_map(|part| ends(part, text, start)).collect(),
            Expression::Repetition { repeated, least, most } => {
                let mut all = BTreeSet::new();
                let mut starts = BTreeSet::from([start]);
                let rounds = most.unwrap_or(least + text.len() as u32);
                for round in 0..=rounds {
                    if round >= *least {
                        all.extend(&starts);
                    }
                    starts = starts.into_iter().flat_map(|start| ends(repeated, text, start)).collect();
                }
                all
            }
        }
    }

    fn expressions() -> impl Strategy<Value = Expression> {
        let set = prop::sample::select(vec!['a', 'b', 'ä']).prop_map(|value| Expression::set(CharacterSet::one(value)));
        let any = Just(Expression::set(CharacterSet::one('a').negated()));
        prop_oneof![4 => set, 1 => any, 1 => Just(Expression::Concatenation(Vec::new()))].prop_recursive(
            3,
            12,
            3,
            |inner| {
                prop_oneof![
                    prop::collection::vec(inner.clone(), 1..4).prop_map(Expression::Concatenation),
                    prop::collection::vec(inner.clone(), 1..4).prop_map(Expression::Alternation),
                    (inner, 0..3u32, prop::option::of(0..3u32)).prop_map(|(repeated, least, more)| {
                        let most = more.map(|more| least + more);
                        Expression::Repetition { repeated: Box::new(repeated), least, most }
                    }),
                ]
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]

        #[test]
        fn the_automaton_agrees_with_brute_force(
            expression in expressions(),
            text in prop::collection::vec(prop::sample::select(vec!['a', 'b', 'ä']), 0..6),
        ) {
            let Some(automaton) = Automaton::compile(&expression) else { return Ok(()) };
            let expected = ends(&expression, &text, 0).contains(&text.len());
            prop_assert_eq!(automaton.is_match(&text.iter().collect::<String>()), expected);
        }

        #[test]
        fn every_match_begins_with_the_prefix(
            expression in expressions(),
            text in prop::collection::vec(prop::sample::select(vec!['a', 'b', 'ä']), 0..6),
        ) {
            let mut prefix = String::new();
            expression.push_prefix(&mut prefix);
            let text_string: String = text.iter().collect();
            if ends(&expression, &text, 0).contains(&text.len()) {
                prop_assert!(text_string.starts_with(&prefix), "{:?} without {:?}", text_string, prefix);
            }
        }
    }
}
