//! The OpenAPI document matches the served API.

use aether_testkit_server::{ApiClient, TestServer};
use serde_json::{Map, Value, json};

/// A described operation.
struct Described {
    method: String,
    path: String,
    operation: Value,
}

async fn described(server: &TestServer) -> (Value, Vec<Described>) {
    let answer = server.get("/openapi.json").await;
    assert_eq!(answer.status, 200);
    assert!(answer.head.contains("content-type: application/json"), "{}", answer.head);
    let document = answer.json();
    let paths = document["paths"].as_object().expect("there are paths").clone();
    let operations = paths.into_iter().flat_map(|(path, operations)| {
        let operations = operations.as_object().expect("operations by method").clone();
        operations.into_iter().map(move |(method, operation)| Described {
            method: method.to_ascii_uppercase(),
            path: path.clone(),
            operation,
        })
    });
    let operations = operations.collect();
    (document, operations)
}

impl Described {
    /// Returns true if it calls a function by name. Such calls have their own form of errors.
    fn is_function(&self) -> bool {
        self.path.starts_with("/v2/rpc/")
    }

    /// Returns a path of the operation with a value for every parameter.
    fn address(&self) -> String {
        let mut address = self.path.clone();
        let parameters = self.operation["parameters"].as_array().expect("there are parameters");
        for parameter in parameters.iter().filter(|parameter| parameter["in"] == "path") {
            let name = parameter["name"].as_str().expect("a parameter has a name");
            address = address.replace(&format!("{{{name}}}"), "something");
        }
        address
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_operation_exists_and_requires_the_described_access() {
    let server = TestServer::start(|_| {}).await;
    let (_, operations) = described(&server).await;
    assert!(operations.len() > 40, "{} operations", operations.len());
    let mut stranger = ApiClient::new(server.http);
    stranger.authorize("");
    for described in &operations {
        let id = described.operation["operationId"].as_str().expect("an operation has an id");
        let answer = stranger.send(&described.method, &described.address(), "").await.expect("the server answers");
        let security = described.operation["security"].as_array().expect("it says what it asks for");
        let Some(scheme) = security.first() else {
            assert_eq!((answer.status, answer.json()), (200, json!({})), "{id}");
            continue;
        };
        assert_eq!(answer.status, 401, "{id}: {}", answer.body);
        let asked = match scheme.get("session") {
            Some(_) if described.is_function() => "Auth token or HTTP key required",
            Some(_) => "Auth token required",
            None => "Server key required",
        };
        let mut expected = json!({ "code": 16, "message": asked });
        if described.is_function() {
            expected["error"] = json!(asked);
        }
        assert_eq!(answer.json(), expected, "{id}");
        assert!(answer.head.contains(&format!("www-authenticate: {}", asked.to_ascii_lowercase())), "{}", answer.head);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_empty_request_causes_a_server_error() {
    let server = TestServer::start(|_| {}).await;
    let (_, operations) = described(&server).await;
    for described in &operations {
        let id = described.operation["operationId"].as_str().expect("an operation has an id");
        for body in ["", "{}", "[]", "null", "{\"", "0", "\"\\u0000\""] {
            // A new user for each, because some operations delete the account or end its sessions.
            let mut client = match described.operation["security"][0].get("session") {
                Some(_) => ApiClient::new_user(server.http).await,
                None => ApiClient::new(server.http),
            };
            let answer = client.send(&described.method, &described.address(), body).await.expect("the server answers");
            assert!(answer.status < 500, "{id} with {body:?}: {} {}", answer.status, answer.body);
            if answer.status != 200 {
                let refusal = answer.json();
                let refusal = refusal.as_object().expect("a refusal is an object");
                let fields: &[&str] =
                    if described.is_function() { &["code", "error", "message"] } else { &["code", "message"] };
                assert_eq!(refusal.keys().collect::<Vec<_>>(), fields, "{id}");
            }
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_match_their_schemas() {
    let server = TestServer::start(|_| {}).await;
    let (document, _) = described(&server).await;
    let mut client = ApiClient::new_user(server.http).await;
    let schema = |name: &str| document["components"]["schemas"][name].clone();
    let account = client.get("/v2/account").await.expect("the server answers").json();
    conforms(&document, &account, &schema("Account"), "Account");
    let write = json!({ "objects": [{ "collection": "c", "key": "k", "value": "{}" }] });
    let acks = client.put("/v2/storage", &write).await.expect("the server answers").json();
    conforms(&document, &acks, &schema("StorageObjectAcks"), "StorageObjectAcks");
    let list = format!("/v2/storage/c?user_id={}&limit=10", client.user);
    let list = client.get(&list).await.expect("the server answers").json();
    conforms(&document, &list, &schema("StorageObjectList"), "StorageObjectList");
    assert!(list["objects"][0]["value"].is_string());
    server.stop().await;
}

/// Asserts that a value matches a schema and has no undescribed fields.
fn conforms(document: &Value, value: &Value, schema: &Value, location: &str) {
    if let Some(reference) = schema["$ref"].as_str() {
        let schema = document.pointer(reference.trim_start_matches('#')).expect("the reference exists");
        return conforms(document, value, schema, location);
    }
    match schema["type"].as_str().unwrap_or_else(|| panic!("{location} has a type: {schema}")) {
        "object" => {
            let fields = value.as_object().unwrap_or_else(|| panic!("{location} is an object: {value}"));
            let known = schema["properties"].as_object().cloned().unwrap_or_else(Map::new);
            for (name, value) in fields {
                let schema = known.get(name).or(schema.get("additionalProperties"));
                let schema = schema.unwrap_or_else(|| panic!("{location}.{name} is not described"));
                conforms(document, value, schema, &format!("{location}.{name}"));
            }
        }
        "array" => {
            let values = value.as_array().unwrap_or_else(|| panic!("{location} is a list: {value}"));
            values.iter().for_each(|value| conforms(document, value, &schema["items"], location));
        }
        "string" => assert!(value.is_string(), "{location} is text: {value}"),
        "integer" => assert!(value.is_i64() || value.is_u64(), "{location} is a whole number: {value}"),
        "number" => assert!(value.is_number(), "{location} is a number: {value}"),
        "boolean" => assert!(value.is_boolean(), "{location} is yes or no: {value}"),
        other => panic!("{location} has the type {other}"),
    }
}
