//! Queries and scores.

use std::fmt;
use std::str::FromStr;

use crate::clause::{Clause, Occurrence};
use crate::document::Document;
use crate::error::QueryError;
use crate::limits::PATTERN_COST;
use crate::parse::parse;

/// A parsed query. [`fmt::Display`] writes one that parses to the same.
///
/// ```
/// use aether_query::{Document, Query};
/// use serde_json::json;
///
/// let query = Query::parse("+properties.mode:duel properties.region:eu^5 -properties.skill:>2000")?;
/// let near = Document::from_json(&json!({"properties": {"mode": "duel", "region": "eu", "skill": 1500}}))?;
/// let far = Document::from_json(&json!({"properties": {"mode": "duel", "region": "us", "skill": 1500}}))?;
/// let strong = Document::from_json(&json!({"properties": {"mode": "duel", "region": "eu", "skill": 2500}}))?;
/// assert!(query.matches(&near) > query.matches(&far));
/// assert_eq!(query.matches(&strong), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    clauses: Vec<Clause>,
}

/// Score of a matching document: the sum of the boosts of its accepted clauses.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct MatchScore(f64);

impl Query {
    /// Parses a query. An empty one matches every document.
    pub fn parse(text: &str) -> Result<Query, QueryError> {
        parse(text).map(|clauses| Query { clauses })
    }

    /// Returns the query that matches every document.
    pub fn all() -> Query {
        Query { clauses: Vec::new() }
    }

    /// Returns the score of a document, or `None` if it does not match.
    ///
    /// Every `+` clause must hold and no `-` clause may. Of the others one must hold, unless there are `+` clauses.
    pub fn matches(&self, document: &Document) -> Option<MatchScore> {
        let mut score = 0.0;
        let mut must = false;
        let mut should = None;
        for clause in &self.clauses {
            let is_accepted = clause.accepts(document);
            match clause.occurrence {
                Occurrence::Must if !is_accepted => return None,
                Occurrence::MustNot if is_accepted => return None,
                Occurrence::MustNot => continue,
                Occurrence::Must => must = true,
                Occurrence::Should => should = Some(should.unwrap_or(false) || is_accepted),
            }
            if is_accepted {
                score += clause.boost;
            }
        }
        match (must, should) {
            (false, None) => Some(MatchScore(1.0)),
            (false, Some(false)) => None,
            _ => Some(MatchScore(score)),
        }
    }

    /// Returns the work to check one document, in comparisons of short texts. A pattern or fuzzy word counts as
    /// [`PATTERN_COST`].
    pub fn cost(&self) -> usize {
        self.clauses.iter().map(|clause| if clause.condition.is_pattern() { PATTERN_COST } else { 1 }).sum()
    }

    pub(crate) fn clauses(&self) -> &[Clause] {
        &self.clauses
    }
}

impl MatchScore {
    /// Returns the sum of boosts.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl FromStr for Query {
    type Err = QueryError;

    fn from_str(text: &str) -> Result<Query, QueryError> {
        Query::parse(text)
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, clause) in self.clauses.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{clause}")?;
        }
        Ok(())
    }
}
