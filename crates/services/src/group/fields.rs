//! Validation of the texts of a group.

use super::limits::{
    AVATAR_URL_BYTES_MAX, DESCRIPTION_BYTES_MAX, LANGUAGE_BYTES_MAX, MEMBERS_DEFAULT, MEMBERS_MAX, METADATA_BYTES_MAX,
    NAME_BYTES_MAX, TAG_BYTES_MAX, TAGS_MAX,
};
use super::{GroupUpdate, NewGroup};
use crate::account::{check_characters, check_text};
use crate::error::ServiceError;
use crate::storage::json::check_object;
use aether_names::NameKeys;

/// A name with the keys that it is found by and compared with.
#[derive(Clone, Debug)]
pub(super) struct CheckedName {
    pub name: String,
    /// Key of searches.
    pub key: Vec<u8>,
    /// Keys of names that look alike.
    pub keys: NameKeys,
}

/// A group to create, after validation.
#[derive(Clone, Debug)]
pub(super) struct CheckedGroup {
    pub name: CheckedName,
    pub description: String,
    pub avatar_url: String,
    pub language: String,
    pub metadata: String,
    pub is_open: bool,
    pub max_count: i64,
    pub tags: Vec<String>,
}

/// Changes of a group, after validation.
#[derive(Clone, Debug)]
pub(super) struct CheckedUpdate {
    pub name: Option<CheckedName>,
    pub tags: Option<Vec<String>>,
    pub max_count: Option<i64>,
    pub update: GroupUpdate,
}

impl NewGroup {
    pub(super) fn check(self) -> Result<CheckedGroup, ServiceError> {
        check_lines("Group description", &self.description, DESCRIPTION_BYTES_MAX)?;
        check_shown("Avatar URL", &self.avatar_url, 0..=AVATAR_URL_BYTES_MAX)?;
        check_shown("Language tag", &self.language, 0..=LANGUAGE_BYTES_MAX)?;
        let metadata = self.metadata.unwrap_or_else(|| "{}".to_owned());
        check_object("Group metadata", &metadata, METADATA_BYTES_MAX)?;
        Ok(CheckedGroup {
            name: CheckedName::of(&self.name)?,
            description: self.description,
            avatar_url: self.avatar_url,
            language: self.language,
            metadata,
            is_open: self.is_open,
            max_count: check_max_count(self.max_count.unwrap_or(MEMBERS_DEFAULT))?,
            tags: check_tags(&self.tags)?,
        })
    }
}

impl GroupUpdate {
    pub(super) fn check(self) -> Result<CheckedUpdate, ServiceError> {
        let texts = [
            ("Avatar URL", &self.avatar_url, AVATAR_URL_BYTES_MAX),
            ("Language tag", &self.language, LANGUAGE_BYTES_MAX),
        ];
        for (what, text, bytes_max) in texts {
            text.as_deref().map_or(Ok(()), |text| check_shown(what, text, 0..=bytes_max))?;
        }
        if let Some(description) = &self.description {
            check_lines("Group description", description, DESCRIPTION_BYTES_MAX)?;
        }
        if let Some(metadata) = &self.metadata {
            check_object("Group metadata", metadata, METADATA_BYTES_MAX)?;
        }
        Ok(CheckedUpdate {
            name: self.name.as_deref().map(CheckedName::of).transpose()?,
            tags: self.tags.as_deref().map(check_tags).transpose()?,
            max_count: self.max_count.map(check_max_count).transpose()?,
            update: self,
        })
    }
}

impl CheckedName {
    fn of(name: &str) -> Result<CheckedName, ServiceError> {
        check_shown("Group name", name, 1..=NAME_BYTES_MAX)?;
        if name.trim() != name {
            // It would look like another name.
            return Err(ServiceError::invalid("Group name must not begin or end with a space."));
        }
        Ok(CheckedName { name: name.to_owned(), key: name_key(name), keys: NameKeys::of(name) })
    }
}

/// Returns the key by which a name is searched: without differences of case.
pub(super) fn name_key(name: &str) -> Vec<u8> {
    name.to_lowercase().into_bytes()
}

/// Validates tags. Returns them in lower case, sorted, without duplicates.
pub(super) fn check_tags(tags: &[String]) -> Result<Vec<String>, ServiceError> {
    if tags.len() > TAGS_MAX {
        return Err(ServiceError::invalid(format!("A group must have at most {TAGS_MAX} tags.")));
    }
    let mut checked = Vec::with_capacity(tags.len());
    for tag in tags {
        let tag = tag.to_lowercase();
        check_shown("A tag", &tag, 1..=TAG_BYTES_MAX)?;
        if tag.trim() != tag {
            return Err(ServiceError::invalid("A tag must not begin or end with a space."));
        }
        checked.push(tag);
    }
    checked.sort();
    checked.dedup();
    Ok(checked)
}

fn check_max_count(count: u32) -> Result<i64, ServiceError> {
    if !(1..=MEMBERS_MAX).contains(&count) {
        return Err(ServiceError::invalid(format!("Group max count must be from 1 to {MEMBERS_MAX}.")));
    }
    Ok(count.into())
}

/// Validates a text that others read and that may have several lines.
fn check_lines(what: &str, text: &str, bytes_max: usize) -> Result<(), ServiceError> {
    check_shown(what, &text.replace('\n', " "), 0..=bytes_max)
}

/// Validates a text that others read.
fn check_shown(what: &str, text: &str, bytes: std::ops::RangeInclusive<usize>) -> Result<(), ServiceError> {
    check_text(what, text, bytes)?;
    check_characters(what, text)
}
