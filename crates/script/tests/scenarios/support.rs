//! A server with the modules of a scenario.

use aether_testkit_server::aether_server::config::{Config, Secret};
use aether_testkit_server::{ApiClient, ServicesSocket, TestServer};
use serde_json::{Value, json};
use std::path::PathBuf;
use uuid::Uuid;

/// HTTP key of the server.
pub const HTTP_KEY: &str = "a0e1f2c3d4b5a6978899";

/// Server with modules.
pub struct Scenario {
    /// The server.
    pub server: TestServer,
    folder: PathBuf,
}

impl Drop for Scenario {
    fn drop(&mut self) {
        // A folder that cannot be removed stays in the system's temporary folder.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

impl Scenario {
    /// Starts a server with modules, by name and text.
    pub async fn start(modules: &[(&str, &str)], change: impl FnOnce(&mut Config)) -> Scenario {
        let folder = std::env::temp_dir().join(format!("aether-scenario-{}", Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder is created");
        for (name, text) in modules {
            std::fs::write(folder.join(format!("{name}.lua")), text).expect("the module is written");
        }
        let configured = folder.clone();
        let server = TestServer::start(|config| {
            config.script.folder = Some(configured);
            config.api.http_key = Some(Secret::new(HTTP_KEY));
            change(config);
        })
        .await;
        Scenario { server, folder }
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

/// Calls an RPC function. Returns the status and the payload of the answer, or its body.
pub async fn rpc(client: &mut ApiClient, name: &str, payload: &Value) -> (u16, Value) {
    let body = json!(payload.to_string());
    let answer = client.post(&format!("/v2/rpc/{name}"), &body).await.expect("the server answers");
    let json = answer.json();
    match json.get("payload").and_then(Value::as_str) {
        Some(payload) => (answer.status, serde_json::from_str(payload).expect("the payload is JSON")),
        None => (answer.status, json),
    }
}

/// Returns the next message of a socket that has a field, and the contents of the field.
pub async fn next_of(socket: &mut ServicesSocket, field: &str) -> Value {
    loop {
        let mut message = socket.next().await;
        if !message[field].is_null() {
            return message[field].take();
        }
    }
}
