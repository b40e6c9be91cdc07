//! Finds hashed maps and sets whose order changes from run to run.

use super::source::occurrences;

/// Hashers that are seeded at random.
const RANDOM_HASHERS: [&str; 2] = ["RandomState", "DefaultHashBuilder"];

/// Constructors that exist for the randomly seeded hasher, or fall back to it.
const RANDOM_CONSTRUCTORS: [&str; 3] = ["::new(", "::with_capacity(", "::from("];

/// Positions of maps and sets with the default hasher, in order.
pub fn default_hashers(code: &str) -> Vec<usize> {
    let mut found = Vec::new();
    for (name, parameters) in [("HashMap", 3), ("HashSet", 2)] {
        found.extend(occurrences(code, name).filter(|&position| {
            let rest = code[position + name.len()..].trim_start();
            has_default_hasher(rest, parameters)
        }));
    }
    for hasher in RANDOM_HASHERS {
        found.extend(occurrences(code, hasher));
    }
    found.sort_unstable();
    found
}

/// Judges by what follows the name: type arguments without a hasher, or a random constructor.
fn has_default_hasher(rest: &str, parameters: usize) -> bool {
    let generics = rest.strip_prefix("::").unwrap_or(rest);
    if let Some(generics) = generics.strip_prefix('<') {
        return argument_count(generics) < parameters;
    }
    RANDOM_CONSTRUCTORS.iter().any(|constructor| rest.starts_with(constructor))
}

/// Counts type arguments up to the closing bracket.
fn argument_count(generics: &str) -> usize {
    let mut depth = 0_usize;
    let mut count = 0;
    let mut inside_argument = false;
    let mut previous = ' ';
    for character in generics.chars() {
        match character {
            '>' if previous == '-' => {}
            '>' if depth == 0 => break,
            '<' | '(' | '[' => depth += 1,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => inside_argument = false,
            _ => {}
        }
        if !inside_argument && !character.is_whitespace() && character != ',' {
            inside_argument = true;
            count += 1;
        }
        previous = character;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_and_sets_without_a_hasher_are_found() {
        for bad in [
            "x: HashMap<u32, (u8, u8)>,",
            "x: HashSet<fn(u8) -> u8>,",
            "HashMap::<u8, Vec<u8>>::new()",
            "let x = HashMap::new();",
            "HashSet::with_capacity(8)",
            "HashMap<K, V, RandomState>",
        ] {
            assert_eq!(default_hashers(bad).len(), 1, "{bad}");
        }
    }

    #[test]
    fn a_named_hasher_an_import_and_ordered_maps_are_fine() {
        for good in [
            "use hashbrown::{HashMap, HashSet};",
            "x: HashMap<u32, Vec<(u8, u8)>, FixedHasher>,",
            "x: HashMap<\n    u32,\n    u8,\n    FixedHasher,\n>,",
            "HashMap::default()",
            "HashSet::with_hasher(FixedHasher)",
            "x: BTreeMap<u8, u8>",
        ] {
            assert!(default_hashers(good).is_empty(), "{good}");
        }
    }
}
