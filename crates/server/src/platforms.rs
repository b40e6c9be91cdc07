//! Settings of identity providers and shops, from the configuration.

use crate::config::{Config, OpenIdProvider, Secret};
use aether_services::account::provider::{
    FacebookInstantSettings, FacebookSettings, GameCenterSettings, OpenIdSettings, ProviderSettings, SessionStatus,
    SteamSettings,
};
use aether_services::purchase::{self, AppleSettings, GoogleSettings, HuaweiSettings, SamsungSettings};

/// Returns the settings of the identity providers.
pub(crate) fn providers(config: &Config) -> ProviderSettings {
    let Config { apple, google, steam, facebook, .. } = config;
    let bundle_ids = non_empty(&apple.bundle_ids);
    let mut open_id: Vec<OpenIdSettings> = config.provider.iter().map(|(name, one)| open_id(name, one)).collect();
    open_id.extend(bundle_ids.clone().map(OpenIdSettings::apple));
    open_id.extend(non_empty(&google.client_ids).map(OpenIdSettings::google));
    ProviderSettings {
        open_id,
        steam: steam
            .app_id
            .zip(exposed(&steam.publisher_key))
            .map(|(app_id, key)| SteamSettings { identity: steam.identity.clone(), ..SteamSettings::new(app_id, key) }),
        facebook: facebook
            .app_id
            .clone()
            .zip(exposed(&facebook.app_secret))
            .map(|(app_id, secret)| FacebookSettings::new(app_id, secret)),
        facebook_instant: exposed(&facebook.instant_app_secret)
            .map(|app_secret| FacebookInstantSettings { app_secret }),
        game_center: bundle_ids.map(GameCenterSettings::new),
    }
}

/// Returns the settings of the shops whose purchases are validated.
pub(crate) fn shops(config: &Config) -> purchase::Settings {
    let Config { apple, facebook, .. } = config;
    purchase::Settings {
        // Signed transactions (StoreKit 2) need no secret; only older receipts do.
        apple: non_empty(&apple.bundle_ids)
            .map(|bundle_ids| AppleSettings::new(bundle_ids, exposed(&apple.shared_secret).unwrap_or_default())),
        google: google(config),
        huawei: huawei(config),
        facebook_instant: exposed(&facebook.instant_app_secret)
            .map(|app_secret| purchase::FacebookInstantSettings { app_secret }),
        samsung: non_empty(&config.samsung.package_names).map(SamsungSettings::new),
    }
}

fn open_id(name: &str, provider: &OpenIdProvider) -> OpenIdSettings {
    let status = provider.status_url.clone().zip(exposed(&provider.status_bearer));
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
    let package_names = non_empty(&config.google.package_names)?;
    let email = config.google.service_email.clone()?;
    // In the JSON key file line breaks are written `\n`, and a key copied from there still has them.
    let key = exposed(&config.google.service_key)?.replace("\\n", "\n");
    Some(GoogleSettings::new(package_names, email, key))
}

fn huawei(config: &Config) -> Option<HuaweiSettings> {
    let huawei = &config.huawei;
    let package_names = non_empty(&huawei.package_names)?;
    let (client_id, public_key) = (huawei.client_id.clone()?, huawei.public_key.clone()?);
    let client_secret = exposed(&huawei.client_secret)?;
    let settings = HuaweiSettings::new(String::new(), client_id, client_secret, public_key);
    Some(HuaweiSettings { package_names, ..settings })
}

/// Returns the list, or `None` if it is empty.
fn non_empty(list: &[String]) -> Option<Vec<String>> {
    (!list.is_empty()).then(|| list.to_vec())
}

fn exposed(secret: &Option<Secret>) -> Option<String> {
    secret.as_ref().map(|secret| secret.expose().to_owned())
}
