//! The keys in the data folder.

#![cfg(unix)]

use aether_server::keys::{DEVELOPMENT_KEY_ID, KeyError, KeyRing};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

const NOW: u64 = 1_900_000_000;

/// Creates an empty folder for one test.
fn data_dir(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("keys").join(test);
    let _ = fs::remove_dir_all(&folder);
    folder
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("the path exists").permissions().mode() & 0o777
}

fn files(data_dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(data_dir.join("keys")).expect("the folder exists");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("it is listed").file_name().into_string().expect("the path is UTF-8"))
        .collect();
    names.sort();
    names
}

/// Writes a key file that only its owner may read.
fn put(data_dir: &Path, name: &str, text: &str) -> PathBuf {
    let path = data_dir.join("keys").join(name);
    fs::write(&path, text).expect("the file can be written");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("the permissions can be changed");
    path
}

#[test]
fn the_first_start_creates_keys_that_only_the_owner_may_read() {
    let data_dir = data_dir("first");
    let ring = KeyRing::open(&data_dir, NOW).unwrap();
    let own = format!("{}.key", ring.signing().id());
    assert_eq!(files(&data_dir), {
        let mut names = [own.clone(), "development.key".to_owned()];
        names.sort();
        names
    });
    assert_eq!(mode(&data_dir.join("keys")), 0o700);
    assert_eq!(mode(&data_dir.join("keys").join(own)), 0o600);
    assert_eq!(mode(&data_dir.join("keys/development.key")), 0o600);
    assert_eq!(ring.signing().id().len(), 16);
    assert_eq!(ring.signing().created_at(), NOW);
    assert!(!ring.signing().is_development() && ring.development().is_development());
}

#[test]
fn a_later_start_finds_the_same_keys() {
    let data_dir = data_dir("again");
    let first = KeyRing::open(&data_dir, NOW).unwrap();
    let before = files(&data_dir);
    let second = KeyRing::open(&data_dir, NOW + 1_000).unwrap();
    assert_eq!(files(&data_dir), before);
    assert_eq!(first.signing().id(), second.signing().id());
    assert_eq!(second.signing().created_at(), NOW);
}

#[test]
fn two_servers_do_not_share_a_key() {
    let secrets = ["one", "two"].map(|test| {
        let data_dir = data_dir(test);
        KeyRing::open(&data_dir, NOW).unwrap();
        fs::read_to_string(data_dir.join("keys/development.key")).unwrap()
    });
    assert_ne!(secrets[0], secrets[1]);
}

#[test]
fn the_newest_key_signs_and_the_older_ones_are_still_found() {
    let data_dir = data_dir("rotate");
    let mut ring = KeyRing::open(&data_dir, NOW).unwrap();
    let first = ring.signing().id().to_owned();
    // The new key signs even if the clock went back.
    let second = ring.rotate(NOW - 500).unwrap().id().to_owned();
    assert_ne!(first, second);
    for ring in [ring, KeyRing::open(&data_dir, NOW).unwrap()] {
        assert_eq!(ring.signing().id(), second);
        assert!(ring.find(&first).is_some() && ring.find(&second).is_some());
        assert!(ring.find(DEVELOPMENT_KEY_ID).is_some());
        assert!(ring.find("../keys/development").is_none() && ring.find("").is_none());
    }
}

#[test]
fn a_removed_key_is_retired() {
    let data_dir = data_dir("retired");
    let mut ring = KeyRing::open(&data_dir, NOW).unwrap();
    let first = ring.signing().id().to_owned();
    ring.rotate(NOW).unwrap();
    fs::remove_file(data_dir.join(format!("keys/{first}.key"))).unwrap();
    assert!(KeyRing::open(&data_dir, NOW).unwrap().find(&first).is_none());
}

#[test]
fn a_file_or_folder_with_open_permissions_is_rejected_with_the_command_to_fix_it() {
    let data_dir = data_dir("exposed");
    KeyRing::open(&data_dir, NOW).unwrap();
    for (path, closed, modes) in [("keys/development.key", 0o600, [0o640, 0o604]), ("keys", 0o700, [0o750, 0o701])] {
        let path = data_dir.join(path);
        for exposed in modes {
            fs::set_permissions(&path, Permissions::from_mode(exposed)).unwrap();
            let error = KeyRing::open(&data_dir, NOW).unwrap_err();
            assert!(matches!(error, KeyError::Exposed { .. }));
            let shown = path.display();
            let expected = format!("{shown} is open to others than its owner: run `chmod {closed:o} {shown}`.");
            assert_eq!(error.to_string(), expected);
        }
        fs::set_permissions(&path, Permissions::from_mode(closed)).unwrap();
    }
    assert!(KeyRing::open(&data_dir, NOW).is_ok());
}

#[test]
fn an_error_names_the_invalid_file_and_hides_its_content() {
    let data_dir = data_dir("bad");
    KeyRing::open(&data_dir, NOW).unwrap();
    let secret = "5ec2e7".repeat(11);
    let whole = format!("aether key 1\ncreated 5\nsecret {}\n", &secret[..64]);
    let cases = [
        ("0123456789abcdef.key", String::new()),
        ("0123456789abcdef.key", whole.replace("key 1", "key 2")),
        ("0123456789abcdef.key", whole.replace("created 5", "created -5")),
        ("0123456789abcdef.key", whole.replace("secret 5e", "secret ")),
        ("0123456789abcdef.key", whole.replace("secret 5e", "secret +e")),
        ("0123456789abcdef.key", format!("{whole}more\n")),
        ("0123456789abcdef.key", "x".repeat(10_000)),
        ("nothing.key", whole.clone()),
        ("0123456789ABCDEF.key", whole.clone()),
    ];
    for (name, text) in cases {
        let path = put(&data_dir, name, &text);
        let message = KeyRing::open(&data_dir, NOW).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{} is not a valid key: ", path.display())), "{message}");
        assert!(!message.contains("5ec2e7"), "{message}");
        fs::remove_file(path).unwrap();
    }
    put(&data_dir, "0123456789abcdef.key", &whole);
    assert_eq!(KeyRing::open(&data_dir, NOW).unwrap().find("0123456789abcdef").unwrap().created_at(), 5);
}

#[test]
fn binary_files_and_folders_are_rejected_by_name() {
    let data_dir = data_dir("odd");
    KeyRing::open(&data_dir, NOW).unwrap();
    let path = data_dir.join("keys/0123456789abcdef.key");
    fs::create_dir(&path).unwrap();
    assert!(
        KeyRing::open(&data_dir, NOW).unwrap_err().to_string().contains("is not a valid key: it is not a plain file")
    );
    fs::remove_dir(&path).unwrap();
    fs::write(&path, [0xff; 40]).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o600)).unwrap();
    assert!(KeyRing::open(&data_dir, NOW).unwrap_err().to_string().contains("0123456789abcdef.key"));
}

#[test]
fn incomplete_files_of_a_crash_are_ignored() {
    let data_dir = data_dir("draft");
    KeyRing::open(&data_dir, NOW).unwrap();
    put(&data_dir, "development.0123456789abcdef.new", "aether k");
    assert!(KeyRing::open(&data_dir, NOW).is_ok());
}

#[test]
fn processes_that_start_together_agree_on_the_development_key() {
    let data_dir = data_dir("together");
    let rings: Vec<KeyRing> = std::thread::scope(|scope| {
        let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| KeyRing::open(&data_dir, NOW).unwrap())).collect();
        starts.into_iter().map(|start| start.join().unwrap()).collect()
    });
    let sign = |ring: KeyRing| {
        let claims = aether_server::tokens::Claims {
            session: uuid::Uuid::nil(),
            ..aether_server::tokens::Claims::new(uuid::Uuid::nil(), "someone", NOW, 60)
        };
        aether_server::tokens::Tokens::new(ring, "aether").sign(&claims.with_role(aether_server::tokens::Role::Admin))
    };
    let tokens: std::collections::BTreeSet<String> = rings.into_iter().map(sign).collect();
    assert_eq!(tokens.len(), 1);
}

#[test]
fn no_key_shows_in_debug_output() {
    let data_dir = data_dir("debug");
    let ring = KeyRing::open(&data_dir, NOW).unwrap();
    let shown = format!("{ring:?} {:?}", ring.signing());
    for name in files(&data_dir) {
        let text = fs::read_to_string(data_dir.join("keys").join(name)).unwrap();
        let secret = text.lines().nth(2).unwrap().strip_prefix("secret ").unwrap();
        assert_eq!(secret.len(), 64);
        assert!(!shown.contains(secret));
    }
    assert!(!shown.contains("secret"), "{shown}");
}
