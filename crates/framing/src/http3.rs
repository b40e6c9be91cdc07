//! The part of HTTP/3 (RFC 9114) that a WebTransport session needs, without streams.
//!
//! The settings turn off the dynamic table of header compression, so that headers are decoded independently.

use std::borrow::Cow;
use wtransport_proto::bytes::BytesWriter;
use wtransport_proto::error::ErrorCode;
use wtransport_proto::frame::Frame;
use wtransport_proto::headers::Headers;
use wtransport_proto::session::{SessionRequest, SessionResponse};
use wtransport_proto::settings::Settings;
use wtransport_proto::stream_header::StreamHeader;
use wtransport_proto::varint::VarInt;

/// Upper bound of the text of a session close (draft-ietf-webtrans-http3, 6).
const CLOSE_TEXT_BYTES_MAX: usize = 1_024;
/// Upper bound of the bytes of an integer in compressed headers, after the first. Four are enough for every length that
/// fits a frame.
const HEADER_INTEGER_BYTES_MAX: usize = 4;

const CAPSULE_CLOSE_SESSION: u32 = 0x2843;

/// Returns the start of the control stream of a server: its kind and the settings.
#[must_use]
pub fn control_stream() -> Vec<u8> {
    let mut bytes = Vec::new();
    StreamHeader::new_control().write(&mut bytes).expect("writing to a vector cannot fail");
    let settings = Settings::builder()
        .qpack_max_table_capacity(VarInt::from_u32(0))
        .qpack_blocked_streams(VarInt::from_u32(0))
        .enable_connect_protocol()
        .enable_webtransport()
        .enable_h3_datagrams()
        .webtransport_max_sessions(VarInt::from_u32(1))
        .build();
    bytes.extend_from_slice(&bytes_of(&settings.generate_frame()));
    bytes
}

/// Checks the payload of the settings of a peer. The values are not used, but they must be valid.
pub fn check_settings(payload: Vec<u8>) -> Result<(), ErrorCode> {
    Settings::with_frame(&Frame::new_settings(Cow::Owned(payload))).map(|_| ())
}

/// Decodes a session request from compressed headers. Returns `None` if they are another request.
pub fn session_request(headers: Vec<u8>) -> Result<Option<SessionRequest>, ErrorCode> {
    if !has_short_integers(&headers) {
        return Err(ErrorCode::Decompression);
    }
    let headers = Headers::with_frame(&Frame::new_headers(Cow::Owned(headers)))?;
    Ok(SessionRequest::try_from(headers).ok())
}

/// Returns the frame that answers a session request.
#[must_use]
pub fn session_response(response: &SessionResponse) -> Vec<u8> {
    bytes_of(&response.headers().generate_frame())
}

/// Returns the frame that closes the session with a code and a text.
#[must_use]
pub fn close_session_frame(code: u32, text: &str) -> Vec<u8> {
    let text = &text[..text.floor_char_boundary(CLOSE_TEXT_BYTES_MAX)];
    let mut capsule = Vec::new();
    put_varint(&mut capsule, CAPSULE_CLOSE_SESSION);
    put_varint(&mut capsule, (4 + text.len()) as u32);
    capsule.extend_from_slice(&code.to_be_bytes());
    capsule.extend_from_slice(text.as_bytes());
    bytes_of(&Frame::new_data(Cow::Owned(capsule)))
}

fn bytes_of(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(frame.write_size());
    frame.write(&mut bytes).expect("writing to a vector cannot fail");
    bytes
}

fn put_varint(out: &mut Vec<u8>, value: u32) {
    out.put_varint(VarInt::from_u32(value)).expect("writing to a vector cannot fail");
}

/// True if all integers of compressed headers (RFC 9204, 4.5) have a valid length. The decoder relies on it.
fn has_short_integers(section: &[u8]) -> bool {
    let mut rest = section;
    let prefix = skip_integer(&mut rest, 8).and_then(|_| skip_integer(&mut rest, 7));
    let mut sane = prefix.is_some();
    while sane && !rest.is_empty() {
        sane = skip_field(&mut rest).is_some();
    }
    sane
}

fn skip_field(rest: &mut &[u8]) -> Option<()> {
    match rest.first()? {
        0x80.. => skip_integer(rest, 6).map(|_| ()),
        0x40..0x80 => skip_integer(rest, 4).and_then(|_| skip_string(rest, 7)),
        0x20..0x40 => skip_string(rest, 3).and_then(|()| skip_string(rest, 7)),
        // These refer to the dynamic table, which does not exist.
        _ => None,
    }
}

fn skip_string(rest: &mut &[u8], bits: u32) -> Option<()> {
    let length = skip_integer(rest, bits)?;
    *rest = rest.get(length..)?;
    Some(())
}

fn skip_integer(rest: &mut &[u8], bits: u32) -> Option<usize> {
    let (first, mut after) = rest.split_first()?;
    let mask = (1_usize << bits) - 1;
    let mut value = usize::from(*first) & mask;
    if value == mask {
        for index in 0.. {
            let (byte, next) = after.split_first()?;
            if index == HEADER_INTEGER_BYTES_MAX {
                return None;
            }
            value += usize::from(byte & 0x7f) << (7 * index);
            after = next;
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *rest = after;
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use wtransport_proto::capsule::{Capsule, capsules::CloseWebTransportSession};

    fn request_payload() -> Vec<u8> {
        let long = "x".repeat(1_000);
        let headers: Headers = [
            (":method", "CONNECT"),
            (":scheme", "https"),
            (":protocol", "webtransport"),
            (":authority", "localhost:7350"),
            (":path", "/rt?encoding=json"),
            ("origin", "https://example.org"),
            ("x-long", long.as_str()),
        ]
        .into_iter()
        .collect();
        headers.generate_frame().payload().to_vec()
    }

    #[test]
    fn headers_of_an_honest_request_are_accepted() {
        assert!(has_short_integers(&request_payload()));
        let request = session_request(request_payload()).unwrap().unwrap();
        assert_eq!(request.path(), "/rt?encoding=json");
    }

    #[test]
    fn headers_with_an_endless_integer_are_rejected() {
        let mut payload = vec![0, 0, 0xff];
        payload.extend([0x80; 40]);
        payload.push(0);
        assert!(!has_short_integers(&payload));
    }

    proptest! {
        #[test]
        fn damaged_headers_never_panic(
            at in 0_usize..1_100,
            byte in any::<u8>(),
            noise in prop::collection::vec(any::<u8>(), 0..200),
        ) {
            let mut damaged = request_payload();
            let at = at % damaged.len();
            damaged[at] = byte;
            for payload in [damaged, noise] {
                let _ = session_request(payload);
            }
        }
    }

    #[test]
    fn a_session_close_has_its_code_and_a_text_of_bounded_length() {
        let long = "ä".repeat(2_000);
        for (text, expected) in [("bye", "bye"), (long.as_str(), &long[..1_024])] {
            let bytes = close_session_frame(7, text);
            let frame = Frame::read(&mut bytes.as_slice()).unwrap().unwrap();
            let capsule = Capsule::with_frame(&frame).unwrap();
            let close = CloseWebTransportSession::with_capsule(&capsule).unwrap();
            assert_eq!((close.error_code().into_inner(), close.reason()), (7, expected));
        }
    }
}
