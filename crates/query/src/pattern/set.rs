//! Sets of characters.

/// A set of characters, as ranges.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CharacterSet {
    ranges: Vec<(char, char)>,
    is_negated: bool,
    ignores_case: bool,
}

impl CharacterSet {
    /// Creates a set of one character.
    pub fn one(value: char) -> CharacterSet {
        CharacterSet { ranges: vec![(value, value)], ..CharacterSet::default() }
    }

    /// Creates the set of all characters.
    pub fn any() -> CharacterSet {
        CharacterSet { is_negated: true, ..CharacterSet::default() }
    }

    /// Creates a set of ranges, both ends included.
    pub fn ranges(ranges: impl Into<Vec<(char, char)>>) -> CharacterSet {
        CharacterSet { ranges: ranges.into(), ..CharacterSet::default() }
    }

    /// Adds a range, both ends included.
    pub fn add(&mut self, first: char, last: char) {
        self.ranges.push((first, last));
    }

    /// Returns the set of all other characters.
    pub fn negated(self) -> CharacterSet {
        CharacterSet { is_negated: !self.is_negated, ..self }
    }

    /// Returns the set with both cases of each letter.
    pub fn ignoring_case(self) -> CharacterSet {
        CharacterSet { ignores_case: true, ..self }
    }

    /// Returns the ranges of the set, unless it is negated.
    pub fn as_ranges(&self) -> Option<&[(char, char)]> {
        (!self.is_negated && !self.ignores_case).then_some(&self.ranges)
    }

    /// Returns the only character of the set.
    pub fn as_one(&self) -> Option<char> {
        match self.as_ranges()? {
            [(first, last)] if first == last => Some(*first),
            _ => None,
        }
    }

    /// Returns true if a character is in the set.
    pub fn contains(&self, value: char) -> bool {
        let is_listed = self.lists(value)
            || self.ignores_case
                && (value.to_lowercase().any(|c| self.lists(c)) || value.to_uppercase().any(|c| self.lists(c)));
        is_listed != self.is_negated
    }

    fn lists(&self, value: char) -> bool {
        self.ranges.iter().any(|(first, last)| (*first..=*last).contains(&value))
    }
}
