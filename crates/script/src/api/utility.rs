//! Encodings, time and the like.

use crate::error::ScriptError;
use crate::function::{Function, required};
use crate::value::Value;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::local("json_encode", |_, args| Ok(vec![Value::from(args.value(0).to_json().to_string())]))
        .about("Returns the JSON text of a value.")
        .parameters(&[required("value", "any", "Value without functions.")])
        .returns("string"),
    Function::local("json_decode", |_, args| {
        let json = serde_json::from_slice(args.bytes(0)?);
        let json = json.map_err(|error| ScriptError::invalid(format!("the text is no JSON: {error}")))?;
        Ok(vec![Value::from_json(&json)])
    })
    .about("Returns the value of a JSON text.")
    .parameters(&[required("jsonString", "string", "JSON text.")])
    .returns("any"),
    Function::local("time", |state, _| Ok(vec![Value::Number(state.now_ms() as f64)]))
        .about("Returns the time in milliseconds since 1970: that of the server, or of the room in a match.")
        .returns("number"),
];
