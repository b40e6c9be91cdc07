//! Calls of single functions of `nk` and `aether` from Lua.

use crate::support::{ScriptServer, rpc};
use aether_testkit_server::aether_server::Server;
use aether_testkit_server::{ApiClient, ServicesSocket};
use serde_json::{Value, json};

/// Calls the named function, and returns its results by number, or its error.
const CALL: &str = r#"
local nk = require("nakama")
local modules = { nk = nk, aether = aether }

nk.register_rpc(function(_, payload)
    local call = nk.json_decode(payload)
    local results = table.pack(pcall(function()
        return modules[call.module][call.name](table.unpack(call.arguments, 1, call.count))
    end))
    if not results[1] then
        return nk.json_encode({ error = tostring(results[2]) })
    end
    local shown = {}
    for index = 2, results.n do
        shown[tostring(index - 1)] = results[index]
    end
    return nk.json_encode({ results = shown })
end, "call")
"#;

/// Server with a user who calls functions.
pub struct Api {
    pub scripts: ScriptServer,
    pub user: ApiClient,
}

impl Api {
    pub async fn start() -> Api {
        Api::extended(|server| server).await
    }

    /// Starts a server to which `extend` adds handlers.
    pub async fn extended(extend: impl FnOnce(Server) -> Server) -> Api {
        let scripts = ScriptServer::start_extended(&[("call", CALL)], extend).await;
        let user = scripts.user().await;
        Api { scripts, user }
    }

    /// Calls a function, such as `nk.event`. Returns its results: an object with the keys `1`, `2` and so on.
    pub async fn call(&mut self, function: &str, arguments: Value) -> Value {
        match self.outcome(function, arguments).await {
            Ok(results) => results,
            Err(error) => panic!("{function}: {error}"),
        }
    }

    /// Calls a function that returns one value.
    pub async fn one(&mut self, function: &str, arguments: Value) -> Value {
        let mut results = self.call(function, arguments).await;
        assert!(results.as_object().is_some_and(|results| results.len() <= 1), "{function}: {results}");
        results["1"].take()
    }

    /// Calls a function that returns nothing.
    pub async fn run(&mut self, function: &str, arguments: Value) {
        assert_eq!(self.call(function, arguments).await, json!({}), "{function}");
    }

    /// Calls a function that fails. Returns the message of its error, which names the line of the module.
    pub async fn fail(&mut self, function: &str, arguments: Value) -> String {
        match self.outcome(function, arguments).await {
            Ok(results) => panic!("{function}: {results}"),
            Err(error) => error,
        }
    }

    /// Checks that a function refuses an argument, with an error that names it.
    pub async fn refuse(&mut self, function: &str, arguments: Value, parameter: &str) {
        let error = self.fail(function, arguments).await;
        let name = function.split_once('.').expect("a module and a name").1;
        assert!(error.contains(&format!("(`{parameter}`) of `{name}`: expected")), "{error}");
    }

    async fn outcome(&mut self, function: &str, arguments: Value) -> Result<Value, String> {
        let (module, name) = function.split_once('.').expect("a module and a name");
        let count = arguments.as_array().expect("a list of arguments").len();
        let call = json!({ "module": module, "name": name, "arguments": arguments, "count": count });
        let (status, mut answer) = rpc(&mut self.user, "call", &call).await;
        assert_eq!(status, 200, "{function}: {answer}");
        match answer["error"].take() {
            Value::Null => Ok(answer["results"].take()),
            error => Err(error.as_str().unwrap_or_default().to_owned()),
        }
    }

    /// Opens a socket of a user. Returns it with the id of its session.
    pub async fn socket(&mut self, user: &ApiClient) -> (ServicesSocket, String) {
        let mut socket = self.scripts.server.socket(&user.token).await;
        // An answer shows that the session is in the router.
        assert_eq!(socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
        let sessions = self.one("nk.stream_user_list", json!([{ "mode": 0, "subject": user.user }])).await;
        let session = sessions[0]["session_id"].as_str().expect("a session").to_owned();
        (socket, session)
    }

    pub async fn stop(self) {
        self.scripts.stop().await;
    }
}

/// Returns the values of a field of a list of tables.
pub fn column(list: &Value, field: &str) -> Vec<Value> {
    list.as_array().into_iter().flatten().map(|entry| entry[field].clone()).collect()
}
