//! Reads of any width stay within the bytes and within the width.

#![no_main]

use aether_bits::BitReader;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (Vec<u8>, &[u8])| {
    let (widths, bytes) = input;
    let mut reader = BitReader::new(bytes);
    for width in widths {
        let bits = u32::from(width % 65);
        let before = reader.position();
        if let Ok(value) = reader.read(bits) {
            assert!(bits == 64 || value >> bits == 0);
            assert_eq!(reader.position(), before + bits as usize);
        }
        assert_eq!(reader.position() + reader.remaining(), bytes.len() * 8);
    }
});
