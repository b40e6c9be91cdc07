//! Room codes, which players type to join a room.

/// Letters and digits that are not easily confused.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// Length of a code. A few thousand of a billion codes are in use, so guessing takes long, and rooms are not secret.
const LENGTH: usize = 6;

/// Returns a random code.
pub(crate) fn new_code() -> String {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).expect("the system provides random numbers");
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_use_the_alphabet_and_differ() {
        let codes: BTreeSet<String> = std::iter::repeat_with(new_code).take(1_000).collect();
        assert!(codes.len() > 995);
        assert!(codes.iter().flat_map(|code| code.bytes()).all(|letter| ALPHABET.contains(&letter)));
    }
}
