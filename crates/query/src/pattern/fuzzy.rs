//! Fuzzy words.

/// Returns true if the edit distance of two texts is at most `distance`: insertions, removals and replacements of a
/// character.
///
/// Only the cells of the table near its diagonal are computed, so it takes O(length × distance).
pub fn is_within(distance: u8, text: &str, word: &str) -> bool {
    let distance = usize::from(distance);
    // Each change adds or removes at most one character of at most four bytes.
    if text.len().abs_diff(word.len()) > distance * 4 {
        return false;
    }
    let text: Vec<char> = text.chars().collect();
    let word: Vec<char> = word.chars().collect();
    if text.len().abs_diff(word.len()) > distance {
        return false;
    }
    let beyond = distance + 1;
    let mut previous: Vec<usize> = (0..=word.len()).map(|column| column.min(beyond)).collect();
    for (row, character) in text.iter().enumerate().map(|(row, character)| (row + 1, character)) {
        let mut current = vec![beyond; word.len() + 1];
        if row <= distance {
            current[0] = row;
        }
        for column in row.saturating_sub(distance).max(1)..=(row + distance).min(word.len()) {
            let replaced = previous[column - 1] + usize::from(word[column - 1] != *character);
            current[column] = replaced.min(previous[column] + 1).min(current[column - 1] + 1).min(beyond);
        }
        previous = current;
    }
    previous[word.len()] <= distance
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn distance(left: &[char], right: &[char]) -> usize {
        match (left, right) {
            ([], rest) | (rest, []) => rest.len(),
            ([first, left @ ..], [second, right @ ..]) if first == second => distance(left, right),
            ([_, left_rest @ ..], [_, right_rest @ ..]) => {
                1 + distance(left_rest, right).min(distance(left, right_rest)).min(distance(left_rest, right_rest))
            }
        }
    }

    #[test]
    fn an_insertion_removal_or_replacement_is_one_change() {
        assert!(is_within(1, "arena", "arenas"));
        assert!(is_within(1, "arena", "rena"));
        assert!(is_within(1, "arena", "aräna"));
        assert!(!is_within(1, "arena", "raena"));
        assert!(is_within(2, "arena", "raena"));
        assert!(is_within(0, "arena", "arena"));
        assert!(!is_within(0, "arena", "Arena"));
    }

    proptest! {
        #[test]
        fn it_agrees_with_the_definition(left in "[abä]{0,6}", right in "[abä]{0,6}", most in 0..=2u8) {
            let chars = |text: &str| text.chars().collect::<Vec<char>>();
            let expected = distance(&chars(&left), &chars(&right)) <= usize::from(most);
            prop_assert_eq!(is_within(most, &left, &right), expected);
        }
    }
}
