//! Where players are known and games are sold: by what each platform recognises the game. The same facts serve signing in
//! and purchases.

use super::declare::section;
use super::load::{environment_name, group, is_secret};
use super::{Config, ConfigProblem, Secret};
use aether_services::account::provider::{APPLE, FACEBOOK, FACEBOOK_INSTANT, GAME_CENTER, GOOGLE, STEAM};

/// Names of providers that are platforms of their own: a section with one of them would take its place.
const PLATFORMS: [&str; 6] = [APPLE, FACEBOOK, FACEBOOK_INSTANT, GAME_CENTER, GOOGLE, STEAM];

/// What stands in `status_url` for the id of a session.
const SESSION_PLACE: &str = "{session}";

/// What a private key in PEM begins with, as Google writes it.
const PEM_BEGINNING: &str = "-----BEGIN PRIVATE KEY-----";

section! {
    /// A game on Apple's devices.
    pub struct Apple {
        /// The game's bundle ids, such as `com.example.game`, and its Services ID if players sign in on a page. With one,
        /// Sign in with Apple, Game Center and purchases by signed transactions (StoreKit 2) work.
        bundle_ids: Vec<String> = Vec::new();
        /// The app's shared secret of App Store Connect. Only receipts of the older StoreKit need it, and of those the
        /// ones with subscriptions.
        shared_secret: Option<Secret> = None;
    }
}

section! {
    /// A game at Google.
    pub struct Google {
        /// The OAuth client ids for which the game gets ID tokens, such as `1234-abcd.apps.googleusercontent.com`. With
        /// one, players sign in with Google.
        client_ids: Vec<String> = Vec::new();
        /// The game's package names in Google Play. Purchases need one, `service_email` and `service_key`.
        package_names: Vec<String> = Vec::new();
        /// The service account that asks about purchases: `client_email` in its key file.
        service_email: Option<String> = None;
        /// The key of the service account: `private_key` in its key file, which is PEM.
        service_key: Option<Secret> = None;
    }
}

section! {
    /// A game on Steam.
    pub struct Steam {
        /// The game's App ID. With `publisher_key`, players sign in by tickets of Steam.
        app_id: Option<u32> = None, within 1..=2_147_483_647;
        /// The publisher's key for Steam's web interface.
        publisher_key: Option<Secret> = None;
        /// What the game passes to `GetAuthTicketForWebApi`. When it is set, tickets for another identity are refused.
        identity: Option<String> = None;
    }
}

section! {
    /// A game at Facebook.
    pub struct Facebook {
        /// The game's App ID. With `app_secret`, players sign in with Facebook, also by limited login.
        app_id: Option<String> = None;
        /// The App Secret.
        app_secret: Option<Secret> = None;
        /// The App Secret of an Instant Game. With it, its players sign in and its purchases count.
        instant_app_secret: Option<Secret> = None;
    }
}

section! {
    /// A game in Huawei's AppGallery. Purchases need all four.
    pub struct Huawei {
        /// The game's package names.
        package_names: Vec<String> = Vec::new();
        /// The game's client id.
        client_id: Option<String> = None;
        /// The game's client secret.
        client_secret: Option<Secret> = None;
        /// The public key of in-app purchases, in base64, as the console of AppGallery shows it.
        public_key: Option<String> = None;
    }
}

section! {
    /// A sign-in provider that speaks OpenID Connect.
    pub struct OpenIdProvider {
        /// What its tokens say of who issued them (`iss`): one of these, letter by letter.
        issuers: Vec<String> = Vec::new();
        /// What its tokens say of whom they are for (`aud`): one of these, which are the game's client ids there.
        audiences: Vec<String> = Vec::new();
        /// What tokens without an audience say of where they were asked for (`azp`): one of these. Clerk's tokens are
        /// such. Needed when `audiences` is not set.
        authorized_parties: Vec<String> = Vec::new();
        /// Where its keys are: `jwks_uri` in its `/.well-known/openid-configuration`. Needed, and `https://`; `http://`
        /// is for a network of `outgoing.allowed_networks`.
        keys_url: Option<String> = None;
        /// Where it tells whether a session of its own still lasts, with `{session}` for the token's `sid`. When it is
        /// set, it is asked at each sign-in.
        status_url: Option<String> = None;
        /// What it is asked with there, as a bearer token. Needed with `status_url`.
        status_bearer: Option<Secret> = None;
    }
}

impl Config {
    /// Changes a sign-in provider that speaks OpenID Connect; one that is not there is added.
    pub fn provider_mut(&mut self, name: &str) -> &mut OpenIdProvider {
        self.provider.entry(name.to_owned()).or_default()
    }

    /// What is wrong with platforms and providers.
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
            let sentence = "google.service_key is no private key: copy private_key from the key file of the service \
                            account, or let AETHER_GOOGLE_SERVICE_KEY_FILE name a file with it alone.";
            problems.push(self.problem("google.service_key", sentence));
        }
        let identity = steam.identity.as_ref().map(|_| ("steam.identity", true));
        let settings =
            [("steam.app_id", steam.app_id.is_some()), ("steam.publisher_key", steam.publisher_key.is_some())];
        let settings: Vec<_> = settings.into_iter().chain(identity).collect();
        self.validate_together(problems, "signing in with Steam", &settings);
        let settings =
            [("facebook.app_id", facebook.app_id.is_some()), ("facebook.app_secret", facebook.app_secret.is_some())];
        self.validate_together(problems, "signing in with Facebook", &settings);
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

    /// Refuses settings of which only some are set, though they count for nothing but together.
    fn validate_together(&self, problems: &mut Vec<ConfigProblem>, purpose: &str, settings: &[(&str, bool)]) {
        let (set, missing): (Vec<_>, Vec<_>) = settings.iter().partition(|(_, is_set)| *is_set);
        let Some((first, _)) = set.first().filter(|_| !missing.is_empty()) else { return };
        let set: Vec<String> = set.iter().map(|(key, _)| (*key).to_owned()).collect();
        let missing: Vec<String> = missing.iter().map(|(key, _)| with_file(key)).collect();
        let (verb, them) = if missing.len() == 1 { ("is", "it") } else { ("are", "them") };
        let sentence = format!(
            "For {purpose}, {} {verb} missing: set {them} too, or take out {}.",
            missing.join(" and "),
            set.join(" and ")
        );
        problems.push(self.problem(first, sentence));
    }

    fn validate_provider(&self, problems: &mut Vec<ConfigProblem>, name: &str, provider: &OpenIdProvider) {
        let section = format!("provider.{name}");
        let mut refuse = |sentence: String| problems.push(ConfigProblem::new(self.section_place(&section), sentence));
        if PLATFORMS.contains(&name) {
            refuse(format!(
                "[{section}] has the name of a platform that the server knows: set it up in its own section, or choose \
                 another name."
            ));
            return;
        }
        if let Some(group) = group("provider").filter(|group| !group.takes(name)) {
            refuse(group.refusal(name));
        }
        if provider.issuers.is_empty() {
            refuse(format!("{section}.issuers is missing: set it to what the provider's tokens say under `iss`."));
        }
        if provider.audiences.is_empty() && provider.authorized_parties.is_empty() {
            refuse(format!(
                "{section}.audiences is missing, and tokens for any game would count: set it to the game's client ids at \
                 the provider, or {section}.authorized_parties if its tokens have no audience."
            ));
        }
        if provider.keys_url.is_none() {
            refuse(format!(
                "{section}.keys_url is missing: set it to jwks_uri of the provider's /.well-known/openid-configuration."
            ));
        }
        let status = [
            (format!("{section}.status_url"), provider.status_url.is_some()),
            (format!("{section}.status_bearer"), provider.status_bearer.is_some()),
        ];
        let status = status.each_ref().map(|(key, is_set)| (key.as_str(), *is_set));
        self.validate_together(problems, "the question whether a session lasts", &status);
        self.validate_address(problems, &format!("{section}.keys_url"), provider.keys_url.as_deref());
        self.validate_address(problems, &format!("{section}.status_url"), provider.status_url.as_deref());
        if provider.status_url.as_ref().is_some_and(|url| !url.contains(SESSION_PLACE)) {
            let key = format!("{section}.status_url");
            let sentence =
                format!("{key} does not say which session is meant: write {SESSION_PLACE} where its id goes.");
            problems.push(self.problem(&key, sentence));
        }
    }

    /// Refuses an address that others on the way could answer in the provider's place.
    fn validate_address(&self, problems: &mut Vec<ConfigProblem>, key: &str, url: Option<&str>) {
        let Some(url) = url else { return };
        let may_be_plain = !self.outgoing.allowed_networks.is_empty();
        let is_safe = url.starts_with("https://") || (may_be_plain && url.starts_with("http://"));
        if !is_safe {
            let sentence = format!(
                "{key} does not begin with https://, so whoever is on the way could answer for the provider: use \
                 https://, or http:// in a network that outgoing.allowed_networks names."
            );
            problems.push(self.problem(key, sentence));
        }
    }
}

/// The name of a setting; of a secret, also how to set it by a file.
fn with_file(name: &str) -> String {
    let (section, key) = name.rsplit_once('.').unwrap_or(("", name));
    if is_secret(section, key) {
        format!("{name} (or {}_FILE)", environment_name(section, key))
    } else {
        name.to_owned()
    }
}
