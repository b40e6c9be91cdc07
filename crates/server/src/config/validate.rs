//! What no single value can tell.

use super::rooms::RoomOverrides;
use super::{Config, ConfigProblem, SettingSource};
use crate::tokens::Role;
use std::path::PathBuf;

/// A secret shorter than this can be guessed.
const SECRET_CHARACTERS_MIN: usize = 16;

/// Secrets that stand in examples everywhere, and so are none.
const KNOWN_SECRETS: [&str; 6] =
    ["defaultencryptionkey", "defaultrefreshencryptionkey", "defaulthttpkey", "defaultkey", "changeme", "password"];

impl Config {
    /// Everything that is wrong, each in a sentence that says what to do. [`Config::load`] has asked already; this is
    /// for configurations that were made or changed in a program.
    #[must_use]
    pub fn validate(&self) -> Vec<ConfigProblem> {
        let mut problems = Vec::new();
        self.validate_pair(&mut problems, "http.tls_certificate", &self.http.tls_certificate, &self.http.tls_key);
        let webtransport = &self.webtransport;
        self.validate_pair(&mut problems, "webtransport.certificate", &webtransport.certificate, &webtransport.key);
        self.validate_listeners(&mut problems);
        self.validate_public(&mut problems);
        self.validate_admin(&mut problems);
        self.validate_limits(&mut problems);
        self.validate_webhook(&mut problems);
        self.validate_platforms(&mut problems);
        self.validate_rates(&mut problems);
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
        // Port 0 asks the system for a free one, so two of them are never the same.
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
                    "The development key may claim any role, and {why}: take out tokens.accept_development, or serve \
                     on loopback only (http.address = \"127.0.0.1:7350\")."
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
            "the server is on an address that others reach"
        } else {
            "http.trusted_proxies says that others reach the server through a proxy"
        }
    }

    fn validate_admin(&self, problems: &mut Vec<ConfigProblem>) {
        let is_loopback = self.http.admin_address.ip().to_canonical().is_loopback();
        match &self.http.admin_key {
            None if !is_loopback => problems.push(self.problem(
                "http.admin_address",
                "http.admin_address is not loopback and there is no key for it: set http.admin_key (or \
                 AETHER_HTTP_ADMIN_KEY_FILE), or use a loopback address such as 127.0.0.1:7351.",
            )),
            Some(key) if KNOWN_SECRETS.contains(&key.expose()) => problems.push(self.problem(
                "http.admin_key",
                "http.admin_key is one that everybody knows: set a random one, such as `openssl rand -hex 32` prints.",
            )),
            Some(key) if key.expose().chars().count() < SECRET_CHARACTERS_MIN => problems.push(self.problem(
                "http.admin_key",
                format!("http.admin_key is too short: set one of at least {SECRET_CHARACTERS_MIN} random characters."),
            )),
            _ => {}
        }
    }

    fn validate_webhook(&self, problems: &mut Vec<ConfigProblem>) {
        let Some(url) = &self.webhook.url else { return };
        if !url.starts_with("https://") && !url.starts_with("http://") {
            let sentence = "webhook.url is no address of the web: it begins with https:// or http://.";
            problems.push(self.problem("webhook.url", sentence));
        }
        let secret = self.webhook.secret.as_ref().map(|secret| secret.expose());
        let is_secret =
            |secret: &str| secret.chars().count() >= SECRET_CHARACTERS_MIN && !KNOWN_SECRETS.contains(&secret);
        if !secret.is_some_and(is_secret) {
            problems.push(self.problem(
                "webhook.url",
                format!(
                    "webhook.url is set without a secret to sign by: set webhook.secret (or AETHER_WEBHOOK_SECRET_FILE) to \
                     at least {SECRET_CHARACTERS_MIN} random characters, such as `openssl rand -hex 32` prints."
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
                        "connections.{key} is {limit}, more than all {} that connections.max allows: lower it, or use \
                         0 for no limit.",
                        limits.max
                    ),
                ));
            }
        }
        if crate::logging::filter(&self.log.filter).is_err() {
            problems.push(self.problem(
                "log.filter",
                format!(
                    "log.filter {:?} is none: write a level or module=level, separated by commas.",
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
        ConfigProblem::new(self.places.get(key).cloned().unwrap_or(SettingSource::Default), sentence)
    }
}
