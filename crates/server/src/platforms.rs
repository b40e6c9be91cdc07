//! Sign-in providers and shops, as the configuration has them.

use crate::config::{Config, OpenIdProvider, Secret};
use aether_services::account::provider::{
    FacebookInstantSettings, FacebookSettings, GameCenterSettings, OpenIdSettings, ProviderSettings, SessionStatus,
    SteamSettings,
};
use aether_services::purchase::{self, AppleSettings, GoogleSettings, HuaweiSettings};

/// By whom players may sign in.
pub(crate) fn providers(config: &Config) -> ProviderSettings {
    let Config { apple, google, steam, facebook, .. } = config;
    let bundle_ids = some(&apple.bundle_ids);
    let mut open_id: Vec<OpenIdSettings> = config.provider.iter().map(|(name, one)| open_id(name, one)).collect();
    open_id.extend(bundle_ids.clone().map(OpenIdSettings::apple));
    open_id.extend(some(&google.client_ids).map(OpenIdSettings::google));
    ProviderSettings {
        open_id,
        steam: steam
            .app_id
            .zip(text(&steam.publisher_key))
            .map(|(app_id, key)| SteamSettings { identity: steam.identity.clone(), ..SteamSettings::new(app_id, key) }),
        facebook: facebook
            .app_id
            .clone()
            .zip(text(&facebook.app_secret))
            .map(|(app_id, secret)| FacebookSettings::new(app_id, secret)),
        facebook_instant: text(&facebook.instant_app_secret).map(|app_secret| FacebookInstantSettings { app_secret }),
        game_center: bundle_ids.map(GameCenterSettings::new),
    }
}

/// Where purchases come from.
pub(crate) fn shops(config: &Config) -> purchase::Settings {
    let Config { apple, facebook, .. } = config;
    purchase::Settings {
        // Signed transactions need no secret, and those who have none send nothing else.
        apple: some(&apple.bundle_ids)
            .map(|bundle_ids| AppleSettings::new(bundle_ids, text(&apple.shared_secret).unwrap_or_default())),
        google: google(config),
        huawei: huawei(config),
        facebook_instant: text(&facebook.instant_app_secret)
            .map(|app_secret| purchase::FacebookInstantSettings { app_secret }),
    }
}

fn open_id(name: &str, provider: &OpenIdProvider) -> OpenIdSettings {
    let status = provider.status_url.clone().zip(text(&provider.status_bearer));
    OpenIdSettings {
        name: name.to_owned(),
        issuers: provider.issuers.clone(),
        audiences: provider.audiences.clone(),
        authorized_parties: provider.authorized_parties.clone(),
        keys_url: provider.keys_url.clone().unwrap_or_default(),
        session_status: status.map(|(url, bearer)| SessionStatus { url, bearer }),
    }
}

fn google(config: &Config) -> Option<GoogleSettings> {
    let package_names = some(&config.google.package_names)?;
    let email = config.google.service_email.clone()?;
    // The key file is JSON, where the ends of lines are written \n; whoever copies one into a variable copies them so.
    let key = text(&config.google.service_key)?.replace("\\n", "\n");
    Some(GoogleSettings::new(package_names, email, key))
}

fn huawei(config: &Config) -> Option<HuaweiSettings> {
    let huawei = &config.huawei;
    let package_names = some(&huawei.package_names)?;
    let (client_id, public_key) = (huawei.client_id.clone()?, huawei.public_key.clone()?);
    let client_secret = text(&huawei.client_secret)?;
    let settings = HuaweiSettings::new(String::new(), client_id, client_secret, public_key);
    Some(HuaweiSettings { package_names, ..settings })
}

/// A list that is not empty.
fn some(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}

fn text(secret: &Option<Secret>) -> Option<String> {
    secret.as_ref().map(|secret| secret.expose().to_owned())
}
