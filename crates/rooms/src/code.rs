//! Short codes that people read to each other.

/// Letters and digits that are not taken for one another.
const ALPHABET: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
/// A billion codes, of which a few thousand are in use: guessing one takes a while, and a room is no secret.
const LENGTH: usize = 6;

/// A random code.
pub(crate) fn new_code() -> String {
    let mut bytes = [0; LENGTH];
    getrandom::fill(&mut bytes).expect("the system has random numbers");
    bytes.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn codes_are_readable_and_differ() {
        let codes: BTreeSet<String> = std::iter::repeat_with(new_code).take(1_000).collect();
        assert!(codes.len() > 995);
        assert!(codes.iter().flat_map(|code| code.bytes()).all(|letter| ALPHABET.contains(&letter)));
    }
}
