//! Settings of platforms (Apple, Google, Steam, Facebook, Huawei, Samsung) and of OpenID Connect providers, for sign-in and purchases.

use super::declare::section;
use super::load::{environment_name, group, is_secret};
use super::{Config, ConfigProblem, Secret};
use aether_services::account::provider::{APPLE, FACEBOOK, FACEBOOK_INSTANT, GAME_CENTER, GOOGLE, STEAM};

/// Provider names of the built-in platforms, which `[provider.<name>]` cannot use.
const PLATFORMS: [&str; 6] = [APPLE, FACEBOOK, FACEBOOK_INSTANT, GAME_CENTER, GOOGLE, STEAM];

/// Placeholder of the session id in `status_url`.
const SESSION_PLACEHOLDER: &str = "{session}";

/// First line of a private key in Google's key file (PEM).
const PEM_BEGINNING: &str = "-----BEGIN PRIVATE KEY-----";

section! {
    /// Apple: Sign in with Apple, Game Center and App Store purchases.
    pub struct Apple {
        /// Bundle ids of the game, such as `com.example.game`, and its Services ID if players sign in on a web page. Enables
        /// Sign in with Apple, Game Center and purchases by signed transactions (StoreKit 2).
        bundle_ids: Vec<String> = Vec::new();
        /// Shared secret of the app, from App Store Connect. Needed only for receipts of the original StoreKit that contain
        /// subscriptions.
        shared_secret: Option<Secret> = None;
    }
}

section! {
    /// Google: sign-in with Google and Google Play purchases.
    pub struct Google {
        /// OAuth client ids for which the game gets ID tokens, such as `1234-abcd.apps.googleusercontent.com`. Enables
        /// sign-in with Google.
        client_ids: Vec<String> = Vec::new();
        /// Package names of the game in Google Play. Purchases require it, `service_email` and `service_key`.
        package_names: Vec<String> = Vec::new();
        /// Service account that validates purchases: `client_email` of its key file.
        service_email: Option<String> = None;
        /// Key of the service account: `private_key` of its key file, in PEM.
        service_key: Option<Secret> = None;
    }
}

section! {
    /// Steam: sign-in with Steam tickets.
    pub struct Steam {
        /// App ID of the game. With `publisher_key`, enables sign-in with Steam tickets.
        app_id: Option<u32> = None, within 1..=2_147_483_647;
        /// Publisher key for the Steam Web API.
        publisher_key: Option<Secret> = None;
        /// Identity that the game passes to `GetAuthTicketForWebApi`. If set, tickets for another identity are rejected.
        identity: Option<String> = None;
    }
}

section! {
    /// Facebook: sign-in with Facebook, and Instant Games.
    pub struct Facebook {
        /// App ID of the game. With `app_secret`, enables sign-in with Facebook, including Limited Login.
        app_id: Option<String> = None;
        /// App Secret of the game.
        app_secret: Option<Secret> = None;
        /// App Secret of an Instant Game. Enables its sign-in and its purchases.
        instant_app_secret: Option<Secret> = None;
    }
}

section! {
    /// Huawei AppGallery purchases. They need all four settings.
    pub struct Huawei {
        /// Package names of the game.
        package_names: Vec<String> = Vec::new();
        /// Client id of the game.
        client_id: Option<String> = None;
        /// Client secret of the game.
        client_secret: Option<Secret> = None;
        /// Public key of in-app purchases, in base64, from AppGallery Connect.
        public_key: Option<String> = None;
    }
}

section! {
    /// Samsung Galaxy Store purchases.
    pub struct Samsung {
        /// Package names of the game.
        package_names: Vec<String> = Vec::new();
    }
}

section! {
    /// An identity provider with OpenID Connect.
    pub struct OpenIdProvider {
        /// Accepted issuers (`iss`) of its tokens, compared exactly. Required.
        issuers: Vec<String> = Vec::new();
        /// Accepted audiences (`aud`) of its tokens: the game's client ids at the provider.
        audiences: Vec<String> = Vec::new();
        /// Accepted authorized parties (`azp`) of tokens without an audience, such as those of Clerk. Required if `audiences`
        /// is not set.
        authorized_parties: Vec<String> = Vec::new();
        /// URL of its signing keys: `jwks_uri` in its `/.well-known/openid-configuration`. Required. It begins with
        /// `https://`; `http://` is accepted if `outgoing.allowed_networks` is set.
        keys_url: Option<String> = None;
        /// URL that returns the status of the provider's session, with `{session}` for the token's `sid`. If set, it is
        /// requested at each sign-in.
        status_url: Option<String> = None;
        /// Bearer token for `status_url`. Required with it.
        status_bearer: Option<Secret> = None;
    }
}

impl Config {
    /// Returns an OpenID Connect provider, to change it. Adds it if it is missing.
    pub fn provider_mut(&mut self, name: &str) -> &mut OpenIdProvider {
        self.provider.entry(name.to_owned()).or_default()
    }

    /// Validates platforms and providers.
    pub(super) fn validate_platforms(&self, problems: &mut Vec<ConfigProblem>) {
        let Config { apple, google, steam, facebook, huawei, .. } = self;
        if apple.shared_secret.is_some() {
            let settings = [("apple.shared_secret", true), ("apple.bundle_ids", !apple.bundle_ids.is_empty())];
            self.validate_together(problems, "purchases from the App Store", &settings);
        }
        let settings = [
            ("google.package_names", !google.package_names.is_empty()),
            ("google.service_email", google.service_email.is_some()),
            ("google.service_key", google.service_key.is_some()),
        ];
        self.validate_together(problems, "purchases from Google Play", &settings);
        if google.service_key.as_ref().is_some_and(|key| !key.expose().trim_start().starts_with(PEM_BEGINNING)) {
            let sentence = "google.service_key is not a private key: copy private_key from the key file of the service \
                            account, or set AETHER_GOOGLE_SERVICE_KEY_FILE to a file that contains only that key.";
            problems.push(self.problem("google.service_key", sentence));
        }
        let identity = steam.identity.as_ref().map(|_| ("steam.identity", true));
        let settings =
            [("steam.app_id", steam.app_id.is_some()), ("steam.publisher_key", steam.publisher_key.is_some())];
        let settings: Vec<_> = settings.into_iter().chain(identity).collect();
        self.validate_together(problems, "sign-in with Steam", &settings);
        let settings =
            [("facebook.app_id", facebook.app_id.is_some()), ("facebook.app_secret", facebook.app_secret.is_some())];
        self.validate_together(problems, "sign-in with Facebook", &settings);
        let settings = [
            ("huawei.package_names", !huawei.package_names.is_empty()),
            ("huawei.client_id", huawei.client_id.is_some()),
            ("huawei.client_secret", huawei.client_secret.is_some()),
            ("huawei.public_key", huawei.public_key.is_some()),
        ];
        self.validate_together(problems, "purchases from Huawei's AppGallery", &settings);
        for (name, provider) in &self.provider {
            self.validate_provider(problems, name, provider);
        }
    }

    /// Reports settings of which only some are set although they have an effect only together.
    fn validate_together(&self, problems: &mut Vec<ConfigProblem>, purpose: &str, settings: &[(&str, bool)]) {
        let (set, missing): (Vec<_>, Vec<_>) = settings.iter().partition(|(_, is_set)| *is_set);
        let Some((first, _)) = set.first().filter(|_| !missing.is_empty()) else { return };
        let set: Vec<String> = set.iter().map(|(key, _)| (*key).to_owned()).collect();
        let missing: Vec<String> = missing.iter().map(|(key, _)| with_file_variable(key)).collect();
        let (verb, them) = if missing.len() == 1 { ("is", "it") } else { ("are", "them") };
        let sentence = format!(
            "For {purpose}, {} {verb} missing: set {them} too, or remove {}.",
            missing.join(" and "),
            set.join(" and ")
        );
        problems.push(self.problem(first, sentence));
    }

    fn validate_provider(&self, problems: &mut Vec<ConfigProblem>, name: &str, provider: &OpenIdProvider) {
        let section = format!("provider.{name}");
        let mut report = |sentence: String| problems.push(ConfigProblem::new(self.section_source(&section), sentence));
        if PLATFORMS.contains(&name) {
            report(format!(
                "[{section}] has the name of a built-in platform: use the section of that platform, or choose another \
                 name."
            ));
            return;
        }
        if let Some(group) = group("provider").filter(|group| !group.accepts_name(name)) {
            report(group.invalid_name(name));
        }
        if provider.issuers.is_empty() {
            report(format!("{section}.issuers is missing: set it to the `iss` of the provider's tokens."));
        }
        if provider.audiences.is_empty() && provider.authorized_parties.is_empty() {
            report(format!(
                "{section}.audiences is missing, so tokens for any application would be accepted: set it to the game's \
                 client ids at the provider, or set {section}.authorized_parties if its tokens have no audience."
            ));
        }
        if provider.keys_url.is_none() {
            report(format!(
                "{section}.keys_url is missing: set it to jwks_uri of the provider's /.well-known/openid-configuration."
            ));
        }
        let status = [
            (format!("{section}.status_url"), provider.status_url.is_some()),
            (format!("{section}.status_bearer"), provider.status_bearer.is_some()),
        ];
        let status = status.each_ref().map(|(key, is_set)| (key.as_str(), *is_set));
        self.validate_together(problems, "the session status check", &status);
        self.validate_url(problems, &format!("{section}.keys_url"), provider.keys_url.as_deref());
        self.validate_url(problems, &format!("{section}.status_url"), provider.status_url.as_deref());
        if provider.status_url.as_ref().is_some_and(|url| !url.contains(SESSION_PLACEHOLDER)) {
            let key = format!("{section}.status_url");
            let sentence = format!("{key} has no session id: write {SESSION_PLACEHOLDER} where the id belongs.");
            problems.push(self.problem(&key, sentence));
        }
    }

    /// Reports a URL without TLS, where an attacker on the network could answer for the provider.
    fn validate_url(&self, problems: &mut Vec<ConfigProblem>, key: &str, url: Option<&str>) {
        let Some(url) = url else { return };
        let may_be_plain = !self.outgoing.allowed_networks.is_empty();
        let is_safe = url.starts_with("https://") || (may_be_plain && url.starts_with("http://"));
        if !is_safe {
            let sentence = format!(
                "{key} does not begin with https://, so an attacker on the network could answer for the provider: use \
                 https://, or http:// with the provider's network in outgoing.allowed_networks."
            );
            problems.push(self.problem(key, sentence));
        }
    }
}

/// Returns the name of a setting, and for a secret also the variable that names a file.
fn with_file_variable(name: &str) -> String {
    let (section, key) = name.rsplit_once('.').unwrap_or(("", name));
    if is_secret(section, key) {
        format!("{name} (or {}_FILE)", environment_name(section, key))
    } else {
        name.to_owned()
    }
}
