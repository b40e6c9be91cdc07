//! RPC functions.

use crate::support::{ScriptServer, rpc};
use serde_json::json;

const ECHO: &str = r#"
local nk = require("nakama")

local function echo(context, payload)
    local value = nk.json_decode(payload)
    value.user = context.user_id
    return nk.json_encode(value)
end
nk.register_rpc(echo, "Echo")

nk.register_rpc(function(context)
    local objects = nk.storage_read({ { collection = "bag", key = "1", user_id = context.user_id } })
    local wrapped = coroutine.wrap(function()
        return aether.storage_get(context.user_id, "bag", "1")
    end)
    return nk.json_encode({ objects = objects, value = wrapped() })
end, "bag")

nk.register_rpc(function(context, payload)
    if payload == '"table"' then
        error({ "not today", 9 })
    end
    local ok, problem = pcall(nk.storage_read, { { collection = 1 } })
    error("plain: " .. tostring(problem))
end, "fail")
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_function_answers_with_the_context_of_the_caller() {
    let scripts = ScriptServer::start(&[("echo", ECHO)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = rpc(&mut user, "echo", &json!({ "a": [1, 2, "x"] })).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["a"], json!([1, 2, "x"]));
    assert_eq!(answer["user"].as_str().map(str::len), Some(36));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_of_a_service_waits_also_inside_a_coroutine_of_the_script() {
    let scripts = ScriptServer::start(&[("echo", ECHO)]).await;
    let mut user = scripts.user().await;
    let object = json!({ "collection": "bag", "key": "1", "value": "{\"gold\":7}" });
    user.put("/v2/storage", &json!({ "objects": [object] })).await.expect("the server answers");
    let (status, answer) = rpc(&mut user, "bag", &json!({})).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["objects"][0]["value"], json!({ "gold": 7 }));
    assert_eq!(answer["value"], json!({ "gold": 7 }));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_have_the_code_of_the_script_and_its_line() {
    let scripts = ScriptServer::start(&[("echo", ECHO)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = rpc(&mut user, "fail", &json!("table")).await;
    assert_eq!((status, &answer["code"], &answer["message"]), (400, &json!(9), &json!("not today")));
    let (status, answer) = rpc(&mut user, "fail", &json!("text")).await;
    assert_eq!((status, &answer["code"]), (500, &json!(13)));
    let message = answer["message"].as_str().expect("a message");
    assert!(message.starts_with("echo:24: plain: ") && message.contains("argument 1 (`keys`)"), "{message}");
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_argument_that_cannot_leave_the_script_is_an_error_at_its_line() {
    let module = "local nk = require('nakama')\nnk.register_rpc(function()\n\
                  local ok, problem = pcall(nk.storage_read, { print })\n\
                  return nk.json_encode({ ok = ok, problem = problem })\nend, 'caught')\n\
                  nk.register_rpc(function()\n\nnk.storage_read({ print })\nend, 'raised')";
    let scripts = ScriptServer::start(&[("shop", module)]).await;
    let mut user = scripts.user().await;
    let (status, answer) = rpc(&mut user, "caught", &json!({})).await;
    assert_eq!((status, &answer["ok"]), (200, &json!(false)), "{answer}");
    assert!(answer["problem"].as_str().is_some_and(|text| text.contains("a function cannot leave the script")));
    let (status, answer) = rpc(&mut user, "raised", &json!({})).await;
    let message = answer["message"].as_str().unwrap_or_default();
    assert!(status == 500 && message.starts_with("shop:8: a function cannot leave the script"), "{message}");
    scripts.stop().await;
}
