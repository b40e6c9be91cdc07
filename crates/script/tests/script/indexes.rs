//! Storage indexes of scripts.

use crate::support::ScriptServer;
use aether_testkit_server::aether_server::services::Caller;
use aether_testkit_server::aether_server::services::storage::IndexQuery;
use serde_json::json;

const INDEX: &str = r#"
local nk = require("nakama")
nk.register_storage_index("heroes", "hero", nil, { "name", "level" }, { "level" }, 100, false)
nk.register_storage_index_filter("heroes", function(context, object)
    return context.execution_mode == "storage_index_filter" and object.value.level >= 10
end)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_script_registers_an_index_with_a_filter() {
    let scripts = ScriptServer::start(&[("index", INDEX)]).await;
    let mut user = scripts.user().await;
    for (key, level) in [("a", 5), ("b", 10), ("c", 30)] {
        let value = json!({ "name": key, "level": level }).to_string();
        let object = json!({ "collection": "hero", "key": key, "value": value, "permission_read": 2 });
        user.put("/v2/storage", &json!({ "objects": [object] })).await.expect("the server answers");
    }
    let services = scripts.server.services();
    assert_eq!(services.storage.index_names(), ["heroes"]);
    let query = IndexQuery {
        index: "heroes".to_owned(),
        query: String::new(),
        order: vec!["-value.level".to_owned()],
        limit: 10,
        cursor: String::new(),
    };
    let found = services.storage.list_index(&Caller::Server, &query).await.expect("the index is searched");
    let keys: Vec<&str> = found.objects.iter().map(|object| object.id.key.as_str()).collect();
    assert_eq!(keys, ["c", "b"]);
    scripts.stop().await;
}
