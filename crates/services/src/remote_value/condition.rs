//! Conditions of rules, which are checked on the server for each player.

use super::limits::{CONDITION_DEPTH_MAX, CONDITION_ITEMS_MAX, CONDITION_TEXT_BYTES_MAX, CONDITIONS_MAX};
use crate::error::ServiceError;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Ordering;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Parts per million of a percentage of 100.
const MILLION: u64 = 1_000_000;

/// Condition of a rule. In JSON, an object with one field, such as `{"percent": {"of": 20}}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// All of these hold.
    All(Vec<Condition>),
    /// One of these holds.
    Any(Vec<Condition>),
    /// This does not hold.
    Not(Box<Condition>),
    /// A variable of the session has one of these texts.
    Variable(VariableCondition),
    /// A variable of the session is a version in a range.
    Version(VersionCondition),
    /// The player is one of these.
    Users(Vec<Uuid>),
    /// The player is in a fixed share of all players.
    Percent(PercentCondition),
    /// The account has an age in a range.
    AccountAge(AgeCondition),
    /// The time is in a range.
    Time(TimeCondition),
}

/// Texts of a variable of the session, which the client sets when it signs in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VariableCondition {
    /// Name of the variable, such as `platform`, `language` or `country`.
    pub name: String,
    /// Texts of which it has one.
    #[serde(rename = "in")]
    pub one_of: Vec<String>,
}

/// Range of a version such as `1.4.2`. Versions are compared number by number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VersionCondition {
    /// Name of the variable, such as `version`.
    pub name: String,
    /// Lowest version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min: Option<String>,
    /// Version below which it has to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<String>,
}

/// Share of all players. The same player always gets the same answer, and a larger share contains a smaller one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PercentCondition {
    /// Share in percent, from 0 to 100.
    pub of: f64,
    /// Text that selects other players for the same share. Default: the key of the value. Values with the same seed reach
    /// the same players.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
}

/// Range of the age of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AgeCondition {
    /// Lowest age, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_seconds: Option<i64>,
    /// Age below which it has to be, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below_seconds: Option<i64>,
}

/// Range of the time, in milliseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TimeCondition {
    /// First moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_ms: Option<i64>,
    /// End, which is not part of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_ms: Option<i64>,
}

/// Player for whom conditions are checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValueContext {
    /// Player; the nil id for nobody, who is in no share and in no list of users.
    pub user: Uuid,
    /// Variables of the session.
    pub variables: BTreeMap<String, String>,
    /// Creation time of the account, in milliseconds since 1970. Without it no condition of the age holds.
    pub account_created_at: Option<i64>,
}

impl Condition {
    /// Checks the limits of the condition of a rule.
    pub fn check(&self) -> Result<(), ServiceError> {
        let mut count = 0;
        self.check_within(1, &mut count)
    }

    /// Returns true if the condition holds for a player at a time. `key` is the key of the value.
    #[must_use]
    pub fn holds(&self, key: &str, context: &ValueContext, now_ms: i64) -> bool {
        match self {
            Condition::All(all) => all.iter().all(|condition| condition.holds(key, context, now_ms)),
            Condition::Any(any) => any.iter().any(|condition| condition.holds(key, context, now_ms)),
            Condition::Not(condition) => !condition.holds(key, context, now_ms),
            Condition::Variable(variable) => {
                context.variables.get(&variable.name).is_some_and(|text| variable.one_of.contains(text))
            }
            Condition::Version(version) => {
                context.variables.get(&version.name).is_some_and(|text| version.contains(text))
            }
            Condition::Users(users) => !context.user.is_nil() && users.contains(&context.user),
            Condition::Percent(percent) => {
                !context.user.is_nil() && percent.contains(percent.seed.as_deref().unwrap_or(key), context.user)
            }
            Condition::AccountAge(age) => {
                context.account_created_at.is_some_and(|at| age.contains(now_ms.saturating_sub(at)))
            }
            Condition::Time(time) => {
                time.from_ms.is_none_or(|from| now_ms >= from) && time.until_ms.is_none_or(|until| now_ms < until)
            }
        }
    }

    /// Returns true if the condition depends on the age of the account.
    #[must_use]
    pub fn needs_account_age(&self) -> bool {
        match self {
            Condition::All(list) | Condition::Any(list) => list.iter().any(Condition::needs_account_age),
            Condition::Not(condition) => condition.needs_account_age(),
            Condition::AccountAge(_) => true,
            _ => false,
        }
    }

    fn check_within(&self, depth: usize, count: &mut usize) -> Result<(), ServiceError> {
        *count += 1;
        if depth > CONDITION_DEPTH_MAX || *count > CONDITIONS_MAX {
            return Err(ServiceError::invalid(format!(
                "A rule has at most {CONDITIONS_MAX} conditions, nested {CONDITION_DEPTH_MAX} deep."
            )));
        }
        match self {
            Condition::All(list) | Condition::Any(list) => {
                if list.is_empty() {
                    return Err(ServiceError::invalid("`all` and `any` need at least one condition."));
                }
                list.iter().try_for_each(|condition| condition.check_within(depth + 1, count))
            }
            Condition::Not(condition) => condition.check_within(depth + 1, count),
            Condition::Variable(variable) => {
                check_text("name", &variable.name)?;
                check_items(variable.one_of.len())?;
                variable.one_of.iter().try_for_each(|text| check_text("in", text))
            }
            Condition::Version(version) => version.check(),
            Condition::Users(users) => check_items(users.len()),
            Condition::Percent(percent) => percent.check(),
            Condition::AccountAge(age) if *age == AgeCondition::default() => Err(empty_range("account_age")),
            Condition::Time(time) if *time == TimeCondition::default() => Err(empty_range("time")),
            Condition::AccountAge(_) | Condition::Time(_) => Ok(()),
        }
    }
}

impl VersionCondition {
    fn check(&self) -> Result<(), ServiceError> {
        check_text("name", &self.name)?;
        if self.min.is_none() && self.below.is_none() {
            return Err(empty_range("version"));
        }
        let bounds = [&self.min, &self.below].into_iter().flatten();
        for bound in bounds {
            if bound.len() > CONDITION_TEXT_BYTES_MAX || numbers(bound).is_none() {
                let message = "A version is numbers with full stops between them, such as `1.4.2`.";
                return Err(ServiceError::invalid(message));
            }
        }
        Ok(())
    }

    fn contains(&self, text: &str) -> bool {
        let Some(version) = numbers(text) else { return false };
        let is_at_least = |bound: &String| numbers(bound).is_some_and(|bound| compare(&version, &bound).is_ge());
        self.min.as_ref().is_none_or(is_at_least) && self.below.as_ref().is_none_or(|bound| !is_at_least(bound))
    }
}

impl PercentCondition {
    fn check(&self) -> Result<(), ServiceError> {
        if !(0.0..=100.0).contains(&self.of) {
            return Err(ServiceError::invalid("`percent.of` must be from 0 to 100."));
        }
        self.seed.as_ref().map_or(Ok(()), |seed| check_text("seed", seed))
    }

    /// The hash gives each player a fixed place from 0 to 100 percent; the share is those below its size.
    fn contains(&self, seed: &str, user: Uuid) -> bool {
        let mut hash = Sha256::new();
        hash.update(seed.as_bytes());
        hash.update([0]);
        hash.update(user.as_bytes());
        let hash = hash.finalize();
        let mut first = [0; 8];
        first.copy_from_slice(&hash[..8]);
        let place = u64::from_be_bytes(first) % MILLION;
        (place as f64) < self.of * (MILLION as f64 / 100.0)
    }
}

impl AgeCondition {
    fn contains(&self, age_ms: i64) -> bool {
        let seconds = age_ms.div_euclid(1_000);
        self.min_seconds.is_none_or(|min| seconds >= min) && self.below_seconds.is_none_or(|below| seconds < below)
    }
}

/// Returns the numbers of a version. Text after a hyphen or a plus, such as `-beta`, does not count.
fn numbers(version: &str) -> Option<Vec<u64>> {
    let plain = version.split(['-', '+']).next().unwrap_or("");
    plain.split('.').map(|number| number.parse().ok()).collect()
}

/// Compares versions number by number. A missing number counts as 0.
fn compare(one: &[u64], other: &[u64]) -> Ordering {
    let number = |version: &[u64], index: usize| version.get(index).copied().unwrap_or(0);
    let longest = one.len().max(other.len());
    let differing = (0..longest).map(|index| number(one, index).cmp(&number(other, index)));
    differing.into_iter().find(|ordering| ordering.is_ne()).unwrap_or(Ordering::Equal)
}

fn check_text(what: &str, text: &str) -> Result<(), ServiceError> {
    match text.len() <= CONDITION_TEXT_BYTES_MAX && !text.contains('\0') {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!(
            "`{what}` must have at most {CONDITION_TEXT_BYTES_MAX} bytes, without the character U+0000."
        ))),
    }
}

fn check_items(count: usize) -> Result<(), ServiceError> {
    match (1..=CONDITION_ITEMS_MAX).contains(&count) {
        true => Ok(()),
        false => Err(ServiceError::invalid(format!("A condition names 1 to {CONDITION_ITEMS_MAX} texts or users."))),
    }
}

fn empty_range(what: &str) -> ServiceError {
    ServiceError::invalid(format!("`{what}` needs at least one bound."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn condition(json: serde_json::Value) -> Condition {
        let condition: Condition = serde_json::from_value(json).expect("it is a condition");
        condition.check().expect("it is within the limits");
        condition
    }

    fn player(variables: &[(&str, &str)]) -> ValueContext {
        let variables = variables.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        ValueContext { user: Uuid::from_u128(7), variables: variables.collect(), account_created_at: Some(1_000) }
    }

    #[test]
    fn conditions_hold_by_variable_version_user_age_and_time() {
        let on_phone = player(&[("platform", "ios"), ("version", "1.10.0-beta")]);
        let cases = [
            (json!({"variable": {"name": "platform", "in": ["ios", "android"]}}), true),
            (json!({"variable": {"name": "platform", "in": ["web"]}}), false),
            (json!({"variable": {"name": "country", "in": ["de"]}}), false),
            (json!({"version": {"name": "version", "min": "1.9"}}), true),
            (json!({"version": {"name": "version", "min": "1.10.0.1"}}), false),
            (json!({"version": {"name": "version", "below": "1.10"}}), false),
            (json!({"version": {"name": "version", "min": "1", "below": "2"}}), true),
            (json!({"version": {"name": "platform", "min": "0"}}), false),
            (json!({"users": [Uuid::from_u128(7)]}), true),
            (json!({"users": [Uuid::from_u128(8)]}), false),
            (json!({"account_age": {"min_seconds": 9}}), true),
            (json!({"account_age": {"below_seconds": 9}}), false),
            (json!({"time": {"from_ms": 10_000}}), true),
            (json!({"time": {"until_ms": 10_000}}), false),
            (json!({"percent": {"of": 100}}), true),
            (json!({"percent": {"of": 0}}), false),
            (json!({"not": {"percent": {"of": 0}}}), true),
            (json!({"all": [{"percent": {"of": 100}}, {"users": [Uuid::from_u128(8)]}]}), false),
            (json!({"any": [{"percent": {"of": 100}}, {"users": [Uuid::from_u128(8)]}]}), true),
        ];
        for (json, expected) in cases {
            assert_eq!(condition(json.clone()).holds("key", &on_phone, 10_000), expected, "{json}");
        }
    }

    #[test]
    fn shares_are_stable_near_their_size_and_contain_smaller_ones() {
        let share = |percent: f64, seed: &str, number: u128| {
            let of = PercentCondition { of: percent, seed: None };
            of.contains(seed, Uuid::from_u128(number))
        };
        let count = |percent, seed| (0..20_000).filter(|number| share(percent, seed, *number)).count();
        for (percent, expected) in [(5.0, 1_000.0), (50.0, 10_000.0), (0.5, 100.0)] {
            let found = count(percent, "seed") as f64;
            assert!((found - expected).abs() < 5.0 * f64::sqrt(expected), "{percent}: {found}");
        }
        for number in 0..20_000 {
            assert!(!share(5.0, "seed", number) || share(6.0, "seed", number), "{number}");
        }
        let both = (0..20_000).filter(|number| share(50.0, "one", *number) && share(50.0, "two", *number)).count();
        assert!((4_500..5_500).contains(&both), "seeds are independent: {both}");
    }

    #[test]
    fn nobody_is_in_no_share_and_without_an_age() {
        let nobody = ValueContext::default();
        assert!(!condition(json!({"percent": {"of": 100}})).holds("key", &nobody, 0));
        assert!(!condition(json!({"users": [Uuid::nil()]})).holds("key", &nobody, 0));
        assert!(!condition(json!({"account_age": {"below_seconds": 1}})).holds("key", &nobody, 0));
    }

    #[test]
    fn conditions_beyond_the_limits_are_rejected() {
        let nested = |depth: usize| (1..depth).fold(json!({"percent": {"of": 1}}), |inner, _| json!({ "not": inner }));
        let many = |count: usize| json!({ "all": vec![json!({"percent": {"of": 1}}); count - 1] });
        let texts = |count: usize| json!({"variable": {"name": "a", "in": vec!["b"; count]}});
        let long = |bytes: usize| json!({"variable": {"name": "a", "in": ["x".repeat(bytes)]}});
        let is_allowed = |json: serde_json::Value| {
            serde_json::from_value::<Condition>(json).is_ok_and(|condition| condition.check().is_ok())
        };
        for (allowed, rejected) in [
            (nested(CONDITION_DEPTH_MAX), nested(CONDITION_DEPTH_MAX + 1)),
            (many(CONDITIONS_MAX), many(CONDITIONS_MAX + 1)),
            (texts(CONDITION_ITEMS_MAX), texts(CONDITION_ITEMS_MAX + 1)),
            (long(CONDITION_TEXT_BYTES_MAX), long(CONDITION_TEXT_BYTES_MAX + 1)),
            (json!({"percent": {"of": 0.5}}), json!({"percent": {"of": 100.5}})),
            (json!({"version": {"name": "v", "min": "1"}}), json!({"version": {"name": "v", "min": "one"}})),
            (json!({"time": {"from_ms": 1}}), json!({"time": {}})),
            (json!({"account_age": {"min_seconds": 1}}), json!({"account_age": {"min": 1}})),
            (texts(1), texts(0)),
            (many(2), json!({"any": []})),
        ] {
            assert!(is_allowed(allowed.clone()), "{allowed}");
            assert!(!is_allowed(rejected.clone()), "{rejected}");
        }
    }
}
