//! HTTP routes of scripts.

use crate::support::ScriptServer;
use aether_testkit_server::ApiClient;
use serde_json::json;

const ROUTES: &str = r#"
local nk = require("nakama")

aether.register_http("POST", "/shop/paid", function(context, request)
    local answer = {
        mode = context.execution_mode,
        user = context.user_id,
        method = request.method,
        path = request.path,
        body = request.body,
        query = request.query,
        signature = request.headers["x-signature"][1],
    }
    return {
        status = 201,
        headers = { ["content-type"] = "application/json", ["X-Shop"] = "open" },
        body = nk.json_encode(answer),
    }
end)

aether.register_http("GET", "/files/*", function(_, request)
    return request.path
end)

aether.register_http("DELETE", "/nothing", function() end)

aether.register_http("GET", "/fail", function(_, request)
    if request.query.code then
        error({ "closed on sundays", 9 })
    end
    return 7
end)

aether.register_http("GET", "/missing", function()
    return { status = 404, body = "not on the shelf" }
end)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_route_gets_the_request_and_answers_with_status_headers_and_body() {
    let scripts = ScriptServer::start(&[("routes", ROUTES)]).await;
    let mut client = ApiClient::new(scripts.server.http).with_header("x-signature", "abc");
    let answer = client.send("POST", "/custom/shop/paid?a=1", "ten coins").await.expect("the server answers");
    assert_eq!(answer.status, 201, "{}", answer.body);
    assert!(answer.head.contains("x-shop: open") && answer.head.contains("content-type: application/json"));
    let expected = json!({
        "mode": "http", "method": "POST", "path": "/shop/paid", "body": "ten coins",
        "query": { "a": ["1"] }, "signature": "abc",
    });
    assert_eq!(answer.json(), expected);
    let below = client.get("/custom/files/a/b.txt").await.expect("the server answers");
    assert_eq!((below.status, below.body.as_str()), (200, "/files/a/b.txt"));
    let nothing = client.send("DELETE", "/custom/nothing", "").await.expect("the server answers");
    assert_eq!((nothing.status, nothing.body.as_str()), (204, ""));
    let missing = client.get("/custom/missing").await.expect("the server answers");
    assert_eq!((missing.status, missing.body.as_str()), (404, "not on the shelf"));
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_routes_have_a_status_and_a_sentence() {
    let scripts = ScriptServer::start(&[("routes", ROUTES)]).await;
    let mut client = ApiClient::new(scripts.server.http);
    let refused = client.get("/custom/fail?code=1").await.expect("the server answers");
    assert_eq!((refused.status, &refused.json()["error"]), (400, &json!("closed on sundays")));
    let broken = client.get("/custom/fail").await.expect("the server answers");
    assert_eq!(broken.status, 500);
    assert!(broken.body.contains("must return a table, a string or nil"), "{}", broken.body);
    let unknown = client.get("/custom/unknown").await.expect("the server answers");
    assert_eq!((unknown.status, &unknown.json()["code"]), (404, &json!("not_found")));
    let other = client.send("PUT", "/custom/shop/paid", "").await.expect("the server answers");
    assert_eq!(other.status, 405);
    assert!(other.head.contains("allow: post"), "{}", other.head);
    let long = "x".repeat(262_145);
    let refused = client.send("POST", "/custom/shop/paid", long).await.expect("the server answers");
    assert_eq!(refused.status, 400, "{}", refused.body);
    scripts.stop().await;
}
