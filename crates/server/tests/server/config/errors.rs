//! Errors of the configuration.

use super::{error, errors, load};

#[test]
fn an_unknown_key_names_its_line_and_the_key_that_was_meant() {
    let text = "# Settings\n[http]\nadress = \"127.0.0.1:1\"\n";
    assert_eq!(error(text), "aether.toml, line 3: Unknown setting http.adress; did you mean http.address?");
    let text = "[rooms]\n\n\ncolour = 1\n";
    assert_eq!(error(text), "aether.toml, line 4: Unknown setting rooms.colour.");
}

#[test]
fn a_key_in_the_wrong_section_gets_a_hint() {
    let message = error("[http]\ndata_dir = \"x\"\n");
    assert_eq!(message, "aether.toml, line 2: Unknown setting http.data_dir; did you mean data_dir?");
    let message = error("grace_seconds = 1\n");
    assert_eq!(message, "aether.toml, line 1: Unknown setting grace_seconds; did you mean shutdown.grace_seconds?");
}

#[test]
fn an_unknown_section_is_reported_once() {
    let message = error("\n[conections]\nmax = 1\nidle_seconds = 2\n");
    assert_eq!(message, "aether.toml, line 2: Unknown section [conections]; did you mean [connections]?");
    assert_eq!(error("[unheard]\n"), "aether.toml, line 1: Unknown section [unheard].");
}

#[test]
fn a_value_with_the_name_of_a_section_is_rejected() {
    assert_eq!(error("http = 5\n"), "aether.toml, line 1: http is a section: write its settings below [http].");
}

#[test]
fn an_unknown_variable_or_flag_is_rejected() {
    assert_eq!(
        errors("", &[("AETHER_HTTP_ADRESS", "127.0.0.1:1")], &[]),
        ["environment variable AETHER_HTTP_ADRESS: Unknown setting; did you mean AETHER_HTTP_ADDRESS?"]
    );
    assert_eq!(
        errors("", &[], &[("http.adress", "127.0.0.1:1"), ("nonsense", "1")]),
        [
            "flag --set: Unknown setting http.adress; did you mean http.address?",
            "flag --set: Unknown setting nonsense."
        ]
    );
}

#[test]
fn a_bad_value_names_its_line_its_key_and_what_was_expected() {
    let cases = [
        (
            "[http]\naddress = \"localhost\"",
            "http.address: expected an IP address and a port, such as 127.0.0.1:7350 or [::1]:7350, found \"localhost\".",
        ),
        (
            "[http]\naddress = 7350",
            "http.address: expected an IP address and a port, such as 127.0.0.1:7350 or [::1]:7350, found 7350.",
        ),
        ("[rooms]\nmax = \"5\"", "rooms.max: expected a whole number from 1 to 1000000, found \"5\"."),
        ("[rooms]\nmax = 0", "rooms.max: expected a whole number from 1 to 1000000, found 0."),
        ("[rooms]\nmax = -1", "rooms.max: expected a whole number from 1 to 1000000, found -1."),
        ("[rooms]\nmax = 1.5", "rooms.max: expected a whole number from 1 to 1000000, found 1.5."),
        (
            "[rooms]\nmax = 99999999999999999999999",
            "rooms.max: expected a whole number from 1 to 1000000, found 99999999999999999999999.",
        ),
        ("[rooms]\nmax = [1]", "rooms.max: expected a whole number from 1 to 1000000, found [1]."),
        ("[rooms]\nmax = 2026-01-01", "rooms.max: expected a whole number from 1 to 1000000, found a date."),
        ("[rooms]\nmax = { a = 1 }", "rooms.max: expected a whole number from 1 to 1000000, found a table."),
        ("[connections]\ncompression = 1", "connections.compression: expected true or false, found 1."),
        ("[log]\nformat = \"xml\"", "log.format: expected auto, pretty or json, found \"xml\"."),
        (
            "[guests]\nrole = \"owner\"",
            "guests.role: expected admin, developer, moderator, read-only or player, found \"owner\".",
        ),
        ("[tokens]\naudience = \"\"", "tokens.audience: expected a non-empty string, found \"\"."),
    ];
    for (text, expected) in cases {
        assert_eq!(error(text), format!("aether.toml, line 2: {expected}"));
    }
}

#[test]
fn networks_and_origins_are_checked() {
    for network in ["10.0.0.0/33", "10.0.0", "::/129", "10.0.0.0/-1", "example.com"] {
        assert!(error(&format!("[http]\ntrusted_proxies = [\"{network}\"]")).contains("line 2"), "{network}");
    }
    for origin in ["play.example.com", "https://", "https://a.example/path", "ftp://a.example", "https://*.example", ""]
    {
        assert!(error(&format!("[http]\nallowed_origins = [\"{origin}\"]")).contains("line 2"), "{origin}");
    }
}

#[test]
fn a_file_that_is_not_toml_names_its_line() {
    let message = error("[http]\naddress = \"127.0.0.1:1\"\nadmin_address = = 1\n");
    assert!(message.starts_with("aether.toml, line 3: Invalid TOML: "), "{message}");
    let message = error("[rooms]\nmax = 1\nmax = 2\n");
    assert!(message.starts_with("aether.toml, line 3: Invalid TOML: "), "{message}");
}

#[test]
fn all_errors_are_reported_at_once_in_the_order_of_the_file() {
    let text = "[rooms]\nmax = 0\n[http]\nnonsense = 1\n[guests]\nrole = 5\n";
    let messages = errors(text, &[("AETHER_ROOMS_MAX", "many")], &[("x", "1")]);
    let sources: Vec<&str> = messages.iter().map(|message| message.split(": ").next().unwrap()).collect();
    let expected = [
        "aether.toml, line 2",
        "aether.toml, line 4",
        "aether.toml, line 6",
        "environment variable AETHER_ROOMS_MAX",
        "flag --set",
    ];
    assert_eq!(sources, expected);
}

#[test]
fn a_rejected_secret_is_not_printed() {
    for environment in [("AETHER_HTTP_ADMIN_KEY", "hunter2"), ("AETHER_HTTP_ADMIN_KEY", "changeme")] {
        let messages = errors("", &[environment], &[]);
        assert!(messages[0].starts_with("environment variable AETHER_HTTP_ADMIN_KEY: "), "{messages:?}");
        assert!(!messages[0].contains(environment.1), "{messages:?}");
    }
    assert!(!error("[http]\nadmin_key = 123456").contains("123456"));
}

#[test]
fn a_file_variable_must_name_a_file_and_excludes_the_plain_variable() {
    let messages = errors("", &[("AETHER_HTTP_ADMIN_KEY_FILE", "/nowhere")], &[]);
    assert!(
        messages[0].starts_with("environment variable AETHER_HTTP_ADMIN_KEY_FILE: Cannot read the file that it names")
    );
    let both = [("AETHER_HTTP_ADMIN_KEY", "0123456789abcdef"), ("AETHER_HTTP_ADMIN_KEY_FILE", "/run/secrets/admin")];
    assert_eq!(
        errors("", &both, &[]),
        ["environment variable AETHER_HTTP_ADMIN_KEY_FILE: AETHER_HTTP_ADMIN_KEY is set too: remove one of them."]
    );
    assert!(errors("", &[("AETHER_NOTHING_FILE", "/run/secrets/admin")], &[])[0].contains("Unknown setting"));
}

#[test]
fn only_secrets_are_read_from_files() {
    for variable in ["AETHER_HTTP_TLS_KEY", "AETHER_ROOMS_MAX", "AETHER_ROOM_SANDBOX_TICK_HZ"] {
        let file = format!("{variable}_FILE");
        let expected =
            format!("environment variable {file}: Only secrets can be read from a file: set {variable} itself.");
        assert_eq!(errors("", &[(&file, "/run/secrets/admin")], &[]), [expected]);
    }
}

#[test]
fn a_certificate_and_its_key_go_together() {
    for section in ["http", "webtransport"] {
        let prefix = if section == "http" { "tls_" } else { "" };
        let message = error(&format!("[{section}]\n{prefix}certificate = \"a.pem\""));
        assert!(message.contains(&format!("set {section}.{prefix}key to")), "{message}");
        let message = error(&format!("[{section}]\n{prefix}key = \"a.pem\""));
        assert!(message.contains(&format!("set {section}.{prefix}certificate to")), "{message}");
    }
}

#[test]
fn the_two_listeners_need_two_addresses() {
    let message = error("[http]\nadmin_address = \"127.0.0.1:7350\"");
    assert!(message.contains("give the admin listener a port of its own"), "{message}");
    let any_port = "[http]\naddress = \"127.0.0.1:0\"\nadmin_address = \"127.0.0.1:0\"";
    assert!(load(any_port, &[], &[]).is_ok());
}

#[test]
fn contradictory_limits_are_rejected() {
    let message = error("[connections]\nmax = 10\nper_ip_max = 20");
    assert!(message.starts_with("aether.toml, line 3: connections.per_ip_max is 20"), "{message}");
    assert!(load("[connections]\nmax = 100\nper_ip_max = 0", &[], &[]).is_ok());
    let message = error("[connections]\nidle_seconds = 10\nping_seconds = 10");
    assert!(message.starts_with("aether.toml, line 3: connections.ping_seconds is 10"), "{message}");
    assert!(load("[connections]\nidle_seconds = 10\nping_seconds = 9", &[], &[]).is_ok());
}

#[test]
fn buffers_and_windows_have_bounds() {
    let cases = [
        ("connections", "read_buffer_bytes", 1_024, 1_048_576),
        ("connections", "write_buffer_bytes", 4_096, 16_777_216),
        ("connections", "ping_seconds", 1, 3_600),
        ("http", "header_bytes_max", 8_192, 1_048_576),
        ("http", "http2_streams_max", 1, 1_000),
        ("http", "http2_stream_window_bytes", 16_384, 16_777_216),
        ("http", "http2_connection_window_bytes", 65_535, 16_777_216),
        ("http", "http2_ping_seconds", 1, 3_600),
        ("http", "http2_ping_timeout_seconds", 1, 300),
        ("http", "socket_unsent_bytes", 1_024, 16_777_216),
        ("http", "socket_send_bytes", 4_096, 16_777_216),
        ("http", "socket_receive_bytes", 4_096, 16_777_216),
    ];
    for (section, key, low, high) in cases {
        for value in [low - 1, high + 1] {
            let message = error(&format!("[{section}]\n{key} = {value}"));
            let expected = format!("{section}.{key}: expected a whole number from {low} to {high}, found {value}.");
            assert!(message.ends_with(&expected), "{message}");
        }
        let idle = if section == "connections" { "\nidle_seconds = 3600" } else { "" };
        assert!(load(&format!("[{section}]\n{key} = {low}{idle}"), &[], &[]).is_ok(), "{key}");
    }
}

#[test]
fn an_invalid_log_filter_is_rejected() {
    let message = error("[log]\nfilter = \"aether_net=loud\"");
    assert!(message.starts_with("aether.toml, line 2: log.filter"), "{message}");
}
