//! The end of an account, and all that is kept about a user.

use super::world::{NOW, World, assert_refused, by_device, by_email};
use aether_services::GrpcCode;
use aether_store::{StoreError, Transaction, values};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// A row of each table that knows a user.
const ROWS: [&str; 12] = [
    "INSERT INTO user_identities (provider, subject, user_id, created_at) VALUES ('steam', '76561', ?1, ?2)",
    "INSERT INTO account_codes (hash, user_id, purpose, email, created_at, expires_at)
        VALUES (?3, ?1, 'password_reset', 'a@example.com', ?2, ?2)",
    "INSERT INTO sessions (id, user_id, state, created_at, refreshed_at, last_seen_at, expires_at)
        VALUES (?1, ?1, 'active', ?2, ?2, ?2, ?2)",
    "INSERT INTO storage_objects
            (collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at)
        VALUES ('saves', 'one', ?1, '{\"hp\":7}', 'v', 1, 1, ?2, ?2)",
    "INSERT INTO wallet_ledger (id, user_id, changeset, metadata, created_at, updated_at)
        VALUES (?1, ?1, '{\"gold\":5}', '{}', ?2, ?2)",
    "INSERT INTO leaderboard_records
            (leaderboard_id, expiry, owner_id, username, score, subscore, num_score, created_at, updated_at)
        VALUES ('board', 0, ?1, 'someone', 10, 0, 1, ?2, ?2)",
    "INSERT INTO purchases (store, transaction_id, user_id, product_id, environment, purchased_at, response,
            created_at, updated_at) VALUES (1, 'bought', ?1, 'sword', 1, ?2, '{\"secret\":1}', ?2, ?2)",
    "INSERT INTO subscriptions (store, original_transaction_id, user_id, product_id, environment, purchased_at,
            expires_at, response, notification, created_at, updated_at)
        VALUES (1, 'subscribed', ?1, 'season', 1, ?2, ?2, '{\"secret\":1}', '{\"secret\":2}', ?2, ?2)",
    "INSERT INTO profiles (user_id, id, name, created_at, updated_at) VALUES (?1, 'default', 'Hero', ?2, ?2)",
    "INSERT INTO profile_selections (user_id, profile_id) VALUES (?1, 'default')",
    "INSERT INTO room_players (room, player, user_id, session, name, role, issued_at, hash, heard)
        VALUES ('room', 1, ?1, ?1, 'someone', 'player', ?2, ?3, TRUE)",
    "INSERT INTO room_visits (id, user_id, session, room, room_type, player, node, joined_at)
        VALUES (?1, ?1, ?1, 'room', 'outpost', 1, 'node', ?2)",
];

impl World {
    /// A user with a row in each table.
    async fn user_with_everything(&self, device: &str) -> Uuid {
        let user = self.sign_in(by_email(&format!("{device}@example.com"), "correct horse")).await.expect("new").user;
        self.accounts.link(user, by_device(device)).await.expect("it is nobody's");
        let fill = move |transaction: &mut Transaction<'_>| {
            let board = "INSERT INTO leaderboards (id, authoritative, sort_order, operator, created_at)
                VALUES ('board', FALSE, 0, 0, 0)";
            transaction.execute(board, &[])?;
            let room = "INSERT INTO rooms
                    (id, code, room_type, wanted_label, label, created_at, updated_at, node, epoch, lease_until)
                VALUES ('room', 'CODE', 'outpost', '', '', 0, 0, 'node', 1, 0)";
            transaction.execute(room, &[])?;
            for insert in ROWS {
                let parameters = values![user, NOW, &b"hash"[..]];
                let used = if insert.contains("?3") {
                    3
                } else if insert.contains("?2") {
                    2
                } else {
                    1
                };
                transaction.execute(insert, &parameters[..used])?;
            }
            Ok::<_, StoreError>(())
        };
        self.store.write(fill).await.expect("the rows fit");
        user
    }

    /// Columns that can hold a user's id, by table, as the database itself tells them.
    async fn id_columns(&self) -> Vec<(String, String)> {
        let columns = match self.name {
            "postgres" => {
                "SELECT table_name::text, column_name::text FROM information_schema.columns
                    WHERE table_schema = 'public' AND data_type = 'uuid' ORDER BY 1, 2"
            }
            _ => {
                "SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c
                    WHERE t.type = 'table' AND c.type = 'UUID' ORDER BY 1, 2"
            }
        };
        let read = move |transaction: &mut Transaction<'_>| {
            transaction.rows(columns, &[], |row| Ok((row.get::<String>(0)?, row.get::<String>(1)?)))
        };
        self.store.read(read).await.expect("the tables are known")
    }

    /// Where a user's id is found.
    pub(crate) async fn found(&self, user: Uuid) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        for (table, column) in self.id_columns().await {
            if self.count(format!("SELECT count(*) FROM {table} WHERE {column} = ?1"), user).await > 0 {
                found.insert(table);
            }
        }
        found
    }
}

/// Tables that hold ids, but none of a user.
const OTHERS: [&str; 1] = ["outbox"];

#[tokio::test]
async fn a_deleted_account_leaves_its_id_among_the_erased_and_nothing_else() {
    for world in World::all().await {
        let user = world.user_with_everything("device-0001").await;
        let before = world.found(user).await;
        let tables: BTreeSet<String> = world.id_columns().await.into_iter().map(|(table, _)| table).collect();
        for table in tables.iter().filter(|table| !OTHERS.contains(&table.as_str()) && *table != "erasures") {
            assert!(before.contains(table), "the test has to put a row into {table}, or erasing it is not shown");
        }
        world.told().await;
        world.clock.advance_ms(1_000);
        world.accounts.delete(user).await.expect("it is there");
        assert_eq!(world.found(user).await, BTreeSet::from(["erasures".to_owned()]), "{}", world.name);
        let told = [("account.deleted".to_owned(), json!({ "user_id": user }))];
        assert_eq!(world.told().await, told);
        assert!(world.revocations.is_ended(Uuid::from_u128(7), user, (NOW / 1_000) as u64));
        assert_refused(world.accounts.delete(user).await, GrpcCode::NotFound, "User account not found.");
        assert!(world.sign_in(by_device("device-0001")).await.expect("the device is free").created);
    }
}

#[tokio::test]
async fn a_purchase_stays_used_without_its_owner() {
    let world = World::new().await;
    let user = world.user_with_everything("device-0001").await;
    world.accounts.delete(user).await.expect("it is there");
    for table in ["purchases", "subscriptions"] {
        let kept = format!("SELECT count(*) FROM {table} WHERE user_id = ?1 AND response = '{{}}'");
        assert_eq!(world.count(kept, Uuid::nil()).await, 1, "{table}");
    }
}

#[tokio::test]
async fn whoever_keeps_more_about_a_user_is_asked_in_the_same_transaction() {
    let asked: Arc<Mutex<Vec<Uuid>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let world = World::with(|accounts, _| {
        accounts.with_eraser(Box::new(move |transaction, user| {
            let count = "SELECT count(*) FROM storage_objects WHERE user_id = ?1";
            let objects = transaction.row(count, values![user], |row| row.get::<i64>(0))?;
            assert_eq!(objects, Some(1), "nothing is gone yet");
            let mut asked = seen.lock().expect("no test panics with it");
            asked.push(user);
            match asked.len() {
                1 => Err(StoreError::Unavailable("not now".to_owned())),
                _ => Ok(()),
            }
        }))
    })
    .await;
    let user = world.user_with_everything("device-0001").await;
    let refused = world.accounts.delete(user).await.expect_err("the other part failed");
    assert_eq!(refused.code, GrpcCode::Unavailable);
    assert!(world.found(user).await.contains("users"), "nothing was erased");
    world.accounts.delete(user).await.expect("it is there");
    assert_eq!(*asked.lock().expect("no test panics with it"), [user, user]);
}

#[tokio::test]
async fn an_export_holds_everything_that_is_kept_about_a_user_and_no_secret() {
    for world in World::all().await {
        let user = world.user_with_everything("device-0001").await;
        let export = world.accounts.export(user).await.expect("it is there");
        assert_eq!((&export["format"], &export["exported_at"]), (&json!(1), &json!(NOW)));
        assert_eq!(export["account"]["id"], json!(user));
        assert_eq!(export["account"]["email"], "device-0001@example.com");
        assert_eq!(export["storage_objects"][0]["value"], json!({ "hp": 7 }));
        assert_eq!(export["wallet_ledger"][0]["changeset"], json!({ "gold": 5 }));
        assert_eq!(export["user_devices"][0]["id"], "device-0001");
        assert_eq!(export["leaderboard_records"][0]["score"], 10);
        assert!(!export.to_string().contains("argon2"), "the password stays here");
        let tables = world.found(user).await.into_iter().filter(|table| table != "account_codes");
        for table in tables {
            let rows = if table == "users" { &export["account"] } else { &export[&table][0] };
            assert!(rows.is_object(), "{table} has a row of the user and is not in the export");
            let owner = if table == "leaderboard_records" { "owner_id" } else { "user_id" };
            for column in world.columns(table.clone()).await {
                let is_secret = match table.as_str() {
                    "users" => column == "password",
                    "room_players" => column == "hash" || column == "previous_hash",
                    _ => false,
                };
                let left_out = column == owner || is_secret;
                assert!(left_out || rows.get(&column).is_some(), "{table}.{column} is not in the export");
            }
        }
        let missing = world.accounts.export(Uuid::from_u128(1)).await;
        assert_refused(missing, GrpcCode::NotFound, "User account not found.");
    }
}

#[tokio::test]
async fn an_export_that_would_be_too_large_is_refused() {
    let world = World::new().await;
    let user = world.user_with_everything("device-0001").await;
    let fill = move |transaction: &mut Transaction<'_>| {
        let insert = "INSERT INTO storage_objects
                (collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at)
            VALUES ('large', ?2, ?1, ?3, 'v', 1, 1, 0, 0)";
        let value = "x".repeat(1_048_576);
        (0..65).try_for_each(|key| transaction.execute(insert, values![user, &key.to_string(), &value]).map(|_| ()))
    };
    world.store.write(fill).await.expect("the rows fit");
    assert_eq!(world.accounts.export(user).await.expect_err("it is refused").code, GrpcCode::ResourceExhausted);
}

impl World {
    async fn columns(&self, table: String) -> Vec<String> {
        let columns = match self.name {
            "postgres" => {
                "SELECT column_name::text FROM information_schema.columns
                    WHERE table_schema = 'public' AND table_name = ?1"
            }
            _ => "SELECT name FROM pragma_table_info(?1)",
        };
        let read = move |transaction: &mut Transaction<'_>| {
            transaction.rows(columns, values![&table], |row| row.get::<String>(0))
        };
        self.store.read(read).await.expect("the table is known")
    }
}
