//! Compression of single messages (permessage-deflate, RFC 7692).
//!
//! Neither end keeps its context from one message to the next. So compression costs no memory
//! per connection: each thread has one pair of engines for all of them.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::codec::{MESSAGE_TOO_LARGE, ProtocolError, protocol, too_large};

/// Messages shorter than this are sent as they are: compressing them gains next to nothing.
const DEFLATE_BYTES_MIN: usize = 128;

/// Bytes that a compressed message ends with on the inside and leaves out on the wire.
const TAIL: [u8; 4] = [0x00, 0x00, 0xFF, 0xFF];

/// The buffer of a message begins with this many bytes and doubles up to the limit, so that
/// memory follows what really comes out.
const INFLATE_CHUNK_BYTES: usize = 4_096;

/// The bytes of a compressed message: at most `bytes_max` of them, and never more in memory
/// than that and one.
pub(super) fn inflate(deflated: &[u8], bytes_max: usize) -> Result<Vec<u8>, ProtocolError> {
    INFLATER.with_borrow_mut(|inflater| {
        inflater.reset(false);
        let mut out = Vec::new();
        for mut input in [deflated, &TAIL] {
            inflate_part(inflater, &mut input, &mut out, bytes_max)?;
        }
        Ok(out)
    })
}

/// The compressed form of a message, if it is shorter than the message.
pub(super) fn deflate(payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() < DEFLATE_BYTES_MIN {
        return None;
    }
    DEFLATER.with_borrow_mut(|deflater| {
        deflater.reset();
        // With the tail that is cut off, the result has to fit into the length of the payload.
        let mut out = Vec::with_capacity(payload.len() + TAIL.len() - 1);
        deflater.compress_vec(payload, &mut out, FlushCompress::Sync).ok()?;
        let finished = deflater.total_in() == payload.len() as u64 && out.ends_with(&TAIL);
        // A full buffer may mean that there was more to come.
        if !finished || out.len() == out.capacity() {
            return None;
        }
        out.truncate(out.len() - TAIL.len());
        Some(out)
    })
}

thread_local! {
    static INFLATER: RefCell<Decompress> = RefCell::new(Decompress::new(false));
    static DEFLATER: RefCell<Compress> = RefCell::new(Compress::new(Compression::fast(), false));
}

fn inflate_part(
    inflater: &mut Decompress,
    input: &mut &[u8],
    out: &mut Vec<u8>,
    bytes_max: usize,
) -> Result<(), ProtocolError> {
    loop {
        if out.len() == out.capacity() {
            // One byte more than allowed tells a message at the limit from one beyond it.
            let wanted = (out.capacity() * 2).max(INFLATE_CHUNK_BYTES).min(bytes_max.saturating_add(1));
            out.reserve_exact(wanted.saturating_sub(out.len()));
        }
        let (read_before, written_before) = (inflater.total_in(), out.len());
        let status = inflater
            .decompress_vec(input, out, FlushDecompress::Sync)
            .map_err(|_| protocol("a compressed message is malformed"))?;
        let read = usize::try_from(inflater.total_in() - read_before).unwrap_or(usize::MAX);
        *input = input.get(read..).unwrap_or_default();
        if out.len() > bytes_max {
            return Err(too_large(MESSAGE_TOO_LARGE));
        }
        let room_left = out.len() < out.capacity();
        match status {
            // A block that calls itself the last ends a stream; another one may follow.
            Status::StreamEnd => inflater.reset(false),
            _ if read == 0 && out.len() == written_before && room_left && !input.is_empty() => {
                return Err(protocol("a compressed message is malformed"));
            }
            _ => {}
        }
        if input.is_empty() && room_left {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inflating_allocates_no_more_than_the_limit_and_one_byte() {
        let zeros = vec![0; 1 << 20];
        let deflated = deflate(&zeros).expect("zeros compress well");
        for limit in [100, INFLATE_CHUNK_BYTES, 10_000, zeros.len()] {
            match inflate(&deflated, limit) {
                Ok(out) => assert!(limit == zeros.len() && out == zeros && out.capacity() <= limit + 1),
                Err(error) => assert!(error.code == 1009 && limit < zeros.len()),
            }
        }
    }

    #[test]
    fn what_does_not_get_shorter_is_left_alone() {
        let mut state = 1_u32;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        })
        .take(1_000)
        .collect();
        assert_eq!(deflate(&noise), None);
        assert_eq!(deflate(&[0; DEFLATE_BYTES_MIN - 1]), None);
        assert!(deflate(&[0; DEFLATE_BYTES_MIN]).is_some_and(|deflated| deflated.len() < 16));
    }
}
