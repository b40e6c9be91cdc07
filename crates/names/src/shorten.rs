//! Shortening of names.

use std::borrow::Cow;
use std::ops::RangeInclusive;
use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// End of a shortened name.
const ELLIPSIS: char = '…';
/// Joins the characters on both sides into one picture or conjunct.
const JOINER: char = '\u{200d}';
const NON_JOINER: char = '\u{200c}';
/// Skin tones, which change the picture before them.
const SKIN_TONES: RangeInclusive<char> = '\u{1f3fb}'..='\u{1f3ff}';
/// Letters of flags. Two of them are one flag.
const FLAG_LETTERS: RangeInclusive<char> = '\u{1f1e6}'..='\u{1f1ff}';
/// Leading letters of Hangul syllables that are written as several characters.
const LEADING_JAMO: [RangeInclusive<char>; 2] = ['\u{1100}'..='\u{115f}', '\u{a960}'..='\u{a97c}'];
/// Vowels and final letters of such syllables.
const FOLLOWING_JAMO: [RangeInclusive<char>; 2] = ['\u{1160}'..='\u{11ff}', '\u{d7b0}'..='\u{d7fb}'];
/// Canonical combining class of a virama, which joins two consonants.
const VIRAMA: u8 = 9;

/// Returns the name if it has at most `bytes_max` bytes. A longer name is cut between two characters as people see them,
/// and ends with an ellipsis: a letter keeps its marks, and a picture of several characters stays whole.
///
/// If the first such character alone is too long, only its first code point remains.
///
/// ```
/// assert_eq!(aether_names::shortened("Bartholomew", 16), "Bartholomew");
/// assert_eq!(aether_names::shortened("Bartholomew of Thornbury", 16), "Bartholomew o…");
/// ```
#[must_use]
pub fn shortened(name: &str, bytes_max: usize) -> Cow<'_, str> {
    if name.len() <= bytes_max {
        return Cow::Borrowed(name);
    }
    let Some(available) = bytes_max.checked_sub(ELLIPSIS.len_utf8()) else { return Cow::Borrowed("") };
    let whole = boundaries(name).take_while(|end| *end <= available).last();
    let first = name.chars().next().map(char::len_utf8).filter(|end| *end <= available);
    let end = whole.or(first).unwrap_or(0);
    let mut short = name[..end].trim_end().to_owned();
    short.push(ELLIPSIS);
    Cow::Owned(short)
}

/// Returns the ends of the characters as people see them, in bytes.
fn boundaries(name: &str) -> impl Iterator<Item = usize> {
    let following = name.char_indices().skip(1);
    let mut flag_letters = 0;
    name.chars().zip(following).filter_map(move |(before, (at, after))| {
        flag_letters = if FLAG_LETTERS.contains(&before) { flag_letters + 1 } else { 0 };
        let is_half_flag = flag_letters % 2 == 1 && FLAG_LETTERS.contains(&after);
        (!is_half_flag && !is_joined(before, after)).then_some(at)
    })
}

/// Returns true if two characters belong together.
fn is_joined(before: char, after: char) -> bool {
    let is_mark = after.general_category_group() == GeneralCategoryGroup::Mark;
    let extends = is_mark || [JOINER, NON_JOINER].contains(&after) || SKIN_TONES.contains(&after);
    let is_conjunct = canonical_combining_class(before) == VIRAMA && after.is_alphabetic();
    let is_syllable =
        is_any(&FOLLOWING_JAMO, after) || is_any(&LEADING_JAMO, before) && after.script() == Script::Hangul;
    extends || [JOINER, NON_JOINER].contains(&before) || is_conjunct || is_syllable
}

fn is_any(ranges: &[RangeInclusive<char>], character: char) -> bool {
    ranges.iter().any(|range| range.contains(&character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{check, cleaned};

    #[test]
    fn a_name_that_fits_is_unchanged() {
        for name in ["", "Ann", "exactly 16 bytes", "👨\u{200d}👩\u{200d}👧"] {
            assert!(matches!(shortened(name, name.len()), Cow::Borrowed(same) if same == name));
        }
    }

    #[test]
    fn a_longer_name_ends_with_an_ellipsis() {
        assert_eq!(shortened("Bartholomew of Thornbury", 16), "Bartholomew o…");
        assert_eq!(shortened("Bartholomew and others", 15), "Bartholomew…", "no space before the ellipsis");
        assert_eq!(shortened("seventeen bytes !", 16), "seventeen byt…");
        for (bytes_max, expected) in [(0, ""), (2, ""), (3, "…"), (4, "a…")] {
            assert_eq!(shortened("abcdef", bytes_max), expected);
        }
    }

    #[test]
    fn characters_stay_whole() {
        let cases = [
            ("ÄÖÜäöüßÄÖÜäöüß", 16, "ÄÖÜäöü…"),
            // Each letter has a mark of its own.
            ("Zoe\u{308}Zoe\u{308}Zoe\u{308}Zoe\u{308}", 12, "Zoe\u{308}Zo…"),
            ("张伟张伟张伟", 16, "张伟张伟…"),
            // A family is one picture of five characters.
            ("ab👨\u{200d}👩\u{200d}👧", 16, "ab…"),
            ("👍🏽👍🏽👍🏽", 16, "👍🏽…"),
            ("🇦🇹🇨🇭🇩🇪", 16, "🇦🇹…"),
            ("❤\u{fe0f}❤\u{fe0f}❤\u{fe0f}", 12, "❤\u{fe0f}…"),
            // A consonant and its virama with the next one, and two Hangul syllables in letters.
            ("क्षक्षक्षक्ष", 16, "क्ष…"),
            ("\u{1100}\u{1161}\u{11a8}\u{1100}\u{1161}\u{11a8}", 14, "\u{1100}\u{1161}\u{11a8}…"),
        ];
        for (name, bytes_max, expected) in cases {
            assert_eq!(shortened(name, bytes_max), expected, "{name}");
        }
    }

    #[test]
    fn one_character_that_is_too_long_leaves_its_first_code_point() {
        assert_eq!(shortened("👨\u{200d}👩\u{200d}👧\u{200d}👦", 16), "👨…");
        let stacked = format!("a{}", "\u{301}".repeat(40));
        assert_eq!(shortened(&stacked, 16), "a…");
    }

    #[test]
    fn a_shortened_name_is_a_valid_name_that_fits() {
        let names = [
            "Ваня Иванович Петров",
            "می\u{200c}خواهم می\u{200c}خواهم",
            "ශ්\u{200d}රී ශ්\u{200d}රී",
            "👩\u{200d}👧👩\u{200d}👧",
            "محمد محمد محمد",
        ];
        for name in names {
            for bytes_max in 3..name.len() {
                let short = shortened(name, bytes_max);
                assert!(short.len() <= bytes_max, "{short}");
                assert_eq!(check(&short), Ok(()), "{short:?}");
                assert_eq!(cleaned(&short), short);
            }
        }
    }
}
