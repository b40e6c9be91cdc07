//! Compression of answers, and decompression of request bodies within their size limit.
//!
//! The length of a compressed answer can leak a secret if an attacker controls a part of the answer. Attackers cannot
//! send requests for another user here: users are authenticated by a header, not by a cookie.

use super::parts::{AnswerParts, parts_body, parts_of};
use axum::body::{Body, Bytes, HttpBody as _};
use axum::response::Response;
use flate2::Compression;
use flate2::bufread::{MultiGzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use http::{HeaderMap, HeaderValue, header};
use std::io::{self, Read, Write};
use std::slice;

/// Shortest answer that is compressed, in bytes: a shorter one fits one network packet anyway.
const COMPRESS_BYTES_MIN: u64 = 1_024;
/// Above this size, compress on the blocking pool: it takes about half a millisecond.
const BLOCKING_BYTES_MIN: usize = 65_536;

/// Encoding of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Gzip,
    Deflate,
}

/// Reason why a body cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EncodingError {
    /// The encoding is not supported.
    Unknown,
    /// The body does not match its encoding.
    Damaged,
    /// The decompressed body is too large.
    TooLarge,
}

/// A large public document, compressed once.
pub(crate) struct CompressedDocument {
    plain: Bytes,
    compressed: Option<Bytes>,
}

impl CompressedDocument {
    /// Creates a JSON document.
    pub fn json(text: String) -> CompressedDocument {
        let plain = Bytes::from(text);
        let compressed = Encoding::Gzip.compress(slice::from_ref(&plain), Vec::new()).ok().map(Bytes::from);
        CompressedDocument { plain, compressed }
    }

    /// Returns the document for a request with this `Accept-Encoding`.
    pub fn answer(&self, accepted: Option<&HeaderValue>) -> Response {
        let compressed = self.compressed.as_ref().filter(|_| preferred(accepted) == Some(Encoding::Gzip));
        let mut response = Response::new(Body::from(compressed.unwrap_or(&self.plain).clone()));
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        if compressed.is_some() {
            headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(Encoding::Gzip.name()));
        }
        response
    }
}

/// Compresses an answer, if the client accepts that (`Accept-Encoding`), it is long enough, and is not compressed yet.
pub(crate) async fn compress(response: Response, accepted: Option<HeaderValue>) -> Response {
    let is_large = response.body().size_hint().exact().is_some_and(|bytes| bytes >= COMPRESS_BYTES_MIN);
    if !is_large || response.headers().contains_key(header::VARY) {
        return response;
    }
    let encoding = preferred(accepted.as_ref());
    let (mut parts, body) = response.into_parts();
    parts.headers.append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(encoding) = encoding else { return Response::from_parts(parts, body) };
    // The body is already in memory, so this neither waits nor copies.
    let Some(plain) = parts_of(body).await else { return Response::from_parts(parts, Body::empty()) };
    let plain_bytes = plain.iter().map(Bytes::len).sum::<usize>();
    let compressed = if plain_bytes < BLOCKING_BYTES_MIN {
        encoding.compress(&plain, AnswerParts::default())
    } else {
        let plain = plain.clone();
        tokio::task::spawn_blocking(move || encoding.compress(&plain, AnswerParts::default()))
            .await
            .unwrap_or_else(|_| Err(io::Error::other("")))
    };
    match compressed {
        Ok(compressed) if compressed.len() < plain_bytes => {
            parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding.name()));
            parts.headers.remove(header::CONTENT_LENGTH);
            Response::from_parts(parts, compressed.into_body())
        }
        _ => Response::from_parts(parts, parts_body(plain)),
    }
}

/// Decompresses a request body (`Content-Encoding`), up to `bytes_max` bytes.
pub(crate) fn decompress(body: Bytes, headers: &HeaderMap, bytes_max: usize) -> Result<Bytes, EncodingError> {
    let mut names = headers.get_all(header::CONTENT_ENCODING).iter();
    let Some(name) = names.next() else { return Ok(body) };
    let name = name.to_str().map_err(|_| EncodingError::Unknown)?.trim().to_ascii_lowercase();
    // Nested encodings are not supported: clients do not use them.
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

    /// Compresses at the fastest level, which has most of the gain.
    fn compress<W: Write>(self, plain: &[Bytes], to: W) -> io::Result<W> {
        match self {
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(to, Compression::fast());
                plain.iter().try_for_each(|part| encoder.write_all(part))?;
                encoder.finish()
            }
            Encoding::Deflate => {
                let mut encoder = ZlibEncoder::new(to, Compression::fast());
                plain.iter().try_for_each(|part| encoder.write_all(part))?;
                encoder.finish()
            }
        }
    }
}

fn preferred(accepted: Option<&HeaderValue>) -> Option<Encoding> {
    accepted.and_then(|accepted| accepted.to_str().ok()).and_then(choose)
}

/// Returns the preferred encoding, unless the client prefers none.
fn choose(accepted: &str) -> Option<Encoding> {
    let star = quality(accepted, "*");
    let of = |name: &str| quality(accepted, name).or(star).unwrap_or(0.0);
    let (gzip, deflate) = (of("gzip"), of("deflate"));
    let (encoding, best) = if gzip >= deflate { (Encoding::Gzip, gzip) } else { (Encoding::Deflate, deflate) };
    let plain = quality(accepted, "identity").unwrap_or(0.0);
    (best > 0.0 && best >= plain).then_some(encoding)
}

/// Quality of an encoding in `Accept-Encoding`, from 0 to 1, if it is listed.
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

    fn decompressed(encoding: &'static str, body: Vec<u8>) -> Result<Bytes, EncodingError> {
        let headers = HeaderMap::from_iter([(header::CONTENT_ENCODING, HeaderValue::from_static(encoding))]);
        decompress(body.into(), &headers, LIMIT)
    }

    #[test]
    fn the_preferred_encoding_is_chosen() {
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
    fn bodies_are_decompressed_up_to_the_limit() {
        for encoding in [Encoding::Gzip, Encoding::Deflate] {
            let compressed =
                |bytes: usize| encoding.compress(&[vec![b' '; bytes].into()], Vec::new()).expect("writes to memory");
            assert_eq!(decompressed(encoding.name(), compressed(LIMIT)).map(|plain| plain.len()), Ok(LIMIT));
            assert_eq!(decompressed(encoding.name(), compressed(LIMIT + 1)), Err(EncodingError::TooLarge));
            let bomb = compressed(64 << 20);
            assert_eq!(decompressed(encoding.name(), bomb), Err(EncodingError::TooLarge));
            let mut cut = compressed(LIMIT);
            cut.truncate(cut.len() / 2);
            assert_eq!(decompressed(encoding.name(), cut), Err(EncodingError::Damaged));
            assert_eq!(decompressed(encoding.name(), b"{}".to_vec()), Err(EncodingError::Damaged));
        }
        assert_eq!(decompressed("br", b"{}".to_vec()), Err(EncodingError::Unknown));
        assert_eq!(decompressed("gzip, gzip", b"{}".to_vec()), Err(EncodingError::Unknown));
        assert_eq!(decompressed("identity", b"{}".to_vec()), Ok(Bytes::from_static(b"{}")));
    }
}
