//! Rust source in which comments, literals and tests are blanked.
//!
//! Rules search the rest as plain text. Blanked parts become spaces and line ends stay, so a
//! position in the result is the same position in the file.

/// Blanks comments, the insides of literals, and items under `#[cfg(test)]`.
pub fn product_code(source: &str) -> String {
    let mut bytes = source.as_bytes().to_vec();
    let mut at = 0;
    while at < bytes.len() {
        let end = match bytes[at] {
            b'/' if bytes[at..].starts_with(b"//") => line_end(&bytes, at),
            b'/' if bytes[at..].starts_with(b"/*") => block_comment_end(&bytes, at),
            b'"' => string_end(&bytes, at),
            b'r' | b'b' | b'c' if !follows_identifier(&bytes, at) => match raw_string_end(&bytes, at) {
                Some(end) => end,
                None => at,
            },
            b'\'' => character_end(&bytes, at).unwrap_or(at),
            _ => at,
        };
        if end == at {
            at += 1;
        } else {
            blank(&mut bytes, at, end);
            at = end;
        }
    }
    blank_tests(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The line, counted from 1, of a position.
pub fn line_at(text: &str, position: usize) -> usize {
    text.as_bytes()[..position].iter().filter(|byte| **byte == b'\n').count() + 1
}

/// Positions where `word` stands in the text and is not part of a longer identifier.
pub fn occurrences<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(position, _)| position).filter(move |&position| {
        let bytes = text.as_bytes();
        let starts_inside = is_identifier(bytes[position]) && follows_identifier(bytes, position);
        let end = position + word.len();
        let ends_inside = is_identifier(bytes[end - 1]) && bytes.get(end).is_some_and(|byte| is_identifier(*byte));
        !starts_inside && !ends_inside
    })
}

fn is_identifier(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

fn follows_identifier(bytes: &[u8], at: usize) -> bool {
    at > 0 && is_identifier(bytes[at - 1])
}

fn blank(bytes: &mut [u8], from: usize, to: usize) {
    for byte in &mut bytes[from..to] {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length)
}

/// Block comments nest in Rust.
fn block_comment_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    bytes.len()
}

fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// The end of `r"…"`, `br#"…"#` and the like, or nothing if no raw string starts here.
fn raw_string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    if bytes[at] != b'r' {
        at += 1;
    }
    if bytes.get(at) != Some(&b'r') {
        return None;
    }
    at += 1;
    let hashes = bytes[at..].iter().take_while(|byte| **byte == b'#').count();
    at += hashes;
    if bytes.get(at) != Some(&b'"') {
        return None;
    }
    let mut closing = vec![b'"'];
    closing.resize(hashes + 1, b'#');
    at += 1;
    let rest = &bytes[at..];
    let length = rest.windows(closing.len()).position(|window| window == closing);
    Some(length.map_or(bytes.len(), |length| at + length + closing.len()))
}

/// The end of a character literal, or nothing where the quote starts a lifetime.
fn character_end(bytes: &[u8], start: usize) -> Option<usize> {
    let first = *bytes.get(start + 1)?;
    if first == b'\\' {
        let rest = bytes.get(start + 3..)?;
        return rest.iter().position(|byte| *byte == b'\'').map(|length| start + 4 + length);
    }
    let width = match first {
        0xF0.. => 4,
        0xE0.. => 3,
        0xC0.. => 2,
        _ => 1,
    };
    (bytes.get(start + 1 + width) == Some(&b'\'')).then_some(start + 2 + width)
}

/// Blanks each item that is compiled for tests only.
fn blank_tests(bytes: &mut [u8]) {
    for attribute in [&b"#[cfg(test)]"[..], b"#[cfg(all(test"] {
        let mut at = 0;
        while let Some(found) = find(&bytes[at..], attribute) {
            let start = at + found;
            let end = item_end(bytes, start + attribute.len());
            blank(bytes, start, end);
            at = end;
        }
    }
}

/// The end of the item that starts here: its closing brace, or its semicolon.
fn item_end(bytes: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in bytes[start..].iter().enumerate() {
        match byte {
            b';' if depth == 0 => return start + offset + 1,
            b'{' => depth += 1,
            b'}' if depth <= 1 => return start + offset + 1,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    bytes.len()
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_are_blanked_and_lines_stay() {
        let source =
            "let a = \"HashMap\"; // HashMap\n/* Hash /* Map */ HashMap */ let b = r#\"x\"HashMap\"#;\nHashMap";
        let code = product_code(source);
        assert_eq!(code.len(), source.len());
        assert_eq!(code.matches("HashMap").count(), 1);
        assert_eq!(line_at(&code, code.find("HashMap").unwrap()), 3);
    }

    #[test]
    fn a_quote_character_does_not_open_a_string_and_a_lifetime_is_no_character() {
        let code = product_code("fn f<'a>(x: &'a str) { x.find('\"'); x.find('\\''); now() }");
        assert!(code.contains("now()"));
        assert!(code.contains("&'a str"));
    }

    #[test]
    fn test_items_are_blanked_and_what_follows_is_not() {
        let source = "#[cfg(test)]\nmod tests { fn f() { Instant::now(); } }\nfn g() {}\n\
                      #[cfg(test)]\nuse std::env;\nfn h() {}";
        let code = product_code(source);
        assert!(!code.contains("Instant"));
        assert!(!code.contains("env"));
        assert!(code.contains("fn g()") && code.contains("fn h()"));
    }

    #[test]
    fn words_are_found_whole() {
        let text = "MyHashMap HashMapLike HashMap<u8>";
        assert_eq!(occurrences(text, "HashMap").collect::<Vec<_>>(), [22]);
    }
}
