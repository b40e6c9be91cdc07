//! Search for groups.
//!
//! A search walks one index: by the beginning of the name, by the first tag, by the language, or over all groups. It
//! examines each group for the other filters, and ends a page early after [`EXAMINED_MAX`] groups. Keys of these indexes
//! do not change with the members, so a cursor stays valid while users join and leave.

use super::Groups;
use super::fields::{check_tags, name_key};
use super::limits::{EXAMINED_MAX, GROUPS_LISTED_DEFAULT, LISTED_MAX, NAME_BYTES_MAX};
use super::rows::{self, Group};
use crate::cursor;
use crate::error::ServiceError;
use aether_store::{SqlValue, StoreError, Transaction};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Filters of a search. All of them have to hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupFilter {
    /// Name without differences of case, or its beginning and `%`. Empty for all.
    pub name: String,
    /// Language tag. Empty for all.
    pub language: String,
    /// Maximum number of members that a group has.
    pub members: Option<i64>,
    /// True for open groups, false for closed ones.
    pub is_open: Option<bool>,
    /// Tags, all of which a group has.
    pub tags: Vec<String>,
    /// Groups per page, from 1 to [`LISTED_MAX`].
    pub limit: Option<i64>,
    /// Cursor of the page before, with the same filters. Empty for the first page.
    pub cursor: String,
}

/// Page of groups.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupPage {
    /// Groups: by name if a name is searched, else the newest first.
    pub groups: Vec<Group>,
    /// Cursor of the next page; empty if there is none. A page with a cursor may have fewer groups than its limit.
    pub cursor: String,
}

/// Position in an index.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    /// Key of the name, in a search by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    id: Uuid,
}

/// Keys of names, from the first to before the second.
type NameRange = (Vec<u8>, Vec<u8>);

/// A search after validation.
struct Search {
    names: Option<NameRange>,
    tags: Vec<String>,
    language: Option<String>,
    members: Option<i64>,
    is_open: Option<bool>,
    limit: usize,
    after: Option<Position>,
}

/// A group that was examined.
struct Examined {
    position: Position,
    is_match: bool,
}

impl Groups {
    /// Returns a page of the groups that match a filter.
    pub async fn list(&self, filter: &GroupFilter) -> Result<GroupPage, ServiceError> {
        let search = Search::check(filter)?;
        let page = self.store.read(move |transaction| {
            let (ids, next) = search.run(transaction)?;
            let groups = rows::by_ids(transaction, &ids)?;
            Ok::<_, StoreError>(GroupPage {
                groups,
                cursor: next.map_or_else(String::new, |next| cursor::encode(&next)),
            })
        });
        Ok(page.await?)
    }
}

impl Search {
    fn check(filter: &GroupFilter) -> Result<Search, ServiceError> {
        let names = name_range(&filter.name)?;
        let after: Option<Position> = cursor::decode(&filter.cursor)?;
        if after.as_ref().is_some_and(|after| after.name.is_some() != names.is_some()) {
            return Err(ServiceError::invalid("Cursor is of a search with other filters. Start without a cursor."));
        }
        if filter.members.is_some_and(|members| members < 0) {
            return Err(ServiceError::invalid("Members must be 0 or more."));
        }
        Ok(Search {
            names,
            tags: check_tags(&filter.tags)?,
            language: Some(filter.language.clone()).filter(|language| !language.is_empty()),
            members: filter.members,
            is_open: filter.is_open,
            limit: check_limit(filter.limit, GROUPS_LISTED_DEFAULT)?,
            after,
        })
    }

    /// Returns the ids of a page, and the position after which the next begins.
    fn run(&self, transaction: &mut Transaction<'_>) -> Result<(Vec<Uuid>, Option<Position>), StoreError> {
        let mut found: Vec<Position> = Vec::new();
        let (mut after, mut examined) = (self.after.clone(), 0);
        let mut batch = self.limit + 1;
        while examined < EXAMINED_MAX {
            batch = batch.min(EXAMINED_MAX - examined);
            let rows = self.examine(transaction, after.as_ref(), batch)?;
            let is_end = rows.len() < batch;
            examined += rows.len();
            after = rows.last().map(|row| row.position.clone());
            found.extend(rows.into_iter().filter(|row| row.is_match).map(|row| row.position));
            if found.len() > self.limit {
                found.truncate(self.limit);
                let next = found.last().cloned();
                return Ok((found.into_iter().map(|position| position.id).collect(), next));
            }
            if is_end {
                after = None;
                break;
            }
            // Few groups match: examine more at once.
            batch *= 4;
        }
        Ok((found.into_iter().map(|position| position.id).collect(), after))
    }

    /// Examines the next groups of the index.
    fn examine(
        &self,
        transaction: &mut Transaction<'_>,
        after: Option<&Position>,
        count: usize,
    ) -> Result<Vec<Examined>, StoreError> {
        let mut query = Query { parameters: Vec::new(), walk: Vec::new(), filters: Vec::new() };
        let after_name = after.and_then(|after| after.name.as_deref()).map(str::as_bytes);
        let (table, order) = match (&self.names, self.tags.first()) {
            (Some((first, end)), _) => {
                query.walk("g.name_key >= ", SqlValue::from(first));
                query.walk("g.name_key < ", SqlValue::from(end));
                if let (Some(name), Some(after)) = (after_name, after) {
                    let name = query.parameter(SqlValue::from(name));
                    let id = query.parameter(SqlValue::from(after.id));
                    query.walk.push(format!("(g.name_key, g.id) > ({name}, {id})"));
                }
                ("groups g", "g.name_key, g.id")
            }
            (None, Some(tag)) => {
                query.walk("d.tag = ", SqlValue::from(tag));
                if let Some(after) = after {
                    query.walk("d.group_key < ", SqlValue::from(after.id));
                }
                ("group_tags d JOIN groups g ON g.id = d.group_key", "d.group_key DESC")
            }
            (None, None) => {
                if let Some(language) = &self.language {
                    query.walk("g.lang_tag = ", SqlValue::from(language));
                }
                if let Some(after) = after {
                    query.walk("g.id < ", SqlValue::from(after.id));
                }
                ("groups g", "g.id DESC")
            }
        };
        self.add_filters(&mut query);
        let count = query.parameter(SqlValue::Integer(count as i64));
        let (walk, filters) = (all_of(&query.walk), all_of(&query.filters));
        let select =
            format!("SELECT g.id, g.name_key, ({filters}) FROM {table} WHERE {walk} ORDER BY {order} LIMIT {count}");
        let is_by_name = self.names.is_some();
        transaction.rows(&select, &query.parameters, |row| {
            let name = if is_by_name { Some(text(row.get(1)?)?) } else { None };
            Ok(Examined { position: Position { name, id: row.get(0)? }, is_match: row.get(2)? })
        })
    }

    /// Adds the filters that the index does not cover.
    fn add_filters<'a>(&'a self, query: &mut Query<'a>) {
        if let Some(language) = &self.language {
            query.filter("g.lang_tag = ", SqlValue::from(language), "");
        }
        if let Some(members) = self.members {
            query.filter("g.edge_count <= ", SqlValue::Integer(members), "");
        }
        if let Some(is_open) = self.is_open {
            query.filter("g.open = ", SqlValue::Boolean(is_open), "");
        }
        let walked = usize::from(self.names.is_none());
        for tag in self.tags.iter().skip(walked) {
            let start = "EXISTS (SELECT 1 FROM group_tags t WHERE t.group_key = g.id AND t.tag = ";
            query.filter(start, SqlValue::from(tag), ")");
        }
    }
}

/// Conditions of a statement with their parameters.
struct Query<'a> {
    parameters: Vec<SqlValue<'a>>,
    walk: Vec<String>,
    filters: Vec<String>,
}

impl<'a> Query<'a> {
    fn parameter(&mut self, value: SqlValue<'a>) -> String {
        self.parameters.push(value);
        format!("?{}", self.parameters.len())
    }

    fn walk(&mut self, condition: &str, value: SqlValue<'a>) {
        let parameter = self.parameter(value);
        self.walk.push(format!("{condition}{parameter}"));
    }

    fn filter(&mut self, start: &str, value: SqlValue<'a>, end: &str) {
        let parameter = self.parameter(value);
        self.filters.push(format!("{start}{parameter}{end}"));
    }
}

fn all_of(conditions: &[String]) -> String {
    if conditions.is_empty() { "TRUE".to_owned() } else { conditions.join(" AND ") }
}

fn text(bytes: Vec<u8>) -> Result<String, StoreError> {
    String::from_utf8(bytes).map_err(|_| StoreError::Failed("the key of a group's name is not UTF-8".to_owned()))
}

/// Returns the range of keys of a searched name; none for all names.
fn name_range(name: &str) -> Result<Option<NameRange>, ServiceError> {
    if name.len() > NAME_BYTES_MAX + 1 {
        return Err(ServiceError::invalid(format!("Group name must be at most {NAME_BYTES_MAX} bytes long.")));
    }
    let (start, is_prefix) = name.strip_suffix('%').map_or((name, false), |start| (start, true));
    if start.contains('%') {
        return Err(ServiceError::invalid("A searched name may have % only at its end."));
    }
    let first = name_key(start);
    let mut end = first.clone();
    if !is_prefix {
        end.push(0);
    } else if let Some(last) = end.last_mut() {
        // A byte of UTF-8 is less than 255.
        *last += 1;
    }
    Ok((!first.is_empty()).then_some((first, end)))
}

/// Returns the number of entries of a page.
pub(super) fn check_limit(limit: Option<i64>, default: usize) -> Result<usize, ServiceError> {
    match limit.map(usize::try_from) {
        None => Ok(default),
        Some(Ok(limit)) if (1..=LISTED_MAX).contains(&limit) => Ok(limit),
        Some(_) => Err(ServiceError::invalid(format!("Limit must be from 1 to {LISTED_MAX}."))),
    }
}
