//! Keys of names that look alike, after Unicode Technical Standard 39.

use unicode_normalization::UnicodeNormalization;
use unicode_security::confusable_detection::skeleton;

/// Keys of a name. Two names with an equal skeleton look alike, and two with an equal folded key differ in upper and lower
/// case.
///
/// One key is not enough: a capital I is an i in another case and looks like an l, but i and l are different letters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NameKeys {
    /// Shape of the name, without case.
    pub skeleton: String,
    /// Shape of the name in lower case.
    pub folded: String,
}

impl NameKeys {
    /// Returns the keys of a name.
    #[must_use]
    pub fn of(name: &str) -> NameKeys {
        let name: String = name.nfkc().collect();
        NameKeys { skeleton: shape(&fold(&shape(&name))), folded: fold(&shape(&fold(&name))) }
    }
}

/// Returns the shape of a text: each character replaced by the usual one of those that look like it. Runs of spaces are
/// one space.
fn shape(text: &str) -> String {
    let shape: String = skeleton(text).collect();
    shape.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a text without differences of case. Some letters have several lower cases, but one upper case.
fn fold(text: &str) -> String {
    text.chars().flat_map(char::to_uppercase).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_alike(one: &str, other: &str) -> bool {
        let (one, other) = (NameKeys::of(one), NameKeys::of(other));
        one.skeleton == other.skeleton || one.folded == other.folded
    }

    #[test]
    fn look_alikes_have_an_equal_key() {
        let pairs = [
            ("paul", "pauI"),
            ("paul", "pau1"),
            ("Paul", "PAUI"),
            ("Bob", "B0b"),
            ("bob", "b0b"),
            ("Mary", "rnary"),
            ("Mary", "mary"),
            ("Ira", "ira"),
            ("Ira", "lra"),
            ("paypal", "pаypаl"),
            ("Paypal", "РАYPAL"),
            ("Ваня", "ваня"),
            ("ΣΟΦΟΣ", "σοφος"),
            ("Ann", "Ａｎｎ"),
            ("Ann", "𝐀𝐧𝐧"),
            ("Zoë", "Zoe\u{308}"),
            ("Ann Lee", "Ann  Lee"),
            ("Ann Lee", "Ann\u{3000}Lee"),
            ("می\u{200c}خواهم", "میخواهم"),
            ("Straße", "STRASSE"),
        ];
        for (one, other) in pairs {
            assert!(look_alike(one, other), "{one} {other}: {:?} {:?}", NameKeys::of(one), NameKeys::of(other));
            assert!(look_alike(other, one));
        }
    }

    #[test]
    fn different_names_have_different_keys() {
        let names = [
            "Ali",
            "All",
            "Mei",
            "Mel",
            "Ann",
            "Anna",
            "AnnLee",
            "Ann Lee",
            "Ваня",
            "Ваня2",
            "Иван",
            "张伟",
            "张伟2",
            "محمد",
            "محمود",
            "Ελένη",
            "Élise",
            "Elise",
            "Lia",
            "Zoë",
            "Zoe",
        ];
        for (at, one) in names.iter().enumerate() {
            for other in &names[at + 1..] {
                assert!(!look_alike(one, other), "{one} {other}");
            }
        }
    }

    #[test]
    fn keys_are_stable_because_they_are_stored() {
        let keys = NameKeys::of("Мiхail 0ne");
        assert_eq!((keys.skeleton.as_str(), keys.folded.as_str()), ("rnixail one", "\u{28d}ixail one"));
    }
}
