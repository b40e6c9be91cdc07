//! A public server accepts only real keys.

use super::{error, errors, load};
use aether_server::config::Config;
use aether_server::tokens::Role;

const PUBLIC: [&str; 5] = [
    "[http]\naddress = \"0.0.0.0:7350\"\n",
    "[http]\naddress = \"[::]:7350\"\n",
    "[webtransport]\naddress = \"192.0.2.1:7350\"\n",
    "[udp]\naddress = \"192.0.2.1:7352\"\n",
    "[http]\ntrusted_proxies = [\"127.0.0.1\"]\n",
];

#[test]
fn on_a_public_server_the_development_key_and_guests_are_off_by_default() {
    for text in PUBLIC {
        let config = load(text, &[], &[]).unwrap();
        assert!(config.is_public(), "{text}");
        assert!(!config.accepts_development(), "{text}");
        assert!(!config.accepts_guests(), "{text}");
        assert_eq!(config.guest_role(), Role::Player, "{text}");
    }
}

#[test]
fn on_a_public_server_accepting_the_development_key_is_an_error() {
    for text in PUBLIC {
        let messages = errors(text, &[("AETHER_TOKENS_ACCEPT_DEVELOPMENT", "true")], &[]);
        assert_eq!(messages.len(), 1);
        assert!(messages[0].starts_with("environment variable AETHER_TOKENS_ACCEPT_DEVELOPMENT: "), "{messages:?}");
        assert!(messages[0].contains("remove tokens.accept_development"), "{messages:?}");
        assert!(load(text, &[("AETHER_TOKENS_ACCEPT_DEVELOPMENT", "false")], &[]).is_ok());
    }
}

#[test]
fn a_public_server_without_validation_still_accepts_no_development_key() {
    let mut config = Config::default();
    config.http.address = "0.0.0.0:7350".parse().unwrap();
    config.tokens.accept_development = Some(true);
    config.guests.role = Some(Role::Admin);
    assert!(!config.accepts_development());
    assert_eq!(config.guest_role(), Role::Player);
    assert_eq!(config.validate().len(), 2);
}

#[test]
fn on_a_public_server_guests_are_players() {
    for text in PUBLIC {
        let guests = [("guests.enabled", "true"), ("guests.role", "player")];
        let config = load(text, &[], &guests).unwrap();
        assert!(config.accepts_guests());
        let messages = errors(text, &[], &[("guests.role", "developer")]);
        assert!(messages[0].contains("set guests.role to \"player\""), "{messages:?}");
    }
}

#[test]
fn on_loopback_both_can_be_disabled() {
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
fn the_address_of_disabled_webtransport_does_not_make_a_server_public() {
    let config = load("[webtransport]\nenabled = false\naddress = \"192.0.2.1:7350\"\n", &[], &[]).unwrap();
    assert!(!config.is_public());
}

#[test]
fn the_address_of_disabled_udp_does_not_make_a_server_public() {
    let config = load("[udp]\nenabled = false\naddress = \"192.0.2.1:7352\"\n", &[], &[]).unwrap();
    assert!(!config.is_public());
}

#[test]
fn connect_requests_over_udp_are_limited_on_a_public_server() {
    let rate = |text: &str| load(text, &[], &[]).unwrap().udp_request_rate().map(|rate| (rate.per_second, rate.burst));
    assert_eq!((rate(""), rate(PUBLIC[0])), (None, Some((50, 50))));
    assert_eq!(rate("[udp]\nrequests_per_second = 7\n"), Some((7, 7)));
    assert_eq!(rate("[http]\naddress = \"0.0.0.0:7350\"\n[udp]\nrequests_per_second = 0\n"), None);
}

#[test]
fn a_public_admin_listener_needs_a_strong_key() {
    let address = "[http]\nadmin_address = \"0.0.0.0:7351\"\n";
    let message = error(address);
    assert!(message.starts_with("aether.toml, line 2: http.admin_address is not loopback"), "{message}");
    assert!(message.contains("set http.admin_key"), "{message}");
    for weak in ["short", "defaultencryptionkey"] {
        let messages = errors(address, &[("AETHER_HTTP_ADMIN_KEY", weak)], &[]);
        assert!(
            messages[0].starts_with("environment variable AETHER_HTTP_ADMIN_KEY: http.admin_key is"),
            "{messages:?}"
        );
    }
    assert!(load(address, &[("AETHER_HTTP_ADMIN_KEY", "a0e1f2c3d4b5a697")], &[]).is_ok());
}

#[test]
fn the_http_key_must_be_strong_on_every_server() {
    for weak in ["s3cret", "defaulthttpkey"] {
        let messages = errors("", &[("AETHER_API_HTTP_KEY", weak)], &[]);
        assert!(messages[0].starts_with("environment variable AETHER_API_HTTP_KEY: api.http_key is"), "{messages:?}");
        assert!(!messages[0].contains(weak), "{messages:?}");
    }
    assert!(load("", &[("AETHER_API_HTTP_KEY", "a0e1f2c3d4b5a697")], &[]).is_ok());
}
