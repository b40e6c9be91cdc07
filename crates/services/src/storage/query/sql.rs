//! A query as a statement of SQL: what came from outside is a parameter, never a part of the text.

use super::super::object::COLUMNS;
use super::field::Field;
use super::filter::{Comparison, Filter, Scalar};
use super::{Checked, Kind, PageCursor, Sort, SortedBy};
use aether_store::{Dialect, SqlValue};
use uuid::Uuid;

/// A statement with its parameters.
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
        let after = checked.after.as_ref().map(|place| statement.after(place, checked.query.sort.as_ref()));
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

    /// Where objects come from. PostgreSQL reads each one's JSON once, in the order of the commas.
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

    /// A condition that is true or false, never unknown.
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

    fn joined(&mut self, parts: &[Filter], word: &str, empty: &str) -> String {
        if parts.is_empty() {
            return empty.to_owned();
        }
        let parts: Vec<String> = parts.iter().map(|part| self.filter(part)).collect();
        format!("({})", parts.join(word))
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

    /// By what objects are sorted; null where the field is missing or of another type.
    fn sorted(&mut self, field: &Field, kind: Kind) -> String {
        match kind {
            Kind::Number => self.number(field, Number::Float),
            Kind::Text => self.text_of(field),
        }
    }

    /// What comes behind the last object of the page before.
    fn after(&mut self, place: &PageCursor, sort: Option<&Sort>) -> String {
        let owner = self.parameter(Parameter::Uuid(place.owner));
        let key = self.parameter(Parameter::Text(place.key.clone()));
        let behind = format!("(user_id, key) > ({owner}, {key})");
        let sorted = match &place.sorted {
            None => return behind,
            Some(SortedBy::Number(bits)) => self.parameter(Parameter::Real(f64::from_bits(*bits))),
            Some(SortedBy::Text(text)) => self.parameter(Parameter::Text(text.clone())),
        };
        let operator = if sort.is_some_and(|sort| sort.descending) { "<" } else { ">" };
        format!("(sorted {operator} {sorted} OR (sorted = {sorted} AND {behind}))")
    }

    /// The type of what a field holds, in the words of the database; null if it is missing.
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

    /// A field as a number; null if it is none.
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
            // Only this way is it certain that nothing else is taken for a number.
            (Dialect::Postgres, number) => {
                let (found, kind) = (found(&path), number.postgres());
                format!("(CASE WHEN jsonb_typeof({found}) = 'number' THEN CAST({found} AS {kind}) END)")
            }
        }
    }

    /// A field as a text, compared by its bytes; null if it is none.
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
            // Otherwise it would look into lists on its way.
            Dialect::Postgres => format!("strict {}", field.path()),
        };
        self.parameter(Parameter::Text(path))
    }

    fn parameter(&mut self, parameter: Parameter) -> String {
        self.parameters.push(parameter);
        format!("?{}", self.parameters.len())
    }
}

/// How exactly numbers are compared.
#[derive(Clone, Copy)]
enum Number {
    /// As they are written.
    Exact,
    /// As near as 64-bit floats come to them.
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

/// What PostgreSQL finds at a path; null if it is missing.
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
