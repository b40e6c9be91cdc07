//! Erasure and export of accounts.

use super::fixture::{Fixture, NOW, assert_rejected, by_device, by_email};
use aether_services::{GrpcCode, ServiceError};
use aether_store::{StoreError, Transaction, on_behalf_of, values};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use uuid::Uuid;

/// Rows of a user in each table.
const ROWS: &[&str] = &[
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
    "INSERT INTO tournament_entrants (tournament, expiry, owner_id, attempts, joined_at) VALUES ('board', 0, ?1, 1, ?2)",
    "INSERT INTO bracket_entrants (bracket, user_id, username, rating, seed, joined_at)
        VALUES ('bracket', ?1, 'someone', 0, 0, ?2)",
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
    "INSERT INTO room_creators (room, user_id) VALUES ('room', ?1)",
    "INSERT INTO chat_messages (channel_id, sequence, id, code, sender_id, username, content, created_at, updated_at)
        VALUES ('2...room', 1, ?1, 0, ?1, 'someone', '{\"text\":\"hello\"}', ?2, ?2)",
    "INSERT INTO audit_entries (period, actor_id, user_id, action, outcome, count, first_at, last_at)
        VALUES (1, ?1, ?1, 'playground.clear', 'refused', 1, ?2, ?2)",
    "INSERT INTO audit_entries (period, actor_id, user_id, action, outcome, count, first_at, last_at)
        VALUES (2, ?1, ?1, 'BanPlayer', 'allowed', 1, ?2, ?2)",
    "INSERT INTO reports (id, reporter_id, target_id, state, statements, resolver, created_at, updated_at)
        VALUES (?1, ?1, ?1, 'open', '[]', ?1, ?2, ?2)",
    "INSERT INTO mutes (id, user_id, reason, muted_by, created_at, expires_at) VALUES (?1, ?1, '', ?1, ?2, ?2)",
    "INSERT INTO notifications (user_id, number, id, subject, content, code, sender_id, created_at)
        VALUES (?1, 1, ?1, 'hello', '{}', 1, NULL, ?2)",
    "INSERT INTO groups (id, creator, name, name_key, name_skeleton, name_folded, open, edge_count, max_count, created_at,
            updated_at) VALUES (?1, ?1, 'Owls', ?3, 'owls', 'owls', TRUE, 1, 100, ?2, ?2)",
    "INSERT INTO group_members (group_key, user_id, role, since) VALUES (?1, ?1, 0, ?2)",
    "INSERT INTO friend_edges (user_id, other_id, state, updated_at) VALUES (?1, ?1, 3, ?2)",
    "INSERT INTO friend_edges (user_id, other_id, state, updated_at)
        SELECT id, ?1, 3, ?2 FROM users WHERE id <> ?1 LIMIT 1",
];

impl Fixture {
    /// Creates a user with a row in each table.
    async fn user_with_everything(&self, device: &str) -> Uuid {
        let user = self.sign_in(by_email(&format!("{device}@example.com"), "correct horse")).await.expect("new").user;
        self.accounts.link(user, by_device(device)).await.expect("it is nobody's");
        let fill = move |transaction: &mut Transaction<'_>| {
            let board = "INSERT INTO leaderboards (id, authoritative, sort_order, operator, created_at)
                VALUES ('board', FALSE, 0, 0, 0)";
            transaction.execute(board, &[])?;
            let bracket =
                "INSERT INTO brackets (id, title, format, seeding, leaderboard, rounds, match_seconds, max_size,
                    phase, version, size, created_at)
                VALUES ('bracket', '', 'swiss', 'order', '', 0, 0, 2, 'registration', 1, 1, 0)";
            transaction.execute(bracket, &[])?;
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

    /// Returns columns that can hold a user's id, by table, from the database's catalog.
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

    /// Returns the tables that contain a user's id.
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

/// Tables with ids, but without user ids.
const OTHERS: [&str; 2] = ["outbox", "group_tags"];

#[tokio::test]
async fn a_deleted_account_leaves_only_its_id_in_erasures() {
    for fixture in Fixture::all().await {
        let user = fixture.user_with_everything("device-0001").await;
        let before = fixture.found(user).await;
        let tables: BTreeSet<String> = fixture.id_columns().await.into_iter().map(|(table, _)| table).collect();
        for table in tables.iter().filter(|table| !OTHERS.contains(&table.as_str()) && *table != "erasures") {
            assert!(before.contains(table), "the test has to put a row into {table}, or erasing it is not shown");
        }
        fixture.take_messages().await;
        fixture.clock.advance_ms(1_000);
        fixture.accounts.delete(user).await.expect("it is there");
        assert_eq!(fixture.found(user).await, BTreeSet::from(["erasures".to_owned()]), "{}", fixture.name);
        let message = [("account.deleted".to_owned(), json!({ "user_id": user }))];
        assert_eq!(fixture.take_messages().await, message);
        assert!(fixture.revocations.is_ended(Uuid::from_u128(7), user, (NOW / 1_000) as u64));
        assert_rejected(fixture.accounts.delete(user).await, GrpcCode::NotFound, "User account not found.");
        assert!(fixture.sign_in(by_device("device-0001")).await.expect("the device is free").created);
    }
}

/// Objects of a large account, and writes of another one that have to succeed while it is erased.
const LARGE_OBJECTS: u64 = 5_000;
const WRITES_MEANWHILE: u32 = 10;

#[tokio::test]
async fn others_write_while_a_large_account_is_erased() {
    for fixture in Fixture::all().await {
        let user = fixture.user_with_everything("device-0001").await;
        let fill = move |transaction: &mut Transaction<'_>| {
            let insert = "WITH RECURSIVE numbers (number) AS (
                    SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 5000)
                INSERT INTO storage_objects
                    (collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at)
                SELECT 'saves', CAST(number AS TEXT), ?1, '{}', 'v', 1, 1, 0, 0 FROM numbers";
            assert_eq!(transaction.execute(insert, values![user])?, LARGE_OBJECTS);
            Ok::<_, StoreError>(())
        };
        fixture.store.write(fill).await.expect("the rows fit");
        let accounts = fixture.accounts.clone();
        let mut erasing = std::pin::pin!(on_behalf_of(user, async move { accounts.delete(user).await }));
        let mut written = 0;
        let other = Uuid::from_u128(2);
        loop {
            let write = on_behalf_of(
                other,
                fixture.store.write(|transaction: &mut Transaction<'_>| {
                    transaction.execute("UPDATE users SET updated_at = updated_at WHERE username = 'nobody'", &[])
                }),
            );
            tokio::select! {
                biased;
                erased = &mut erasing => break erased.expect("it is there"),
                done = write => {
                    done.expect("the database answers");
                    written += 1;
                }
            }
        }
        assert!(written >= WRITES_MEANWHILE, "{}: {written} writes during the erasure", fixture.name);
        assert_eq!(fixture.found(user).await, BTreeSet::from(["erasures".to_owned()]), "{}", fixture.name);
    }
}

#[tokio::test]
async fn a_purchase_stays_used_after_erasure() {
    let fixture = Fixture::new().await;
    let user = fixture.user_with_everything("device-0001").await;
    fixture.accounts.delete(user).await.expect("it is there");
    for table in ["purchases", "subscriptions"] {
        let stored = format!("SELECT count(*) FROM {table} WHERE user_id = ?1 AND response = '{{}}'");
        assert_eq!(fixture.count(stored, Uuid::nil()).await, 1, "{table}");
    }
}

#[tokio::test]
async fn erasers_run_in_the_same_transaction() {
    let asked: Arc<Mutex<Vec<Uuid>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let fixture = Fixture::with(|accounts, _| {
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
    let user = fixture.user_with_everything("device-0001").await;
    let rejected = fixture.accounts.delete(user).await.expect_err("the other part failed");
    assert_eq!(rejected.code, GrpcCode::Unavailable);
    assert!(fixture.found(user).await.contains("users"), "nothing was erased");
    fixture.accounts.delete(user).await.expect("it is there");
    assert_eq!(*asked.lock().expect("no test panics with it"), [user, user]);
}

#[tokio::test]
async fn an_export_contains_all_user_data_and_no_secret() {
    for fixture in Fixture::all().await {
        let user = fixture.user_with_everything("device-0001").await;
        let export = document(&fixture, user).await.expect("it is there");
        assert_eq!((&export["format"], &export["exported_at"]), (&json!(1), &json!(NOW)));
        assert_eq!(export["account"]["id"], json!(user));
        assert_eq!(export["account"]["email"], "device-0001@example.com");
        assert_eq!(export["storage_objects"][0]["value"], json!({ "hp": 7 }));
        assert_eq!(export["wallet_ledger"][0]["changeset"], json!({ "gold": 5 }));
        assert_eq!(export["user_devices"][0]["id"], "device-0001");
        assert_eq!(export["leaderboard_records"][0]["score"], 10);
        assert_eq!(export["group_members"][0]["role"], 0);
        assert_eq!(export["groups"][0]["name"], "Owls");
        assert!(!export.to_string().contains("argon2"), "the password hash is not exported");
        // Codes are secret, and totals are the sums of what is there.
        let left_out = ["account_codes", "storage_totals"];
        let tables = fixture.found(user).await.into_iter().filter(|table| !left_out.contains(&table.as_str()));
        for table in tables {
            let rows = if table == "users" { &export["account"] } else { &export[&table][0] };
            assert!(rows.is_object(), "{table} has a row of the user and is not in the export");
            let owner = match table.as_str() {
                "leaderboard_records" | "tournament_entrants" => "owner_id",
                "chat_messages" => "sender_id",
                _ => "user_id",
            };
            for column in fixture.columns(table.clone()).await {
                let is_secret = match table.as_str() {
                    "users" => column == "password",
                    "room_players" => column == "hash" || column == "previous_hash",
                    // The actor may be another account, and the period follows from the times.
                    "audit_entries" => column == "actor_id" || column == "period",
                    // The decision is about another account, and the ids of others are theirs.
                    "reports" => {
                        ["reporter_id", "target_id", "decision", "note", "resolver"].contains(&column.as_str())
                    }
                    "mutes" => column == "muted_by",
                    // The creator is the user, and the key is the name in lower case.
                    "groups" => column == "creator" || column == "name_key",
                    _ => false,
                };
                let left_out = column == owner || is_secret;
                assert!(left_out || rows.get(&column).is_some(), "{table}.{column} is not in the export");
            }
        }
        let missing = document(&fixture, Uuid::from_u128(1)).await;
        assert_rejected(missing, GrpcCode::NotFound, "User account not found.");
    }
}

/// Returns the whole export of a user.
async fn document(fixture: &Fixture, user: Uuid) -> Result<serde_json::Value, ServiceError> {
    let (mut export, mut text) = (fixture.accounts.export(user), String::new());
    while let Some(page) = export.next_page().await? {
        text.push_str(&page);
    }
    Ok(serde_json::from_str(&text).expect("an export is JSON"))
}

#[tokio::test]
async fn an_export_of_any_length_is_read_in_pages_of_bounded_length() {
    const SMALL: usize = 1_000;
    const LARGE: usize = 20;
    for fixture in Fixture::all().await {
        let user = fixture.user_with_everything("device-0001").await;
        let fill = move |transaction: &mut Transaction<'_>| {
            let insert = "INSERT INTO storage_objects
                    (collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at)
                VALUES (?2, ?3, ?1, ?4, 'v', 1, 1, 0, 0)";
            let value = format!("[\"{}\"]", "x".repeat(262_000));
            for key in 0..SMALL {
                transaction.execute(insert, values![user, "small", &key.to_string(), "{}"])?;
            }
            (0..LARGE).try_for_each(|key| {
                transaction.execute(insert, values![user, "large", &key.to_string(), &value]).map(|_| ())
            })
        };
        fixture.store.write(fill).await.expect("the rows fit");
        let (mut export, mut text, mut longest, mut pages) = (fixture.accounts.export(user), String::new(), 0, 0);
        while let Some(page) = export.next_page().await.expect("the database answers") {
            text.push_str(&page);
            (longest, pages) = (page.len().max(longest), pages + 1);
        }
        assert!(longest < 600_000, "a page has {longest} bytes");
        assert!((25..100).contains(&pages), "{pages} pages");
        let export: serde_json::Value = serde_json::from_str(&text).expect("an export is JSON");
        let objects = export["storage_objects"].as_array().expect("a list");
        let keys: BTreeSet<String> =
            objects.iter().map(|object| format!("{}/{}", object["collection"], object["key"])).collect();
        assert_eq!((objects.len(), keys.len()), (SMALL + LARGE + 1, SMALL + LARGE + 1), "each row once");
        assert_eq!(export["storage_objects"][0]["value"][0].as_str().map(str::len), Some(262_000));
    }
}

impl Fixture {
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
