//! Settings of platforms and identity providers.

use super::{error, errors, load};
use aether_server::config::{Config, Secret};

/// A complete provider.
const PROVIDER: &str = "[provider.example]\nissuers = [\"https://id.example.com\"]\naudiences = [\"game\"]\n\
                        keys_url = \"https://id.example.com/keys\"\n";

/// A private key in Google's format. Its content is parsed only when the server starts.
const KEY: &str = "-----BEGIN PRIVATE KEY-----\\nMII\\n-----END PRIVATE KEY-----\\n";

#[test]
fn each_platform_is_set_in_its_section_and_secrets_stay_hidden() {
    let file = format!(
        "[apple]\nbundle_ids = [\"com.example.game\"]\nshared_secret = \"hush-1\"\n\
         [google]\nclient_ids = [\"1.apps.example\"]\npackage_names = [\"com.example.game\"]\n\
         service_email = \"shop@example.com\"\nservice_key = \"{KEY}\"\n\
         [steam]\napp_id = 480\npublisher_key = \"hush-2\"\nidentity = \"aether\"\n\
         [facebook]\napp_id = \"123\"\napp_secret = \"hush-3\"\ninstant_app_secret = \"hush-4\"\n\
         [huawei]\npackage_names = [\"com.example.game\"]\nclient_id = \"1\"\nclient_secret = \"hush-5\"\n\
         public_key = \"MII\"\n"
    );
    let config = load(&file, &[], &[]).unwrap();
    assert_eq!(config.apple.bundle_ids, ["com.example.game"]);
    assert_eq!(config.google.service_key, Some(Secret::new(KEY.replace("\\n", "\n"))));
    assert_eq!((config.steam.app_id, config.steam.identity.as_deref()), (Some(480), Some("aether")));
    assert_eq!(config.facebook.app_id.as_deref(), Some("123"));
    assert_eq!(config.huawei.public_key.as_deref(), Some("MII"));
    let shown = format!("{config:?} {:?}", config.effective());
    assert!(!shown.contains("hush") && !shown.contains("BEGIN PRIVATE KEY"), "{shown}");
}

#[test]
fn a_provider_is_set_in_every_layer() {
    let file = format!("{PROVIDER}[provider.other]\nissuers = [\"a\"]\n");
    let environment = [
        ("AETHER_PROVIDER_EXAMPLE_AUDIENCES", "game, tool"),
        ("AETHER_PROVIDER_EXAMPLE_STATUS_BEARER_FILE", "/run/secrets/admin"),
        ("AETHER_PROVIDER_OTHER_KEYS_URL", "https://other.example.com/keys"),
    ];
    let flags = [
        ("provider.example.status_url", "https://id.example.com/sessions/{session}"),
        ("provider.other.authorized_parties", "https://game.example.com"),
    ];
    let mut config = load(&file, &environment, &flags).unwrap();
    let listed = config.effective();
    let hidden = listed.iter().find(|set| set.key == "provider.example.status_bearer").expect("it was set");
    assert_eq!(hidden.value, "(hidden)");
    assert_eq!(hidden.source.to_string(), "environment variable AETHER_PROVIDER_EXAMPLE_STATUS_BEARER_FILE");
    let example = config.provider_mut("example");
    assert_eq!(example.issuers, ["https://id.example.com"]);
    assert_eq!(example.audiences, ["game", "tool"]);
    assert_eq!(example.status_url.as_deref(), Some("https://id.example.com/sessions/{session}"));
    assert_eq!(example.status_bearer, Some(Secret::new("0123456789abcdef0123")));
    assert_eq!(config.provider_mut("other").authorized_parties, ["https://game.example.com"]);
}

#[test]
fn unknown_keys_and_invalid_names_of_providers_are_rejected() {
    assert_eq!(
        error("[provider.example]\nissuer = \"a\"\n"),
        "aether.toml, line 2: Unknown setting provider.example.issuer; did you mean provider.example.issuers?"
    );
    assert_eq!(
        error("[provider]\nissuers = [\"a\"]\n"),
        "aether.toml, line 2: issuers belongs in a section with a name: write [provider.<name>] above it."
    );
    assert_eq!(
        error("provider = 5\n"),
        "aether.toml, line 1: provider is a section: write its settings below [provider.<name>]."
    );
    let dashed = "\"my-id\" cannot be the name of a provider: use lowercase letters, digits and _.";
    assert_eq!(error("[provider.my-id]\nissuers = [\"a\"]\n"), format!("aether.toml, line 1: {dashed}"));
    assert_eq!(errors("", &[], &[("provider.my-id.issuers", "a")]), [format!("flag --set: {dashed}")]);
    let mut made = Config::default();
    *made.provider_mut("my-id") = load(PROVIDER, &[], &[]).unwrap().provider_mut("example").clone();
    assert_eq!(made.validate()[0].sentence, dashed);
    assert_eq!(
        errors("", &[("AETHER_PROVIDER_MY_ID_ISUERS", "a")], &[]),
        ["environment variable AETHER_PROVIDER_MY_ID_ISUERS: Unknown setting; did you mean \
          AETHER_PROVIDER_MY_ID_ISSUERS?"]
    );
    let messages = errors("", &[("AETHER_PROVIDER_EXAMPLE_KEYS_URL_FILE", "/run/secrets/admin")], &[]);
    assert!(messages[0].contains("Only secrets can be read from a file"), "{messages:?}");
    assert!(error("[aple]\nbundle_ids = []\n").ends_with("did you mean [apple]?"));
    assert!(error("[providr.x]\nissuers = []\n").ends_with("did you mean [provider.<name>]?"));
}

#[test]
fn a_provider_cannot_have_the_name_of_a_platform() {
    for name in ["apple", "facebook", "facebook_instant", "game_center", "google", "steam"] {
        let message = error(&PROVIDER.replace("example]", &format!("{name}]")));
        assert!(message.starts_with("aether.toml, line "), "{message}");
        assert!(message.contains(&format!("[provider.{name}] has the name of a built-in platform")), "{message}");
    }
}

#[test]
fn missing_settings_of_a_provider_are_reported() {
    for (key, expected) in [
        ("issuers", "provider.example.issuers is missing: set it to the `iss` of the provider's tokens."),
        ("audiences", "set it to the game's client ids at the provider, or set provider.example.authorized_parties"),
        ("keys_url", "provider.example.keys_url is missing: set it to jwks_uri"),
    ] {
        let text: String =
            PROVIDER.lines().filter(|line| !line.starts_with(key)).fold(String::new(), |text, line| text + line + "\n");
        let message = error(&text);
        assert!(message.starts_with("aether.toml, line ") && message.contains(expected), "{message}");
    }
    assert_eq!(
        error(&format!("{PROVIDER}status_url = \"https://id.example.com/{{session}}\"\n")),
        "aether.toml, line 5: For the session status check, provider.example.status_bearer (or \
         AETHER_PROVIDER_EXAMPLE_STATUS_BEARER_FILE) is missing: set it too, or remove provider.example.status_url."
    );
    let message = error(&format!("{PROVIDER}status_url = \"https://id.example.com/\"\nstatus_bearer = \"hush\"\n"));
    assert!(message.contains("write {session} where the id belongs"), "{message}");
}

#[test]
fn keys_come_over_https_unless_a_network_is_allowed() {
    let plain = PROVIDER.replace("https://id.example.com/keys", "http://10.0.0.5/keys");
    let message = error(&plain);
    assert!(message.starts_with("aether.toml, line 4: provider.example.keys_url does not begin with"), "{message}");
    let allowed = [("outgoing.allowed_networks", "10.0.0.0/8")];
    assert!(load(&plain, &[], &allowed).is_ok());
    let other = PROVIDER.replace("https://id.example.com/keys", "file:///keys");
    assert_eq!(errors(&other, &[], &allowed).len(), 1);
}

#[test]
fn missing_settings_of_a_platform_are_reported() {
    let key = format!("service_key = \"{KEY}\"");
    let cases = [
        (
            "[apple]\nshared_secret = \"a\"",
            "For purchases from the App Store, apple.bundle_ids is missing: set it too, or remove \
             apple.shared_secret.",
        ),
        (
            "[google]\nservice_email = \"a\"",
            "For purchases from Google Play, google.package_names and google.service_key (or \
             AETHER_GOOGLE_SERVICE_KEY_FILE) are missing: set them too, or remove google.service_email.",
        ),
        (
            &format!("[google]\nservice_email = \"a\"\n{key}"),
            "For purchases from Google Play, google.package_names is missing: set it too, or remove \
             google.service_email and google.service_key.",
        ),
        (
            "[steam]\napp_id = 480",
            "For sign-in with Steam, steam.publisher_key (or AETHER_STEAM_PUBLISHER_KEY_FILE) is missing: set it \
             too, or remove steam.app_id.",
        ),
        (
            "[steam]\nidentity = \"a\"",
            "For sign-in with Steam, steam.app_id and steam.publisher_key (or AETHER_STEAM_PUBLISHER_KEY_FILE) are \
             missing: set them too, or remove steam.identity.",
        ),
        (
            "[facebook]\napp_secret = \"a\"",
            "For sign-in with Facebook, facebook.app_id is missing: set it too, or remove facebook.app_secret.",
        ),
        (
            "[huawei]\nclient_id = \"a\"\npublic_key = \"a\"\npackage_names = [\"a\"]",
            "For purchases from Huawei's AppGallery, huawei.client_secret (or AETHER_HUAWEI_CLIENT_SECRET_FILE) is \
             missing: set it too, or remove huawei.package_names and huawei.client_id and huawei.public_key.",
        ),
    ];
    for (text, expected) in cases {
        let message = error(text);
        assert_eq!(message.split_once(": ").expect("the message has a source").1, expected, "{text}");
    }
    for alone in
        ["[apple]\nbundle_ids = [\"a\"]", "[google]\nclient_ids = [\"a\"]", "[facebook]\ninstant_app_secret = \"a\""]
    {
        assert!(load(alone, &[], &[]).is_ok(), "{alone}");
    }
}

#[test]
fn a_service_key_that_is_a_path_is_rejected_and_not_printed() {
    let google = "[google]\npackage_names = [\"a\"]\nservice_email = \"a\"\nservice_key = \"/etc/hush.json\"\n";
    let message = error(google);
    assert!(message.starts_with("aether.toml, line 4: google.service_key is not a private key"), "{message}");
    assert!(!message.contains("hush"), "{message}");
}

#[test]
fn missing_settings_of_an_empty_provider_section_are_reported() {
    let errors = errors("data_dir = \"data\"\n[provider.example]\n", &[], &[]);
    assert_eq!(errors.len(), 3, "{errors:?}");
    for (error, key) in errors.iter().zip(["issuers", "audiences", "keys_url"]) {
        let beginning = format!("aether.toml, line 2: provider.example.{key} is missing");
        assert!(error.starts_with(&beginning), "{error}");
    }
    let environment = [
        ("AETHER_PROVIDER_EXAMPLE_ISSUERS", "https://id.example.com"),
        ("AETHER_PROVIDER_EXAMPLE_AUDIENCES", "game"),
        ("AETHER_PROVIDER_EXAMPLE_KEYS_URL", "https://id.example.com/keys"),
    ];
    assert!(load("[provider.example]\n", &environment, &[]).is_ok(), "another layer has all settings");
}
