//! A remote value: its default, and the rules by which players get other values.

use super::condition::{Condition, ValueContext};
use super::limits::{KEY_BYTES_MAX, RULES_MAX, VALUE_BYTES_MAX, VALUE_DEPTH_MAX};
use crate::error::ServiceError;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Rule: the value for players for whom a condition holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Condition.
    #[serde(rename = "if")]
    pub condition: Condition,
    /// Value, as JSON.
    pub value: Box<RawValue>,
}

/// Remote value to set.
#[derive(Clone, Debug)]
pub struct NewRemoteValue {
    /// Key: letters, digits and `. _ -`.
    pub key: String,
    /// Value for players whom no rule applies to, as JSON.
    pub value: String,
    /// Rules, the first of which that applies wins.
    pub rules: Vec<Rule>,
}

/// Stored remote value.
#[derive(Clone, Debug)]
pub struct RemoteValue {
    /// Key.
    pub key: String,
    /// Default, as JSON.
    pub value: Arc<str>,
    /// Rules.
    pub rules: Vec<EvaluatedRule>,
    /// Rules, as JSON.
    pub rules_text: String,
    /// Number of the change that wrote it.
    pub version: i64,
    /// Time of the first write, in milliseconds since 1970.
    pub created_at: i64,
    /// Time of the last write.
    pub updated_at: i64,
}

/// Rule in the form in which it is evaluated.
#[derive(Clone, Debug)]
pub struct EvaluatedRule {
    /// Condition.
    pub condition: Condition,
    /// Value, as JSON.
    pub value: Arc<str>,
}

impl NewRemoteValue {
    /// Checks the limits. Returns the rules as JSON.
    pub(crate) fn check(&self) -> Result<String, ServiceError> {
        check_key(&self.key)?;
        check_value(&self.value)?;
        if self.rules.len() > RULES_MAX {
            return Err(ServiceError::invalid(format!("A remote value has at most {RULES_MAX} rules.")));
        }
        for rule in &self.rules {
            rule.condition.check()?;
            check_value(rule.value.get())?;
        }
        Ok(serde_json::to_string(&self.rules).expect("rules are plain values"))
    }
}

impl RemoteValue {
    /// Builds a value from its stored form.
    pub(super) fn from_stored(
        (key, value, rules_text): (String, String, String),
        (version, created_at, updated_at): (i64, i64, i64),
    ) -> Result<RemoteValue, serde_json::Error> {
        let rules: Vec<Rule> = serde_json::from_str(&rules_text)?;
        let rules =
            rules.into_iter().map(|rule| EvaluatedRule { condition: rule.condition, value: rule.value.get().into() });
        Ok(RemoteValue {
            key,
            value: value.into(),
            rules: rules.collect(),
            rules_text,
            version,
            created_at,
            updated_at,
        })
    }

    /// Returns the value for a player: that of the first rule that applies, or the default.
    #[must_use]
    pub fn for_player(&self, context: &ValueContext, now_ms: i64) -> Arc<str> {
        let applies = |rule: &&EvaluatedRule| rule.condition.holds(&self.key, context, now_ms);
        Arc::clone(self.rules.iter().find(applies).map_or(&self.value, |rule| &rule.value))
    }

    /// Returns true if a rule depends on the age of the account.
    #[must_use]
    pub fn needs_account_age(&self) -> bool {
        self.rules.iter().any(|rule| rule.condition.needs_account_age())
    }

    /// Returns the bytes of the texts, by which memory is bounded.
    pub(super) fn bytes(&self) -> usize {
        self.key.len() + self.value.len() + self.rules_text.len()
    }
}

/// Checks a key.
pub(super) fn check_key(key: &str) -> Result<(), ServiceError> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    match (1..=KEY_BYTES_MAX).contains(&key.len()) && key.bytes().all(is_plain) {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!(
            "The key of a remote value must have 1 to {KEY_BYTES_MAX} letters, digits, full stops, hyphens or underscores."
        ))),
    }
}

fn check_value(value: &str) -> Result<(), ServiceError> {
    if value.len() > VALUE_BYTES_MAX {
        return Err(ServiceError::invalid(format!("A remote value must have at most {VALUE_BYTES_MAX} bytes.")));
    }
    let parsed: serde_json::Value = serde_json::from_str(value)
        .map_err(|error| ServiceError::invalid(format!("A remote value must be JSON: {error}.")))?;
    match depth(&parsed) <= VALUE_DEPTH_MAX && !value.contains('\0') {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("A remote value is nested at most {VALUE_DEPTH_MAX} deep."))),
    }
}

fn depth(value: &serde_json::Value) -> usize {
    match value {
        serde_json::Value::Array(list) => 1 + list.iter().map(depth).max().unwrap_or(0),
        serde_json::Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
