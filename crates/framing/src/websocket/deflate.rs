//! Compression of single messages (permessage-deflate, RFC 7692).
//!
//! Neither end retains its context between messages. So compression needs no memory per connection: each thread has one
//! pair of engines for all connections.

use std::cell::RefCell;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use super::codec::{MESSAGE_TOO_LARGE, ProtocolError, protocol, too_large};

/// Messages shorter than this are not compressed, because it saves almost nothing.
const DEFLATE_BYTES_MIN: usize = 128;

/// End of every compressed message. It is omitted on the wire.
const TAIL: [u8; 4] = [0x00, 0x00, 0xFF, 0xFF];

/// Initial size of the buffer of a message. It doubles up to the limit, so that memory follows the real size.
const INFLATE_CHUNK_BYTES: usize = 4_096;

/// Decompresses a message of up to `bytes_max` bytes. It never allocates more than one byte beyond that.
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

/// Compresses a message. Returns `None` if the result is not shorter.
pub(super) fn deflate(payload: &[u8]) -> Option<Vec<u8>> {
    if payload.len() < DEFLATE_BYTES_MIN {
        return None;
    }
    DEFLATER.with_borrow_mut(|deflater| {
        deflater.reset();
        // With the tail, which is removed, the result must be shorter than the payload.
        let mut out = Vec::with_capacity(payload.len() + TAIL.len() - 1);
        deflater.compress_vec(payload, &mut out, FlushCompress::Sync).ok()?;
        let finished = deflater.total_in() == payload.len() as u64 && out.ends_with(&TAIL);
        // A full buffer may mean that the output is incomplete.
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
            // One byte beyond the limit distinguishes a message at the limit from a longer one.
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
            // A block marked as last ends a stream. Another stream may follow.
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
    fn messages_that_do_not_get_shorter_stay_uncompressed() {
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
