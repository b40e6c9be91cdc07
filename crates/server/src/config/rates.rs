//! How often clients may ask, and how much they may keep.

use super::declare::section;
use super::problem::closest;
use super::{Config, ConfigProblem};
use aether_api::client::{RatePreset, RateSettings, operations, usual_rate};
use aether_limits::RateLimit;
use aether_services::storage::Quota;

/// How many requests a second an account may make on a public server, if nothing else is set.
const REQUESTS_PER_SECOND: u32 = 100;
/// How many logins a second come from one network at most, if nothing else is set.
const LOGINS_PER_SECOND: u32 = 20;
/// How many objects a user may keep on a public server, if nothing else is set.
const OBJECTS_PER_USER_MAX: u64 = 10_000;
/// How many bytes a user may keep on a public server, if nothing else is set: as much as an export of an account can hold.
const BYTES_PER_USER_MAX: u64 = 64 << 20;

section! {
    /// How often an account may ask for operations; without an account, how often a network may.
    pub struct OperationRate {
        /// How many requests a second; 0 sets no limit. Needed.
        per_second: Option<u32> = None, within 0..=100000;
        /// How many at once after a pause. When it is not set: as many as in a second.
        burst: Option<u32> = None, within 1..=100000;
    }
}

section! {
    /// Objects that players keep.
    pub struct Storage {
        /// How many objects a user may keep; 0 sets no limit. When it is not set: 10,000, and on one's own machine no
        /// limit.
        objects_per_user_max: Option<u64> = None;
        /// How many bytes the values of a user's objects may have together; 0 sets no limit. When it is not set: 67,108,864
        /// (64 MiB), and on one's own machine no limit.
        bytes_per_user_max: Option<u64> = None;
    }
}

impl OperationRate {
    fn rate(&self) -> Option<RateLimit> {
        let per_second = self.per_second.filter(|per_second| *per_second > 0)?;
        Some(RateLimit { per_second, burst: self.burst.unwrap_or(per_second) })
    }
}

impl Config {
    /// Changes how often a preset, such as `write`, or an operation, such as `write_storage_objects`, may be asked for.
    pub fn rate_mut(&mut self, name: &str) -> &mut OperationRate {
        self.rate.entry(name.to_owned()).or_default()
    }

    /// How often clients may ask.
    pub(crate) fn rates(&self) -> RateSettings {
        // On one's own machine everyone is one network, and a load test one account.
        let usual = |rate: RateLimit| Some(rate).filter(|_| self.is_public());
        let total = |set: Option<u32>, per_second: u32, burst: u32| match set {
            Some(0) => None,
            Some(per_second) => Some(RateLimit { per_second, burst }),
            None => usual(RateLimit { per_second, burst }),
        };
        let api = &self.api;
        let stranger = total(api.logins_per_second, LOGINS_PER_SECOND, api.logins_burst);
        let presets = RatePreset::ALL.map(|preset| match (self.rate.get(preset.name()), preset) {
            (Some(set), _) => set.rate(),
            // All of them are of strangers, who have that limit together anyway.
            (None, RatePreset::Login) => stranger,
            (None, _) => usual(usual_rate(preset)),
        });
        let set =
            |(name, _): (&'static str, RatePreset)| Some((name.to_owned(), self.rate.get(&spelled(name))?.rate()));
        RateSettings {
            account: total(api.requests_per_second, REQUESTS_PER_SECOND, api.requests_burst),
            stranger,
            presets,
            operations: operations().into_iter().filter_map(set).collect(),
        }
    }

    /// How much one user may keep in storage.
    pub(crate) fn storage_quota(&self) -> Quota {
        let limit = |set: Option<u64>, usual: u64| match set {
            Some(0) => None,
            None => Some(usual).filter(|_| self.is_public()),
            limit => limit,
        };
        Quota {
            objects_max: limit(self.storage.objects_per_user_max, OBJECTS_PER_USER_MAX),
            bytes_max: limit(self.storage.bytes_per_user_max, BYTES_PER_USER_MAX),
        }
    }

    /// Refuses rates of what is not there, and those that say nothing.
    pub(super) fn validate_rates(&self, problems: &mut Vec<ConfigProblem>) {
        if self.rate.is_empty() {
            return;
        }
        let presets = RatePreset::ALL.map(|preset| preset.name().to_owned());
        let known: Vec<String> =
            presets.into_iter().chain(operations().iter().map(|(name, _)| spelled(name))).collect();
        for (name, rate) in &self.rate {
            let place = self.section_place(&format!("rate.{name}"));
            if !known.contains(name) {
                let meant = closest(name, known.iter().map(String::as_str));
                let hint = meant.map_or_else(String::new, |meant| format!("; did you mean [rate.{meant}]?"));
                let sentence = format!(
                    "There is neither an operation nor a preset {name}{} The presets are {}.",
                    if hint.is_empty() { "." } else { &hint },
                    RatePreset::ALL.map(RatePreset::name).join(", ")
                );
                problems.push(ConfigProblem::new(place, sentence));
            } else if rate.per_second.is_none() {
                let sentence = format!("[rate.{name}] does not say how often: set rate.{name}.per_second.");
                problems.push(ConfigProblem::new(place, sentence));
            }
        }
    }
}

/// The name of an operation as the configuration spells it: `write_storage_objects` for `WriteStorageObjects`.
fn spelled(operation: &str) -> String {
    let mut spelled = String::with_capacity(operation.len() + 4);
    for letter in operation.chars() {
        if letter.is_ascii_uppercase() && !spelled.is_empty() {
            spelled.push('_');
        }
        spelled.push(letter.to_ascii_lowercase());
    }
    spelled
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reached by others.
    fn public() -> Config {
        let mut config = Config::default();
        config.http.address = ([0, 0, 0, 0], 7350).into();
        config
    }

    #[test]
    fn a_public_server_has_limits_and_one_s_own_machine_none() {
        let rates = public().rates();
        assert_eq!(rates.account, Some(RateLimit { per_second: 100, burst: 100 }));
        assert_eq!(rates.stranger, Some(RateLimit { per_second: 20, burst: 100 }));
        let [read, write, login, expensive] = rates.presets;
        assert_eq!((read, write), (Some(RateLimit { per_second: 100, burst: 100 }), Some(RateLimit::STANDARD)));
        assert_eq!((login, expensive), (rates.stranger, Some(RateLimit::STRICT)));
        assert!(rates.operations.is_empty());
        let own = Config::default().rates();
        assert_eq!((own.account, own.stranger, own.presets), (None, None, [None; 4]));
        let quota = Quota { objects_max: Some(10_000), bytes_max: Some(67_108_864) };
        assert_eq!((public().storage_quota(), Config::default().storage_quota()), (quota, Quota::default()));
    }

    #[test]
    fn what_is_set_counts_everywhere_and_zero_is_no_limit() {
        let mut config = public();
        config.rate_mut("expensive").per_second = Some(0);
        config.rate_mut("read").per_second = Some(7);
        *config.rate_mut("write_storage_objects") = OperationRate { per_second: Some(3), burst: Some(9) };
        config.storage = Storage { objects_per_user_max: Some(0), bytes_per_user_max: Some(5) };
        for config in [config.clone(), Config { http: Config::default().http, ..config }] {
            let rates = config.rates();
            assert_eq!(rates.presets[0], Some(RateLimit { per_second: 7, burst: 7 }));
            assert_eq!(rates.presets[3], None);
            assert_eq!(rates.operations["WriteStorageObjects"], Some(RateLimit { per_second: 3, burst: 9 }));
            assert_eq!(config.storage_quota(), Quota { objects_max: None, bytes_max: Some(5) });
        }
    }
}
