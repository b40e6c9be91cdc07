//! Hooks before and after operations.

use aether_messages::api::{ReadStorageObjectId, ReadStorageObjectsRequest, StorageObjects};
use aether_messages::operation::ReadStorageObjects;
use aether_services::{CallContext, GrpcCode, Hooks, ServiceError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

async fn run(hooks: &Hooks, request: ReadStorageObjectsRequest) -> Result<StorageObjects, ServiceError> {
    let context = Arc::new(CallContext::server());
    let operation = |request: ReadStorageObjectsRequest| async move {
        let objects = request
            .object_ids
            .into_iter()
            .map(|id| aether_messages::api::StorageObject { key: id.key, ..Default::default() });
        Ok(StorageObjects { objects: objects.collect() })
    };
    hooks.run::<ReadStorageObjects, _>(&context, request, operation).await
}

fn request(key: &str) -> ReadStorageObjectsRequest {
    ReadStorageObjectsRequest { object_ids: vec![ReadStorageObjectId { key: key.into(), ..Default::default() }] }
}

#[tokio::test]
async fn an_operation_runs_without_hooks() {
    let answer = run(&Hooks::default(), request("a")).await.expect("there are no hooks");
    assert_eq!(answer.objects[0].key, "a");
}

#[tokio::test]
async fn before_hooks_change_the_request_in_their_order() {
    let mut hooks = Hooks::default();
    for letter in ["b", "c"] {
        hooks.before::<ReadStorageObjects, _>(move |_, mut request| async move {
            request.object_ids[0].key.push_str(letter);
            Ok(Some(request))
        });
    }
    assert_eq!(run(&hooks, request("a")).await.expect("it is changed").objects[0].key, "abc");
}

#[tokio::test]
async fn a_before_hook_rejects_or_discards_and_nothing_after_it_runs() {
    let after_calls = Arc::new(AtomicUsize::new(0));
    let mut hooks = Hooks::default();
    hooks.before::<ReadStorageObjects, _>(|_, request| async move {
        match request.object_ids[0].key.as_str() {
            "forbidden" => Err(ServiceError::new(GrpcCode::PermissionDenied, "not this one")),
            "hidden" => Ok(None),
            _ => Ok(Some(request)),
        }
    });
    let counted = Arc::clone(&after_calls);
    hooks.after::<ReadStorageObjects, _>(move |_, request, answer| {
        counted.fetch_add(1, Ordering::Relaxed);
        assert_eq!(request.object_ids[0].key, answer.objects[0].key);
        async {}
    });
    let rejected = run(&hooks, request("forbidden")).await.expect_err("it is rejected");
    assert_eq!((rejected.code, &*rejected.message), (GrpcCode::PermissionDenied, "not this one"));
    let gone = run(&hooks, request("hidden")).await.expect_err("the hook discards it");
    assert_eq!((gone.code, &*gone.message), (GrpcCode::NotFound, "Requested resource was not found."));
    assert_eq!(after_calls.load(Ordering::Relaxed), 0);
    run(&hooks, request("open")).await.expect("no hook rejects it");
    assert_eq!(after_calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn named_and_typed_hooks_run_in_order_of_registration() {
    let mut hooks = Hooks::default();
    for round in ["1", "2"] {
        hooks.before::<ReadStorageObjects, _>(move |_, mut request| async move {
            request.object_ids[0].key.push_str(round);
            Ok(Some(request))
        });
        let named = hooks.before_named("ReadStorageObjects", move |_, mut request| async move {
            let key = request["object_ids"][0]["key"].as_str().map(|key| format!("{key}{round}'"));
            request["object_ids"][0]["key"] = key.into();
            Ok(Some(request))
        });
        named.expect("there is such an operation");
    }
    assert_eq!(run(&hooks, request("a")).await.expect("it is changed").objects[0].key, "a11'22'");
    assert_eq!(hooks.len(), 4);
}

#[tokio::test]
async fn a_named_hook_rejects_discards_and_observes() {
    let seen = Arc::new(AtomicUsize::new(0));
    let mut hooks = Hooks::default();
    let named = hooks.before_named("ReadStorageObjects", |_, request| async move {
        match request["object_ids"][0]["key"].as_str() {
            Some("forbidden") => Err(ServiceError::new(GrpcCode::PermissionDenied, "not this one")),
            Some("hidden") => Ok(None),
            _ => Ok(Some(request)),
        }
    });
    named.expect("there is such an operation");
    for _ in 0..2 {
        let seen = Arc::clone(&seen);
        let named = hooks.after_named("ReadStorageObjects", move |_, request, answer| {
            assert_eq!(request["object_ids"][0]["key"], answer["objects"][0]["key"]);
            seen.fetch_add(1, Ordering::Relaxed);
            async {}
        });
        named.expect("there is such an operation");
    }
    assert_eq!(run(&hooks, request("forbidden")).await.expect_err("it is rejected").code, GrpcCode::PermissionDenied);
    assert_eq!(run(&hooks, request("hidden")).await.expect_err("the hook discards it").code, GrpcCode::NotFound);
    assert_eq!(seen.load(Ordering::Relaxed), 0);
    run(&hooks, request("open")).await.expect("no hook rejects it");
    assert_eq!(seen.load(Ordering::Relaxed), 2);
}

#[test]
fn a_hook_needs_the_name_of_an_operation() {
    let mut hooks = Hooks::default();
    for name in ["ReadStorageObject", "", "readStorageObjects"] {
        let rejected = hooks.before_named(name, |_, request| async { Ok(Some(request)) }).expect_err("it is none");
        assert_eq!(rejected.code, GrpcCode::NotFound, "{name}");
        let rejected = hooks.after_named(name, |_, _, _| async {}).expect_err("it is none");
        assert!(rejected.message.contains(name), "{rejected}");
    }
    assert!(hooks.is_empty());
    for name in ["CreateGroup", "ExportAccount", "SelectProfile"] {
        hooks.after_named(name, |_, _, _| async {}).expect("it is one, of the protocol or our own");
    }
}
