//! Values of all types.

use crate::on_each;
use aether_store::{Dialect, SqlValue, Store, StoreError, values};
use uuid::Uuid;

/// A row of each type.
#[derive(Clone, Debug, PartialEq)]
struct Sample {
    id: Uuid,
    integer: Option<i64>,
    real: Option<f64>,
    boolean: Option<bool>,
    text: Option<String>,
    bytes: Option<Vec<u8>>,
}

async fn make_samples(store: &Store) {
    let make = store.write(|transaction| {
        let bytes = match transaction.dialect() {
            Dialect::Sqlite => "BLOB",
            Dialect::Postgres => "BYTEA",
        };
        let make = format!(
            "CREATE TABLE samples (id UUID PRIMARY KEY, integer BIGINT, real DOUBLE PRECISION, boolean BOOLEAN, text TEXT,
                bytes {bytes})"
        );
        transaction.execute(&make, &[])
    });
    make.await.unwrap();
}

async fn write(store: &Store, sample: &Sample) -> Result<u64, StoreError> {
    let sample = sample.clone();
    let insert = "INSERT INTO samples (id, integer, real, boolean, text, bytes) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    let operation = store.write(move |transaction| {
        let bytes = sample.bytes.as_deref().map_or(SqlValue::Null, SqlValue::Bytes);
        let Sample { id, integer, real, boolean, text, .. } = &sample;
        transaction
            .execute(insert, &[id.into(), (*integer).into(), (*real).into(), (*boolean).into(), text.into(), bytes])
    });
    operation.await
}

async fn samples(store: &Store) -> Vec<Sample> {
    let select = "SELECT id, integer, real, boolean, text, bytes FROM samples ORDER BY id";
    let read = store.read(move |transaction| {
        transaction.rows(select, &[], |row| {
            Ok(Sample {
                id: row.get(0)?,
                integer: row.get(1)?,
                real: row.get(2)?,
                boolean: row.get(3)?,
                text: row.get(4)?,
                bytes: row.get(5)?,
            })
        })
    });
    read.await.unwrap()
}

fn sample(number: u128, integer: i64, real: f64, text: &str, bytes: &[u8]) -> Sample {
    let (integer, real, boolean) = (Some(integer), Some(real), Some(number.is_multiple_of(2)));
    Sample {
        id: Uuid::from_u128(number),
        integer,
        real,
        boolean,
        text: Some(text.to_owned()),
        bytes: Some(bytes.to_vec()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_all_types_survive_a_round_trip() {
    on_each(async |name, store| {
        make_samples(&store).await;
        let nothing = Sample { id: Uuid::nil(), integer: None, real: None, boolean: None, text: None, bytes: None };
        let all = [
            nothing,
            sample(1, i64::MIN, f64::MIN_POSITIVE, "", b""),
            sample(2, i64::MAX, f64::MAX, "Grüße, 世界 \u{1F3AE} \u{10FFFF} e\u{301}", &(0..=255).collect::<Vec<u8>>()),
            sample(3, -1, -0.1, "'; DROP TABLE users; -- ?1 $1 \\ \" \r\n\t", &[0]),
            sample(4, 0, f64::INFINITY, &"long ".repeat(100_000), &vec![7; 1 << 20]),
            sample(u128::MAX, 1, 1.0, "1", b"1"),
        ];
        for sample in &all {
            assert_eq!(write(&store, sample).await, Ok(1), "{name}");
        }
        assert_eq!(samples(&store).await, all, "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_one_database_cannot_store_is_an_error_on_both() {
    on_each(async |name, store| {
        make_samples(&store).await;
        let refused = [sample(1, 0, 0.0, "a\0b", b""), sample(2, 0, f64::NAN, "", b"")];
        for sample in &refused {
            let outcome = write(&store, sample).await;
            assert!(matches!(outcome, Err(StoreError::BadValue(_) | StoreError::Failed(_))), "{name}: {outcome:?}");
        }
        let read = store.read(|transaction| {
            transaction.rows("SELECT id FROM users WHERE username = ?1", values!["\0"], |row| row.get::<Uuid>(0))
        });
        assert!(matches!(read.await, Err(StoreError::BadValue(_))), "{name}");
        assert_eq!(samples(&store).await, [], "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_integer_literal_can_be_read_as_i64() {
    on_each(async |name, store| {
        let one = store.read(|transaction| transaction.row("SELECT 1", &[], |row| row.get::<i64>(0))).await;
        assert_eq!(one, Ok(Some(1)), "{name}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_column_of_another_type_and_one_that_is_missing_are_errors() {
    on_each(async |name, store| {
        let wrong = store.read(|transaction| transaction.row("SELECT 'text'", &[], |row| row.get::<i64>(0))).await;
        assert!(matches!(wrong, Err(StoreError::Failed(_))), "{name}: {wrong:?}");
        let null = "SELECT CAST(NULL AS BIGINT)";
        let wrong = store.read(move |transaction| transaction.row(null, &[], |row| row.get::<i64>(0))).await;
        assert!(matches!(wrong, Err(StoreError::Failed(_))), "{name}: {wrong:?}");
        let missing = store.read(|transaction| transaction.row("SELECT 1", &[], |row| row.get::<i64>(1))).await;
        assert!(matches!(missing, Err(StoreError::Failed(_))), "{name}: {missing:?}");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_statement_is_an_error_and_the_next_one_works() {
    on_each(async |name, store| {
        let wrong = store.write(|transaction| transaction.execute("NONSENSE", &[])).await;
        assert!(matches!(wrong, Err(StoreError::Failed(_))), "{name}: {wrong:?}");
        let wrong = store.read(|transaction| transaction.row("SELECT ?1", &[], |_| Ok(()))).await;
        assert!(name != "postgres" || matches!(wrong, Err(StoreError::Failed(_))), "{name}: {wrong:?}");
        store.ping().await.unwrap();
    })
    .await;
}

#[test]
fn debug_output_of_a_value_hides_its_content() {
    let shown = format!("{:?}", values!["secret", b"secret".as_slice()]);
    assert!(!shown.contains("secret") && !shown.contains("115"), "{shown}");
}
