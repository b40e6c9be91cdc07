//! OpenAPI 3.1 description of an interface, generated from its routes and the message definitions, so that it always
//! matches what is served.

mod bracket_messages;
mod messages;
mod schema;

use super::encoding::CompressedDocument;
use super::query::PAIRS_MAX;
use super::routes::{Route, RouteForm, Routes, Source, WrittenForm};
use super::{ApiError, Interface};
use aether_services::calls::Access;
use axum::routing::get;
use http::{HeaderMap, StatusCode, header};
use schema::{Definitions, Field};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Path of the description.
const PATH: &str = "/openapi.json";

/// Parts of an interface's description that do not follow from its routes.
pub(crate) struct Description {
    pub title: &'static str,
    pub text: &'static str,
    /// Schema of an error.
    pub error_schema: Value,
}

impl<I: Interface> Routes<I> {
    /// Adds a route that serves the description of all routes added before.
    pub fn described(self, description: &Description) -> Routes<I> {
        let document = Arc::new(CompressedDocument::json(document(&self.table, description).to_string()));
        let answer = async move |headers: HeaderMap| document.answer(headers.get(header::ACCEPT_ENCODING));
        let other = async || ApiError::of_status(StatusCode::METHOD_NOT_ALLOWED);
        self.undescribed(PATH, Access::Everyone, get(answer).fallback(other))
    }
}

/// Returns the description of these routes.
pub(crate) fn document(table: &[Route], description: &Description) -> Value {
    let mut writer = Writer { definitions: Definitions::read(), operations: BTreeSet::new() };
    let mut paths: BTreeMap<&str, Map<String, Value>> = BTreeMap::new();
    for route in table {
        let method = route.method.as_str().to_ascii_lowercase();
        paths.entry(route.path).or_default().insert(method, writer.operation(route));
    }
    let accesses: BTreeSet<&str> = table.iter().flat_map(|route| schemes(route.access)).copied().collect();
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
            "responses": { "Refused": error_response(&description.error_schema) },
            "securitySchemes": schemes,
        },
    })
}

/// Returns the response of a failed operation.
fn error_response(schema: &Value) -> Value {
    json!({
        "description": "The operation failed.",
        "content": { "application/json": { "schema": schema } },
    })
}

/// Returns the names of the security schemes of an access. A caller needs one of them.
fn schemes(access: Access) -> &'static [&'static str] {
    match access {
        Access::Everyone => &[],
        Access::ServerKey => &["serverKey"],
        Access::Session => &["session"],
        Access::SessionOrHttpKey => &["session", "httpKey", "httpKeyHeader"],
        Access::Operator => &["operatorKey"],
        Access::Inspect | Access::Moderate | Access::Manage => &["operator"],
    }
}

fn scheme_of(name: &str) -> Value {
    match name {
        "serverKey" => json!({
            "type": "http",
            "scheme": "basic",
            "description": "Server key as the user name, with an empty password.",
        }),
        "httpKey" => json!({
            "type": "apiKey",
            "in": "query",
            "name": "http_key",
            "description": "HTTP key (api.http_key), for callers without an account. It counts before all others.",
        }),
        "httpKeyHeader" => json!({
            "type": "http",
            "scheme": "basic",
            "description": "HTTP key (api.http_key) as the user name, with an empty password.",
        }),
        "session" => json!({
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": "JWT",
            "description": "Access token of a session.",
        }),
        "operator" => json!({
            "type": "http",
            "scheme": "bearer",
            "description": "Admin key, or access token of an account whose role has the permission.",
        }),
        _ => json!({ "type": "http", "scheme": "bearer", "description": "Admin key, if one is set." }),
    }
}

struct Writer {
    definitions: Definitions,
    /// Operation ids in use.
    operations: BTreeSet<String>,
}

impl Writer {
    fn operation(&mut self, route: &Route) -> Value {
        let form = match &route.form {
            RouteForm::Messages { request, answer, source } => self.messages(route.path, request, answer, *source),
            RouteForm::Written(form) => form.clone(),
        };
        let mut operation = operation(self.id(route.id), (route.path, route.access), form);
        if let Some(preset) = route.preset {
            operation["x-rate-preset"] = json!(preset.name());
        }
        operation
    }

    fn messages(&mut self, path: &str, request: &str, answer: &str, source: Source) -> WrittenForm {
        let fields = self.definitions.fields(request);
        let (in_body, in_address): (Vec<Field>, Vec<Field>) = match source {
            Source::Address => (Vec::new(), fields),
            Source::Body => (fields, Vec::new()),
            Source::Field => fields.into_iter().partition(Field::is_message),
            Source::BodyAndPath => {
                let is_in_path = |field: &Field| path.contains(&format!("{{{}}}", field.name));
                fields.into_iter().partition(|field| !is_in_path(field))
            }
        };
        let body = match (source, in_body.as_slice()) {
            (Source::Address, _) => None,
            (Source::Field, [field]) => Some(field.schema.clone()),
            // The body is the whole request, except for fields in the path.
            _ => Some(self.definitions.reference(request)),
        };
        let parameters = in_address.iter().map(|field| parameter(path, &field.name, &field.schema)).collect();
        let answer = self.definitions.reference(answer);
        WrittenForm { parameters, body, content_type: "application/json", answer, error_schema: None }
    }

    /// Returns an unused operation id: the name, with a number for further routes of the operation.
    fn id(&mut self, operation: &str) -> String {
        let numbered = (2..).map(|number| format!("{operation}{number}"));
        let mut ids = std::iter::once(operation.to_owned()).chain(numbered);
        let id = ids.find(|id| !self.operations.contains(id)).expect("numbers do not run out");
        self.operations.insert(id.clone());
        id
    }
}

fn operation(id: String, (path, access): (&str, Access), form: WrittenForm) -> Value {
    let WrittenForm { parameters, body, content_type, answer, error_schema } = form;
    let security: Vec<Value> = schemes(access).iter().map(|scheme| json!({ *scheme: [] })).collect();
    let shared = || json!({ "$ref": "#/components/responses/Refused" });
    let error = error_schema.map_or_else(shared, |schema| error_response(&schema));
    let noun = path.split('/').nth(2).unwrap_or("health");
    let mut written = json!({
        "operationId": id,
        "tags": [noun],
        "security": security,
        "parameters": parameters,
        "responses": {
            "200": { "description": "The operation succeeded.", "content": { content_type: { "schema": answer } } },
            "431": { "description": "URL and headers are too long." },
            "default": error,
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
        // With an empty value the path would be another one.
        written["schema"]["minLength"] = json!(1);
    } else if schema["type"] == "array" {
        // Requests with more values are rejected.
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
    fn custom_routes_are_described() {
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
    fn path_parameters_are_declared() {
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
    fn every_reference_resolves() {
        let (_, document) = described();
        let mut references = Vec::new();
        collect(&document, &mut references);
        assert!(references.len() > 2);
        for reference in references {
            let pointer = reference.strip_prefix('#').expect("references are local");
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
    fn a_body_is_the_request_or_its_field_that_is_not_in_path_and_query() {
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
