//! What is wrong with a configuration, and where.

use std::fmt;

/// Where a value was set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// Nowhere: it is the default.
    Default,
    /// A line of the file.
    File {
        /// The file's path as it was given.
        path: String,
        /// The line, counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A flag, as it is spelled.
    Flag(String),
}

/// One thing that is wrong, in a sentence that says what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where.
    pub place: SettingSource,
    /// What, and what to do about it.
    pub sentence: String,
}

/// Everything that is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one problem.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigProblem {
    pub(crate) fn new(place: SettingSource, sentence: impl Into<String>) -> Self {
        Self { place, sentence: sentence.into() }
    }
}

impl From<ConfigProblem> for ConfigError {
    fn from(problem: ConfigProblem) -> Self {
        Self { problems: vec![problem] }
    }
}

impl fmt::Display for SettingSource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => formatter.write_str("default"),
            Self::File { path, line } => write!(formatter, "{path}, line {line}"),
            Self::Environment(name) => write!(formatter, "environment variable {name}"),
            Self::Flag(spelled) => write!(formatter, "flag {spelled}"),
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            SettingSource::Default => formatter.write_str(&self.sentence),
            _ => write!(formatter, "{}: {}", self.place, self.sentence),
        }
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.problems.iter().enumerate() {
            let separator = if index == 0 { "" } else { "\n" };
            write!(formatter, "{separator}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigError {}

/// The candidate that was probably meant, if one is close.
pub(crate) fn closest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let near = candidates.into_iter().map(|candidate| (edits(wanted, candidate), candidate));
    let (edits, candidate) = near.min_by_key(|(edits, _)| *edits)?;
    // A third of the letters may be wrong; beyond that a guess misleads more than it helps.
    (edits <= (wanted.chars().count() / 3).clamp(1, 4)).then_some(candidate)
}

/// How many letters must be put in, taken out or replaced to get from one text to the other.
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (index, letter) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = index + 1;
        for (column, other) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *other);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(row[column] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, count) in [("", "", 0), ("a", "", 1), ("adress", "address", 1), ("kitten", "sitting", 3)] {
            assert_eq!(edits(from, to), count, "{from} {to}");
            assert_eq!(edits(to, from), count, "{to} {from}");
        }
    }

    #[test]
    fn only_a_close_candidate_is_offered() {
        assert_eq!(closest("adress", ["port", "address"]), Some("address"));
        assert_eq!(closest("colour", ["port", "address"]), None);
        assert_eq!(closest("colour", []), None);
    }
}
