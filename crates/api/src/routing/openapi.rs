//! The description of an interface by OpenAPI 3.1: made from the table of routes and the definitions of the messages, so that
//! it cannot tell of anything else than what is served.

mod messages;
mod schema;

use super::encoding::CompressedDocument;
use super::query::PAIRS_MAX;
use super::routes::{Described, Route, Routes, Source, Written};
use super::{ApiError, Interface};
use aether_services::calls::Access;
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};
use schema::{Definitions, Field};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where the description is.
const PATH: &str = "/openapi.json";

/// Texts of an interface's description beside its routes.
pub(crate) struct Description {
    pub title: &'static str,
    pub text: &'static str,
    /// Schema of a refusal.
    pub refused: Value,
}

impl<I: Interface> Routes<I> {
    /// Adds the route of the description of all routes before it.
    pub fn described(self, description: &Description) -> Routes<I> {
        let document = Arc::new(CompressedDocument::json(document(&self.table, description).to_string()));
        let answer = async move |headers: HeaderMap| document.answer(headers.get(header::ACCEPT_ENCODING));
        let other = async || ApiError::of_status(StatusCode::METHOD_NOT_ALLOWED);
        self.undescribed(PATH, Access::Everyone, get(answer).fallback(other))
    }
}

/// The description of these routes.
pub(crate) fn document(table: &[Route], description: &Description) -> Value {
    let mut writer = Writer { definitions: Definitions::read(), operations: BTreeSet::new() };
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in table {
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.path).or_default().insert(method, writer.operation(route));
    }
    let accesses: BTreeSet<&str> = table.iter().filter_map(|route| scheme(route.access)).collect();
    let schemes: Map<String, Value> = accesses.into_iter().map(|name| (name.to_owned(), scheme_of(name))).collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": description.title,
            "version": env!("CARGO_PKG_VERSION"),
            "description": description.text,
        },
        "servers": [{ "url": "/" }],
        "paths": paths,
        "components": {
            "schemas": writer.definitions.schemas(),
            "responses": { "Refused": refused(&description.refused) },
            "securitySchemes": schemes,
        },
    })
}

/// A response of an operation that was not done.
fn refused(schema: &Value) -> Value {
    json!({
        "description": "It was not done, and why.",
        "content": { "application/json": { "schema": schema } },
    })
}

/// The security scheme of an access.
fn scheme(access: Access) -> Option<&'static str> {
    match access {
        Access::Everyone => None,
        Access::ServerKey => Some("serverKey"),
        Access::Session => Some("session"),
        Access::Operator => Some("operatorKey"),
    }
}

fn scheme_of(name: &str) -> Value {
    match name {
        "serverKey" => json!({
            "type": "http",
            "scheme": "basic",
            "description": "The server key as the name, and no password.",
        }),
        "session" => json!({
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "The token of a session.",
        }),
        _ => json!({ "type": "http", "scheme": "bearer", "description": "The admin key, if there is one." }),
    }
}

struct Writer {
    definitions: Definitions,
    /// The ids that are taken.
    operations: BTreeSet<String>,
}

impl Writer {
    fn operation(&mut self, route: &Route) -> Value {
        let written = match &route.form {
            Described::Messages { request, answer, source } => self.messages(route.path, request, answer, *source),
            Described::Written(written) => written.clone(),
        };
        let mut operation = operation(self.id(route.id), (route.path, route.access), written);
        if let Some(preset) = route.preset {
            operation["x-rate-preset"] = json!(preset.name());
        }
        operation
    }

    fn messages(&mut self, path: &str, request: &str, answer: &str, source: Source) -> Written {
        let fields = self.definitions.fields(request);
        let (in_body, in_address): (Vec<Field>, Vec<Field>) = match source {
            Source::Address => (Vec::new(), fields),
            Source::Body => (fields, Vec::new()),
            Source::Field => fields.into_iter().partition(Field::is_message),
        };
        let body = match (source, in_body.as_slice()) {
            (Source::Address, _) => None,
            (Source::Field, [field]) => Some(field.schema.clone()),
            // The body is the whole request, but for what the path says already.
            _ => Some(self.definitions.reference(request)),
        };
        let parameters = in_address.iter().map(|field| parameter(path, &field.name, &field.schema)).collect();
        let answer = self.definitions.reference(answer);
        Written { parameters, body, content_type: "application/json", answer, refused: None }
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

fn operation(id: String, (path, access): (&str, Access), written: Written) -> Value {
    let Written { parameters, body, content_type, answer, refused: own } = written;
    let security = scheme(access).map_or_else(|| json!([]), |scheme| json!([{ scheme: [] }]));
    let otherwise = own.map_or_else(|| json!({ "$ref": "#/components/responses/Refused" }), |own| refused(&own));
    let noun = path.split('/').nth(2).unwrap_or("health");
    let mut written = json!({
        "operationId": id,
        "tags": [noun],
        "security": security,
        "parameters": parameters,
        "responses": {
            "200": { "description": "It was done.", "content": { content_type: { "schema": answer } } },
            "431": { "description": "The address and the headers are too long." },
            "default": otherwise,
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
        let document = document(&table, &crate::client::description());
        (table, document)
    }

    #[test]
    fn every_route_is_described() {
        let (table, document) = described();
        assert!(!table.is_empty());
        for route in &table {
            let operation = &document["paths"][route.path][route.method.as_str().to_ascii_lowercase()];
            let id = operation["operationId"].as_str().expect(route.path);
            assert!(id.starts_with(route.id), "{id}");
            assert!(operation["responses"]["200"].is_object(), "{id}");
        }
        let operations = document["paths"].as_object().expect("paths are an object").values();
        let count: usize = operations.map(|path| path.as_object().map_or(0, Map::len)).sum();
        assert_eq!(count, table.len(), "nothing else is described");
    }

    #[test]
    fn what_is_no_operation_is_described_too() {
        let (_, document) = described();
        let health = &document["paths"]["/healthcheck"]["get"];
        assert_eq!((&health["operationId"], &health["security"]), (&json!("Healthcheck"), &json!([])));
        assert_eq!(health.get("x-rate-preset"), None);
        let call = &document["paths"]["/v2/rpc/{id}"]["post"];
        assert_eq!(call["operationId"], "RpcFunc");
        assert_eq!(call["requestBody"]["content"]["application/json"]["schema"], json!({ "type": "string" }));
        let refused = &call["responses"]["default"]["content"]["application/json"]["schema"];
        assert_eq!(refused["required"], json!(["code", "error", "message"]));
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
        assert_eq!(ids.len(), table.len());
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
