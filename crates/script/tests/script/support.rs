//! A server with modules.

use aether_testkit_server::{ApiClient, TestServer};
use serde_json::{Value, json};
use std::path::PathBuf;
use uuid::Uuid;

/// Server with a folder of modules, which is removed at the end.
pub struct ScriptServer {
    /// The server.
    pub server: TestServer,
    folder: PathBuf,
}

impl Drop for ScriptServer {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl ScriptServer {
    /// Starts a server with modules: file names without a suffix, and texts.
    pub async fn start(modules: &[(&str, &str)]) -> ScriptServer {
        ScriptServer::start_with(modules, |_| {}).await
    }

    /// Starts a server with modules. `change` adapts its configuration.
    pub async fn start_with(
        modules: &[(&str, &str)],
        change: impl FnOnce(&mut aether_testkit_server::aether_server::config::Config),
    ) -> ScriptServer {
        ScriptServer::start_all(modules, change, |server| server).await
    }

    /// Starts a server with modules. `extend` adds hooks and handlers of the program.
    pub async fn start_extended(
        modules: &[(&str, &str)],
        extend: impl FnOnce(aether_testkit_server::aether_server::Server) -> aether_testkit_server::aether_server::Server,
    ) -> ScriptServer {
        ScriptServer::start_all(modules, |_| {}, extend).await
    }

    async fn start_all(
        modules: &[(&str, &str)],
        change: impl FnOnce(&mut aether_testkit_server::aether_server::config::Config),
        extend: impl FnOnce(aether_testkit_server::aether_server::Server) -> aether_testkit_server::aether_server::Server,
    ) -> ScriptServer {
        let folder = std::env::temp_dir().join(format!("aether-lua-{}", Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder is created");
        for (name, text) in modules {
            write_module(&folder, name, text);
        }
        let server = start_server(&folder, change, extend).await;
        ScriptServer { server, folder }
    }

    /// Returns the folder of the modules.
    pub fn folder(&self) -> &std::path::Path {
        &self.folder
    }

    /// Starts a server with modules on a database file, which [`ScriptServer::restart`] keeps.
    pub async fn start_stored(modules: &[(&str, &str)]) -> ScriptServer {
        let scripts = ScriptServer::start(modules).await;
        scripts.restart().await
    }

    /// Stops the server, and starts another one with the same modules and database file.
    pub async fn restart(mut self) -> ScriptServer {
        self.server.stop_within(std::time::Duration::ZERO).await;
        let url = format!("sqlite:{}", self.folder.join("aether.db").display());
        let change = |config: &mut aether_testkit_server::aether_server::config::Config| {
            config.database.url = Some(aether_testkit_server::aether_server::config::Secret::new(&url));
        };
        self.server = start_server(&self.folder, change, |server| server).await;
        self
    }

    /// Writes a module into the folder.
    pub fn write(&self, name: &str, text: &str) {
        write_module(&self.folder, name, text);
    }

    /// Loads the modules of the folder again.
    pub async fn reload(&self) -> Result<(), String> {
        let scripts = self.server.running().scripts().expect("there are scripts");
        scripts.load(self.server.services()).await.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Loads the modules again, as an operator.
    pub async fn reload_as_operator(&self) {
        let key = std::fs::read_to_string(self.server.data_dir().join("admin.key")).expect("the server has a key");
        let mut operator = ApiClient::new(self.server.admin);
        operator.authorize(format!("Bearer {}", key.trim()));
        let answer = operator.post("/api/scripts/reload", &json!({})).await.expect("the server answers");
        assert_eq!(answer.status, 200, "{}", answer.json());
    }

    /// Signs a new user in.
    pub async fn user(&self) -> ApiClient {
        ApiClient::new_user(self.server.http).await
    }

    /// Stops the server.
    pub async fn stop(mut self) {
        self.server.stop_within(std::time::Duration::from_millis(200)).await;
    }
}

async fn start_server(
    folder: &std::path::Path,
    change: impl FnOnce(&mut aether_testkit_server::aether_server::config::Config),
    extend: impl FnOnce(aether_testkit_server::aether_server::Server) -> aether_testkit_server::aether_server::Server,
) -> TestServer {
    let configured = folder.to_owned();
    let configure = |config: &mut aether_testkit_server::aether_server::config::Config| {
        config.script.folder = Some(configured);
        change(config);
    };
    TestServer::start_with(configure, extend).await
}

fn write_module(folder: &std::path::Path, name: &str, text: &str) {
    let file = folder.join(format!("{name}.lua"));
    std::fs::create_dir_all(file.parent().expect("a file has a folder")).expect("the folder is created");
    std::fs::write(file, text).expect("the module is written");
}

/// Starts a server whose modules do not load, and returns the error.
pub async fn failed_start(modules: &[(&str, &str)]) -> String {
    let folder = std::env::temp_dir().join(format!("aether-lua-{}", Uuid::new_v4().simple()));
    for (name, text) in modules {
        write_module(&folder, name, text);
    }
    let mut config = aether_testkit_server::aether_server::config::Config::default();
    config.data_dir = folder.join("data");
    config.http.address = ([127, 0, 0, 1], 0).into();
    config.http.admin_address = ([127, 0, 0, 1], 0).into();
    config.script.folder = Some(folder.clone());
    let started = aether_testkit_server::aether_server::Server::new("test", "1.2.3").start(config).await;
    // A folder that cannot be removed stays in the system's temporary folder.
    let _ = std::fs::remove_dir_all(&folder);
    match started {
        Ok(_) => panic!("the server starts"),
        Err(error) => error.to_string(),
    }
}

/// Calls an RPC function until its answer meets a condition.
pub async fn until_rpc(client: &mut ApiClient, name: &str, payload: &Value, holds: impl Fn(&Value) -> bool) -> Value {
    let end = std::time::Instant::now() + aether_testkit_server::DEADLINE;
    loop {
        let (_, answer) = rpc(client, name, payload).await;
        if holds(&answer) {
            return answer;
        }
        assert!(std::time::Instant::now() < end, "timeout: {answer}");
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
}

/// Calls an RPC function with a JSON payload. Returns the status and the payload of the answer, or its body.
pub async fn rpc(client: &mut ApiClient, name: &str, payload: &Value) -> (u16, Value) {
    let body = json!(payload.to_string());
    let answer = client.post(&format!("/v2/rpc/{name}"), &body).await.expect("the server answers");
    let json = answer.json();
    match json.get("payload").and_then(Value::as_str) {
        Some(payload) => (answer.status, serde_json::from_str(payload).unwrap_or_else(|_| payload.into())),
        None => (answer.status, json),
    }
}
