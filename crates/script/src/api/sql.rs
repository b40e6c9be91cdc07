//! SQL on the database of the server, if the operator allows it.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::{Key, Value};
use aether_services::sql::{ColumnValue, SqlStatement};

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

const PARAMETERS: &[Parameter] = &[
    required("query", "string", "Statement, with parameters `$1` and on."),
    optional("parameters", "{any}", "Values of the parameters: strings, numbers and booleans."),
];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("sql_exec", |used, args| Box::pin(execute(used, args)))
        .about("Executes a statement and returns the number of changed rows. The setting `script.sql` allows it.")
        .parameters(PARAMETERS)
        .returns("number"),
    Function::service("sql_query", |used, args| Box::pin(query(used, args)))
        .about("Executes a query and returns its rows, at most 1,000, by column. The setting `script.sql` allows it.")
        .parameters(PARAMETERS)
        .returns("{{[string]: any}}"),
];

async fn execute(used: ScriptServices, args: Arguments) -> Outcome {
    let changed = statement(&used, &args)?.execute(&used.services.store).await?;
    Ok(vec![Value::Number(changed as f64)])
}

async fn query(used: ScriptServices, args: Arguments) -> Outcome {
    let rows = statement(&used, &args)?.query(&used.services.store).await?;
    let row = |columns: Vec<(String, ColumnValue)>| {
        let present = columns.into_iter().map(|(name, value)| (Key::from(name.as_str()), column(value)));
        Value::Map(present.filter(|(_, value)| *value != Value::Nil).collect())
    };
    Ok(vec![Value::list(rows.into_iter().map(row))])
}

fn statement(used: &ScriptServices, args: &Arguments) -> Result<SqlStatement, ScriptError> {
    if !used.scripts.settings().sql {
        let sentence =
            "SQL is off for scripts; to allow it, set `sql = true` in the section [script] of the configuration";
        return Err(ScriptError::invalid(sentence));
    }
    let parameters = args.list(1)?.iter().map(|value| parameter(args, value)).collect::<Result<_, _>>()?;
    Ok(SqlStatement::new(args.text(0)?, parameters)?)
}

fn parameter(args: &Arguments, value: &Value) -> Result<ColumnValue, ScriptError> {
    Ok(match value {
        Value::Nil => ColumnValue::Null,
        Value::Boolean(value) => ColumnValue::Boolean(*value),
        Value::Number(number) => value.as_integer().map_or(ColumnValue::Real(*number), ColumnValue::Integer),
        Value::Text(bytes) => match String::from_utf8(bytes.clone()) {
            Ok(text) => ColumnValue::Text(text),
            Err(_) => ColumnValue::Bytes(bytes.clone()),
        },
        Value::List(_) | Value::Map(_) => return Err(args.expected(1, "a list of strings, numbers and booleans")),
    })
}

fn column(value: ColumnValue) -> Value {
    match value {
        ColumnValue::Null => Value::Nil,
        ColumnValue::Boolean(value) => Value::from(value),
        ColumnValue::Integer(number) => Value::from(number),
        ColumnValue::Real(number) => Value::from(number),
        ColumnValue::Text(text) => Value::from(text),
        ColumnValue::Bytes(bytes) => Value::from(bytes),
        ColumnValue::Uuid(id) => Value::from(id.to_string()),
    }
}
