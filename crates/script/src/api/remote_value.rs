//! Remote values: data by key for clients, with rules.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Modules, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::remote_value::{NewRemoteValue, RemoteValue, Rule};
use std::collections::BTreeMap;

/// Values of a page without a limit.
const LISTED_DEFAULT: i64 = 100;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type RemoteValueRule = { [\"if\"]: {[string]: any}, value: any }
type RemoteValue = {
    key: string,
    value: any,
    rules: {RemoteValueRule},
    version: number,
    create_time: number,
    update_time: number,
}
";

const KEY: Parameter = required("key", "string", "Key: letters, digits, full stops, hyphens and underscores.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("remote_value_get", |used, args| Box::pin(get(used, args)))
        .about("Returns a remote value as a player gets it by its rules, or its default without a player; nil if there is none.")
        .parameters(&[KEY, optional("user", "string", "Player.")])
        .returns("any")
        .only_in(Modules::Aether),
    Function::service("remote_value_set", |used, args| Box::pin(set(used, args)))
        .about("Sets a remote value, and tells the clients that watch the values. Returns it.")
        .parameters(&[
            KEY,
            required("value", "any", "Value for players whom no rule applies to."),
            optional("rules", "{RemoteValueRule}", "Rules; the first that applies wins."),
        ])
        .returns("RemoteValue")
        .only_in(Modules::Aether),
    Function::service("remote_value_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes a remote value. Returns false if there is none.")
        .parameters(&[KEY])
        .returns("boolean")
        .only_in(Modules::Aether),
    Function::service("remote_values_list", |used, args| Box::pin(list(used, args)))
        .about("Lists remote values with their rules, by key.")
        .parameters(&[
            optional("after", "string", "Key after which the page begins."),
            optional("limit", "number", "Values per page, up to 100, which is the default."),
        ])
        .returns("{RemoteValue}")
        .only_in(Modules::Aether),
];

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let (key, values) = (args.text(0)?, &used.services.remote_values);
    let value = match args.optional_id(1)? {
        Some(user) => values.get(&values.context_of(user, BTreeMap::new()).await?, key),
        None => values.find(key).map(|value| value.value.clone()),
    };
    Ok(vec![value.map_or(Value::Nil, |value| Value::from_json_text(&value))])
}

async fn set(used: ScriptServices, args: Arguments) -> Outcome {
    let new = NewRemoteValue {
        key: args.text(0)?.to_owned(),
        value: args.value(1).to_json().to_string(),
        rules: rules(&args)?,
    };
    let value = used.services.remote_values.set(new).await?;
    Ok(vec![shown(&value)])
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    Ok(vec![Value::from(used.services.remote_values.delete(args.text(0)?).await?)])
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = args.optional_integer(1)?.unwrap_or(LISTED_DEFAULT);
    let limit = u32::try_from(limit).map_err(|_| args.expected(1, "a limit from 1"))?;
    let values = used.services.remote_values.list(args.optional_text(0)?.unwrap_or_default(), limit);
    Ok(vec![Value::list(values.iter().map(|value| shown(value)))])
}

fn rules(args: &Arguments) -> Result<Vec<Rule>, ScriptError> {
    let rule = |value: &Value| {
        // From text, because a rule keeps the text of its value.
        let rule = serde_json::from_str(&value.to_json().to_string());
        rule.map_err(|error| args.expected(2, &format!("a list of rules with `if` and `value` ({error})")))
    };
    args.list(2)?.iter().map(rule).collect()
}

fn shown(value: &RemoteValue) -> Value {
    Value::table([
        ("key", Value::from(value.key.as_str())),
        ("value", Value::from_json_text(&value.value)),
        ("rules", Value::from_json_text(&value.rules_text)),
        ("version", Value::from(value.version)),
        ("create_time", Value::seconds(value.created_at)),
        ("update_time", Value::seconds(value.updated_at)),
    ])
}
