//! Secrets never fall open: on an address that others reach, nothing but real keys counts.

use super::{load, refusal, refusals};
use aether_server::config::Config;
use aether_server::tokens::Role;

const PUBLIC: [&str; 4] = [
    "[http]\naddress = \"0.0.0.0:7350\"\n",
    "[http]\naddress = \"[::]:7350\"\n",
    "[webtransport]\naddress = \"192.0.2.1:7350\"\n",
    "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n",
];

#[test]
fn in_public_the_development_key_and_guests_are_off_by_themselves() {
    for text in PUBLIC {
        let config = load(text, &[], &[]).unwrap();
        assert!(config.is_public(), "{text}");
        assert!(!config.accepts_development(), "{text}");
        assert!(!config.accepts_guests(), "{text}");
        assert_eq!(config.guest_role(), Role::Player, "{text}");
    }
}

#[test]
fn in_public_the_development_key_is_refused_with_the_setting_to_change() {
    for text in PUBLIC {
        let messages = refusals(text, &[("AETHER_TOKENS_ACCEPT_DEVELOPMENT", "true")], &[]);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].starts_with("environment variable AETHER_TOKENS_ACCEPT_DEVELOPMENT: "), "{messages:?}");
        assert!(messages[0].contains("remove tokens.accept_development"), "{messages:?}");
        assert!(load(text, &[("AETHER_TOKENS_ACCEPT_DEVELOPMENT", "false")], &[]).is_ok());
    }
}

#[test]
fn in_public_a_program_that_skips_validation_still_accepts_no_development_key() {
    let mut config = Config::default();
    config.http.address = "0.0.0.0:7350".parse().unwrap();
    config.tokens.accept_development = Some(true);
    config.guests.role = Some(Role::Admin);
    assert!(!config.accepts_development());
    assert_eq!(config.guest_role(), Role::Player);
    assert_eq!(config.validate().len(), 2);
}

#[test]
fn in_public_guests_are_players() {
    for text in PUBLIC {
        let guests = [("guests.enabled", "true"), ("guests.role", "player")];
        let config = load(text, &[], &guests).unwrap();
        assert!(config.accepts_guests());
        let messages = refusals(text, &[], &[("guests.role", "developer")]);
        assert!(messages[0].contains("set guests.role to \"player\""), "{messages:?}");
    }
}

#[test]
fn on_loopback_both_can_be_turned_off() {
    for address in ["127.0.0.1:7350", "127.8.8.8:1", "[::1]:7350", "[::ffff:127.0.0.1]:7350"] {
        let config = load("", &[], &[("http.address", address)]).unwrap();
        assert!(config.accepts_development() && config.accepts_guests(), "{address}");
    }
    let off = [("tokens.accept_development", "false"), ("guests.enabled", "false")];
    let config = load("", &[], &off).unwrap();
    assert!(!config.accepts_development() && !config.accepts_guests());
    assert_eq!(config.guest_role(), Role::Player);
}

#[test]
fn a_webtransport_address_that_is_not_used_does_not_matter() {
    let config = load("[webtransport]\nenabled = false\naddress = \"192.0.2.1:7350\"\n", &[], &[]).unwrap();
    assert!(!config.is_public());
}

#[test]
fn a_public_admin_listener_needs_a_key_that_is_one() {
    let address = "[http]\nadmin_address = \"0.0.0.0:7351\"\n";
    let message = refusal(address);
    assert!(message.starts_with("aether.toml, line 2: http.admin_address is not loopback"), "{message}");
    assert!(message.contains("set http.admin_key"), "{message}");
    for weak in ["short", "defaultencryptionkey"] {
        let messages = refusals(address, &[("AETHER_HTTP_ADMIN_KEY", weak)], &[]);
        assert!(
            messages[0].starts_with("environment variable AETHER_HTTP_ADMIN_KEY: http.admin_key is"),
            "{messages:?}"
        );
    }
    assert!(load(address, &[("AETHER_HTTP_ADMIN_KEY", "a0e1f2c3d4b5a697")], &[]).is_ok());
}
