//! Wallets, their ledger, and changes of several kinds at once, on every kind of database.

use crate::fixture::{START_MS, World, refusal, worlds};
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

fn wallets(world: &World) -> Wallets {
    Wallets::new(world.store.clone(), world.clock.clone())
}

fn multi_updates(world: &World) -> MultiUpdates {
    MultiUpdates::new(world.store.clone(), world.clock.clone(), wallets(world))
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
async fn changes_are_added_and_answered_with_what_was_and_what_is() {
    for world in worlds().await {
        let (wallets, ann, ben) = (wallets(&world), world.user().await, world.user().await);
        assert_eq!(wallets.amounts(ann).await, Ok(Amounts::new()));
        let updates = vec![
            change(ben, &[("gold", 5)]),
            change(ann, &[("gold", 10), ("gems", 1)]),
            change(ben, &[("gold", -2)]),
            change(ann, &[("gold", -10)]),
        ];
        let updated = wallets.update(updates, true).await.expect(world.name);
        let expected = [
            (ben, amounts(&[]), amounts(&[("gold", 5)])),
            (ann, amounts(&[]), amounts(&[("gold", 10), ("gems", 1)])),
            (ben, amounts(&[("gold", 5)]), amounts(&[("gold", 3)])),
            (ann, amounts(&[("gold", 10), ("gems", 1)]), amounts(&[("gold", 0), ("gems", 1)])),
        ];
        let updated: Vec<_> = updated.into_iter().map(|one| (one.user, one.previous, one.updated)).collect();
        assert_eq!(updated, expected, "{}", world.name);
        assert_eq!(wallets.amounts(ben).await, Ok(amounts(&[("gold", 3)])));
        assert_eq!(refusal(wallets.amounts(Uuid::new_v4()).await).0, GrpcCode::NotFound);
    }
}

#[tokio::test]
async fn an_amount_is_never_negative_nor_beyond_64_bits_and_nothing_is_half_done() {
    for world in worlds().await {
        let (wallets, ann, ben) = (wallets(&world), world.user().await, world.user().await);
        wallets.update(vec![change(ann, &[("gold", 5)]), change(ben, &[("gold", i64::MAX)])], true).await.unwrap();
        let negative =
            (GrpcCode::FailedPrecondition, "wallet update rejected negative value at path 'gold'".to_owned());
        let overdrawn = vec![change(ben, &[("gold", -6), ("gems", 1)]), change(ann, &[("gold", -6)])];
        assert_eq!(refusal(wallets.update(overdrawn, true).await), negative, "{}", world.name);
        let least = refusal(wallets.update(vec![change(ann, &[("gold", i64::MIN)])], true).await);
        assert_eq!(least, negative);
        let beyond =
            refusal(wallets.update(vec![change(ann, &[("gold", -5)]), change(ben, &[("gold", 1)])], true).await);
        assert_eq!(beyond.0, GrpcCode::FailedPrecondition);
        let nobody = vec![change(ann, &[("gold", 1)]), change(Uuid::new_v4(), &[("gold", 1)])];
        let expected = (GrpcCode::NotFound, "User account not found.".to_owned());
        assert_eq!(refusal(wallets.update(nobody, true).await), expected);
        assert_eq!(wallets.amounts(ann).await, Ok(amounts(&[("gold", 5)])), "{}", world.name);
        assert_eq!(wallets.amounts(ben).await, Ok(amounts(&[("gold", i64::MAX)])));
        assert_eq!(world.count("SELECT count(*) FROM wallet_ledger").await, 2, "{}", world.name);
    }
}

#[tokio::test]
async fn the_ledger_lists_the_newest_first_and_goes_on_where_it_stopped() {
    for world in worlds().await {
        let (wallets, ann, ben) = (wallets(&world), world.user().await, world.user().await);
        for round in 0..3 {
            // Several of the same millisecond keep their order too.
            let updates = (0..5).map(|n| WalletUpdate {
                user: ann,
                changes: amounts(&[("gold", round * 5 + n + 1)]),
                metadata: format!(r#"{{"n":{}}}"#, round * 5 + n),
            });
            wallets.update(updates.collect(), true).await.expect(world.name);
            wallets.update(vec![change(ben, &[("gold", 1)])], true).await.expect(world.name);
            wallets.update(vec![change(ann, &[("gems", 1)])], false).await.expect(world.name);
            world.clock.advance_ms(1);
        }
        for limit in [1, 2, 7, 100] {
            let entries = whole_ledger(&wallets, ann, limit).await;
            let metadata: Vec<_> = entries.iter().map(|entry| entry.metadata.clone()).collect();
            let expected: Vec<_> = (0..15).rev().map(|n| format!(r#"{{"n":{n}}}"#)).collect();
            assert_eq!(metadata, expected, "{}, {limit} at a time", world.name);
            assert!(entries.iter().all(|entry| entry.user == ann && entry.created_at == entry.updated_at));
            assert_eq!((&entries[0].changes, entries[0].created_at), (&amounts(&[("gold", 15)]), START_MS + 2));
        }
        for limit in [0, -1, 101] {
            assert_eq!(refusal(wallets.list_ledger(ann, limit, "").await).0, GrpcCode::InvalidArgument);
        }
        assert_eq!(refusal(wallets.list_ledger(ann, 10, "x").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn what_is_noted_about_a_change_may_be_changed() {
    for world in worlds().await {
        let (wallets, ann) = (wallets(&world), world.user().await);
        wallets.update(vec![change(ann, &[("gold", 1)])], true).await.expect(world.name);
        let entry = whole_ledger(&wallets, ann, 10).await.remove(0);
        assert_eq!(entry.metadata, "{}");
        world.clock.advance_ms(9);
        let annotated = wallets.annotate(entry.id, r#"{"why":"gift"}"#).await.expect(world.name);
        let expected = LedgerEntry { metadata: r#"{"why":"gift"}"#.to_owned(), updated_at: START_MS + 9, ..entry };
        assert_eq!(annotated, expected);
        assert_eq!(whole_ledger(&wallets, ann, 10).await, [expected]);
        assert_eq!(refusal(wallets.annotate(Uuid::new_v4(), "{}").await).0, GrpcCode::NotFound);
        assert_eq!(refusal(wallets.annotate(annotated.id, "[]").await).0, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn changes_that_cannot_be_are_refused() {
    for world in worlds().await {
        let (wallets, ann) = (wallets(&world), world.user().await);
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
            assert_eq!(refusal(wallets.update(wrong, true).await).0, GrpcCode::InvalidArgument, "{}", world.name);
        }
        wallets.update(vec![names(0, NAMES_MAX)], true).await.expect(world.name);
        assert_eq!(refusal(wallets.update(vec![names(NAMES_MAX, 1)], true).await).0, GrpcCode::FailedPrecondition);
    }
}

#[tokio::test]
async fn several_kinds_of_changes_are_made_together() {
    for world in worlds().await {
        let (multi, ann, ben) = (multi_updates(&world), world.user().await, world.user().await);
        world.storage().write(&by(ben), vec![write("items", "old", ben, "{}")]).await.expect(world.name);
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
        let changed = multi.apply(changes).await.expect(world.name);
        assert_eq!(changed.acks.iter().map(|ack| ack.id.key.as_str()).collect::<Vec<_>>(), ["sword", "brief"]);
        assert_eq!(changed.wallets.iter().map(|one| one.user).collect::<Vec<_>>(), [ben, ann]);
        assert_eq!(world.count("SELECT count(*) FROM storage_objects").await, 1, "writes come before removals");
        assert_eq!(world.count("SELECT count(*) FROM users WHERE display_name = 'Ann'").await, 1);
        assert_eq!(world.count("SELECT count(*) FROM wallet_ledger").await, 2);
        assert_eq!(multi.apply(Changes::default()).await, Ok(Default::default()));
    }
}

#[tokio::test]
async fn one_refused_change_undoes_all_kinds() {
    for world in worlds().await {
        let (multi, ann, ben) = (multi_updates(&world), world.user().await, world.user().await);
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
            let shown = format!("{}: {changes:?}", world.name);
            assert_eq!(refusal(multi.apply(changes).await).0, code, "{shown}");
            assert_eq!(world.count("SELECT count(*) FROM storage_objects").await, 0, "{shown}");
            assert_eq!(world.count("SELECT count(*) FROM users WHERE display_name = 'Ann'").await, 0, "{shown}");
            assert_eq!(world.count("SELECT count(*) FROM users WHERE wallet <> '{}'").await, 0, "{shown}");
            assert_eq!(world.count("SELECT count(*) FROM wallet_ledger").await, 0, "{shown}");
        }
        let name = refusal(
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

/// Five players pass gold around in fifty transfers at once, some in opposite directions, each with a receipt in storage.
/// Nothing is lost, and nobody waited in a circle: the database would have ended one, and the retry would be counted.
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
        let refused = outcomes.iter().filter_map(|outcome| outcome.as_ref().err());
        assert!(
            refused.clone().all(|refusal| refusal.code == GrpcCode::FailedPrecondition),
            "{:?}",
            refused.collect::<Vec<_>>()
        );
        let mut total = 0;
        for user in users {
            let gold = wallets.amounts(user).await.unwrap()["gold"];
            let entered: i64 = whole_ledger(&wallets, user, 100).await.iter().map(|entry| entry.changes["gold"]).sum();
            assert_eq!(gold, entered, "{}: the ledger tells another amount", database.name);
            assert!(gold >= 0);
            total += gold;
        }
        assert_eq!(total, 100, "{}", database.name);
        let figures = registry.render();
        assert!(figures.contains("aether_database_retries_total 0"), "{}: {figures}", database.name);
    }
}
