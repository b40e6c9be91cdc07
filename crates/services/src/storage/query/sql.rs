//! Compiles a query to SQL. All input becomes parameters, never part of the text.

use super::super::object::COLUMNS;
use super::field::Field;
use super::filter::{Comparison, Filter, Scalar};
use super::{Checked, Kind, PageCursor, Sort, SortedBy};
use aether_store::{Dialect, SqlValue};
use uuid::Uuid;

/// Statement with its parameters.
pub(super) struct Statement {
    pub text: String,
    parameters: Vec<Parameter>,
    dialect: Dialect,
}

enum Parameter {
    Integer(i64),
    Real(f64),
    Text(String),
    Uuid(Uuid),
}

impl Statement {
    pub fn compile(dialect: Dialect, checked: &Checked) -> Statement {
        let mut statement = Statement { text: String::new(), parameters: Vec::new(), dialect };
        let mut conditions = statement.conditions(checked);
        let (mut columns, mut order) = (COLUMNS.to_owned(), "user_id, key".to_owned());
        if let Some(Sort { field, kind, descending }) = &checked.query.sort {
            let sorted = statement.sorted(field, *kind);
            let direction = if *descending { " DESC" } else { "" };
            conditions.push(format!("{sorted} IS NOT NULL"));
            columns = format!("{columns}, {sorted} AS sorted");
            order = format!("sorted{direction}, {order}");
        }
        let sorted = format!(
            "SELECT * FROM (SELECT {columns} FROM {} WHERE {}) AS found",
            statement.source(),
            conditions.join(" AND ")
        );
        let after = checked.after.as_ref().map(|cursor| statement.after(cursor, checked.query.sort.as_ref()));
        let limit = statement.parameter(Parameter::Integer(i64::from(checked.query.limit) + 1));
        statement.text = format!(
            "{sorted}{} ORDER BY {order} LIMIT {limit}",
            after.map(|after| format!(" WHERE {after}")).unwrap_or_default()
        );
        statement
    }

    pub fn values(&self) -> Vec<SqlValue<'_>> {
        let values = self.parameters.iter().map(|parameter| match parameter {
            Parameter::Integer(value) => SqlValue::Integer(*value),
            Parameter::Real(value) => SqlValue::Real(*value),
            Parameter::Text(text) => SqlValue::Text(text),
            Parameter::Uuid(value) => SqlValue::Uuid(*value),
        });
        values.collect()
    }

    /// Returns the source of objects. PostgreSQL parses the JSON of each object once; `OFFSET 0` prevents inlining.
    fn source(&self) -> &'static str {
        match self.dialect {
            Dialect::Sqlite => "storage_objects",
            Dialect::Postgres => {
                "storage_objects CROSS JOIN LATERAL (SELECT CAST(value AS jsonb) AS document OFFSET 0) AS parsed"
            }
        }
    }

    fn conditions(&mut self, checked: &Checked) -> Vec<String> {
        let collection = self.parameter(Parameter::Text(checked.query.collection.clone()));
        let mut conditions = vec![format!("collection = {collection}")];
        if let Some(owner) = checked.query.owner {
            let owner = self.parameter(Parameter::Uuid(owner));
            conditions.push(format!("user_id = {owner}"));
        }
        if let Some(user) = checked.user {
            let user = self.parameter(Parameter::Uuid(user));
            conditions.push(format!("(permission_read = 2 OR (user_id = {user} AND permission_read = 1))"));
        }
        if let Some(filter) = &checked.query.filter {
            conditions.push(self.filter(filter));
        }
        conditions
    }

    /// Returns a condition that is true or false, never null.
    fn filter(&mut self, filter: &Filter) -> String {
        match filter {
            Filter::Compare(field, Comparison::NotEqual, value) => {
                format!("(NOT {})", self.comparison(field, "=", value))
            }
            Filter::Compare(field, comparison, value) => self.comparison(field, operator(*comparison), value),
            Filter::Exists(field) => {
                let found = self.kind_of(field);
                format!("({found} IS NOT NULL)")
            }
            Filter::And(parts) => self.joined(parts, " AND ", "(1 = 1)"),
            Filter::Or(parts) => self.joined(parts, " OR ", "(1 = 0)"),
            Filter::Not(part) => format!("(NOT {})", self.filter(part)),
        }
    }

    fn joined(&mut self, parts: &[Filter], separator: &str, empty: &str) -> String {
        if parts.is_empty() {
            return empty.to_owned();
        }
        let parts: Vec<String> = parts.iter().map(|part| self.filter(part)).collect();
        format!("({})", parts.join(separator))
    }

    fn comparison(&mut self, field: &Field, operator: &str, value: &Scalar) -> String {
        let condition = match value {
            Scalar::Null => format!("{} = 'null'", self.kind_of(field)),
            Scalar::Boolean(value) => self.is_boolean(field, *value),
            Scalar::Integer(value) => {
                let number = self.number(field, Number::Exact);
                let value = self.parameter(Parameter::Integer(*value));
                format!("{number} {operator} CAST({value} AS BIGINT)")
            }
            Scalar::Real(value) => {
                let number = self.number(field, Number::Float);
                let value = self.parameter(Parameter::Real(*value));
                format!("{number} {operator} {value}")
            }
            Scalar::Text(value) => {
                let text = self.text_of(field);
                let value = self.parameter(Parameter::Text(value.clone()));
                format!("{text} {operator} {value}")
            }
        };
        format!("(({condition}) IS TRUE)")
    }

    /// Returns the sort expression: null if the field is missing or of another type.
    fn sorted(&mut self, field: &Field, kind: Kind) -> String {
        match kind {
            Kind::Number => self.number(field, Number::Float),
            Kind::Text => self.text_of(field),
        }
    }

    /// Returns the condition for objects after the cursor.
    fn after(&mut self, cursor: &PageCursor, sort: Option<&Sort>) -> String {
        let owner = self.parameter(Parameter::Uuid(cursor.owner));
        let key = self.parameter(Parameter::Text(cursor.key.clone()));
        let is_after = format!("(user_id, key) > ({owner}, {key})");
        let sorted = match &cursor.sorted {
            None => return is_after,
            Some(SortedBy::Number(bits)) => self.parameter(Parameter::Real(f64::from_bits(*bits))),
            Some(SortedBy::Text(text)) => self.parameter(Parameter::Text(text.clone())),
        };
        let operator = if sort.is_some_and(|sort| sort.descending) { "<" } else { ">" };
        format!("(sorted {operator} {sorted} OR (sorted = {sorted} AND {is_after}))")
    }

    /// Returns the expression for the type of a field: null if it is missing.
    fn kind_of(&mut self, field: &Field) -> String {
        let path = self.path(field);
        match self.dialect {
            Dialect::Sqlite => format!("json_type(value, {path})"),
            Dialect::Postgres => format!("jsonb_typeof({})", found(&path)),
        }
    }

    fn is_boolean(&mut self, field: &Field, value: bool) -> String {
        let path = self.path(field);
        match self.dialect {
            Dialect::Sqlite => format!("json_type(value, {path}) = '{value}'"),
            Dialect::Postgres => format!("{} = CAST('{value}' AS jsonb)", found(&path)),
        }
    }

    /// Returns the expression for a field as a number: null if it is not one.
    fn number(&mut self, field: &Field, number: Number) -> String {
        let path = self.path(field);
        match (self.dialect, number) {
            (Dialect::Sqlite, number) => {
                let extracted = match number {
                    Number::Exact => format!("json_extract(value, {path})"),
                    Number::Float => format!("CAST(json_extract(value, {path}) AS REAL)"),
                };
                format!("(CASE WHEN json_type(value, {path}) IN ('integer', 'real') THEN {extracted} END)")
            }
            // The CASE guarantees that only numbers are cast.
            (Dialect::Postgres, number) => {
                let (found, kind) = (found(&path), number.postgres());
                format!("(CASE WHEN jsonb_typeof({found}) = 'number' THEN CAST({found} AS {kind}) END)")
            }
        }
    }

    /// Returns the expression for a field as a text, compared by its bytes: null if it is not one.
    fn text_of(&mut self, field: &Field) -> String {
        let path = self.path(field);
        match self.dialect {
            Dialect::Sqlite => {
                format!("(CASE WHEN json_type(value, {path}) = 'text' THEN json_extract(value, {path}) END)")
            }
            Dialect::Postgres => {
                let found = found(&path);
                format!("(CASE WHEN jsonb_typeof({found}) = 'string' THEN {found} #>> '{{}}' END COLLATE \"C\")")
            }
        }
    }

    fn path(&mut self, field: &Field) -> String {
        let path = match self.dialect {
            Dialect::Sqlite => field.path().to_owned(),
            // Lax mode would unwrap lists on the path.
            Dialect::Postgres => format!("strict {}", field.path()),
        };
        self.parameter(Parameter::Text(path))
    }

    fn parameter(&mut self, parameter: Parameter) -> String {
        self.parameters.push(parameter);
        format!("?{}", self.parameters.len())
    }
}

/// Precision of number comparisons.
#[derive(Clone, Copy)]
enum Number {
    /// Exact.
    Exact,
    /// As 64-bit floats.
    Float,
}

impl Number {
    fn postgres(self) -> &'static str {
        match self {
            Number::Exact => "NUMERIC",
            Number::Float => "DOUBLE PRECISION",
        }
    }
}

/// Returns the expression for the value at a path in PostgreSQL: null if it is missing.
fn found(path: &str) -> String {
    format!("jsonb_path_query_first(document, CAST(CAST({path} AS TEXT) AS jsonpath), '{{}}', TRUE)")
}

fn operator(comparison: Comparison) -> &'static str {
    match comparison {
        Comparison::Equal | Comparison::NotEqual => "=",
        Comparison::Less => "<",
        Comparison::LessOrEqual => "<=",
        Comparison::Greater => ">",
        Comparison::GreaterOrEqual => ">=",
    }
}
