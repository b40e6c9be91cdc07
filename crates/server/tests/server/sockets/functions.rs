//! Functions of the program and of modules that are added at run time.

use aether_server::Server;
use aether_server::config::{Config, Secret};
use aether_server::services::calls::Module;
use aether_server::services::{ServiceError, operation};
use aether_testkit_server::ApiClient;
use serde_json::json;
use std::net::SocketAddr;
use std::time::Duration;

#[tokio::test(flavor = "multi_thread")]
async fn clients_call_functions_of_the_program_and_of_later_modules() {
    let mut config = Config::default();
    config.data_dir = std::env::temp_dir().join(format!("aether-functions-{}", uuid::Uuid::new_v4().simple()));
    config.database.url = Some(Secret::new("memory"));
    config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.api.http_key = Some(Secret::new("a0e1f2c3d4b5a697"));
    let folder = config.data_dir.clone();
    let running = Server::new("functions", "1.0.0")
        .relay("relay", aether_net::relay::RelaySettings::default())
        .rpc("whoami", |services, context, payload| async move {
            let user = context.caller.user().ok_or(ServiceError::invalid("Sign in first."))?.user;
            let account = services.accounts.account(user).await?;
            Ok(format!("{payload} {}", account.user.id))
        })
        .before::<operation::RpcFunc, _>(|_, mut request| async move {
            request.payload.insert(0, '>');
            Ok(Some(request))
        })
        .start(config)
        .await
        .expect("it starts");
    let mut client = ApiClient::new_user(running.http).await;
    let answer = client.post("/v2/rpc/WhoAmI", &json!("me")).await.expect("the server answers");
    let expected = json!({ "payload": format!(">me {}", client.user) });
    assert_eq!((answer.status, answer.json()), (200, expected));
    let missing = json!({ "code": 5, "error": "RPC function not found", "message": "RPC function not found" });
    let answer = client.get("/v2/rpc/later").await.expect("the server answers");
    assert_eq!((answer.status, answer.json()), (404, missing.clone()));

    let mut module = Module::default();
    module.functions.register_rpc("later", |_, _, payload| async { Ok(payload) }).expect("the name is free");
    running.services().calls.replace("later", module).expect("the module is good");
    let answer = client.get("/v2/rpc/later").await.expect("the server answers");
    assert_eq!((answer.status, answer.json()), (200, json!({ "payload": ">" })));
    running.services().calls.remove("later").expect("it may be removed");
    let answer = client.get("/v2/rpc/later").await.expect("the server answers");
    assert_eq!((answer.status, answer.json()), (404, missing));

    let mut backend = ApiClient::new(running.http);
    backend.authorize("");
    let answer = backend.get("/v2/rpc/whoami?payload=%22me%22&http_key=a0e1f2c3d4b5a697&").await;
    let refused = json!({ "code": 3, "error": "Sign in first.", "message": "Sign in first." });
    let answer = answer.expect("the server answers");
    assert_eq!((answer.status, answer.json()), (400, refused), "it has no user");
    let answer = backend.get("/v2/rpc/whoami?http_key=a0e1f2c3d4b5a698").await.expect("the server answers");
    let refused = json!({ "code": 16, "error": "HTTP key invalid", "message": "HTTP key invalid" });
    assert_eq!((answer.status, answer.json()), (401, refused));

    let metrics = running.registry().render();
    assert!(metrics.contains("aether_operation_duration_seconds_count{operation=\"RpcFunc\"} 6\n"), "{metrics}");
    running.stop(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(folder);
}
