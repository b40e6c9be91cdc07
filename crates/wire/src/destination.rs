//! Paths of realtime sessions.

use crate::limits::ROOM_CODE_BYTES_MAX;
use crate::{Encoding, Encodings};

/// Room and encoding in the path of a realtime session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// Room code, if the path has one.
    pub room_code: Option<String>,
    /// Encoding of the messages.
    pub encoding: Encoding,
}

impl Destination {
    /// Returns the destination of a path with its query: `/rt` or `/api/rooms/{code}/rt`, and `encoding=<name>` for another
    /// encoding than protobuf.
    #[must_use]
    pub fn of(path_and_query: &str, encodings: &Encodings) -> Option<Destination> {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let room_code = match path {
            "/rt" => None,
            _ => Some(room_code(path)?.to_owned()),
        };
        Some(Destination { room_code, encoding: encoding(query, encodings)? })
    }
}

fn room_code(path: &str) -> Option<&str> {
    let code = path.strip_prefix("/api/rooms/")?.strip_suffix("/rt")?;
    let plain = code.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    (plain && (1..=ROOM_CODE_BYTES_MAX).contains(&code.len())).then_some(code)
}

fn encoding(query: &str, encodings: &Encodings) -> Option<Encoding> {
    match query.split('&').find_map(|pair| pair.strip_prefix("encoding=")) {
        None => Some(Encoding::Protobuf),
        Some(name) => encodings.named(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn destination(room_code: Option<&str>, encoding: Encoding) -> Option<Destination> {
        Some(Destination { room_code: room_code.map(str::to_owned), encoding })
    }

    fn of(path: &str) -> Option<Destination> {
        Destination::of(path, &Encodings::default())
    }

    #[test]
    fn the_path_names_the_room_and_the_query_the_encoding() {
        assert_eq!(of("/rt"), destination(None, Encoding::Protobuf));
        assert_eq!(of("/rt?"), destination(None, Encoding::Protobuf));
        assert_eq!(of("/rt?encoding=json"), destination(None, Encoding::Json));
        assert_eq!(of("/rt?a=b&encoding=protobuf"), destination(None, Encoding::Protobuf));
        assert_eq!(of("/api/rooms/KX7Q/rt?encoding=json"), destination(Some("KX7Q"), Encoding::Json));
    }

    #[test]
    fn other_paths_codes_and_encodings_have_no_destination() {
        for path in [
            "",
            "/",
            "/rt/",
            "rt",
            "/RT",
            "/rt?encoding=xml",
            "/api/rooms//rt",
            "/api/rooms/a/b/rt",
            "/api/rooms/%2e%2e/rt",
            "/api/rooms/12345678901234567/rt",
        ] {
            assert_eq!(of(path), None, "{path}");
        }
    }
}
