//! Bodies that are compressed: answers for those who ask for it, and requests within the same bound as others.
//!
//! An answer that reflects what an attacker chose beside a secret could tell the secret by its length. Here nobody sends
//! requests in another's name: who asks is said by a header that pages of others do not have, not by a cookie.

use axum::body::{Body, Bytes, HttpBody as _, to_bytes};
use axum::response::Response;
use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use http::{HeaderMap, HeaderValue, header};
use std::io::{self, Read, Write};

/// Bytes from which on an answer is compressed: a shorter one fits one packet anyway.
const COMPRESS_BYTES_MIN: u64 = 1_024;
/// Bytes from which on that is done beside the threads that carry connections: it takes about half a millisecond.
const BESIDE_BYTES_MIN: usize = 65_536;

/// How a body is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Deflate,
}

/// Why a body could not be unpacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncodingError {
    /// It is written in a way that is not known.
    Unknown,
    /// It is not what it says.
    Damaged,
    /// It is larger than it may be.
    TooLarge,
}

/// A large document that everyone may ask for as often as they want: it is compressed once.
pub(crate) struct CompressedDocument {
    plain: Bytes,
    packed: Option<Bytes>,
}

impl CompressedDocument {
    /// A document of JSON.
    pub fn json(text: String) -> CompressedDocument {
        let packed = Encoding::Gzip.pack(text.as_bytes()).ok().map(Bytes::from);
        CompressedDocument { plain: text.into(), packed }
    }

    /// The document for someone with this `Accept-Encoding`.
    pub fn answer(&self, accepted: Option<&HeaderValue>) -> Response {
        let packed = self.packed.as_ref().filter(|_| chosen(accepted) == Some(Encoding::Gzip));
        let mut response = Response::new(Body::from(packed.unwrap_or(&self.plain).clone()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        if packed.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(Encoding::Gzip.name()));
        }
        response
    }
}

/// Compresses an answer, if whoever asked takes that (`Accept-Encoding`), it is worth it, and nobody has thought of it yet.
pub(crate) async fn compress(response: Response, accepted: Option<HeaderValue>) -> Response {
    let is_large = response.body().size_hint().exact().is_some_and(|bytes| bytes >= COMPRESS_BYTES_MIN);
    if !is_large || response.headers().contains_key(header::VARY) {
        return response;
    }
    let encoding = chosen(accepted.as_ref());
    let (mut parts, body) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(encoding) = encoding else { return Response::from_parts(parts, body) };
    // It is in memory already, so this neither waits nor copies.
    let Ok(plain) = to_bytes(body, usize::MAX).await else { return Response::from_parts(parts, Body::empty()) };
    let packed = if plain.len() < BESIDE_BYTES_MIN {
        encoding.pack(&plain)
    } else {
        let bytes = plain.clone();
        tokio::task::spawn_blocking(move || encoding.pack(&bytes)).await.unwrap_or_else(|_| Err(io::Error::other("")))
    };
    match packed {
        Ok(packed) if packed.len() < plain.len() => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, Body::from(packed))
        }
        _ => Response::from_parts(parts, Body::from(plain)),
    }
}

/// The body of a request as it was before it was compressed (`Content-Encoding`); never more than so many bytes of it.
pub(crate) fn decompress(body: Bytes, headers: &HeaderMap, bytes_max: usize) -> Result<Bytes, EncodingError> {
    let mut names = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(name) = names.next() else { return Ok(body) };
    let name = name.to_str().map_err(|_| EncodingError::Unknown)?.trim().to_ascii_lowercase();
    // One within another is nothing that clients do.
    if names.next().is_some() {
        return Err(EncodingError::Unknown);
    }
    let limit = bytes_max as u64 + 1;
    let mut plain = Vec::new();
    let read = match name.as_str() {
        "" | "identity" => return Ok(body),
        "gzip" | "x-gzip" => MultiGzDecoder::new(&*body).take(limit).read_to_end(&mut plain),
        "deflate" => ZlibDecoder::new(&*body).take(limit).read_to_end(&mut plain),
        _ => return Err(EncodingError::Unknown),
    };
    read.map_err(|_| EncodingError::Damaged)?;
    if plain.len() > bytes_max { Err(EncodingError::TooLarge) } else { Ok(plain.into()) }
}

impl Encoding {
    fn name(self) -> &'static str {
        match self {
            Encoding::Gzip => "gzip",
            Encoding::Deflate => "deflate",
        }
    }

    /// Fast rather than small: most of what there is to gain comes with the first step.
    fn pack(self, plain: &[u8]) -> io::Result<Vec<u8>> {
        let room = Vec::with_capacity(plain.len() / 4);
        match self {
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(room, Compression::fast());
                encoder.write_all(plain)?;
                encoder.finish()
            }
            Encoding::Deflate => {
                let mut encoder = ZlibEncoder::new(room, Compression::fast());
                encoder.write_all(plain)?;
                encoder.finish()
            }
        }
    }
}

fn chosen(accepted: Option<&HeaderValue>) -> Option<Encoding> {
    accepted.and_then(|accepted| accepted.to_str().ok()).and_then(choose)
}

/// The best of what is taken, if it is better than nothing.
fn choose(accepted: &str) -> Option<Encoding> {
    let star = quality(accepted, "*");
    let of = |name: &str| quality(accepted, name).or(star).unwrap_or(0.0);
    let (gzip, deflate) = (of("gzip"), of("deflate"));
    let (encoding, best) = if gzip >= deflate { (Encoding::Gzip, gzip) } else { (Encoding::Deflate, deflate) };
    let plain = quality(accepted, "identity").unwrap_or(0.0);
    (best > 0.0 && best >= plain).then_some(encoding)
}

/// How much a way is wanted, from 0 to 1, if it is named.
fn quality(accepted: &str, name: &str) -> Option<f32> {
    accepted.split(',').find_map(|part| {
        let (named, weight) = part.split_once(';').unwrap_or((part, "q=1"));
        let weight = weight.trim().strip_prefix("q=").and_then(|weight| weight.trim().parse().ok());
        named.trim().eq_ignore_ascii_case(name).then(|| weight.unwrap_or(0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 65_536;

    fn unpack(encoding: &'static str, body: Vec<u8>) -> Result<Bytes, EncodingError> {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(encoding))]);
        decompress(body.into(), &headers, LIMIT)
    }

    #[test]
    fn the_best_that_is_taken_is_chosen() {
        let cases = [
            ("gzip, deflate, br", Some(Encoding::Gzip)),
            ("deflate", Some(Encoding::Deflate)),
            ("gzip;q=0.5, deflate;q=0.8", Some(Encoding::Deflate)),
            ("GZIP ; q=1.0", Some(Encoding::Gzip)),
            ("*", Some(Encoding::Gzip)),
            ("gzip;q=0, *", Some(Encoding::Deflate)),
            ("br, zstd", None),
            ("gzip;q=0", None),
            ("identity;q=1, gzip;q=0.5", None),
            ("gzip;q=much", None),
            ("", None),
            (",;,q=;", None),
        ];
        for (accepted, expected) in cases {
            assert_eq!(choose(accepted), expected, "{accepted}");
        }
    }

    #[test]
    fn what_was_packed_is_unpacked_up_to_the_limit_and_no_further() {
        for encoding in [Encoding::Gzip, Encoding::Deflate] {
            let pack = |bytes: usize| encoding.pack(&vec![b' '; bytes]).expect("memory takes all");
            assert_eq!(unpack(encoding.name(), pack(LIMIT)).map(|plain| plain.len()), Ok(LIMIT));
            assert_eq!(unpack(encoding.name(), pack(LIMIT + 1)), Err(EncodingError::TooLarge));
            let bomb = pack(64 << 20);
            assert_eq!(unpack(encoding.name(), bomb), Err(EncodingError::TooLarge));
            let mut cut = pack(LIMIT);
            cut.truncate(cut.len() / 2);
            assert_eq!(unpack(encoding.name(), cut), Err(EncodingError::Damaged));
            assert_eq!(unpack(encoding.name(), b"{}".to_vec()), Err(EncodingError::Damaged));
        }
        assert_eq!(unpack("br", b"{}".to_vec()), Err(EncodingError::Unknown));
        assert_eq!(unpack("gzip, gzip", b"{}".to_vec()), Err(EncodingError::Unknown));
        assert_eq!(unpack("identity", b"{}".to_vec()), Ok(Bytes::from_static(b"{}")));
    }
}
