//! The description of the client API by OpenAPI 3.1: made from the table of routes and the definitions of the messages,
//! so that it cannot tell of anything else than what is served.

mod messages;
mod own;
mod schema;

use super::access::Access;
use super::query::PAIRS_MAX;
use super::routes::{Route, Routes, Source};
use crate::encoding::Document;
use axum::routing::get;
use http::{HeaderMap, Method, header};
use own::Own;
use schema::{Definitions, Field};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where the description is.
const PATH: &str = "/openapi.json";

impl Routes {
    /// Adds the route of the description of all routes before it.
    pub(super) fn described(self) -> Routes {
        let document = Arc::new(Document::json(document(&self.table).to_string()));
        self.own(PATH, get(async move |headers: HeaderMap| document.answer(headers.get(header::ACCEPT_ENCODING))))
    }
}

/// The description of these routes, and of those that are our own.
fn document(table: &[Route]) -> Value {
    let mut writer = Writer { definitions: Definitions::read(), operations: BTreeSet::new() };
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    let mut add = |path: &'static str, method: &Method, operation: Value| {
        paths.entry(path).or_default().insert(method.as_str().to_ascii_lowercase(), operation);
    };
    table.iter().for_each(|route| add(route.path, &route.method, writer.operation(route)));
    own::operations().iter().for_each(|own| add(own.path, &own.method, own_operation(own)));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Aether client API",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "What game clients ask. Fields at their zero value are left out of answers; numbers of 64 \
                bits are text. Fields are also read in lowerCamelCase, and unknown ones are ignored. Bodies may be \
                compressed by gzip or deflate. What is asked too often is refused with 429 and Retry-After; \
                x-rate-preset says what is counted together.",
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": writer.definitions.schemas(),
            "responses": { "Refused": refused() },
            "securitySchemes": {
                "serverKey": {
                    "type": "http",
                    "scheme": "basic",
                    "description": "The server key as the name, and no password.",
                },
                "session": {
                    "type": "http",
                    "scheme": "bearer",
                    "bearerFormat": "JWT",
                    "description": "The token of a session.",
                },
            },
        },
    })
}

/// What every operation answers when something is not done.
fn refused() -> Value {
    json!({
        "description": "It was not done, and why.",
        "content": { "application/json": { "schema": {
            "type": "object",
            "required": ["code", "message"],
            "properties": {
                "code": { "type": "integer", "minimum": 1, "maximum": 16, "description": "The code of gRPC." },
                "message": { "type": "string", "description": "A sentence for people." },
            },
        } } },
    })
}

struct Writer {
    definitions: Definitions,
    /// The ids that are taken.
    operations: BTreeSet<String>,
}

impl Writer {
    fn operation(&mut self, route: &Route) -> Value {
        let Route { request, answer, .. } = route;
        let fields = self.definitions.fields(request);
        let (in_body, in_address): (Vec<Field>, Vec<Field>) = match route.source {
            Source::Address => (Vec::new(), fields),
            Source::Body => (fields, Vec::new()),
            Source::Field => fields.into_iter().partition(Field::is_message),
        };
        let body = match (route.source, in_body.as_slice()) {
            (Source::Address, _) => None,
            (Source::Field, [field]) => Some(field.schema.clone()),
            // The body is the whole request, but for what the path says already.
            _ => Some(self.definitions.reference(request)),
        };
        let parameters: Vec<Value> =
            in_address.iter().map(|field| parameter(route.path, &field.name, &field.schema)).collect();
        let answer = self.definitions.reference(answer);
        let id = self.id(route.operation);
        let mut written = operation(id, (route.path, Some(route.access)), parameters, body, answer);
        written["x-rate-preset"] = json!(route.preset.name());
        written
    }

    /// The name of an operation; a second route to it has a number behind it.
    fn id(&mut self, operation: &str) -> String {
        let numbered = (2..).map(|number| format!("{operation}{number}"));
        let mut ids = std::iter::once(operation.to_owned()).chain(numbered);
        let id = ids.find(|id| !self.operations.contains(id)).expect("there are more numbers than routes");
        self.operations.insert(id.clone());
        id
    }
}

fn own_operation(own: &Own) -> Value {
    operation(own.id.to_owned(), (own.path, None), Vec::new(), None, json!({ "type": "object" }))
}

fn operation(
    id: String,
    (path, access): (&str, Option<Access>),
    parameters: Vec<Value>,
    body: Option<Value>,
    answer: Value,
) -> Value {
    let security = match access {
        None => json!([]),
        Some(Access::User) => json!([{ "session": [] }]),
        Some(Access::ServerKey) => json!([{ "serverKey": [] }]),
    };
    let noun = path.split('/').nth(2).unwrap_or("health");
    let mut written = json!({
        "operationId": id,
        "tags": [noun],
        "security": security,
        "parameters": parameters,
        "responses": {
            "200": { "description": "It was done.", "content": { "application/json": { "schema": answer } } },
            "431": { "description": "The address and the headers are too long." },
            "default": { "$ref": "#/components/responses/Refused" },
        },
    });
    if let Some(schema) = body {
        written["requestBody"] = json!({ "content": { "application/json": { "schema": schema } } });
    }
    written
}

fn parameter(path: &str, name: &str, schema: &Value) -> Value {
    let is_in_path = path.contains(&format!("{{{name}}}"));
    let mut written = json!({
        "name": name,
        "in": if is_in_path { "path" } else { "query" },
        "required": is_in_path,
        "schema": schema,
    });
    if is_in_path {
        // An empty name would be another path.
        written["schema"]["minLength"] = json!(1);
    } else if schema["type"] == "array" {
        // More do not fit into an address.
        written["schema"]["maxItems"] = json!(PAIRS_MAX);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described() -> (Vec<Route>, Value) {
        let table = crate::client::routes().table;
        let document = document(&table);
        (table, document)
    }

    #[test]
    fn every_route_is_described() {
        let (table, document) = described();
        assert!(!table.is_empty());
        for route in &table {
            let operation = &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
            let id = operation["operationId"].as_str().expect(route.path);
            assert!(id.starts_with(route.operation), "{id}");
            assert!(operation["responses"]["200"].is_object(), "{id}");
        }
        let operations = document["paths"].as_object().expect("paths are an object").values();
        let count: usize = operations.map(|path| path.as_object().map_or(0, Map::len)).sum();
        assert_eq!(count, table.len() + own::operations().len(), "nothing else is described");
    }

    #[test]
    fn every_route_of_our_own_is_described() {
        let routes = crate::client::routes();
        let document = document(&routes.table);
        assert!(!routes.own.is_empty());
        for path in routes.own {
            assert!(document["paths"][path].is_object(), "{path}");
        }
    }

    #[test]
    fn what_stands_in_a_path_is_a_parameter_of_the_request() {
        let (table, document) = described();
        for route in &table {
            let operation = &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
            let parameters = operation["parameters"].as_array().expect("a list");
            let in_path = |parameter: &&Value| parameter["in"] == "path";
            let declared: BTreeSet<&str> =
                parameters.iter().filter(in_path).filter_map(|parameter| parameter["name"].as_str()).collect();
            let parts = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
            assert_eq!(declared, parts.collect(), "{}", route.path);
        }
    }

    #[test]
    fn every_reference_leads_somewhere() {
        let (_, document) = described();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 2);
        for reference in references {
            let pointer = reference.strip_prefix('#').expect("all is in one document");
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
    }

    #[test]
    fn ids_are_unique() {
        let (table, document) = described();
        let mut ids = BTreeSet::new();
        for path in document["paths"].as_object().expect("paths are an object").values() {
            let operations = path.as_object().expect("operations by method").values();
            ids.extend(operations.filter_map(|operation| operation["operationId"].as_str()));
        }
        assert_eq!(ids.len(), table.len() + own::operations().len());
    }

    #[test]
    fn a_body_is_the_request_or_the_part_of_it_that_the_address_does_not_hold() {
        let (_, document) = described();
        let body = |path: &str, method: &str| {
            let body = &document["paths"][path][method]["requestBody"];
            body["content"]["application/json"]["schema"]["$ref"].as_str().map(str::to_owned)
        };
        let schema = |name: &str| Some(format!("#/components/schemas/{name}"));
        assert_eq!(body("/v2/account/session/refresh", "post"), schema("SessionRefreshRequest"));
        assert_eq!(body("/v2/account/authenticate/device", "post"), schema("AccountDevice"));
        assert_eq!(body("/v2/account", "get"), None);
        assert_eq!(body("/v2/account/password/confirm", "post"), schema("ResetPasswordRequest"));
        assert_eq!(body("/v2/account/link/external/{provider}", "post"), schema("AccountExternal"));
    }

    fn collect<'a>(value: &'a Value, references: &mut Vec<&'a str>) {
        match value {
            Value::Object(fields) => {
                references.extend(fields.get("$ref").and_then(Value::as_str));
                fields.values().for_each(|value| collect(value, references));
            }
            Value::Array(values) => values.iter().for_each(|value| collect(value, references)),
            _ => {}
        }
    }
}
