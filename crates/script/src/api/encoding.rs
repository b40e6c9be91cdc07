//! Texts for bytes: base64 and hexadecimal.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::value::Value;
use base64::Engine as _;
use base64::alphabet::{Alphabet, STANDARD, URL_SAFE};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::fmt::Write as _;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

const INPUT: Parameter = required("input", "string", "Bytes to encode.");
const TEXT: Parameter = required("input", "string", "Text to decode.");
const PADDED: Parameter = optional("padding", "boolean", "True to end with `=` where needed; default true.");
const ANY_PADDING: Parameter = optional("padding", "boolean", "Accepted for existing modules: padding may be missing.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::local("base64_encode", |_, args| encode(&args, &STANDARD))
        .about("Returns the base64 text of bytes.")
        .parameters(&[INPUT, PADDED])
        .returns("string"),
    Function::local("base64_decode", |_, args| decode(&args, &STANDARD))
        .about("Returns the bytes of a base64 text.")
        .parameters(&[TEXT, ANY_PADDING])
        .returns("string"),
    Function::local("base64url_encode", |_, args| encode(&args, &URL_SAFE))
        .about("Returns the base64 text of bytes with the letters of URLs.")
        .parameters(&[INPUT, PADDED])
        .returns("string"),
    Function::local("base64url_decode", |_, args| decode(&args, &URL_SAFE))
        .about("Returns the bytes of a base64 text with the letters of URLs.")
        .parameters(&[TEXT, ANY_PADDING])
        .returns("string"),
    Function::local("base16_encode", |_, args| Ok(vec![Value::from(hexadecimal(args.bytes(0)?))]))
        .about("Returns the hexadecimal text of bytes, in lower case.")
        .parameters(&[INPUT])
        .returns("string"),
    Function::local("base16_decode", |_, args| decode_hexadecimal(&args))
        .about("Returns the bytes of a hexadecimal text.")
        .parameters(&[TEXT])
        .returns("string"),
];

/// Returns bytes in hexadecimal.
pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn encode(args: &Arguments, alphabet: &Alphabet) -> Outcome {
    let config = GeneralPurposeConfig::new().with_encode_padding(args.boolean_or(1, true)?);
    Ok(vec![Value::from(GeneralPurpose::new(alphabet, config).encode(args.bytes(0)?))])
}

fn decode(args: &Arguments, alphabet: &Alphabet) -> Outcome {
    args.boolean_or(1, true)?;
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let decoded = GeneralPurpose::new(alphabet, config).decode(args.bytes(0)?);
    Ok(vec![Value::from(decoded.map_err(|_| args.expected(0, "a base64 text"))?)])
}

fn decode_hexadecimal(args: &Arguments) -> Outcome {
    let expected = || args.expected(0, "a hexadecimal text");
    let digit = |byte: &u8| char::from(*byte).to_digit(16).map(|digit| digit as u8).ok_or_else(expected);
    let text = args.bytes(0)?;
    if !text.len().is_multiple_of(2) {
        return Err(expected());
    }
    let byte = |pair: &[u8]| Ok::<u8, ScriptError>(digit(&pair[0])? << 4 | digit(&pair[1])?);
    Ok(vec![Value::from(text.chunks(2).map(byte).collect::<Result<Vec<u8>, _>>()?)])
}
