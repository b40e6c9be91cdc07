//! A doc comment begins with its subject.
//!
//! "Number of players in the room." is found by the eye and by a search; "How many players there are." is not.

use super::Finding;

/// Openings that put a question before the subject.
const HIDDEN_SUBJECTS: [&str; 11] =
    ["What", "How", "Whether", "Who", "Whose", "Whom", "Whoever", "Where", "Which", "When", "Why"];

/// Finds doc comments that begin with one of the openings.
pub fn check(path: &str, content: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut continues = false;
    for (index, line) in content.lines().enumerate() {
        let text = doc_text(line);
        if let (Some(text), false) = (text, continues) {
            let first = text.split(|letter: char| !letter.is_alphanumeric()).next().unwrap_or_default();
            if HIDDEN_SUBJECTS.contains(&first) {
                findings.push(Finding {
                    path: path.to_owned(),
                    line: index + 1,
                    rule: "doc comments",
                    advice: format!("begin with the subject or a verb instead of \"{first}\""),
                    warning: false,
                });
            }
        }
        continues = text.is_some();
    }
    findings
}

/// Returns the text of a line that is a doc comment.
fn doc_text(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
    // A fourth slash makes it an ordinary comment.
    (!text.starts_with('/')).then(|| text.trim_start())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(content: &str) -> Vec<usize> {
        check("a.rs", content).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn an_opening_without_subject_is_found_in_items_fields_and_modules() {
        assert_eq!(lines("//! What it is.\n\n/// Who plays.\nstruct A {\n    /// How many.\n    b: u8,\n}"), [1, 3, 5]);
    }

    #[test]
    fn later_lines_other_comments_and_longer_words_do_not_count() {
        assert!(lines("/// Number of players.\n/// What else.\n// Why so.\n//// What.\n\n/// Whatsoever.").is_empty());
    }

    #[test]
    fn a_comment_after_code_begins_anew() {
        assert_eq!(lines("/// The first.\nfn a() {}\n/// Whether it is.\nfn b() {}"), [3]);
    }
}
