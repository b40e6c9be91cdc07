//! The compressed headers of a request for a WebTransport session: whatever they hold, they are read or refused.

#![no_main]

use aether_net::webtransport::leads_somewhere;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|headers: &[u8]| {
    let _ = leads_somewhere(headers.to_vec());
});
