//! Arguments and tables that several nouns share.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::value::{Key, Map, Value};
use aether_services::Services;
use aether_services::account::{User, provider};
use std::collections::BTreeMap;

/// Providers of identities, by the name that the accounts use and the field of a user.
const IDENTITIES: [(&str, &str); 6] = [
    (provider::APPLE, "apple_id"),
    (provider::FACEBOOK, "facebook_id"),
    (provider::FACEBOOK_INSTANT, "facebook_instant_game_id"),
    (provider::GAME_CENTER, "gamecenter_id"),
    (provider::GOOGLE, "google_id"),
    (provider::STEAM, "steam_id"),
];

/// Returns a text, or nil if it is empty: a cursor at the end of a list, for example.
pub(super) fn non_empty(text: String) -> Value {
    if text.is_empty() { Value::Nil } else { Value::from(text) }
}

/// Returns the value of something with a JSON form, as `serde_json::to_value` returns it.
pub(super) fn json_form(form: serde_json::Result<serde_json::Value>) -> Value {
    form.map_or(Value::Nil, |json| Value::from_json(&json))
}

/// Returns the table of a user.
pub(super) fn user(services: &Services, user: &User) -> Value {
    let mut table = BTreeMap::from([
        ("user_id", Value::from(user.id.to_string())),
        ("username", Value::from(user.username.as_str())),
        ("display_name", Value::from(user.display_name.as_str())),
        ("avatar_url", Value::from(user.avatar_url.as_str())),
        ("lang_tag", Value::from(user.language.as_str())),
        ("location", Value::from(user.location.as_str())),
        ("timezone", Value::from(user.timezone.as_str())),
        ("metadata", Value::from_json_text(&user.metadata)),
        ("online", Value::from(services.is_online(user.id))),
        ("edge_count", Value::from(user.edge_count)),
        ("create_time", Value::seconds(user.created_at)),
        ("update_time", Value::seconds(user.updated_at)),
    ]);
    for (provider, field) in IDENTITIES {
        if let Some(id) = user.identities.get(provider) {
            table.insert(field, Value::from(id.as_str()));
        }
    }
    Value::Map(table.into_iter().map(|(key, value)| (Key::from(key), value)).collect())
}

/// Returns a table as JSON text; none if it is nil. A list is no object.
pub(super) fn optional_object(args: &Arguments, index: usize) -> Result<Option<String>, ScriptError> {
    Ok(args.optional_object(index)?.map(|object| object.to_string()))
}

/// Returns a table as JSON text.
pub(super) fn object(args: &Arguments, index: usize) -> Result<String, ScriptError> {
    optional_object(args, index)?.ok_or_else(|| args.expected(index, "a table"))
}

/// Returns a table of strings by string; empty if it is nil.
pub(super) fn strings(args: &Arguments, index: usize) -> Result<BTreeMap<String, String>, ScriptError> {
    let empty = Map::new();
    let entries = args.optional_map(index)?.unwrap_or(&empty).iter().map(|(key, value)| match (key, value.as_str()) {
        (Key::Text(_), Some(value)) => Some((key.to_text(), value.to_owned())),
        _ => None,
    });
    entries.collect::<Option<_>>().ok_or_else(|| args.expected(index, "a table with strings as keys and values"))
}

/// Returns a boolean; none if it is nil.
pub(super) fn optional_boolean(args: &Arguments, index: usize) -> Result<Option<bool>, ScriptError> {
    if args.is_nil(index) { Ok(None) } else { args.boolean_or(index, false).map(Some) }
}

/// Returns an integer of another type; none if it is nil. `expected` describes the range.
pub(super) fn optional_number<T: TryFrom<i64>>(
    args: &Arguments,
    index: usize,
    expected: &str,
) -> Result<Option<T>, ScriptError> {
    let number = args.optional_integer(index)?;
    number.map(|number| T::try_from(number).map_err(|_| args.expected(index, expected))).transpose()
}

/// Returns a cursor; empty for the first page.
pub(super) fn cursor_argument(args: &Arguments, index: usize) -> Result<String, ScriptError> {
    Ok(args.optional_text(index)?.unwrap_or_default().to_owned())
}
