//! Rate limits of the client API and storage quotas.

use super::declare::section;
use super::problem::closest;
use super::{Config, ConfigProblem};
use aether_api::client::{RatePreset, RateSettings, default_rate, operations};
use aether_limits::RateLimit;
use aether_services::storage::Quota;

/// Default of `api.requests_per_second` on a public server.
const REQUESTS_PER_SECOND: u32 = 100;
/// Default of `api.logins_per_second` on a public server.
const LOGINS_PER_SECOND: u32 = 20;
/// Default of `api.listings_per_second` on a public server.
const LISTINGS_PER_SECOND: u32 = 10;
/// Default of `storage.objects_per_user_max` on a public server.
const OBJECTS_PER_USER_MAX: u64 = 10_000;
/// Default of `storage.bytes_per_user_max` on a public server: the size limit of an account export.
const BYTES_PER_USER_MAX: u64 = 64 << 20;

section! {
    /// Rate limit of some operations, by account, or by network without an account.
    pub struct OperationRate {
        /// Requests per second; 0 means no limit. Required.
        per_second: Option<u32> = None, within 0..=100000;
        /// Requests that may arrive at once after a pause. Default: `per_second`.
        burst: Option<u32> = None, within 1..=100000;
    }
}

section! {
    /// Quotas of storage objects, and reserved collections.
    pub struct Storage {
        /// Maximum number of a user's objects; 0 means no limit. Default: 10,000 on a public server, no limit on loopback.
        objects_per_user_max: Option<u64> = None;
        /// Maximum total size of the values of a user's objects, in bytes; 0 means no limit. Default: 67,108,864 (64 MiB) on
        /// a public server, no limit on loopback.
        bytes_per_user_max: Option<u64> = None;
        /// Collections that only the server and its games may change, in addition to those that the games reserve. Clients
        /// may read their objects. Case matters.
        reserved_collections: Vec<String> = Vec::new();
    }
}

impl OperationRate {
    fn rate(&self) -> Option<RateLimit> {
        let per_second = self.per_second.filter(|per_second| *per_second > 0)?;
        Some(RateLimit { per_second, burst: self.burst.unwrap_or(per_second) })
    }
}

impl Config {
    /// Returns the rate limit of a preset, such as `write`, or an operation, such as `write_storage_objects`, to change it.
    pub fn rate_mut(&mut self, name: &str) -> &mut OperationRate {
        self.rate.entry(name.to_owned()).or_default()
    }

    /// Returns the rate limits of the client API.
    pub(crate) fn rates(&self) -> RateSettings {
        // On loopback all clients share one network, and a load test may use one account.
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
            // These requests have no account, so the limit for strangers applies to them anyway.
            (None, RatePreset::Login) => stranger,
            (None, _) => usual(default_rate(preset)),
        });
        let set =
            |(name, _): (&'static str, RatePreset)| Some((name.to_owned(), self.rate.get(&snake_case(name))?.rate()));
        RateSettings {
            account: total(api.requests_per_second, REQUESTS_PER_SECOND, api.requests_burst),
            stranger,
            presets,
            operations: operations().into_iter().filter_map(set).collect(),
        }
    }

    /// Returns the rate limit of room listings of one network.
    pub(crate) fn listing_rate(&self) -> Option<RateLimit> {
        let usual = if self.is_public() { LISTINGS_PER_SECOND } else { 0 };
        let per_second = self.api.listings_per_second.unwrap_or(usual);
        (per_second > 0).then_some(RateLimit { per_second, burst: per_second })
    }

    /// Returns the storage quota of a user.
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

    /// Reports rates of unknown operations, and rates without a value.
    pub(super) fn validate_rates(&self, problems: &mut Vec<ConfigProblem>) {
        if self.rate.is_empty() {
            return;
        }
        let presets = RatePreset::ALL.map(|preset| preset.name().to_owned());
        let known: Vec<String> =
            presets.into_iter().chain(operations().iter().map(|(name, _)| snake_case(name))).collect();
        for (name, rate) in &self.rate {
            let source = self.section_source(&format!("rate.{name}"));
            if !known.contains(name) {
                let meant = closest(name, known.iter().map(String::as_str));
                let hint = meant.map_or_else(String::new, |meant| format!("; did you mean [rate.{meant}]?"));
                let sentence = format!(
                    "{name} is neither an operation nor a preset{} The presets are {}.",
                    if hint.is_empty() { "." } else { &hint },
                    RatePreset::ALL.map(RatePreset::name).join(", ")
                );
                problems.push(ConfigProblem::new(source, sentence));
            } else if rate.per_second.is_none() {
                let sentence = format!("[rate.{name}] has no rate: set rate.{name}.per_second.");
                problems.push(ConfigProblem::new(source, sentence));
            }
        }
    }
}

/// Converts the name of an operation to snake case: `WriteStorageObjects` to `write_storage_objects`.
fn snake_case(operation: &str) -> String {
    let mut name = String::with_capacity(operation.len() + 4);
    for letter in operation.chars() {
        if letter.is_ascii_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    fn public_config() -> Config {
        let mut config = Config::default();
        config.http.address = ([0, 0, 0, 0], 7350).into();
        config
    }

    #[test]
    fn a_public_server_has_default_limits_and_loopback_has_none() {
        let rates = public_config().rates();
        assert_eq!(rates.account, Some(RateLimit { per_second: 100, burst: 100 }));
        assert_eq!(rates.stranger, Some(RateLimit { per_second: 20, burst: 100 }));
        let [read, write, message, login, expensive] = rates.presets;
        assert_eq!((read, write), (Some(RateLimit { per_second: 100, burst: 100 }), Some(RateLimit::STANDARD)));
        assert_eq!(message, Some(RateLimit { per_second: 5, burst: 20 }));
        assert_eq!((login, expensive), (rates.stranger, Some(RateLimit::STRICT)));
        assert!(rates.operations.is_empty());
        let local = Config::default().rates();
        assert_eq!((local.account, local.stranger, local.presets), (None, None, [None; RatePreset::ALL.len()]));
        let quota = Quota { objects_max: Some(10_000), bytes_max: Some(67_108_864) };
        assert_eq!((public_config().storage_quota(), Config::default().storage_quota()), (quota, Quota::default()));
    }

    #[test]
    fn a_set_limit_applies_everywhere_and_zero_means_no_limit() {
        let mut config = public_config();
        config.rate_mut("expensive").per_second = Some(0);
        config.rate_mut("read").per_second = Some(7);
        *config.rate_mut("write_storage_objects") = OperationRate { per_second: Some(3), burst: Some(9) };
        config.storage =
            Storage { objects_per_user_max: Some(0), bytes_per_user_max: Some(5), ..config.storage.clone() };
        for config in [config.clone(), Config { http: Config::default().http, ..config }] {
            let rates = config.rates();
            assert_eq!(rates.presets[0], Some(RateLimit { per_second: 7, burst: 7 }));
            assert_eq!(rates.presets[4], None);
            assert_eq!(rates.operations["WriteStorageObjects"], Some(RateLimit { per_second: 3, burst: 9 }));
            assert_eq!(config.storage_quota(), Quota { objects_max: None, bytes_max: Some(5) });
        }
    }
}
