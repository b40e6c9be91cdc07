//! Limits of registrations and of calls by name.

use crate::world::World;
use aether_services::calls::{
    FUNCTION_NAME_BYTES_MAX, FUNCTIONS_MAX, Functions, HOOKS_MAX, MATCH_TYPE_NAME_BYTES_MAX, MATCH_TYPES_MAX,
    MODULE_NAME_BYTES_MAX, MODULES_MAX, MatchTypes, Module, PAYLOAD_BYTES_MAX,
};
use aether_services::matches::MatchType;
use aether_services::{CallContext, GrpcCode, Hooks, ServiceError};
use std::sync::Arc;

fn add(functions: &mut Functions, name: &str) -> Result<(), ServiceError> {
    functions.register_rpc(name, |_, _, payload| async { Ok(payload) })
}

#[tokio::test]
async fn empty_long_and_duplicate_names_are_rejected() {
    let mut functions = Functions::default();
    let longest = "x".repeat(FUNCTION_NAME_BYTES_MAX);
    add(&mut functions, &longest).expect("it is within the limit");
    for name in ["", &format!("{longest}x")] {
        assert_eq!(add(&mut functions, name).expect_err("the name is invalid").code, GrpcCode::InvalidArgument);
    }
    assert_eq!(
        add(&mut functions, &longest.to_uppercase()).expect_err("the name is in use").code,
        GrpcCode::AlreadyExists
    );
    assert_eq!(functions.len(), 1);
    let world = World::new(|_| {}).await;
    let calls = &world.services().calls;
    let longest = "m".repeat(MODULE_NAME_BYTES_MAX);
    calls.replace(&longest, Module { functions, ..Module::default() }).expect("it is within the limit");
    for name in ["", &format!("{longest}m")] {
        assert_eq!(
            calls.replace(name, Module::default()).expect_err("the name is invalid").code,
            GrpcCode::InvalidArgument
        );
    }
}

#[tokio::test]
async fn functions_are_limited_per_module_and_in_total() {
    let full = || {
        let mut functions = Functions::default();
        for number in 0..FUNCTIONS_MAX {
            add(&mut functions, &format!("f{number}")).expect("the limit is not reached");
        }
        functions
    };
    let mut functions = full();
    assert_eq!(add(&mut functions, "one more").expect_err("the limit is reached").code, GrpcCode::ResourceExhausted);
    let world = World::new(|_| {}).await;
    let calls = &world.services().calls;
    calls.replace("full", Module { functions, ..Module::default() }).expect("it is within the limit");
    let mut more = Functions::default();
    add(&mut more, "more").expect("the limit is not reached");
    let refused =
        calls.replace("more", Module { functions: more, ..Module::default() }).expect_err("it exceeds the limit");
    assert_eq!(refused.code, GrpcCode::ResourceExhausted);
    calls.replace("full", Module { functions: full(), ..Module::default() }).expect("it takes the place of its own");
}

struct Named(String);

impl MatchType for Named {
    fn name(&self) -> &str {
        &self.0
    }
}

#[tokio::test]
async fn match_types_are_limited_per_module_and_in_total() {
    let full = || {
        let mut match_types = MatchTypes::default();
        for number in 0..MATCH_TYPES_MAX {
            match_types.register(Arc::new(Named(format!("t{number}")))).expect("the limit is not reached");
        }
        match_types
    };
    let mut match_types = full();
    let refused = match_types.register(Arc::new(Named("one more".into()))).expect_err("the limit is reached");
    assert_eq!(refused.code, GrpcCode::ResourceExhausted);
    let world = World::new(|_| {}).await;
    let calls = &world.services().calls;
    calls.replace("full", Module { match_types, ..Module::default() }).expect("it is within the limit");
    let mut more = MatchTypes::default();
    more.register(Arc::new(Named("x".repeat(MATCH_TYPE_NAME_BYTES_MAX)))).expect("it is within the limit");
    for name in [String::new(), "x".repeat(MATCH_TYPE_NAME_BYTES_MAX + 1)] {
        let refused = more.register(Arc::new(Named(name))).expect_err("the name is invalid");
        assert_eq!(refused.code, GrpcCode::InvalidArgument);
    }
    let taken = more.register(Arc::new(Named("x".repeat(MATCH_TYPE_NAME_BYTES_MAX)))).expect_err("the name is in use");
    assert_eq!((taken.code, more.len()), (GrpcCode::AlreadyExists, 1));
    let refused =
        calls.replace("more", Module { match_types: more, ..Module::default() }).expect_err("it exceeds the limit");
    assert_eq!(refused.code, GrpcCode::ResourceExhausted);
    calls.replace("full", Module { match_types: full(), ..Module::default() }).expect("it takes the place of its own");
    assert_eq!(calls.match_types().len(), MATCH_TYPES_MAX);
}

#[tokio::test]
async fn modules_and_their_hooks_are_limited() {
    let world = World::new(|_| {}).await;
    let calls = &world.services().calls;
    let with_hooks = |count: usize| {
        let mut hooks = Hooks::default();
        for _ in 0..count {
            hooks.before_named("GetAccount", |_, request| async { Ok(Some(request)) }).expect("it is an operation");
        }
        Module { hooks, ..Module::default() }
    };
    calls.replace("hooks", with_hooks(HOOKS_MAX)).expect("it is within the limit");
    let refused = calls.replace("hooks", with_hooks(HOOKS_MAX + 1)).expect_err("it exceeds the limit");
    assert_eq!(refused.code, GrpcCode::ResourceExhausted);
    for number in calls.modules().len()..MODULES_MAX {
        calls.replace(&format!("m{number}"), Module::default()).expect("the limit is not reached");
    }
    let refused = calls.replace("one more", Module::default()).expect_err("the limit is reached");
    assert_eq!(refused.code, GrpcCode::ResourceExhausted);
}

#[tokio::test]
async fn a_payload_is_limited() {
    let world = World::new(|_| {}).await;
    let (services, server) = (world.services(), Arc::new(CallContext::server()));
    let mut functions = Functions::default();
    add(&mut functions, "echo").expect("the name is free");
    services.calls.replace("test", Module { functions, ..Module::default() }).expect("the module is valid");
    let call = async |bytes: usize| services.call_bytes("echo", &server, vec![b'x'; bytes]).await;
    assert!(call(PAYLOAD_BYTES_MAX).await.is_ok());
    assert_eq!(call(PAYLOAD_BYTES_MAX + 1).await.expect_err("it is too long").code, GrpcCode::InvalidArgument);
}
