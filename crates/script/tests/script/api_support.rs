//! Calls functions of `nk` and `aether` from Lua, and returns what they returned.

use crate::support::{ScriptServer, rpc};
use aether_testkit_server::ApiClient;
use serde_json::{Value, json};

/// RPC function that calls a function by name. Up to three results are `a`, `b` and `c`.
pub const CALLER: &str = r#"
local nk = require("nakama")

nk.register_rpc(function(context, payload)
    local call = nk.json_decode(payload)
    local module = if call.module == "aether" then aether else nk
    local arguments = {}
    for index = 1, call.count do
        arguments[index] = call.arguments[tostring(index)]
    end
    local results = table.pack(pcall(module[call.name], table.unpack(arguments, 1, call.count)))
    if not results[1] then
        return nk.json_encode({ error = tostring(results[2]) })
    end
    return nk.json_encode({ count = results.n - 1, a = results[2], b = results[3], c = results[4] })
end, "call")
"#;

/// Returns the payload of a call of `nk.<name>`, or of `aether.<name>` if the name begins so.
pub fn payload(name: &str, arguments: &[Value]) -> Value {
    let (module, name) = name.split_once('.').unwrap_or(("nk", name));
    let numbered = arguments.iter().enumerate().map(|(index, value)| ((index + 1).to_string(), value.clone()));
    let numbered: serde_json::Map<String, Value> = numbered.collect();
    json!({ "module": module, "name": name, "count": arguments.len(), "arguments": numbered })
}

/// Returns the JSON form of an empty list: an empty table has no keys that tell a list from an object.
pub fn none() -> Value {
    json!({})
}

/// Server with the calling function, and a user who calls it.
pub struct Calls {
    pub scripts: ScriptServer,
    pub client: ApiClient,
}

impl Calls {
    pub async fn start() -> Calls {
        Calls::start_with(|_| {}).await
    }

    pub async fn start_with(change: impl FnOnce(&mut aether_testkit_server::aether_server::config::Config)) -> Calls {
        Calls::with_modules(&[("caller", CALLER)], change).await
    }

    pub async fn with_modules(
        modules: &[(&str, &str)],
        change: impl FnOnce(&mut aether_testkit_server::aether_server::config::Config),
    ) -> Calls {
        let scripts = ScriptServer::start_with(modules, change).await;
        let client = scripts.user().await;
        Calls { scripts, client }
    }

    /// Returns the results of a function.
    pub async fn ok(&mut self, name: &str, arguments: &[Value]) -> Value {
        let answer = self.call(name, arguments).await;
        assert_eq!(answer.get("error"), None, "{name} {arguments:?}: {answer}");
        answer
    }

    /// Returns the first result of a function.
    pub async fn first(&mut self, name: &str, arguments: &[Value]) -> Value {
        self.ok(name, arguments).await["a"].clone()
    }

    /// Returns the error of a function.
    pub async fn error(&mut self, name: &str, arguments: &[Value]) -> String {
        let answer = self.call(name, arguments).await;
        answer["error"].as_str().unwrap_or_else(|| panic!("{name} {arguments:?} did not fail: {answer}")).to_owned()
    }

    /// Asserts that a function fails with an error that contains a text.
    pub async fn fails(&mut self, name: &str, arguments: &[Value], with: &str) {
        let error = self.error(name, arguments).await;
        assert!(error.contains(with), "{name}: {error}");
    }

    /// Signs a user in by device, and returns the id.
    pub async fn user(&mut self, device: &str) -> String {
        let id = self.first("authenticate_device", &[json!(device)]).await;
        id.as_str().expect("the id is a text").to_owned()
    }

    pub async fn stop(self) {
        self.scripts.stop().await;
    }

    async fn call(&mut self, name: &str, arguments: &[Value]) -> Value {
        let (status, answer) = rpc(&mut self.client, "call", &payload(name, arguments)).await;
        assert_eq!(status, 200, "{name}: {answer}");
        answer
    }
}
