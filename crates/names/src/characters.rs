//! Characters of names.

use std::fmt;
use std::ops::RangeInclusive;
use unicode_normalization::char::canonical_combining_class;
use unicode_properties::{GeneralCategory, UnicodeEmoji, UnicodeGeneralCategory};
use unicode_script::{Script, UnicodeScript};

/// Characters without a shape of their own that are neither control nor format characters: fillers, variation selectors,
/// joiners of graphemes and an empty Braille cell.
const INVISIBLE: [RangeInclusive<char>; 10] = [
    '\u{034f}'..='\u{034f}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{1d159}'..='\u{1d159}',
    '\u{e0100}'..='\u{e01ef}',
];

/// Scripts whose letters join. A non-joiner between two of their letters is part of the spelling.
const JOINING_SCRIPTS: [Script; 8] = [
    Script::Arabic,
    Script::Syriac,
    Script::Mandaic,
    Script::Nko,
    Script::Mongolian,
    Script::Manichaean,
    Script::Adlam,
    Script::Hanifi_Rohingya,
];

/// Canonical combining class of a virama, after which a joiner selects the form of an Indic consonant.
const VIRAMA: u8 = 9;

const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';
/// Variation selectors that show the character before as text or as a picture.
const PRESENTATION: RangeInclusive<char> = '\u{fe0e}'..='\u{fe0f}';

/// Character that a name must not contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadCharacter(pub char);

impl fmt::Display for BadCharacter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let code = u32::from(self.0);
        write!(f, "the character U+{code:04X}, which is invisible, unassigned, or changes the text around it")
    }
}

impl std::error::Error for BadCharacter {}

/// Rejects control, format, private and unassigned characters, and others without a shape. Joiners and presentation
/// selectors are accepted where the text around them needs them.
pub fn check(name: &str) -> Result<(), BadCharacter> {
    // Most names.
    if name.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        return Ok(());
    }
    match accepted(name).find(|(_, is_accepted)| !is_accepted) {
        Some((character, _)) => Err(BadCharacter(character)),
        None => Ok(()),
    }
}

/// Returns the name without the characters that [`check`] rejects.
#[must_use]
pub fn cleaned(name: &str) -> String {
    let once: String = accepted(name).filter_map(|(character, is_accepted)| is_accepted.then_some(character)).collect();
    // A joiner may have lost what it joined.
    if check(&once).is_ok() { once } else { once.chars().filter(|character| is_shown(*character)).collect() }
}

/// Returns each character, with true if it may be where it is.
fn accepted(name: &str) -> impl Iterator<Item = (char, bool)> {
    let before = std::iter::once(None).chain(name.chars().map(Some));
    let after = name.chars().skip(1).map(Some).chain(std::iter::once(None));
    name.chars()
        .zip(before.zip(after))
        .map(|(character, (before, after))| (character, is_shown(character) || is_needed(character, before, after)))
}

/// Returns true for a character that has a shape, and for spaces that look like one.
fn is_shown(character: char) -> bool {
    if INVISIBLE.iter().any(|range| range.contains(&character)) {
        return false;
    }
    match character.general_category() {
        GeneralCategory::Control
        | GeneralCategory::Format
        | GeneralCategory::PrivateUse
        | GeneralCategory::Surrogate
        | GeneralCategory::Unassigned
        | GeneralCategory::LineSeparator
        | GeneralCategory::ParagraphSeparator => false,
        // Others are narrower or wider, and look like none or several.
        GeneralCategory::SpaceSeparator => matches!(character, ' ' | '\u{3000}'),
        _ => true,
    }
}

/// Returns true for a joiner or a presentation selector that the characters beside it need.
fn is_needed(character: char, before: Option<char>, after: Option<char>) -> bool {
    let Some(before) = before else { return false };
    let after_virama = canonical_combining_class(before) == VIRAMA;
    match (character, after) {
        (NON_JOINER, Some(after)) => after_virama || (is_joining(before) && is_joining(after)),
        (JOINER, Some(after)) => after_virama || (is_pictured(before) && is_picture(after)),
        (selector, _) if PRESENTATION.contains(&selector) => is_picture(before),
        _ => false,
    }
}

fn is_joining(character: char) -> bool {
    JOINING_SCRIPTS.contains(&character.script()) && character.is_alphabetic()
}

fn is_picture(character: char) -> bool {
    !character.is_ascii() && character.is_emoji_char()
}

fn is_pictured(character: char) -> bool {
    is_picture(character) || PRESENTATION.contains(&character)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_every_script_are_accepted() {
        let names = [
            "Ann Lee",
            "Zoë",
            "Zoe\u{308}",
            "Ваня",
            "Ελένη",
            "张伟",
            "山田　太郎",
            "김민준",
            "محمد",
            "שרה",
            "अनिल",
            "ไทย",
            "Łukasz",
            "D'Arcy-42_x",
            "naïve ☃",
            "🎮👍🏽",
        ];
        for name in names {
            assert_eq!(check(name), Ok(()), "{name}");
            assert_eq!(cleaned(name), name);
        }
    }

    #[test]
    fn characters_that_nobody_sees_are_rejected_and_cleaned() {
        let bad = [
            '\0',
            '\n',
            '\u{7f}',
            '\u{85}',
            '\u{a0}',
            '\u{ad}',
            '\u{34f}',
            '\u{61c}',
            '\u{115f}',
            '\u{180e}',
            '\u{2009}',
            '\u{200b}',
            '\u{200e}',
            '\u{200f}',
            '\u{2028}',
            '\u{202a}',
            '\u{202e}',
            '\u{2060}',
            '\u{2066}',
            '\u{2069}',
            '\u{2800}',
            '\u{3164}',
            '\u{e000}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{ffa0}',
            '\u{fff9}',
            '\u{ffff}',
            '\u{378}',
            '\u{e0041}',
            '\u{e0100}',
            '\u{10fffd}',
            '\u{200c}',
            '\u{200d}',
        ];
        for character in bad {
            for name in [format!("an{character}n"), format!("{character}ann"), format!("ann{character}")] {
                assert_eq!(check(&name), Err(BadCharacter(character)), "{name:?}");
                assert_eq!(cleaned(&name), "ann");
            }
        }
    }

    #[test]
    fn joiners_are_accepted_where_the_spelling_needs_them() {
        // Persian, Malayalam, Sinhala, a family, a heart.
        for name in ["می\u{200c}خواهم", "ന്\u{200d}മ", "ශ්\u{200d}රී", "👩\u{200d}👧", "❤\u{fe0f}", "👁\u{fe0f}\u{200d}🗨"]
        {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
        for name in ["a\u{200c}b", "ب\u{200c}", "\u{200c}ب", "ب\u{200d}ب", "👩\u{200d}a", "a\u{fe0f}", "1\u{fe0f}"]
        {
            assert!(check(name).is_err(), "{name:?}");
            assert_eq!(check(&cleaned(name)), Ok(()), "{name:?}");
        }
        assert_eq!(cleaned("👩\u{200d}\u{202e}a"), "👩a", "a joiner that lost its picture is removed too");
    }
}
