//! Cross-field validation.

use super::rooms::RoomOverrides;
use super::{Config, ConfigProblem, Secret, SettingSource};
use crate::tokens::Role;
use std::path::PathBuf;

/// Minimum length of a secret. A shorter one can be guessed.
const SECRET_CHARACTERS_MIN: usize = 16;

/// Well-known example values, which are not secret.
const KNOWN_SECRETS: [&str; 6] =
    ["defaultencryptionkey", "defaultrefreshencryptionkey", "defaulthttpkey", "defaultkey", "changeme", "password"];

impl Config {
    /// Returns every problem, each with what to do about it. [`Config::load`] calls it; call it for configurations that were
    /// built or changed in code.
    #[must_use]
    pub fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        self.validate_pair(&mut problems, "http.tls_certificate", &self.http.tls_certificate, &self.http.tls_key);
        let webtransport = &self.webtransport;
        self.validate_pair(&mut problems, "webtransport.certificate", &webtransport.certificate, &webtransport.key);
        self.validate_listeners(&mut problems);
        self.validate_multicast(&mut problems);
        self.validate_public(&mut problems);
        self.validate_admin(&mut problems);
        self.validate_limits(&mut problems);
        self.validate_webhook(&mut problems);
        self.validate_platforms(&mut problems);
        self.validate_rates(&mut problems);
        self.validate_matchmaker(&mut problems);
        for (room_type, overrides) in &self.room {
            self.validate_room(&mut problems, room_type, overrides);
        }
        problems
    }

    fn validate_pair(
        &self,
        problems: &mut Vec<ConfigProblem>,
        certificate_name: &str,
        certificate: &Option<PathBuf>,
        key: &Option<PathBuf>,
    ) {
        let key_name = certificate_name.replace("certificate", "key");
        match (certificate, key) {
            (Some(_), None) => problems.push(self.problem(
                certificate_name,
                format!("{certificate_name} is set without its key: set {key_name} to the file of the private key."),
            )),
            (None, Some(_)) => problems.push(self.problem(
                &key_name,
                format!("{key_name} is set without its certificate: set {certificate_name} to the file of the chain."),
            )),
            _ => {}
        }
    }

    fn validate_listeners(&self, problems: &mut Vec<ConfigProblem>) {
        // With port 0 the system chooses a free port, so two of them never collide.
        if self.http.address == self.http.admin_address && self.http.address.port() != 0 {
            problems.push(self.problem(
                "http.admin_address",
                "http.admin_address is the same as http.address: give the admin listener a port of its own.",
            ));
        }
    }

    fn validate_public(&self, problems: &mut Vec<ConfigProblem>) {
        if !self.is_public() {
            return;
        }
        let why = self.why_public();
        if self.tokens.accept_development == Some(true) {
            problems.push(self.problem(
                "tokens.accept_development",
                format!(
                    "A token signed by the development key can claim any role, and {why}: remove \
                     tokens.accept_development, or serve on loopback only (http.address = \"127.0.0.1:7350\")."
                ),
            ));
        }
        if self.guests.role.is_some_and(|role| role != Role::Player) {
            problems.push(self.problem(
                "guests.role",
                format!("Guests would get a role with permissions, and {why}: set guests.role to \"player\"."),
            ));
        }
    }

    fn why_public(&self) -> &'static str {
        if self.http.trusted_proxies.is_empty() {
            "clients on other machines can reach the server"
        } else {
            "clients on other machines can reach the server through a proxy (http.trusted_proxies)"
        }
    }

    fn validate_admin(&self, problems: &mut Vec<ConfigProblem>) {
        let is_loopback = self.http.admin_address.ip().to_canonical().is_loopback();
        if self.http.admin_key.is_none() && !is_loopback {
            problems.push(self.problem(
                "http.admin_address",
                "http.admin_address is not loopback and http.admin_key is not set: set http.admin_key (or \
                 AETHER_HTTP_ADMIN_KEY_FILE), or use a loopback address such as 127.0.0.1:7351.",
            ));
        }
        self.validate_key(problems, "http.admin_key", self.http.admin_key.as_ref());
        self.validate_key(problems, "api.http_key", self.api.http_key.as_ref());
    }

    fn validate_key(&self, problems: &mut Vec<ConfigProblem>, setting: &'static str, key: Option<&Secret>) {
        let Some(key) = key.map(Secret::expose) else { return };
        let why = if KNOWN_SECRETS.contains(&key) {
            "is a well-known example value: set a random one, such as `openssl rand -hex 32` prints.".to_owned()
        } else if key.chars().count() < SECRET_CHARACTERS_MIN {
            format!("is too short: use at least {SECRET_CHARACTERS_MIN} random characters.")
        } else {
            return;
        };
        problems.push(self.problem(setting, format!("{setting} {why}")));
    }

    fn validate_webhook(&self, problems: &mut Vec<ConfigProblem>) {
        let Some(url) = &self.webhook.url else { return };
        if !url.starts_with("https://") && !url.starts_with("http://") {
            let sentence = "webhook.url is not an HTTP URL: it must begin with https:// or http://.";
            problems.push(self.problem("webhook.url", sentence));
        }
        let secret = self.webhook.secret.as_ref().map(|secret| secret.expose());
        let is_secret =
            |secret: &str| secret.chars().count() >= SECRET_CHARACTERS_MIN && !KNOWN_SECRETS.contains(&secret);
        if !secret.is_some_and(is_secret) {
            problems.push(self.problem(
                "webhook.url",
                format!(
                    "webhook.url is set without a strong webhook.secret: set webhook.secret (or \
                     AETHER_WEBHOOK_SECRET_FILE) to at least {SECRET_CHARACTERS_MIN} random characters, such as `openssl \
                     rand -hex 32` prints."
                ),
            ));
        }
    }

    fn validate_limits(&self, problems: &mut Vec<ConfigProblem>) {
        let limits = &self.connections;
        for (key, limit) in [("per_ip_max", limits.per_ip_max), ("per_account_max", limits.per_account_max)] {
            if limit > limits.max {
                problems.push(self.problem(
                    &format!("connections.{key}"),
                    format!(
                        "connections.{key} is {limit}, more than connections.max, which is {}: lower it, or use 0 for \
                         no limit.",
                        limits.max
                    ),
                ));
            }
        }
        if let Some(ping) = limits.ping_seconds.filter(|ping| *ping >= limits.idle_seconds) {
            problems.push(self.problem(
                "connections.ping_seconds",
                format!(
                    "connections.ping_seconds is {ping}, and connections.idle_seconds is {}: a connection would be closed \
                     before its first ping. Lower ping_seconds, or raise idle_seconds.",
                    limits.idle_seconds
                ),
            ));
        }
        if crate::logging::filter(&self.log.filter).is_err() {
            problems.push(self.problem(
                "log.filter",
                format!(
                    "log.filter {:?} is not a filter: write levels or module=level, separated by commas.",
                    self.log.filter
                ),
            ));
        }
    }

    fn validate_room(&self, problems: &mut Vec<ConfigProblem>, room_type: &str, overrides: &RoomOverrides) {
        let (Some(tick_hz), Some(snapshot_hz)) = (overrides.tick_hz, overrides.snapshot_hz) else { return };
        if tick_hz == 0 || snapshot_hz == 0 || !tick_hz.is_multiple_of(snapshot_hz) {
            let divisors: Vec<String> =
                (1..=tick_hz).filter(|hz| tick_hz.is_multiple_of(*hz)).map(|hz| hz.to_string()).collect();
            problems.push(self.problem(
                &format!("room.{room_type}.snapshot_hz"),
                format!(
                    "room.{room_type}.snapshot_hz is {snapshot_hz} and does not divide tick_hz, which is {tick_hz}: \
                     set one of {}.",
                    divisors.join(", ")
                ),
            ));
        }
    }

    pub(super) fn problem(&self, key: &str, sentence: impl Into<String>) -> ConfigProblem {
        ConfigProblem::new(self.sources.get(key).cloned().unwrap_or(SettingSource::Default), sentence)
    }
}
