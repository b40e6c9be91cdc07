//! Backup and restore.

use crate::ALL;
use aether_store::backup::Summary;
use aether_store::{Store, StoreError, Transaction, back_up, restore, values};
use aether_testkit_store::databases;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io::{self, Cursor, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use uuid::Uuid;

/// Tables with rows of a user, and the column of the user's id.
const USER_TABLES: &[(&str, &str)] = &[
    ("users", "id"),
    ("user_devices", "user_id"),
    ("user_identities", "user_id"),
    ("account_codes", "user_id"),
    ("sessions", "user_id"),
    ("storage_objects", "user_id"),
    ("wallet_ledger", "user_id"),
    ("leaderboard_records", "owner_id"),
    ("tournament_entrants", "owner_id"),
    ("bracket_entrants", "user_id"),
    ("purchases", "user_id"),
    ("subscriptions", "user_id"),
    ("profiles", "user_id"),
    ("profile_selections", "user_id"),
    ("room_players", "user_id"),
    ("room_visits", "user_id"),
    ("room_creators", "user_id"),
    ("chat_messages", "sender_id"),
    ("notifications", "user_id"),
    ("group_members", "user_id"),
    ("friend_edges", "user_id"),
];

/// Writes a user with a row in each of these tables.
fn add_user(transaction: &mut Transaction<'_>, number: u128) -> Result<(), StoreError> {
    let id = Uuid::from_u128(number);
    let name = &format!("someone {number} 'é' \u{1F3AE}");
    let hash = Sha256::digest(name).to_vec();
    let mut add = |sql: &str, values: &[aether_store::SqlValue<'_>]| transaction.execute(sql, values).map(|_| ());
    add(
        "INSERT INTO users (id, username, email, created_at, updated_at, disabled_at) VALUES (?1, ?2, NULL, 1, ?3, ?4)",
        values![id, name, i64::MAX, (number == 1).then_some(5)],
    )?;
    add("INSERT INTO user_devices (id, user_id, created_at) VALUES (?2, ?1, 1)", values![id, name])?;
    add(
        "INSERT INTO user_identities (provider, subject, user_id, created_at) VALUES ('a', ?2, ?1, 1)",
        values![id, name],
    )?;
    add(
        "INSERT INTO account_codes (hash, user_id, purpose, email, created_at, expires_at) VALUES (?2, ?1, '', '', 1, 1)",
        values![id, &hash],
    )?;
    add(
        "INSERT INTO sessions (id, user_id, state, created_at, refreshed_at, last_seen_at, expires_at)
         VALUES (?1, ?1, '', 1, 1, 1, 1)",
        values![id],
    )?;
    add(
        "INSERT INTO storage_objects (collection, key, user_id, value, version, permission_read, permission_write,
         created_at, updated_at) VALUES ('c', 'k', ?1, '{}', '', 0, 0, 1, 1)",
        values![id],
    )?;
    add(
        "INSERT INTO wallet_ledger (id, user_id, changeset, metadata, created_at, updated_at)
         VALUES (?1, ?1, '{}', '{}', 1, 1)",
        values![id],
    )?;
    add(
        "INSERT INTO purchases (store, transaction_id, user_id, product_id, environment, purchased_at, response,
         created_at, updated_at) VALUES (0, ?2, ?1, '', 0, 1, '', 1, 1)",
        values![id, name],
    )?;
    add(
        "INSERT INTO subscriptions (store, original_transaction_id, user_id, product_id, environment, purchased_at,
         expires_at, response, created_at, updated_at) VALUES (0, ?2, ?1, '', 0, 1, 1, '', 1, 1)",
        values![id, name],
    )?;
    add("INSERT INTO profiles (user_id, id, name, created_at, updated_at) VALUES (?1, 'p', '', 1, 1)", values![id])?;
    add("INSERT INTO profile_selections (user_id, profile_id) VALUES (?1, 'p')", values![id])?;
    add("INSERT INTO chat_channels (id, last_sequence, created_at) VALUES (?1, 1, 1)", values![name])?;
    add(
        "INSERT INTO chat_messages (channel_id, sequence, id, code, sender_id, username, content, created_at, updated_at)
         VALUES (?2, 1, ?1, 0, ?1, ?2, '{}', 1, 1)",
        values![id, name],
    )?;
    add_competitions(transaction, id)?;
    add_room(transaction, id, name)
}

/// Writes records of this user on a leaderboard, in a tournament and in a bracket.
fn add_competitions(transaction: &mut Transaction<'_>, id: Uuid) -> Result<(), StoreError> {
    let mut add = |sql: &str, values: &[aether_store::SqlValue<'_>]| transaction.execute(sql, values).map(|_| ());
    add(
        "INSERT INTO leaderboards (id, authoritative, sort_order, operator, created_at) VALUES ('b', TRUE, 0, 0, 1)
         ON CONFLICT DO NOTHING",
        &[],
    )?;
    add(
        "INSERT INTO leaderboard_records (leaderboard_id, expiry, owner_id, username, score, subscore, num_score,
         created_at, updated_at) VALUES ('b', 0, ?1, '', ?2, 0, 1, 1, 1)",
        values![id, i64::MIN],
    )?;
    add(
        "INSERT INTO tournament_entrants (tournament, expiry, owner_id, attempts, joined_at)
         VALUES ('b', 0, ?1, 1, 1)",
        values![id],
    )?;
    add(
        "INSERT INTO brackets (id, title, format, seeding, leaderboard, rounds, match_seconds, max_size, phase, version,
         created_at) VALUES ('c', '', 'swiss', 'order', '', 0, 0, 2, 'registration', 1, 1) ON CONFLICT DO NOTHING",
        &[],
    )?;
    add(
        "INSERT INTO bracket_entrants (bracket, user_id, username, rating, joined_at) VALUES ('c', ?1, '', 0, 1)",
        values![id],
    )?;
    add(
        "INSERT INTO bracket_actions (bracket, number, at, action) VALUES ('c', 0, 1, '{}') ON CONFLICT DO NOTHING",
        &[],
    )
}

/// Writes a durable room with this user as a player.
fn add_room(transaction: &mut Transaction<'_>, id: Uuid, name: &str) -> Result<(), StoreError> {
    let hash = Sha256::digest(name).to_vec();
    let mut add = |sql: &str, values: &[aether_store::SqlValue<'_>]| transaction.execute(sql, values).map(|_| ());
    add(
        "INSERT INTO rooms (id, code, room_type, wanted_label, label, created_at, updated_at, node, epoch, lease_until)
         VALUES (?1, ?1, '', '', '', 1, 1, '', 1, 1)",
        values![name],
    )?;
    add(
        "INSERT INTO room_states (room, number, taken_at, players, entities, applied, state)
         VALUES (?1, 0, 1, 1, 1, 1, ?2)",
        values![name, &hash],
    )?;
    add("INSERT INTO room_journal (room, number, entry) VALUES (?1, 1, ?2)", values![name, &hash])?;
    add(
        "INSERT INTO room_players (room, player, user_id, session, name, role, issued_at, hash, heard)
         VALUES (?2, 1, ?1, ?1, '', 'player', 1, ?3, ?4)",
        values![id, name, &hash, true],
    )?;
    add(
        "INSERT INTO room_visits (id, user_id, session, room, room_type, player, node, joined_at)
         VALUES (?1, ?1, ?1, ?2, '', 1, '', 1)",
        values![id, name],
    )?;
    add("INSERT INTO room_creators (room, user_id) VALUES (?2, ?1)", values![id, name])?;
    add_social(transaction, id)
}

/// Writes what a user has with others.
fn add_social(transaction: &mut Transaction<'_>, id: Uuid) -> Result<(), StoreError> {
    let mut add = |sql: &str, values: &[aether_store::SqlValue<'_>]| transaction.execute(sql, values).map(|_| ());
    add(
        "INSERT INTO notifications (user_id, number, id, subject, content, code, sender_id, created_at)
         VALUES (?1, 1, ?1, 'é', '{}', -2, NULL, 1)",
        values![id],
    )?;
    add("INSERT INTO friend_edges (user_id, other_id, state, updated_at) VALUES (?1, ?1, 3, 1)", values![id])?;
    add("UPDATE users SET edge_count = 1 WHERE id = ?1", values![id])?;
    // A group of all users. The first is its superadmin, the others are members.
    let (group, first) = (Uuid::from_u128(GROUP), Uuid::from_u128(1));
    add(
        "INSERT INTO groups (id, creator, name, name_key, name_skeleton, name_folded, open, edge_count, max_count,
         created_at, updated_at) VALUES (?1, ?2, 'Owls', ?3, 'owls', 'owls', TRUE, 0, 100, 1, 1) ON CONFLICT DO NOTHING",
        values![group, first, &b"owls"[..]],
    )?;
    add("INSERT INTO group_tags (group_key, tag) VALUES (?1, 'birds') ON CONFLICT DO NOTHING", values![group])?;
    add(
        "INSERT INTO group_members (group_key, user_id, role, since) VALUES (?1, ?2, ?3, 1)",
        values![group, id, if id == first { 0 } else { 2 }],
    )?;
    add("UPDATE groups SET edge_count = edge_count + 1 WHERE id = ?1", values![group])
}

/// Id of the group of all users.
const GROUP: u128 = 4_711;

/// Returns creator and count of the group, and its members with their roles.
async fn group_of(store: &Store) -> (Uuid, i64, Vec<(u128, i64)>) {
    let group = Uuid::from_u128(GROUP);
    let read = store.read(move |transaction| {
        let select = "SELECT creator, edge_count FROM groups WHERE id = ?1";
        let (creator, count) = transaction
            .row(select, values![group], |row| Ok((row.get::<Uuid>(0)?, row.get::<i64>(1)?)))?
            .ok_or_else(|| StoreError::Failed("the group is missing".to_owned()))?;
        let select = "SELECT user_id, role FROM group_members WHERE group_key = ?1 ORDER BY user_id";
        let members =
            transaction.rows(select, values![group], |row| Ok((row.get::<Uuid>(0)?.as_u128(), row.get::<i64>(1)?)))?;
        Ok::<_, StoreError>((creator, count, members))
    });
    read.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_is_repaired_if_its_superadmin_was_erased_after_the_backup() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        add(&store, 3).await;
        let (bytes, _) = backup(&store).await;
        try_restore(&store, &bytes, true).await.unwrap();
        let before = (Uuid::from_u128(1), 3, vec![(1, 0), (2, 2), (3, 2)]);
        assert_eq!(group_of(&store).await, before, "{}", database.name);
        erase(&store, 1).await;
        try_restore(&store, &bytes, true).await.unwrap();
        assert_eq!(group_of(&store).await, (Uuid::nil(), 2, vec![(2, 0), (3, 2)]), "{}", database.name);
        for user in [2, 3] {
            erase(&store, user).await;
        }
        try_restore(&store, &bytes, true).await.unwrap();
        let groups = store.read(|transaction| transaction.row("SELECT count(*) FROM groups", &[], |row| row.get(0)));
        assert_eq!(
            groups.await.map_err(|error: StoreError| error),
            Ok(Some(0_i64)),
            "a group without members is deleted"
        );
    }
}

/// Remembers a user as erased.
async fn erase(store: &Store, user: u128) {
    let user = Uuid::from_u128(user);
    let insert = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, 2)";
    let erased = store.write(move |transaction| transaction.execute(insert, values![user]));
    erased.await.map_err(|error: StoreError| error).unwrap();
}

/// Writes two users, a message and an erasure.
async fn fill(store: &Store) {
    let filled = store.write(|transaction| {
        add_user(transaction, 1)?;
        add_user(transaction, 2)?;
        aether_store::outbox::push(transaction, "topic", "{}", 1)?;
        let erasure = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, 1)";
        transaction.execute(erasure, values![Uuid::from_u128(77)])
    });
    filled.await.unwrap();
}

async fn add(store: &Store, number: u128) {
    store.write(move |transaction| add_user(transaction, number)).await.unwrap();
}

async fn backup(store: &Store) -> (Vec<u8>, Summary) {
    back_up(store, Vec::new(), |_| {}).await.unwrap()
}

async fn try_restore(store: &Store, bytes: &[u8], replace: bool) -> Result<Summary, StoreError> {
    restore(store, Cursor::new(bytes.to_vec()), replace, |_| {}).await
}

/// Returns the rows, sorted, because databases order texts differently.
async fn rows(store: &Store) -> Vec<String> {
    rows_of(&backup(store).await.0)
}

fn rows_of(backup: &[u8]) -> Vec<String> {
    let text = String::from_utf8(backup.to_vec()).unwrap();
    let mut lines: Vec<String> =
        text.lines().filter(|line| !line.starts_with(r#"{"end""#)).map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Returns a backup of these lines with a valid last line.
fn with_end(lines: &[Value], rows: &Value) -> Vec<u8> {
    let mut bytes: Vec<u8> = lines.iter().flat_map(|line| format!("{line}\n").into_bytes()).collect();
    let hash = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    bytes.extend(format!("{}\n", json!({ "end": { "rows": rows, "sha256": hash } })).into_bytes());
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_of_any_database_is_restored_into_any_other() {
    let sources = databases();
    for source in &sources {
        let store = source.open().await;
        fill(&store).await;
        let (bytes, summary) = backup(&store).await;
        assert_eq!(summary, Summary { rows: 57, migration: ALL.len() as i64, erased_users: 0 }, "{}", source.name);
        for target in databases() {
            let copy = target.open().await;
            assert_eq!(try_restore(&copy, &bytes, false).await, Ok(summary), "{} to {}", source.name, target.name);
            assert_eq!(rows(&copy).await, rows_of(&bytes), "{} to {}", source.name, target.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_consistent_while_others_write() {
    for database in databases() {
        let store = database.open().await;
        let users = store.write(|transaction| {
            let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, 1, 1)";
            for number in 0..2_500_u128 {
                transaction.execute(insert, values![Uuid::from_u128(number), &number.to_string()])?;
            }
            Ok::<_, StoreError>(())
        });
        users.await.unwrap();
        let (over, moved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (writing, is_over, moves) = (store.clone(), Arc::clone(&over), Arc::clone(&moved));
        let writer = tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                let number = u128::from(moves.fetch_add(1, Ordering::SeqCst));
                let transfer = writing.write(move |transaction| {
                    let change = "UPDATE users SET edge_count = edge_count + ?2 WHERE id = ?1";
                    // From one end of the table to the other, so that an inconsistent backup would show it.
                    transaction.execute(change, values![Uuid::from_u128(number % 1_000), -1])?;
                    transaction.execute(change, values![Uuid::from_u128(2_499 - number % 1_000), 1])
                });
                transfer.await.unwrap();
            }
        });
        for _ in 0..5 {
            let (bytes, summary) = backup(&store).await;
            assert_eq!(summary.rows, 2_500, "{}", database.name);
            let text = String::from_utf8(bytes).unwrap();
            let users = text.lines().filter(|line| line.starts_with(r#"{"t":"users","r":"#)).map(|line| {
                let row: Value = serde_json::from_str(line).unwrap();
                (row["r"][0].as_str().unwrap().to_owned(), row["r"][13].as_i64().unwrap())
            });
            let users: std::collections::BTreeMap<String, i64> = users.collect();
            assert_eq!((users.len(), users.values().sum::<i64>()), (2_500, 0), "{}", database.name);
        }
        over.store(true, Ordering::SeqCst);
        writer.await.unwrap();
        assert!(moved.load(Ordering::SeqCst) > 5, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn tables_of_whole_pages_are_complete_and_progress_is_reported() {
    for database in databases() {
        let store = database.open().await;
        let many = store.write(|transaction| {
            let insert = "INSERT INTO storage_objects (collection, key, user_id, value, version, permission_read,
                permission_write, created_at, updated_at) VALUES (?1, ?2, ?3, '{}', '', 0, 0, 1, 1)";
            for number in 0..3_000_u128 {
                let (collection, key) = ((number % 2).to_string(), (number % 30).to_string());
                transaction.execute(insert, values![&collection, &key, Uuid::from_u128(number / 30)])?;
            }
            Ok::<_, StoreError>(())
        });
        many.await.unwrap();
        let reported = Arc::new(std::sync::Mutex::new(Vec::new()));
        let reports = Arc::clone(&reported);
        let report = move |rows| reports.lock().unwrap().push(rows);
        let (bytes, summary) = back_up(&store, Vec::new(), report.clone()).await.unwrap();
        assert_eq!(summary.rows, 3_000, "{}", database.name);
        let replaced = restore(&store, Cursor::new(bytes.clone()), true, report).await;
        assert_eq!(replaced, Ok(summary), "{}", database.name);
        assert_eq!(rows(&store).await, rows_of(&bytes), "{}", database.name);
        let expected = [1_000, 2_000, 3_000, 3_000, 1_000, 2_000, 3_000, 3_000];
        assert_eq!(*reported.lock().unwrap(), expected, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_is_not_empty_is_not_changed_without_replace() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        let (bytes, summary) = backup(&store).await;
        add(&store, 3).await;
        let before = rows(&store).await;
        let refused = try_restore(&store, &bytes, false).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Refused(why) if why.contains("not empty")), "{refused:?}");
        assert_eq!(rows(&store).await, before, "{}", database.name);
        assert_eq!(try_restore(&store, &bytes, true).await, Ok(summary), "{}", database.name);
        assert_eq!(rows(&store).await, rows_of(&bytes), "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_who_was_erased_after_the_backup_stays_erased() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        let (bytes, summary) = backup(&store).await;
        let erased = Uuid::from_u128(1);
        let erase = store.write(move |transaction| {
            for (table, column) in USER_TABLES.iter().rev() {
                let deleted =
                    transaction.execute(&format!("DELETE FROM {table} WHERE {column} = ?1"), values![erased])?;
                assert_eq!(deleted, 1, "{table}");
            }
            // As the services do: the group of both users has another superadmin.
            transaction.execute("UPDATE groups SET creator = ?1, edge_count = 1", values![Uuid::nil()])?;
            transaction.execute("UPDATE group_members SET role = 0", &[])?;
            transaction.execute("INSERT INTO erasures (user_id, erased_at) VALUES (?1, 2)", values![erased])
        });
        erase.await.unwrap();
        let expected = rows(&store).await;
        let outcome = try_restore(&store, &bytes, true).await;
        assert_eq!(outcome, Ok(Summary { erased_users: 1, ..summary }), "{}", database.name);
        assert_eq!(rows(&store).await, expected, "{}", database.name);
        // A backup taken now does not contain the erased user either.
        let (later, _) = backup(&store).await;
        assert_eq!(try_restore(&store, &later, true).await.unwrap().erased_users, 0);
        assert_eq!(rows(&store).await, expected, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn edges_to_a_user_who_was_erased_are_not_counted_after_a_restore() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        let [kept, erased] = [1, 2].map(Uuid::from_u128);
        let befriend = store.write(move |transaction| {
            let edge = "INSERT INTO friend_edges (user_id, other_id, state, updated_at) VALUES (?1, ?2, 0, 1)";
            transaction.execute(edge, values![kept, erased])?;
            transaction.execute(edge, values![erased, kept])?;
            transaction.execute("UPDATE users SET edge_count = 2", &[])
        });
        befriend.await.unwrap();
        let (bytes, _) = backup(&store).await;
        let erase = "INSERT INTO erasures (user_id, erased_at) VALUES (?1, 2)";
        store.write(move |transaction| transaction.execute(erase, values![erased])).await.unwrap();
        try_restore(&store, &bytes, true).await.unwrap();
        let select = "SELECT edge_count FROM users";
        let counts = store.read(move |transaction| transaction.rows(select, &[], |row| row.get::<i64>(0)));
        assert_eq!(counts.await.unwrap(), [1], "{}: the edge to itself", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_backup_is_migrated() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        // The oldest possible backup: no migration was applied, so it has no tables.
        let oldest = with_end(&[json!({ "backup": "aether", "format": 1, "migration": 0 })], &json!({}));
        let summary = Summary { rows: 0, migration: 0, erased_users: 0 };
        assert_eq!(try_restore(&store, &oldest, true).await, Ok(summary), "{}", database.name);
        let status = store.migration_status().await.unwrap();
        assert_eq!((status.applied, status.pending), (ALL.to_vec(), vec![]), "{}", database.name);
        assert_eq!(backup(&store).await.1.rows, 1, "{}: the erasure stays", database.name);
        add(&store, 1).await;
        assert_eq!(backup(&store).await.1.rows, 31, "{}", database.name);
        assert_eq!(backup(&store).await.1.rows, 31, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_truncated_backup_is_rejected_and_the_database_is_not_changed() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        let (bytes, _) = backup(&store).await;
        add(&store, 3).await;
        let before = rows(&store).await;
        let step = if database.name == "memory" { 7 } else { 501 };
        for end in (0..bytes.len()).step_by(step).chain([bytes.len() - 1]) {
            let refused = try_restore(&store, &bytes[..end], true).await.unwrap_err();
            assert!(matches!(&refused, StoreError::Refused(why) if why.contains("damaged")), "{end}: {refused:?}");
        }
        assert_eq!(rows(&store).await, before, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_changed_backup_is_rejected_and_the_database_is_not_changed() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        let (bytes, _) = backup(&store).await;
        add(&store, 3).await;
        let before = rows(&store).await;
        let step = if database.name == "memory" { 11 } else { 503 };
        for index in (0..bytes.len()).step_by(step) {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            let refused = try_restore(&store, &changed, true).await.unwrap_err();
            assert!(matches!(refused, StoreError::Refused(_)), "{index}: {refused:?}");
        }
        assert_eq!(rows(&store).await, before, "{}", database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invalid_backup_is_rejected_with_its_reason() {
    let header = json!({ "backup": "aether", "format": 1, "migration": 1 });
    let table = json!({ "t": "erasures", "columns": [["user_id", "uuid"], ["erased_at", "integer"]] });
    let row = |id: &str| json!({ "t": "erasures", "r": [id, 1] });
    let id = "00000000-0000-0000-0000-000000000001";
    let one = json!({ "erasures": 1 });
    let cases = [
        (b"a letter".to_vec(), "damaged"),
        (b"{\"a\":1}\n".to_vec(), "not a backup of Aether"),
        (with_end(&[json!({ "backup": "aether", "format": 2, "migration": 1 })], &json!({})), "newer version"),
        (with_end(&[json!({ "backup": "aether", "format": 1, "migration": 99 })], &json!({})), "newer version"),
        (with_end(&[json!({ "backup": "aether", "format": 1, "migration": -1 })], &json!({})), "not a backup"),
        (with_end(std::slice::from_ref(&header), &json!({})), "a table is missing"),
        (with_end(&[header.clone(), row(id)], &one), "outside the section"),
        (with_end(&[header.clone(), table.clone(), json!({ "t": "users", "r": [] })], &one), "outside the section"),
        (with_end(&[header.clone(), table.clone(), table.clone()], &one), "begins twice"),
        (with_end(&[header.clone(), table.clone(), row("x")], &one), "does not fit"),
        (with_end(&[header.clone(), table.clone(), json!({ "t": "erasures", "r": [id] })], &one), "does not fit"),
        (
            with_end(&[header.clone(), table.clone(), json!({ "t": "erasures", "r": [id, null] })], &one),
            "cannot be stored",
        ),
        (with_end(&[header.clone(), table.clone(), row(id), row(id)], &one), "cannot be stored"),
        (
            with_end(&[header.clone(), table.clone(), row(id)], &json!({ "erasures": 2 })),
            "number of rows does not match",
        ),
        (with_end(&[header.clone(), json!({ "t": "schema_migrations", "columns": [] })], &one), "are unknown"),
        (with_end(&[header.clone(), json!({ "t": "erasures", "columns": [["x", "uuid"]] })], &one), "are unknown"),
        ([with_end(&[header], &json!({})), b" ".to_vec()].concat(), "damaged"),
    ];
    for database in databases() {
        let store = database.open().await;
        for (bytes, reason) in &cases {
            let refused = try_restore(&store, bytes, false).await.unwrap_err();
            assert!(matches!(&refused, StoreError::Refused(why) if why.contains(reason)), "{reason}: {refused:?}");
        }
        assert_eq!(backup(&store).await.1.rows, 0, "{}", database.name);
    }
}

/// A writer that fails after some bytes, as a full disk does.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        if taken == 0 { Err(io::Error::other("the disk is full")) } else { Ok(taken) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_to_a_full_disk_fails_and_the_store_keeps_working() {
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        for space in [0, 10, 1_000] {
            let refused = back_up(&store, FullDisk(space), |_| {}).await.err().unwrap();
            assert!(matches!(&refused, StoreError::Refused(why) if why.contains("disk is full")), "{refused:?}");
        }
        store.ping().await.unwrap();
        add(&store, 3).await;
    }
}

/// Tables of later migrations than those of the older backup.
const LATER_TABLES: &[&str] = &[
    "room_creators",
    "audit_entries",
    "notifications",
    "chat_channels",
    "chat_messages",
    "groups",
    "group_members",
    "group_tags",
    "tournament_entrants",
    "brackets",
    "bracket_entrants",
    "bracket_actions",
    "friend_edges",
    "reports",
    "mutes",
    "remote_values",
    "brackets",
    "bracket_entrants",
    "bracket_actions",
];

#[tokio::test(flavor = "multi_thread")]
async fn running_totals_are_filled_from_a_backup_of_any_version() {
    const OLDER: &str = r#"{"backup":"aether","format":1,"migration":2}"#;
    for database in databases() {
        let store = database.open().await;
        fill(&store).await;
        let totals = async || {
            let select = "SELECT user_id, objects, bytes FROM storage_totals ORDER BY user_id";
            let read = store.read(move |transaction| {
                transaction.rows(select, &[], |row| {
                    Ok((row.get::<Uuid>(0)?.as_u128(), row.get::<i64>(1)?, row.get::<i64>(2)?))
                })
            });
            read.await.unwrap()
        };
        let before = totals().await;
        assert_eq!(before.iter().map(|(user, objects, _)| (*user, *objects)).collect::<Vec<_>>(), [(1, 1), (2, 1)]);
        let (newest, _) = backup(&store).await;
        let text = String::from_utf8(newest.clone()).unwrap();
        let (_, rest) = text.split_once('\n').unwrap();
        let (lines, end) = rest.trim_end().rsplit_once('\n').unwrap();
        let end: Value = serde_json::from_str(end).unwrap();
        let is_later = |line: &&str| LATER_TABLES.iter().any(|table| line.contains(&format!(r#""t":"{table}""#)));
        let lines = std::iter::once(OLDER).chain(lines.lines().filter(|line| !is_later(line))).map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            // The last columns of these tables are from later migrations.
            let later = match line["t"].as_str() {
                Some("outbox" | "room_players" | "room_states") => 1,
                Some("rooms") => 4,
                Some("users") => 5,
                Some("leaderboards") => 13,
                _ => 0,
            };
            for cells in ["columns", "r"] {
                if let Some(cells) = line.get_mut(cells).and_then(Value::as_array_mut) {
                    cells.truncate(cells.len() - later);
                }
            }
            line
        });
        // Before the migrations there were neither totals nor these tables, and all other tables were the same.
        let mut rows = end["end"]["rows"].clone();
        rows.as_object_mut().unwrap().retain(|table, _| !LATER_TABLES.contains(&table.as_str()));
        let older = with_end(&lines.collect::<Vec<Value>>(), &rows);
        for bytes in [newest, older] {
            try_restore(&store, &bytes, true).await.unwrap();
            assert_eq!(totals().await, before, "{}", database.name);
        }
        let delete = "DELETE FROM storage_objects WHERE user_id = ?1";
        store.write(move |transaction| transaction.execute(delete, values![Uuid::from_u128(1)])).await.unwrap();
        assert_eq!(totals().await[0], (1, 0, 0), "{}: triggers work after a restore", database.name);
    }
}
