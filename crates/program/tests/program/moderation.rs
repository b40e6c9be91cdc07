//! `aether admin report`, `mute` and `values` beside a running server.

use crate::support::program;
use aether_testkit_server::{ApiClient, DEADLINE, Process, command};
use serde_json::json;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread")]
async fn an_operator_resolves_reports_mutes_players_and_sets_remote_values() {
    let path = std::env::temp_dir().join(format!("aether-moderation-{}", uuid::Uuid::new_v4().simple()));
    let folder = path.to_str().expect("the path is UTF-8");
    let server = Process::serve(program(), &path, &["log.filter=warn", "database.url=memory"]).await;
    let (mut reporter, target) = (ApiClient::new_user(server.http).await, ApiClient::new_user(server.http).await);
    let address = server.admin.to_string();
    let run = async |action: &[&str]| {
        let arguments = [&["admin"], action, &["--data-dir", folder, "--admin-address", &address]].concat();
        let output = timeout(DEADLINE, command(program(), &arguments).output()).await.expect("it ends");
        let output = output.expect("it runs");
        let text = if output.status.success() { output.stdout } else { output.stderr };
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    };
    let report = json!({ "user_id": target.user, "category": "spam", "text": "sells gold" });
    let filed = reporter.post("/v2/report", &report).await.expect("the server answers").json();
    let id = filed["id"].as_str().expect("a report has an id");
    let (_, listed) = run(&["report", "list"]).await;
    assert!(listed.contains(id) && listed.contains("sells gold"), "{listed}");
    let (_, statements) = run(&["report", "statements", id]).await;
    assert!(statements.contains("spam"), "{statements}");
    let (is_done, resolved) = run(&["report", "resolve", id, "muted", "--seconds", "60", "--reason", "spam"]).await;
    assert!(is_done && resolved.contains("resolved\t1\n"), "{resolved}");
    let (_, history) = run(&["report", "history", id]).await;
    assert!(history.contains("mutes\t1\n"), "{history}");
    assert!(run(&["mutes"]).await.1.contains(&target.user));
    assert!(run(&["unmute", &target.user]).await.1.contains("muted\tfalse\n"));
    assert_eq!(run(&["mutes"]).await.1, "nothing to list\n");
    assert!(run(&["mute", &target.user]).await.1.contains("muted\ttrue\n"));

    let rules = path.with_extension("json");
    let rule = json!([{ "if": { "users": [reporter.user] }, "value": 7 }]);
    std::fs::write(&rules, rule.to_string()).expect("the file can be written");
    let (is_set, set) = run(&["values", "set", "limit", "5", "--rules", rules.to_str().expect("UTF-8")]).await;
    assert!(is_set && set.contains("version\t1\n"), "{set}");
    let values = reporter.get("/v2/values").await.expect("the server answers").json();
    assert_eq!(values["values"], json!({ "limit": 7 }));
    assert!(run(&["values", "list"]).await.1.contains("limit"));
    let (is_set, error) = run(&["values", "set", "limit", "red"]).await;
    assert!(!is_set && error.contains("is not JSON"), "{error}");
    assert!(run(&["values", "delete", "limit"]).await.0);
    assert!(!run(&["values", "show", "limit"]).await.0);
    server.kill().await;
    let _ = std::fs::remove_dir_all(&path);
    let _ = std::fs::remove_file(&rules);
    let _ = std::fs::remove_file(path.with_extension("log"));
}
