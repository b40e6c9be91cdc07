//! Wallets, their ledger, and atomic updates, on every kind of database.

use crate::fixture::{Fixture, START_MS, error_of, fixtures};
use crate::objects::{by, id, write};
use aether_services::GrpcCode;
use aether_services::account::Update;
use aether_services::clock::ManualClock;
use aether_services::multi_update::{Changes, MultiUpdates};
use aether_services::storage::{Condition, Delete};
use aether_services::wallet::{Amounts, LedgerEntry, NAMES_MAX, UPDATES_MAX, WalletUpdate, Wallets};
use aether_store::values;
use std::sync::Arc;
use tokio::task::JoinSet;
use uuid::Uuid;

fn amounts(of: &[(&str, i64)]) -> Amounts {
    of.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
}

fn change(user: Uuid, changes: &[(&str, i64)]) -> WalletUpdate {
    WalletUpdate { user, changes: amounts(changes), metadata: String::new() }
}

fn wallets(fixture: &Fixture) -> Wallets {
    Wallets::new(fixture.store.clone(), fixture.clock.clone())
}

fn multi_updates(fixture: &Fixture) -> MultiUpdates {
    MultiUpdates::new(fixture.store.clone(), fixture.clock.clone(), wallets(fixture))
}

async fn whole_ledger(wallets: &Wallets, user: Uuid, limit: i32) -> Vec<LedgerEntry> {
    let (mut entries, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = wallets.list_ledger(user, limit, &cursor).await.expect("the ledger can be read");
        entries.extend(page.entries);
        if page.cursor.is_empty() {
            return entries;
        }
        cursor = page.cursor;
    }
}

#[tokio::test]
async fn changes_are_added_and_answered_with_old_and_new_amounts() {
    for fixture in fixtures().await {
        let (wallets, ann, ben) = (wallets(&fixture), fixture.user().await, fixture.user().await);
        assert_eq!(wallets.amounts(ann).await, Ok(Amounts::new()));
        let updates = vec![
            change(ben, &[("gold", 5)]),
            change(ann, &[("gold", 10), ("gems", 1)]),
            change(ben, &[("gold", -2)]),
            change(ann, &[("gold", -10)]),
        ];
        let updated = wallets.update(updates, true).await.expect(fixture.name);
        let expected = [
            (ben, amounts(&[]), amounts(&[("gold", 5)])),
            (ann, amounts(&[]), amounts(&[("gold", 10), ("gems", 1)])),
            (ben, amounts(&[("gold", 5)]), amounts(&[("gold", 3)])),
            (ann, amounts(&[("gold", 10), ("gems", 1)]), amounts(&[("gold", 0), ("gems", 1)])),
        ];
        let updated: Vec<_> = updated.into_iter().map(|one| (one.user, one.previous, one.updated)).collect();
        assert_eq!(updated, expected, "{}", fixture.name);
        assert_eq!(wallets.amounts(ben).await, Ok(amounts(&[("gold", 3)])));
        assert_eq!(error_of(wallets.amounts(Uuid::new_v4()).await).0, GrpcCode::NotFound);
    }
}

#[tokio::test]
async fn amounts_stay_in_range_and_updates_are_atomic() {
    for fixture in fixtures().await {
        let (wallets, ann, ben) = (wallets(&fixture), fixture.user().await, fixture.user().await);
        wallets.update(vec![change(ann, &[("gold", 5)]), change(ben, &[("gold", i64::MAX)])], true).await.unwrap();
        let negative =
            (GrpcCode::FailedPrecondition, "wallet update rejected negative value at path 'gold'".to_owned());
        let overdrawn = vec![change(ben, &[("gold", -6), ("gems", 1)]), change(ann, &[("gold", -6)])];
        assert_eq!(error_of(wallets.update(overdrawn, true).await), negative, "{}", fixture.name);
        let least = error_of(wallets.update(vec![change(ann, &[("gold", i64::MIN)])], true).await);
        assert_eq!(least, negative);
        let beyond =
            error_of(wallets.update(vec![change(ann, &[("gold", -5)]), change(ben, &[("gold", 1)])], true).await);
        assert_eq!(beyond.0, GrpcCode::FailedPrecondition);
        let nobody = vec![change(ann, &[("gold", 1)]), change(Uuid::new_v4(), &[("gold", 1)])];
        let expected = (GrpcCode::NotFound, "User account not found.".to_owned());
        assert_eq!(error_of(wallets.update(nobody, true).await), expected);
        assert_eq!(wallets.amounts(ann).await, Ok(amounts(&[("gold", 5)])), "{}", fixture.name);
        assert_eq!(wallets.amounts(ben).await, Ok(amounts(&[("gold", i64::MAX)])));
        assert_eq!(fixture.count("SELECT count(*) FROM wallet_ledger").await, 2, "{}", fixture.name);
    }
}

#[tokio::test]
async fn the_ledger_is_paged_newest_first() {
    for fixture in fixtures().await {
        let (wallets, ann, ben) = (wallets(&fixture), fixture.user().await, fixture.user().await);
        for round in 0..3 {
            // Entries of the same millisecond keep their order too.
            let updates = (0..5).map(|n| WalletUpdate {
                user: ann,
                changes: amounts(&[("gold", round * 5 + n + 1)]),
                metadata: format!(r#"{{"n":{}}}"#, round * 5 + n),
            });
            wallets.update(updates.collect(), true).await.expect(fixture.name);
            wallets.update(vec![change(ben, &[("gold", 1)])], true).await.expect(fixture.name);
            wallets.update(vec![change(ann, &[("gems", 1)])], false).await.expect(fixture.name);
            fixture.clock.advance_ms(1);
        }
        for limit in [1, 2, 7, 100] {
            let entries = whole_ledger(&wallets, ann, limit).await;
            let metadata: Vec<_> = entries.iter().map(|entry| entry.metadata.clone()).collect();
            let expected: Vec<_> = (0..15).rev().map(|n| format!(r#"{{"n":{n}}}"#)).collect();
            assert_eq!(metadata, expected, "{}, {limit} at a time", fixture.name);
            assert!(entries.iter().all(|entry| entry.user == ann && entry.created_at == entry.updated_at));
            assert_eq!((&entries[0].changes, entries[0].created_at), (&amounts(&[("gold", 15)]), START_MS + 2));
        }
        for limit in [0, -1, 101] {
            assert_eq!(error_of(wallets.list_ledger(ann, limit, "").await).0, GrpcCode::InvalidArgument);
        }
        assert_eq!(error_of(wallets.list_ledger(ann, 10, "x").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn ledger_metadata_can_be_changed() {
    for fixture in fixtures().await {
        let (wallets, ann) = (wallets(&fixture), fixture.user().await);
        wallets.update(vec![change(ann, &[("gold", 1)])], true).await.expect(fixture.name);
        let entry = whole_ledger(&wallets, ann, 10).await.remove(0);
        assert_eq!(entry.metadata, "{}");
        fixture.clock.advance_ms(9);
        let annotated = wallets.annotate(entry.id, r#"{"why":"gift"}"#).await.expect(fixture.name);
        let expected = LedgerEntry { metadata: r#"{"why":"gift"}"#.to_owned(), updated_at: START_MS + 9, ..entry };
        assert_eq!(annotated, expected);
        assert_eq!(whole_ledger(&wallets, ann, 10).await, [expected]);
        assert_eq!(error_of(wallets.annotate(Uuid::new_v4(), "{}").await).0, GrpcCode::NotFound);
        assert_eq!(error_of(wallets.annotate(annotated.id, "[]").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn invalid_changes_are_rejected() {
    for fixture in fixtures().await {
        let (wallets, ann) = (wallets(&fixture), fixture.user().await);
        let names = |from: usize, count: usize| WalletUpdate {
            user: ann,
            changes: (from..from + count).map(|n| (format!("name{n}"), 1)).collect(),
            metadata: String::new(),
        };
        let noted = |metadata: &str| WalletUpdate { metadata: metadata.to_owned(), ..change(ann, &[("gold", 1)]) };
        let wrong = [
            vec![change(ann, &[("", 1)])],
            vec![change(ann, &[("go\0ld", 1)])],
            vec![change(ann, &[("g".repeat(129).as_str(), 1)])],
            vec![names(0, NAMES_MAX + 1)],
            vec![noted("[]")],
            vec![noted(&format!(r#"{{"a":"{}"}}"#, "x".repeat(20_000)))],
            vec![change(ann, &[("gold", 1)]); UPDATES_MAX + 1],
        ];
        for wrong in wrong {
            assert_eq!(error_of(wallets.update(wrong, true).await).0, GrpcCode::InvalidArgument, "{}", fixture.name);
        }
        wallets.update(vec![names(0, NAMES_MAX)], true).await.expect(fixture.name);
        assert_eq!(error_of(wallets.update(vec![names(NAMES_MAX, 1)], true).await).0, GrpcCode::FailedPrecondition);
    }
}

#[tokio::test]
async fn several_kinds_of_changes_are_applied_together() {
    for fixture in fixtures().await {
        let (multi, ann, ben) = (multi_updates(&fixture), fixture.user().await, fixture.user().await);
        fixture.storage().write(&by(ben), vec![write("items", "old", ben, "{}")]).await.expect(fixture.name);
        let named = Update {
            display_name: Some("Ann".to_owned()),
            metadata: Some(r#"{"a":1}"#.to_owned()),
            ..Update::default()
        };
        let changes = Changes {
            accounts: vec![(ann, named)],
            writes: vec![write("items", "sword", ann, r#"{"n":1}"#), write("items", "brief", ann, "{}")],
            deletes: vec![Delete::new(id("items", "old", ben)), Delete::new(id("items", "brief", ann))],
            wallets: vec![change(ben, &[("gold", 5)]), change(ann, &[("gold", 1)])],
            ledger: true,
        };
        let changed = multi.apply(changes).await.expect(fixture.name);
        assert_eq!(changed.acks.iter().map(|ack| ack.id.key.as_str()).collect::<Vec<_>>(), ["sword", "brief"]);
        assert_eq!(changed.wallets.iter().map(|one| one.user).collect::<Vec<_>>(), [ben, ann]);
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 1, "writes come before removals");
        assert_eq!(fixture.count("SELECT count(*) FROM users WHERE display_name = 'Ann'").await, 1);
        assert_eq!(fixture.count("SELECT count(*) FROM wallet_ledger").await, 2);
        assert_eq!(multi.apply(Changes::default()).await, Ok(Default::default()));
    }
}

#[tokio::test]
async fn one_rejected_change_undoes_all_kinds() {
    for fixture in fixtures().await {
        let (multi, ann, ben) = (multi_updates(&fixture), fixture.user().await, fixture.user().await);
        let good = || Changes {
            accounts: vec![(ann, Update { display_name: Some("Ann".to_owned()), ..Update::default() })],
            writes: vec![write("items", "sword", ann, "{}")],
            deletes: Vec::new(),
            wallets: vec![change(ann, &[("gold", 5)])],
            ledger: true,
        };
        let taken = Update { username: Some(ben.to_string()), ..Update::default() };
        let wrong = [
            (Changes { accounts: vec![(ann, taken)], ..good() }, GrpcCode::AlreadyExists),
            (
                Changes {
                    accounts: vec![(Uuid::new_v4(), Update { location: Some("x".to_owned()), ..Update::default() })],
                    ..good()
                },
                GrpcCode::NotFound,
            ),
            (
                Changes {
                    writes: vec![write("items", "b", ann, "{}").when(Condition::Version("v".to_owned()))],
                    ..good()
                },
                GrpcCode::InvalidArgument,
            ),
            (
                Changes {
                    deletes: vec![Delete { id: id("items", "x", ann), version: Some("v".to_owned()) }],
                    ..good()
                },
                GrpcCode::InvalidArgument,
            ),
            (
                Changes { wallets: vec![change(ann, &[("gold", 5)]), change(ben, &[("gold", -1)])], ..good() },
                GrpcCode::FailedPrecondition,
            ),
        ];
        for (changes, code) in wrong {
            let shown = format!("{}: {changes:?}", fixture.name);
            assert_eq!(error_of(multi.apply(changes).await).0, code, "{shown}");
            assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 0, "{shown}");
            assert_eq!(fixture.count("SELECT count(*) FROM users WHERE display_name = 'Ann'").await, 0, "{shown}");
            assert_eq!(fixture.count("SELECT count(*) FROM users WHERE wallet <> '{}'").await, 0, "{shown}");
            assert_eq!(fixture.count("SELECT count(*) FROM wallet_ledger").await, 0, "{shown}");
        }
        let name = error_of(
            multi
                .apply(Changes {
                    accounts: vec![(ann, Update { username: Some(ben.to_string()), ..Update::default() })],
                    ..Changes::default()
                })
                .await,
        );
        assert_eq!(name.1, "Username is already in use.");
    }
}

/// Five players pass gold around in fifty concurrent transfers, some in opposite directions, each with a receipt in
/// storage. No gold is lost, and no transactions deadlock: the database would end one, and the retry would be counted.
#[tokio::test(flavor = "multi_thread")]
async fn wallets_conserve_under_concurrent_transfers() {
    for database in aether_testkit_store::databases() {
        let registry = aether_metrics::Registry::new();
        let store = database.open_with(&registry).await;
        let clock = Arc::new(ManualClock::at(START_MS));
        let wallets = Wallets::new(store.clone(), clock.clone());
        let multi = MultiUpdates::new(store.clone(), clock, wallets.clone());
        let users: Vec<Uuid> = (0..5).map(|_| Uuid::new_v4()).collect();
        let made = users.clone();
        let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, 0, 0)";
        let made = store.write(move |transaction| {
            made.iter().try_for_each(|id| transaction.execute(insert, values![id, &id.to_string()]).map(|_| ()))
        });
        made.await.expect(database.name);
        let start = users.iter().map(|user| change(*user, &[("gold", 20)])).collect();
        wallets.update(start, true).await.expect(database.name);
        let mut transfers = JoinSet::new();
        for number in 0..50_usize {
            let (from, to) = (users[number % 5], users[(number * 3 + 1) % 5]);
            let multi = multi.clone();
            let changes = Changes {
                writes: vec![
                    write("receipts", "last", to, &format!(r#"{{"n":{number}}}"#)),
                    write("receipts", "last", from, "{}"),
                ],
                wallets: vec![change(from, &[("gold", -7)]), change(to, &[("gold", 7)])],
                ledger: true,
                ..Changes::default()
            };
            transfers.spawn(async move { multi.apply(changes).await });
        }
        let outcomes = transfers.join_all().await;
        let rejected = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(
            rejected.clone().all(|error| error.code == GrpcCode::FailedPrecondition),
            "{:?}",
            rejected.collect::<Vec<_>>()
        );
        let mut total = 0;
        for user in users {
            let gold = wallets.amounts(user).await.unwrap()["gold"];
            let entered: i64 = whole_ledger(&wallets, user, 100).await.iter().map(|entry| entry.changes["gold"]).sum();
            assert_eq!(gold, entered, "{}: the ledger has another amount", database.name);
            assert!(gold >= 0);
            total += gold;
        }
        assert_eq!(total, 100, "{}", database.name);
        let metrics = registry.render();
        assert!(metrics.contains("\naether_database_retries_total 0\n"), "{}: {metrics}", database.name);
    }
}
