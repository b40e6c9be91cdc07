//! Errors of the configuration and their sources.

use std::fmt;

/// Source of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SettingSource {
    /// Not set: the default.
    Default,
    /// A line of the configuration file.
    File {
        /// Path as given.
        path: String,
        /// Line, counted from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A command-line flag, with its dashes.
    Flag(String),
}

/// One error of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Source of the value.
    pub source: SettingSource,
    /// Sentence that says what is wrong and what to do about it.
    pub sentence: String,
}

/// All errors of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// At least one problem.
    pub problems: Vec<ConfigProblem>,
}

impl ConfigProblem {
    pub(crate) fn new(source: SettingSource, sentence: impl Into<String>) -> Self {
        Self { source, sentence: sentence.into() }
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
        match self.source {
            SettingSource::Default => formatter.write_str(&self.sentence),
            _ => write!(formatter, "{}: {}", self.source, self.sentence),
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

/// Returns the candidate with the smallest edit distance, if it is close.
pub(crate) fn closest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distances = candidates.into_iter().map(|candidate| (edit_distance(wanted, candidate), candidate));
    let (distance, candidate) = distances.min_by_key(|(distance, _)| *distance)?;
    // A third of the letters may differ; a worse guess would mislead.
    (distance <= (wanted.chars().count() / 3).clamp(1, 4)).then_some(candidate)
}

/// Levenshtein distance: insertions, deletions and replacements between two texts.
fn edit_distance(from: &str, to: &str) -> usize {
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
    fn edit_distance_counts_insertions_deletions_and_replacements() {
        for (from, to, count) in [("", "", 0), ("a", "", 1), ("adress", "address", 1), ("kitten", "sitting", 3)] {
            assert_eq!(edit_distance(from, to), count, "{from} {to}");
            assert_eq!(edit_distance(to, from), count, "{to} {from}");
        }
    }

    #[test]
    fn only_a_close_candidate_is_offered() {
        assert_eq!(closest("adress", ["port", "address"]), Some("address"));
        assert_eq!(closest("colour", ["port", "address"]), None);
        assert_eq!(closest("colour", []), None);
    }
}
