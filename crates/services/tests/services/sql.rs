//! SQL of server code, on every kind of database.

use crate::fixture::{error_of, fixtures};
use aether_services::GrpcCode;
use aether_services::sql::{ColumnValue, ROWS_MAX, SqlStatement};
use uuid::Uuid;

fn statement(text: &str, parameters: Vec<ColumnValue>) -> SqlStatement {
    SqlStatement::new(text, parameters).expect("the statement is allowed")
}

#[tokio::test]
async fn values_of_every_type_come_back() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let bytes = ColumnValue::Bytes(user.as_bytes().to_vec());
        let select =
            "SELECT id, username, created_at, email, CAST(1.5 AS DOUBLE PRECISION) AS half FROM users WHERE id = $1";
        let rows = statement(select, vec![bytes]).query(&fixture.store).await.expect("the query is valid");
        let found: Vec<(&str, &ColumnValue)> = rows[0].iter().map(|(name, value)| (name.as_str(), value)).collect();
        let id = match found[0].1 {
            ColumnValue::Uuid(id) => *id,
            ColumnValue::Bytes(bytes) => Uuid::from_slice(bytes).expect("an id has 16 bytes"),
            other => panic!("{other:?}"),
        };
        assert_eq!((found[0].0, id), ("id", user), "{}", fixture.name);
        assert_eq!(found[1], ("username", &ColumnValue::Text(user.to_string())));
        assert!(matches!(found[2], ("created_at", ColumnValue::Integer(_))), "{found:?}");
        assert_eq!(found[3], ("email", &ColumnValue::Null));
        assert_eq!(found[4], ("half", &ColumnValue::Real(1.5)));
    }
}

#[tokio::test]
async fn changes_are_counted_and_errors_are_told() {
    for fixture in fixtures().await {
        fixture.user().await;
        let rename = statement("UPDATE users SET display_name = $1", vec![ColumnValue::Text("Ann".to_owned())]);
        assert_eq!(rename.execute(&fixture.store).await, Ok(1), "{}", fixture.name);
        let (code, message) = error_of(statement("SELECT x FROM nowhere", Vec::new()).query(&fixture.store).await);
        assert_eq!(code, GrpcCode::InvalidArgument);
        assert!(message.starts_with("SQL failed: "), "{message}");
        let many = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i <= {ROWS_MAX}) SELECT i FROM n"
        );
        let (code, message) = error_of(statement(&many, Vec::new()).query(&fixture.store).await);
        assert_eq!(code, GrpcCode::InvalidArgument);
        assert!(message.contains("more than 1000 rows"), "{message}");
        let large = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900)
            SELECT CAST($1 AS TEXT) AS large FROM n";
        let large = statement(large, vec![ColumnValue::Text("x".repeat(5_000))]);
        assert_eq!(error_of(large.query(&fixture.store).await).0, GrpcCode::InvalidArgument, "4.5 MB are too many");
    }
}
