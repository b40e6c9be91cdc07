//! What is no operation, described by hand: its routes are our own, and so is what they read and answer.

use super::super::access::Access;
use http::Method;
use serde_json::{Map, Value, json};

/// An operation of our own.
pub(super) struct Own {
    pub method: Method,
    pub path: &'static str,
    pub id: &'static str,
    /// What it asks of its caller, if anything.
    pub access: Option<Access>,
    pub body: Option<Value>,
    pub answer: Value,
}

impl Own {
    fn new(method: Method, path: &'static str, id: &'static str, access: Access) -> Own {
        Own { method, path, id, access: Some(access), body: None, answer: object([]) }
    }

    fn takes(self, body: Value) -> Own {
        Own { body: Some(body), ..self }
    }

    fn answers(self, answer: Value) -> Own {
        Own { answer, ..self }
    }
}

/// All of them.
pub(super) fn operations() -> Vec<Own> {
    let health = Own::new(Method::GET, "/healthcheck", "Healthcheck", Access::ServerKey);
    let mut all = vec![Own { access: None, ..health }];
    all.extend(profiles());
    all
}

fn profiles() -> [Own; 5] {
    let profile = || {
        object([
            ("id", text()),
            ("name", text()),
            ("data", data()),
            ("active", json!({ "type": "boolean" })),
            ("create_time", time()),
            ("update_time", time()),
        ])
    };
    let list = object([("active", text()), ("profiles", json!({ "type": "array", "items": profile() }))]);
    let new = object([("id", text()), ("name", text()), ("data", data())]);
    let change = object([("name", text()), ("data", data())]);
    let own = |method, path, id| Own::new(method, path, id, Access::User);
    [
        own(Method::GET, "/v2/profile", "ListProfiles").answers(list),
        own(Method::POST, "/v2/profile", "CreateProfile").takes(new).answers(profile()),
        own(Method::PUT, "/v2/profile/{id}", "UpdateProfile").takes(change).answers(profile()),
        own(Method::DELETE, "/v2/profile/{id}", "DeleteProfile").answers(object([("active", text())])),
        own(Method::POST, "/v2/profile/{id}/select", "SelectProfile").answers(profile()),
    ]
}

fn object<const COUNT: usize>(fields: [(&str, Value); COUNT]) -> Value {
    let fields: Map<String, Value> = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({ "type": "object", "properties": fields })
}

fn text() -> Value {
    json!({ "type": "string" })
}

fn time() -> Value {
    json!({ "type": "string", "format": "date-time" })
}

/// An object of the game's.
fn data() -> Value {
    json!({ "type": "object", "additionalProperties": true })
}
