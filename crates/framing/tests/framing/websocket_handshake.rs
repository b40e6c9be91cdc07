//! WebSocket handshake: request and answer.

use aether_framing::websocket::handshake::{
    RESPONSE_BYTES_MAX, Response, ResponseError, Upgrade, accept_key, client_key, client_request, parse_response,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method};

const PROTOBUF: &str = "aether.v2.protobuf";
const JSON: &str = "aether.v2.json";
const KNOWN: [&str; 2] = [PROTOBUF, JSON];

const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";

fn request(changes: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("upgrade", "websocket"),
        ("connection", "keep-alive, Upgrade"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", KEY),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    for (name, value) in changes {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers
}

fn upgrade(changes: &[(&'static str, &'static str)]) -> Result<Upgrade, u16> {
    Upgrade::from_request(&Method::GET, &request(changes), &KNOWN).map_err(|error| error.status.as_u16())
}

#[test]
fn the_example_of_the_standard_is_upgraded() {
    let accept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
    assert_eq!(accept_key(KEY), accept);
    assert_eq!(upgrade(&[]), Ok(Upgrade { subprotocol: None, accept: accept.into(), deflate: false }));
}

#[test]
fn the_first_known_subprotocol_is_chosen() {
    let chosen = |offer| upgrade(&[("sec-websocket-protocol", offer)]).expect("the request is valid").subprotocol;
    assert_eq!(chosen("aether.v2.protobuf"), Some(PROTOBUF));
    assert_eq!(chosen("chat,aether.v2.json , aether.v2.protobuf"), Some(JSON));
    assert_eq!(chosen("chat"), None);
    let mut headers = request(&[("sec-websocket-protocol", "chat")]);
    headers.append("sec-websocket-protocol", HeaderValue::from_static("aether.v2.json"));
    let upgrade = Upgrade::from_request(&Method::GET, &headers, &KNOWN).expect("the request is valid");
    assert_eq!(upgrade.subprotocol, Some(JSON), "a list may have several lines");
}

#[test]
fn requests_that_are_no_upgrade_are_rejected() {
    let post = Upgrade::from_request(&Method::POST, &request(&[]), &KNOWN).map_err(|error| error.status.as_u16());
    assert_eq!(post, Err(405));
    assert_eq!(upgrade(&[("upgrade", "h2c")]), Err(426));
    assert_eq!(upgrade(&[("connection", "keep-alive")]), Err(426));
    assert_eq!(upgrade(&[("sec-websocket-version", "8")]), Err(426));
    assert_eq!(upgrade(&[("sec-websocket-key", "")]), Err(400));
    assert_eq!(upgrade(&[("sec-websocket-key", "AAAA")]), Err(400));
    assert_eq!(upgrade(&[("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZSE=")]), Err(400), "17 bytes");
    assert_eq!(upgrade(&[("sec-websocket-key", "!!!!!!!!!!!!!!!!!!!!!!==")]), Err(400));
}

#[test]
fn compression_is_accepted_with_acceptable_parameters() {
    let accepted = |offer| upgrade(&[("sec-websocket-extensions", offer)]).expect("the request is valid").deflate;
    assert!(accepted("permessage-deflate"));
    assert!(accepted("permessage-deflate; client_max_window_bits"));
    assert!(accepted("permessage-deflate; client_max_window_bits=\"12\"; server_no_context_takeover"));
    assert!(accepted("permessage-deflate; server_max_window_bits=9, permessage-deflate"));
    assert!(!accepted("permessage-deflate; server_max_window_bits=9"));
    assert!(!accepted("permessage-deflate; client_max_window_bits=16"));
    assert!(!accepted("permessage-deflate; colour=blue"));
    assert!(!accepted("x-webkit-deflate-frame"));
}

fn response(lines: &[&str]) -> Vec<u8> {
    let mut response = String::from("HTTP/1.1 101 Switching Protocols\r\n");
    for line in lines {
        response.push_str(line);
        response.push_str("\r\n");
    }
    response.push_str("\r\n");
    response.into_bytes()
}

const UPGRADED: [&str; 3] =
    ["upgrade: WebSocket", "Connection: upgrade", "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="];

#[test]
fn a_client_and_a_server_agree() {
    let key = client_key(*b"the sample nonce");
    assert_eq!(key, KEY);
    let request = client_request("127.0.0.1:7350", "/rt", &key, Some(JSON));
    let expected = "GET /rt HTTP/1.1\r\nHost: 127.0.0.1:7350\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
        Sec-WebSocket-Protocol: aether.v2.json\r\n\r\n";
    assert_eq!(String::from_utf8(request).as_deref(), Ok(expected));

    let answer = response(&[&UPGRADED[..], &["sec-websocket-protocol: aether.v2.json"]].concat());
    let with_frame = [&answer[..], b"\x81\x00"].concat();
    for length in 0..answer.len() {
        assert_eq!(parse_response(&with_frame[..length], &key, &KNOWN), Ok(None));
    }
    let expected = Response { consumed: answer.len(), subprotocol: Some(JSON) };
    assert_eq!(parse_response(&with_frame, &key, &KNOWN), Ok(Some(expected)));
}

#[test]
fn invalid_answers_have_distinct_errors() {
    let error = |bytes: &[u8]| parse_response(bytes, KEY, &KNOWN).expect_err("the answer is invalid");
    assert_eq!(error(b"HTTP/1.1 403 Forbidden\r\n\r\n"), ResponseError::Status(403));
    assert_eq!(error(b"SSH-2.0-OpenSSH\r\n\r\n"), ResponseError::Malformed);
    assert_eq!(error(&response(&["nonsense"])), ResponseError::Malformed);
    assert_eq!(error(&response(&UPGRADED[..1])), ResponseError::NotUpgraded);
    assert_eq!(error(&response(&UPGRADED[..2])), ResponseError::WrongAccept);
    let extended = [&UPGRADED[..], &["Sec-WebSocket-Extensions: permessage-deflate"]].concat();
    assert_eq!(error(&response(&extended)), ResponseError::NotOffered);
    let foreign = [&UPGRADED[..], &["Sec-WebSocket-Protocol: chat"]].concat();
    assert_eq!(error(&response(&foreign)), ResponseError::NotOffered);
    assert_eq!(error(&[b'a'; RESPONSE_BYTES_MAX]), ResponseError::TooLong);
}
