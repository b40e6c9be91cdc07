//! Fragments in any order, with any content and at any time never exceed the limits.

#![no_main]

use aether_wire::limits::{REASSEMBLY_BYTES_MAX, RELIABLE_MESSAGE_BYTES_MAX, UNFINISHED_MESSAGES_MAX};
use aether_wire::{Fragment, MessageId, Reassembler};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|steps: Vec<(u8, u16, u16, u16, u16)>| {
    let mut reassembler = Reassembler::closed();
    reassembler.open();
    let mut now_ms = 0;
    for (message, index, total, length, waited_ms) in steps {
        now_ms += u64::from(waited_ms);
        let fragment = Fragment {
            message: MessageId(u32::from(message % 8)),
            index,
            total,
            bytes: vec![message; usize::from(length % 1_024)],
        };
        if let Ok(Some(whole)) = reassembler.push(fragment, now_ms) {
            assert!(whole.len() <= RELIABLE_MESSAGE_BYTES_MAX);
        }
        assert!(reassembler.buffered_bytes() <= REASSEMBLY_BYTES_MAX);
        assert!(reassembler.unfinished() <= UNFINISHED_MESSAGES_MAX);
    }
    reassembler.expire(u64::MAX);
    assert_eq!((reassembler.unfinished(), reassembler.buffered_bytes()), (0, 0));
});
