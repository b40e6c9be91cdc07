//! Commands that need no running server.

use aether_engine::RoomSettings;
use aether_server::commands::check::{CheckArguments, report};
use aether_server::commands::token::TokenArguments;
use aether_server::config::{Config, ConfigFile, Sources, reference};
use aether_server::keys::KeyRing;
use aether_server::tokens::{Role, Tokens};
use aether_wire::Encodings;
use clap::Parser;
use std::path::Path;

const NOW: u64 = 1_900_000_000;

#[derive(Parser)]
enum Program {
    Check(CheckArguments),
    Token(TokenArguments),
}

fn config(text: &str) -> Config {
    let file = Some(ConfigFile { path: "aether.toml".to_owned(), text: text.to_owned() });
    let read_file = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    Config::load(&Sources { file, environment: Vec::new(), flags: Vec::new(), read_file: &read_file })
        .expect("the configuration is valid")
}

fn token_arguments(flags: &[&str]) -> TokenArguments {
    match Program::try_parse_from(["aether", "token"].iter().chain(flags)) {
        Ok(Program::Token(arguments)) => arguments,
        _ => panic!("{flags:?} are flags of aether token"),
    }
}

#[test]
fn check_lists_settings_with_their_sources() {
    let sandbox = [("sandbox", RoomSettings::default())];
    let text = report(&config(""), &sandbox, &Encodings::default()).unwrap();
    assert_eq!(text, "The configuration is valid. All settings have their defaults.\n");
    let text = report(
        &config("[http]\nadmin_key = \"0123456789abcdef\"\n[room.sandbox]\ntick_hz = 20\n"),
        &sandbox,
        &Encodings::default(),
    );
    let expected = "The configuration is valid. Settings that are not defaults:\n\n\
                    http.admin_key = (hidden)  # aether.toml, line 2\n\
                    room.sandbox.tick_hz = 20  # aether.toml, line 4\n";
    assert_eq!(text.unwrap(), expected);
}

#[test]
fn check_validates_the_room_types_of_the_server() {
    let config = config("[room.sandbox]\ntick_hz = 30\n[room.other]\ntick_hz = 30\n");
    let error =
        report(&config, &[("sandbox", RoomSettings::default())], &Encodings::default()).unwrap_err().to_string();
    assert!(error.contains("line 4: Unknown room type other"), "{error}");
    assert!(error.contains("line 2: room type sandbox: snapshot_hz must divide tick_hz"), "{error}");
}

#[test]
fn check_prints_the_reference() {
    let Ok(Program::Check(arguments)) = Program::try_parse_from(["aether", "check", "--reference"]) else {
        panic!("--reference is a flag of aether check");
    };
    assert_eq!(arguments.run(&[], &Encodings::default()).unwrap(), reference());
}

#[test]
fn token_has_the_given_role_and_name() {
    let mut config = Config::default();
    config.data_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands/token");
    let _ = std::fs::remove_dir_all(&config.data_dir);
    let user = "01234567-89ab-4def-8123-456789abcdef";
    let arguments = token_arguments(&["--role", "read-only", "--name", "someone", "--user", user, "--seconds", "60"]);
    let token = arguments.sign(&config, NOW).unwrap();
    let tokens = Tokens::new(KeyRing::open(&config.data_dir, NOW).unwrap(), "aether");
    let identity = tokens.verify(&token, NOW, true).unwrap();
    assert_eq!((identity.role, identity.name.as_str(), identity.user.as_str()), (Role::ReadOnly, "someone", user));
    assert_eq!(identity.expires_at, NOW + 60);
    let token = token_arguments(&[]).sign(&config, NOW).unwrap();
    assert_eq!(tokens.verify(&token, NOW, true).unwrap().role, Role::Developer);
}

#[test]
fn token_fails_if_the_server_would_reject_it_and_creates_no_keys() {
    let mut config = Config::default();
    config.data_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("commands/refused");
    let _ = std::fs::remove_dir_all(&config.data_dir);
    config.http.address = "0.0.0.0:7350".parse().unwrap();
    let error = token_arguments(&[]).sign(&config, NOW).unwrap_err().to_string();
    assert!(error.contains("accepts no development tokens: serve on loopback"), "{error}");
    let error = token_arguments(&["--name", &"x".repeat(65)]).sign(&Config::default(), NOW).unwrap_err();
    assert_eq!(error.to_string(), "The name is longer than 64 bytes; use a shorter --name.");
    assert!(!config.data_dir.exists());
    for (flag, value) in [("--role", "owner"), ("--seconds", "0")] {
        let error = Program::try_parse_from(["aether", "token", flag, value]).err().expect("the value is invalid");
        assert!(error.to_string().contains(&format!("'{value}' for '{flag} ")), "{error}");
    }
}
