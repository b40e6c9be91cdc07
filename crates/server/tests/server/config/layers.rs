//! Layers of the configuration and forms of values.

use super::{flag, load, read_file};
use aether_server::config::{Config, ConfigArguments, LogFormat, Secret, SettingSource};
use aether_server::tokens::Role;
use std::path::PathBuf;

#[test]
fn without_sources_all_settings_have_their_defaults() {
    let config = load("", &[], &[]).unwrap();
    assert_eq!(config, Config::default());
    assert_eq!(config.http.address.to_string(), "127.0.0.1:7350");
    assert_eq!(config.http.admin_address.to_string(), "127.0.0.1:7351");
    assert_eq!(config.webtransport_address(), config.http.address);
    assert_eq!(config.udp_address().to_string(), "127.0.0.1:7352");
    assert_eq!(config.connections.message_bytes_max, 512);
    assert_eq!(config.tokens.access_seconds, 900);
    assert!(!config.connections.compression);
    assert!(!config.is_public());
    assert!(config.accepts_development() && config.accepts_guests());
    assert_eq!(config.guest_role(), Role::Developer);
}

#[test]
fn later_layers_win_over_earlier_ones() {
    let file = "[connections]\nmax = 500\nhandshake_seconds = 5\nidle_seconds = 60\n";
    let environment = [("AETHER_CONNECTIONS_HANDSHAKE_SECONDS", "6"), ("AETHER_CONNECTIONS_IDLE_SECONDS", "61")];
    let config = load(file, &environment, &[("connections.idle_seconds", "62")]).unwrap();
    assert_eq!(config.connections.max, 500);
    assert_eq!(config.connections.handshake_seconds, 6);
    assert_eq!(config.connections.idle_seconds, 62);
    assert_eq!(config.connections.write_stall_seconds, 10);
}

#[test]
fn settings_are_listed_with_their_source_and_secrets_are_hidden() {
    let file = "data_dir = \"here\"\n[room.sandbox]\ntick_hz = 20\n";
    let environment = [("AETHER_HTTP_ADMIN_KEY", "0123456789abcdef")];
    let config = load(file, &environment, &[("log.format", "json")]).unwrap();
    let listed: Vec<(String, String, String)> =
        config.effective().into_iter().map(|set| (set.key, set.value, set.source.to_string())).collect();
    let expected = [
        ("data_dir", "\"here\"", "aether.toml, line 1"),
        ("http.admin_key", "(hidden)", "environment variable AETHER_HTTP_ADMIN_KEY"),
        ("log.format", "\"json\"", "flag --set"),
        ("room.sandbox.tick_hz", "20", "aether.toml, line 3"),
    ];
    let expected = expected.map(|(key, value, place)| (key.to_owned(), value.to_owned(), place.to_owned()));
    assert_eq!(listed, expected);
    assert!(!format!("{config:?}").contains("0123456789abcdef"));
}

#[test]
fn every_type_of_value_can_be_set_in_every_layer() {
    let file = r#"
        data_dir = "/var/lib/aether"
        [http]
        address = "[::1]:8000"
        trusted_proxies = ["10.0.0.0/8", "::1"]
        tls_certificate = "chain.pem"
        tls_key = "key.pem"
        allowed_origins = ["https://play.example.com"]
        [connections]
        max = 0x1_000
        compression = true
        [log]
        format = "json"
        filter = "warn,aether_net=debug"
    "#;
    let variables = [
        ("AETHER_DATA_DIR", "/var/lib/aether"),
        ("AETHER_HTTP_ADDRESS", "[::1]:8000"),
        ("AETHER_HTTP_TRUSTED_PROXIES", "10.0.0.0/8, ::1"),
        ("AETHER_HTTP_TLS_CERTIFICATE", "chain.pem"),
        ("AETHER_HTTP_TLS_KEY", "key.pem"),
        ("AETHER_HTTP_ALLOWED_ORIGINS", "https://play.example.com"),
        ("AETHER_CONNECTIONS_MAX", "4096"),
        ("AETHER_CONNECTIONS_COMPRESSION", "true"),
        ("AETHER_LOG_FORMAT", "json"),
        ("AETHER_LOG_FILTER", "warn,aether_net=debug"),
    ];
    let flags = [
        ("data_dir", "/var/lib/aether"),
        ("http.address", "[::1]:8000"),
        ("http.trusted_proxies", "10.0.0.0/8,::1"),
        ("http.tls_certificate", "chain.pem"),
        ("http.tls_key", "key.pem"),
        ("http.allowed_origins", "https://play.example.com"),
        ("connections.max", "4096"),
        ("connections.compression", "true"),
        ("log.format", "json"),
        ("log.filter", "warn,aether_net=debug"),
    ];
    for config in [load(file, &[], &[]), load("", &variables, &[]), load("", &[], &flags)] {
        let config = config.unwrap();
        assert_eq!(config.data_dir, PathBuf::from("/var/lib/aether"));
        assert_eq!(config.http.address.to_string(), "[::1]:8000");
        assert_eq!(config.http.trusted_proxies.len(), 2);
        assert!(config.http.trusted_proxies[0].contains("10.200.3.4".parse().unwrap()));
        assert!(!config.http.trusted_proxies[0].contains("11.0.0.1".parse().unwrap()));
        assert!(config.http.trusted_proxies[0].contains("::ffff:10.1.1.1".parse().unwrap()));
        assert!(config.http.trusted_proxies[1].contains("::1".parse().unwrap()));
        assert!(!config.http.trusted_proxies[1].contains("::2".parse().unwrap()));
        assert_eq!(config.webtransport_certificate().unwrap().1, &PathBuf::from("key.pem"));
        assert!(config.http.allowed_origins[0].allows("https://play.example.com"));
        assert!(!config.http.allowed_origins[0].allows("https://play.example.com.evil.example"));
        assert_eq!(config.connections.max, 4096);
        assert!(config.connections.compression);
        assert_eq!(config.log.format, LogFormat::Json);
        assert_eq!(config.log.filter, "warn,aether_net=debug");
    }
}

#[test]
fn a_network_with_prefix_0_contains_every_address_of_its_family() {
    let config = load("[http]\ntrusted_proxies = [\"0.0.0.0/0\"]", &[], &[]).unwrap();
    assert!(config.http.trusted_proxies[0].contains("203.0.113.7".parse().unwrap()));
    assert!(!config.http.trusted_proxies[0].contains("2001:db8::1".parse().unwrap()));
}

#[test]
fn an_empty_variable_unsets_what_the_file_set() {
    let file = "[guests]\nrole = \"player\"\n";
    assert_eq!(load(file, &[], &[]).unwrap().guests.role, Some(Role::Player));
    assert_eq!(load(file, &[("AETHER_GUESTS_ROLE", "")], &[]).unwrap().guests.role, None);
}

#[test]
fn a_secret_is_read_from_a_file_without_the_final_line_break() {
    let config = load("", &[("AETHER_HTTP_ADMIN_KEY_FILE", "/run/secrets/admin")], &[]).unwrap();
    assert_eq!(config.http.admin_key, Some(Secret::new("0123456789abcdef0123")));
}

#[test]
fn variables_of_other_programs_are_ignored() {
    let config = load("", &[("PATH", "/bin"), ("AETHERNET", "1"), ("AETHER_CONFIG", "some.toml")], &[]).unwrap();
    assert_eq!(config, Config::default());
}

#[test]
fn set_wins_over_the_other_flags() {
    let arguments = ConfigArguments {
        data_dir: Some("elsewhere".to_owned()),
        address: Some("127.0.0.1:1".to_owned()),
        admin_address: Some("127.0.0.1:2".to_owned()),
        log: Some("debug".to_owned()),
        set: vec!["http.address=127.0.0.1:3".to_owned()],
        ..ConfigArguments::default()
    };
    let config = arguments.load_with(Vec::new(), &read_file).unwrap();
    assert_eq!(config.data_dir, PathBuf::from("elsewhere"));
    assert_eq!(config.http.address.port(), 3);
    assert_eq!(config.http.admin_address.port(), 2);
    assert_eq!(config.log.filter, "debug");
    let arguments = ConfigArguments { set: vec!["http.address".to_owned()], ..ConfigArguments::default() };
    let message = arguments.load_with(Vec::new(), &read_file).unwrap_err().to_string();
    assert!(message.starts_with("flag --set: \"http.address\" has no value"), "{message}");
}

#[test]
fn a_named_file_must_exist_and_the_default_one_may_be_missing() {
    let read = |path: &std::path::Path| match path.to_str() {
        Some("aether.toml") => Ok("[rooms]\nmax = 1\n".to_owned()),
        Some("other.toml") => Ok("[rooms]\nmax = 2\n".to_owned()),
        Some("third.toml") => Ok("[rooms]\nmax = 3\n".to_owned()),
        _ => read_file(path),
    };
    let rooms_max = |config: Option<&str>, environment: &[(&str, &str)]| {
        let arguments = ConfigArguments { config: config.map(PathBuf::from), ..ConfigArguments::default() };
        let environment = environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        arguments.load_with(environment, &read).map(|config| config.rooms.max)
    };
    assert_eq!(rooms_max(None, &[]).unwrap(), 1);
    assert_eq!(rooms_max(None, &[("AETHER_CONFIG", "other.toml")]).unwrap(), 2);
    assert_eq!(rooms_max(Some("third.toml"), &[("AETHER_CONFIG", "other.toml")]).unwrap(), 3);
    let message = rooms_max(Some("missing.toml"), &[]).unwrap_err().to_string();
    assert!(message.starts_with("flag --config: Cannot read the configuration file missing.toml"), "{message}");
    let absent = ConfigArguments::default().load_with(Vec::new(), &read_file).unwrap();
    assert_eq!(absent, Config::default());
}

#[test]
fn the_source_of_a_setting_is_recorded() {
    let config = load("", &[], &[("rooms.max", "5")]).unwrap();
    assert_eq!(*config.effective()[0].source, SettingSource::Flag(flag("", "").spelled));
}

#[test]
fn tick_threads_leave_a_core_free_unless_they_are_set() {
    let config = load("", &[], &[]).unwrap();
    assert_eq!([1, 2, 8].map(|cores| config.tick_threads(cores)), [1, 1, 7]);
    let config = load("[rooms]\ntick_threads = 3", &[], &[]).unwrap();
    assert_eq!(config.tick_threads(2), 3);
}
