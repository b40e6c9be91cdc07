use crate::support::{SocketPath, pair};
use aether_rings::{AttachError, BellEvent, GREETING_BYTES_MAX, RING_BYTES_MIN, RingListener, attach, create};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};

#[test]
fn only_the_owner_may_use_the_socket_and_it_is_removed_at_the_end() {
    let path = SocketPath::new();
    let listener = RingListener::bind(&path).unwrap();
    assert_eq!(std::fs::metadata(&*path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(matches!(RingListener::bind(&path), Err(AttachError::InUse(_))), "it is in use");
    drop(listener);
    assert!(!path.exists());
}

#[test]
fn a_socket_that_a_killed_process_left_is_replaced_and_another_file_is_kept() {
    let path = SocketPath::new();
    // Dropping the listener of the standard library leaves the file.
    drop(UnixListener::bind(&*path).unwrap());
    assert!(path.exists());
    assert!(matches!(attach(&path), Err(AttachError::NotListening(_))));
    drop(RingListener::bind(&path).unwrap());
    std::fs::write(&*path, "notes").unwrap();
    assert!(matches!(RingListener::bind(&path), Err(AttachError::NotSocket(_))));
    assert_eq!(std::fs::read(&*path).unwrap(), b"notes");
}

#[test]
fn a_missing_server_is_named_with_its_path() {
    let path = SocketPath::new();
    let error = attach(&path).unwrap_err().to_string();
    assert!(error.contains("start it") && error.contains(path.to_str().unwrap()), "{error}");
}

#[test]
fn strangers_on_the_socket_are_refused() {
    for bytes in [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n".as_slice(), &[0; 64], &[255; 64]] {
        let (mut stranger, server) = UnixStream::pair().unwrap();
        stranger.write_all(bytes).unwrap();
        assert!(matches!(create(server, RING_BYTES_MIN, 1, b""), Err(AttachError::Handshake(_))), "{bytes:?}");
    }
    let (stranger, server) = UnixStream::pair().unwrap();
    drop(stranger);
    assert!(matches!(create(server, RING_BYTES_MIN, 1, b""), Err(AttachError::System(..))));
}

#[test]
fn a_server_that_sends_no_region_is_refused() {
    let valid = |version: u64, greeting: u64| {
        let magic = u64::from_le_bytes(*b"aetherng");
        [magic, version, 1, greeting].map(u64::to_ne_bytes).concat()
    };
    let cases = [
        (vec![9; 32], "another protocol"),
        (valid(99, 0), "version 99"),
        (valid(1, 1 << 40), "greeting is too long"),
        (valid(1, 0), "no memory file"),
    ];
    for (bytes, expected) in cases {
        let path = SocketPath::new();
        let listener = UnixListener::bind(&*path).unwrap();
        let server = std::thread::spawn(move || listener.accept().unwrap().0.write_all(&bytes).unwrap());
        let error = attach(&path).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        server.join().unwrap();
    }
}

#[test]
fn greetings_have_a_limit() {
    let (_client, server) = UnixStream::pair().unwrap();
    let result = create(server, RING_BYTES_MIN, 1, &[0; GREETING_BYTES_MAX + 1]);
    assert!(matches!(result, Err(AttachError::Greeting(_))));
}

#[test]
fn a_closed_region_ends_the_waits_of_both_sides() {
    let (mut creator, mut attacher) = pair();
    creator.sender.bell().close();
    assert_eq!(creator.receiver.wait(None), Ok(BellEvent::Gone));
    assert_eq!(attacher.receiver.wait(None), Ok(BellEvent::Gone));
}
