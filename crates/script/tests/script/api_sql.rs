//! SQL.

use crate::api_support::Calls;
use aether_store::Database;
use serde_json::{Value, json};

#[tokio::test(flavor = "multi_thread")]
async fn sql_is_off_unless_a_setting_allows_it() {
    let mut calls = Calls::start().await;
    calls.fails("sql_query", &[json!("SELECT 1 AS one")], "set `sql = true` in the section [script]").await;
    calls.fails("sql_exec", &[json!("DELETE FROM users")], "set `sql = true` in the section [script]").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn statements_change_and_return_rows() {
    let databases = [Some(aether_testkit_store::memory()), aether_testkit_store::postgres()];
    for database in databases.into_iter().flatten() {
        let url = match &database.database {
            Database::Postgres(url) => Some(url.clone()),
            _ => None,
        };
        let mut calls = Calls::start_with(|config| {
            config.script.sql = true;
            if let Some(url) = url {
                config.database.url = Some(aether_testkit_server::aether_server::config::Secret::new(url));
            }
        })
        .await;
        let table = "CREATE TABLE script_items (id BIGINT, name TEXT, price DOUBLE PRECISION, sold BOOLEAN)";
        assert_eq!(calls.first("sql_exec", &[json!(table)]).await, json!(0));
        let insert =
            json!("INSERT INTO script_items (id, name, price, sold) VALUES ($1, $2, $3, $4), (2, 'b', 1, FALSE)");
        let changed = calls.first("sql_exec", &[insert, json!([1, "a $1", 2.5, true])]).await;
        assert_eq!(changed, json!(2), "{}", database.name);
        let select = json!("SELECT id, name, price, NULL AS missing FROM script_items WHERE id <= $1 ORDER BY id");
        let rows = calls.first("sql_query", &[select, json!([2])]).await;
        let expected = json!([{ "id": 1, "name": "a $1", "price": 2.5 }, { "id": 2, "name": "b", "price": 1 }]);
        assert_eq!(rows, expected, "{}", database.name);
        let returned = json!("DELETE FROM script_items WHERE name = $1 RETURNING id");
        assert_eq!(calls.first("sql_query", &[returned, json!(["b"])]).await, json!([{ "id": 2 }]));
        assert_eq!(calls.first("sql_exec", &[json!("UPDATE script_items SET price = 3")]).await, json!(1));
        calls.fails("sql_query", &[json!("SELECT x FROM nowhere")], "SQL failed").await;
        calls.fails("sql_exec", &[json!("COMMIT")], "cannot begin with `commit`").await;
        calls.fails("sql_query", &[json!("SELECT 1"), json!([[1]])], "argument 2 (`parameters`)").await;
        let many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1001) SELECT i FROM n";
        calls.fails("sql_query", &[json!(many)], "more than 1000 rows").await;
        assert_eq!(calls.first("sql_exec", &[json!("DROP TABLE script_items")]).await, json!(0));
        assert_eq!(calls.ok("sql_query", &[json!("SELECT 1 AS one"), Value::Null]).await["a"], json!([{ "one": 1 }]));
        calls.stop().await;
    }
}
