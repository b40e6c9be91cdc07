//! One operation called by type, by name and over HTTP.

use crate::world::{ApiParts, World};
use aether_messages::api::{ReadStorageObjectId, ReadStorageObjectsRequest};
use aether_messages::operation::{ReadStorageObjects, WriteStorageObjects};
use aether_metrics::Registry;
use aether_services::calls::Module;
use aether_services::{CallContext, GrpcCode, ServiceError};
use http::Method;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};

type Noted = Arc<Mutex<Vec<String>>>;

fn taken(noted: &Noted) -> Vec<String> {
    std::mem::take(&mut *noted.lock().expect("the lock is not poisoned"))
}

/// Creates a module with a hook of each kind for reads; each hook notes its call.
fn module(noted: &Noted) -> Module {
    let mut module = Module::default();
    let note = |name: &'static str| {
        let noted = Arc::clone(noted);
        move || noted.lock().expect("the lock is not poisoned").push(name.to_owned())
    };
    let (first, second, third, fourth) =
        (note("before by type"), note("before by name"), note("after by name"), note("after by type"));
    module.hooks.before::<ReadStorageObjects, _>(move |_, request| {
        first();
        async { Ok(Some(request)) }
    });
    let named = module.hooks.before_named("ReadStorageObjects", move |context, mut request: Value| {
        second();
        assert!(context.caller.user().is_some(), "a hook gets the caller");
        async move {
            request["object_ids"][0]["key"] = json!("one");
            Ok(Some(request))
        }
    });
    named.expect("there is such an operation");
    let named = module.hooks.after_named("ReadStorageObjects", move |_, request, answer| {
        third();
        assert_eq!((&request["object_ids"][0]["key"], &answer["objects"][0]["key"]), (&json!("one"), &json!("one")));
        async {}
    });
    named.expect("there is such an operation");
    module.hooks.after::<ReadStorageObjects, _>(move |_, request, answer| {
        fourth();
        assert_eq!(request.object_ids[0].key, answer.objects[0].key);
        async {}
    });
    module
}

#[tokio::test]
async fn an_operation_is_the_same_by_type_by_name_and_over_http() {
    let (registry, noted) = (Registry::new(), Noted::default());
    let world = World::with_parts(|_| {}, ApiParts { registry: registry.clone(), ..ApiParts::default() }).await;
    let player = world.player().await;
    let (services, context) = (world.services(), world.context(&player));
    services.calls.replace("test", module(&noted)).expect("the module is valid");
    let write = json!({ "objects": [{ "collection": "saves", "key": "one", "value": "{\"level\":3}" }] });
    services.call_json("WriteStorageObjects", &context, write).await.expect("it is written");
    // The hook by name corrects the key.
    let id = ReadStorageObjectId { collection: "saves".into(), key: "other".into(), user_id: player.id.to_string() };
    let request = ReadStorageObjectsRequest { object_ids: vec![id] };
    let json = serde_json::to_value(&request).expect("the value is JSON");

    let by_type = services.call::<ReadStorageObjects>(&context, request).await.expect("it is read");
    let turns = ["before by type", "before by name", "after by name", "after by type"];
    assert_eq!(taken(&noted), turns);
    let by_name = services.call_json("ReadStorageObjects", &context, json.clone()).await.expect("it is read");
    assert_eq!(taken(&noted), turns);
    let (status, over_http) = world.ask(Some(&player), Method::POST, "/v2/storage", &json.to_string()).await;
    assert_eq!(taken(&noted), turns);

    assert_eq!((status, &over_http["objects"][0]["value"]), (200, &json!("{\"level\":3}")));
    assert_eq!(by_name, over_http);
    assert_eq!(serde_json::to_value(by_type).expect("the value is JSON"), over_http);
    let text = registry.render();
    assert!(text.contains("aether_operation_duration_seconds_count{operation=\"ReadStorageObjects\"} 3\n"), "{text}");
}

#[tokio::test]
async fn an_error_is_the_same_and_counted_the_same() {
    let registry = Registry::new();
    let world = World::with_parts(|_| {}, ApiParts { registry: registry.clone(), ..ApiParts::default() }).await;
    let player = world.player().await;
    let (services, context) = (world.services(), world.context(&player));
    let mut module = Module::default();
    module.hooks.before::<WriteStorageObjects, _>(|_, request| async move {
        match request.objects.len() {
            0 => Ok(None),
            _ => Err(ServiceError::new(GrpcCode::PermissionDenied, "Not today.")),
        }
    });
    services.calls.replace("test", module).expect("the module is valid");
    let cases = [
        (json!({}), 404, GrpcCode::NotFound, "Requested resource was not found."),
        (json!({ "objects": [{}] }), 403, GrpcCode::PermissionDenied, "Not today."),
    ];
    for (request, status, code, sentence) in cases {
        let typed = serde_json::from_value(request.clone()).expect("the request is valid");
        let by_type = services.call::<WriteStorageObjects>(&context, typed).await.expect_err("it is refused");
        let by_name = services.call_json("WriteStorageObjects", &context, request.clone()).await;
        assert_eq!(by_name.expect_err("it is refused"), by_type);
        assert_eq!((by_type.code, &*by_type.message), (code, sentence));
        let over_http = world.ask(Some(&player), Method::PUT, "/v2/storage", &request.to_string()).await;
        assert_eq!(over_http, (status, json!({ "code": code as u8, "message": sentence })));
        let line = format!(
            "aether_operations_refused_total{{code=\"{}\",operation=\"WriteStorageObjects\"}} 3\n",
            code.name()
        );
        assert!(registry.render().contains(&line), "{line}");
    }
}

#[tokio::test]
async fn a_hook_that_returns_an_invalid_request_is_an_internal_error() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let mut module = Module::default();
    let named = module.hooks.before_named("GetUsers", |_, _| async { Ok(Some(json!({ "ids": 7 }))) });
    named.expect("there is such an operation");
    world.services().calls.replace("test", module).expect("the module is valid");
    let refused = world.ask(Some(&player), Method::GET, "/v2/user", "").await;
    assert_eq!(refused, (500, json!({ "code": 13, "message": "An internal error occurred." })));
}

#[tokio::test]
async fn access_is_the_same_by_name() {
    let world = World::new(|_| {}).await;
    let stranger = Arc::new(CallContext::from_address(aether_services::Caller::Anonymous, [127, 0, 0, 1].into()));
    let refused = world.services().call_json("GetUsers", &stranger, json!({})).await.expect_err("they are nobody");
    assert_eq!((refused.code, &*refused.message), (GrpcCode::Unauthenticated, "Auth token required"));
    assert_eq!(
        world.ask(None, Method::GET, "/v2/user", "").await,
        (401, json!({ "code": 16, "message": "Auth token required" }))
    );
    let device = json!({ "account": { "id": "a device of the tests" } });
    let session = world.services().call_json("AuthenticateDevice", &stranger, device).await.expect("they sign in");
    assert!(session["token"].is_string() && session["created"] == true, "{session}");
    let own = Arc::new(CallContext::server());
    let users = world.services().call_json("GetUsers", &own, json!({})).await.expect("the server may all");
    assert_eq!(users, json!({}));
}
