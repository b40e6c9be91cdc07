//! Modules that are replaced while calls run.

use crate::world::World;
use aether_messages::operation::RpcFunc;
use aether_services::GrpcCode;
use aether_services::calls::{Module, PROGRAM};
use http::Method;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Creates a module whose parts report its number: a hook before, the function, and a hook after.
fn numbered(number: usize, ended: &Arc<AtomicUsize>) -> Module {
    let mut module = Module::default();
    let named = module.hooks.before_named("RpcFunc", move |_, mut request| async move {
        // Long enough for a replacement in between.
        tokio::task::yield_now().await;
        request["payload"] = json!(format!("{number}"));
        Ok(Some(request))
    });
    named.expect("there is such an operation");
    let added = module.functions.register_rpc("number", move |_, _, payload| async move {
        tokio::task::yield_now().await;
        Ok(format!("{payload} {number}"))
    });
    added.expect("the name is free");
    let ended = Arc::clone(ended);
    module.hooks.after::<RpcFunc, _>(move |_, request, answer| {
        assert_eq!((&*request.payload, &*answer.payload), (&*format!("{number}"), &*format!("{number} {number}")));
        ended.fetch_add(1, Ordering::Relaxed);
        async {}
    });
    module
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn replacing_a_module_under_load_neither_loses_nor_mixes_calls() {
    const CALLERS: usize = 4;
    const CALLS: usize = 500;
    let world = World::new(|_| {}).await;
    let (services, context) = (Arc::clone(world.services()), world.context(&world.player().await));
    let (ended, over) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicBool::new(false)));
    services.calls.replace("game", numbered(0, &ended)).expect("the module is valid");
    let replacing = {
        let (services, ended, over) = (Arc::clone(&services), Arc::clone(&ended), Arc::clone(&over));
        tokio::spawn(async move {
            let mut number = 0;
            while !over.load(Ordering::Relaxed) {
                number += 1;
                services.calls.replace("game", numbered(number, &ended)).expect("the module is valid");
                tokio::task::yield_now().await;
            }
            number
        })
    };
    let callers: Vec<_> = (0..CALLERS)
        .map(|_| {
            let (services, context) = (Arc::clone(&services), Arc::clone(&context));
            tokio::spawn(async move {
                for _ in 0..CALLS {
                    let answer = services.call_function("number", &context, String::new()).await;
                    let answer = answer.expect("the function always exists");
                    let (hook, function) = answer.split_once(' ').expect("both report their number");
                    assert_eq!(hook, function, "hook and function are of one module");
                }
            })
        })
        .collect();
    for caller in callers {
        caller.await.expect("no call is lost");
    }
    over.store(true, Ordering::Relaxed);
    let replaced = replacing.await.expect("every replacement is done");
    assert!(replaced > 10, "{replaced} replacements");
    assert_eq!(ended.load(Ordering::Relaxed), CALLERS * CALLS, "the hook after each call has run");
    assert_eq!(services.calls.modules(), [PROGRAM, "game"]);
}

#[tokio::test]
async fn a_running_call_keeps_its_modules() {
    let world = World::new(|_| {}).await;
    let (services, context) = (Arc::clone(world.services()), world.context(&world.player().await));
    let (reached, go_on) = (Arc::new(tokio::sync::Notify::new()), Arc::new(tokio::sync::Notify::new()));
    let mut module = Module::default();
    let (notify_reached, resume) = (Arc::clone(&reached), Arc::clone(&go_on));
    module.hooks.before::<RpcFunc, _>(move |_, request| {
        let (notify_reached, resume) = (Arc::clone(&notify_reached), Arc::clone(&resume));
        async move {
            notify_reached.notify_one();
            resume.notified().await;
            Ok(Some(request))
        }
    });
    module.functions.register_rpc("which", |_, _, _| async { Ok("old".to_owned()) }).expect("the name is free");
    services.calls.replace("game", module).expect("the module is valid");
    let call = {
        let (services, context) = (Arc::clone(&services), Arc::clone(&context));
        tokio::spawn(async move { services.call_function("which", &context, String::new()).await })
    };
    reached.notified().await;
    let mut module = Module::default();
    module.functions.register_rpc("which", |_, _, _| async { Ok("new".to_owned()) }).expect("the name is free");
    services.calls.replace("game", module).expect("the module is valid");
    assert_eq!(services.call_function("which", &context, String::new()).await.as_deref(), Ok("new"));
    services.calls.remove("game").expect("it may be removed");
    let gone = services.call_function("which", &context, String::new()).await.expect_err("it is removed");
    assert_eq!(gone.code, GrpcCode::NotFound);
    go_on.notify_one();
    assert_eq!(call.await.expect("it ends").as_deref(), Ok("old"));
}

#[tokio::test]
async fn modules_run_after_the_program_in_the_order_of_registration() {
    let world = World::new(|services| {
        services.hooks.before::<RpcFunc, _>(|_, mut request| async move {
            request.payload.push_str("program ");
            Ok(Some(request))
        });
    })
    .await;
    let hooked = |word: &'static str| {
        let mut module = Module::default();
        module.hooks.before::<RpcFunc, _>(move |_, mut request| async move {
            request.payload.push_str(word);
            Ok(Some(request))
        });
        module
    };
    let mut echo = Module::default();
    echo.functions.register_rpc("echo", |_, _, payload| async { Ok(payload) }).expect("the name is free");
    let calls = &world.services().calls;
    for (name, module) in [("echo", echo), ("b", hooked("b ")), ("a", hooked("a ")), ("b", hooked("new-b "))] {
        calls.replace(name, module).expect("the module is valid");
    }
    let player = world.player().await;
    let (_, answer) = world.ask(Some(&player), Method::POST, "/v2/rpc/echo", "").await;
    assert_eq!(answer["payload"], "program new-b a ", "a replaced module keeps its position");
}

#[tokio::test]
async fn a_rejected_module_changes_nothing() {
    let world = World::new(|_| {}).await;
    let calls = &world.services().calls;
    let with = |names: &[&str]| {
        let mut module = Module::default();
        for name in names {
            module.functions.register_rpc(name, |_, _, payload| async { Ok(payload) }).expect("the name is free");
        }
        module
    };
    calls.replace("one", with(&["a", "b"])).expect("the module is valid");
    let refused = calls.replace("two", with(&["B", "c"])).expect_err("b is taken");
    assert_eq!(refused.code, GrpcCode::AlreadyExists);
    assert_eq!(calls.replace(PROGRAM, with(&["d"])).expect_err("it is the program").code, GrpcCode::InvalidArgument);
    assert_eq!(
        (calls.functions(), calls.modules()),
        (vec!["a".into(), "b".into()], vec![PROGRAM.into(), "one".into()])
    );
    calls.replace("one", with(&["b", "c"])).expect("a module may reuse its own names");
    assert_eq!(calls.functions(), ["b", "c"]);
}
