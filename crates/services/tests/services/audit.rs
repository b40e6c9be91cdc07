//! Audit entries: bounded, merged and pruned.

use aether_metrics::Registry;
use aether_services::clock::ManualClock;
use aether_services::session::{self, keys::KeyRing, tokens::Tokens};
use aether_services::{Services, ServicesExtensions, ServicesParts, ServicesSettings};
use aether_store::Store;
use aether_testkit_store::databases;
use std::sync::Arc;
use uuid::Uuid;

const HOUR_MS: i64 = 3_600_000;
const START: i64 = 500_000 * HOUR_MS;

pub async fn services(store: Store, clock: &Arc<ManualClock>, registry: &Registry) -> Arc<Services> {
    open(store, clock, registry, ServicesExtensions::default(), |_| {}).await
}

/// Opens services with changed settings.
pub async fn services_with(
    store: Store,
    clock: &Arc<ManualClock>,
    registry: &Registry,
    change: impl FnOnce(&mut ServicesSettings),
) -> Arc<Services> {
    open(store, clock, registry, ServicesExtensions::default(), change).await
}

/// Opens services with extensions of a program.
pub async fn extended_services(
    store: Store,
    clock: &Arc<ManualClock>,
    extensions: ServicesExtensions,
) -> Arc<Services> {
    open(store, clock, &Registry::new(), extensions, |_| {}).await
}

async fn open(
    store: Store,
    clock: &Arc<ManualClock>,
    registry: &Registry,
    extensions: ServicesExtensions,
    change: impl FnOnce(&mut ServicesSettings),
) -> Arc<Services> {
    let folder = std::env::temp_dir().join(format!("aether-audit-{}", Uuid::new_v4()));
    let ring = KeyRing::open(&folder, 0).expect("the folder can be created");
    let _ = std::fs::remove_dir_all(&folder);
    let sessions =
        session::Settings { access_seconds: 900, refresh_seconds: 900, refresh_again_seconds: 10, single: false };
    let mut settings = ServicesSettings {
        sessions,
        accounts: Default::default(),
        http_client: Default::default(),
        webhook: None,
        providers: Default::default(),
        purchases: Default::default(),
        storage: Default::default(),
        reserved_collections: Default::default(),
        matchmaker: Default::default(),
    };
    change(&mut settings);
    let tokens = Arc::new(Tokens::new(ring, "aether"));
    let parts = ServicesParts { store, clock: Arc::clone(clock) as _, tokens, registry };
    Arc::new(Services::open(parts, settings, extensions).await.expect("the services open"))
}

#[tokio::test]
async fn refusals_of_an_actor_are_one_row_per_action_and_hour() {
    for database in databases() {
        let (clock, registry) = (Arc::new(ManualClock::at(START)), Registry::new());
        let audit = Arc::clone(&services(database.open().await, &clock, &registry).await.audit);
        let actor = Uuid::from_u128(7);
        for round in 0..3 {
            for _ in 0..100 {
                audit.note_refusal(actor, "clear");
            }
            audit.note_refusal(actor, "spawn");
            audit.flush().await.unwrap();
            clock.advance_ms(if round == 1 { HOUR_MS } else { 1_000 });
        }
        let entries = audit.list(0, 100).await.unwrap();
        let counts: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.count)).collect();
        assert_eq!(counts, [("clear", 100), ("spawn", 1), ("clear", 200), ("spawn", 2)], "{}", database.name);
        assert!(entries.iter().all(|entry| entry.actor == actor && !entry.is_allowed));
        assert_eq!((entries[2].first_at, entries[2].last_at), (START, START + 1_000));
        let counted = "aether_permission_refusals_total{action=\"clear\"} 300\n";
        assert!(registry.render().contains(counted), "every refusal is counted");
    }
}

#[tokio::test]
async fn a_flood_of_many_actors_is_written_slowly_and_loses_no_count() {
    let (clock, registry) = (Arc::new(ManualClock::at(START)), Registry::new());
    let audit = Arc::clone(&services(aether_testkit_store::memory().open().await, &clock, &registry).await.audit);
    for actor in 1..=5_000 {
        audit.note_refusal(Uuid::from_u128(actor), "clear");
    }
    let total = async || {
        let (mut rows, mut count) = (0, 0);
        loop {
            let page = audit.list(rows, 100).await.unwrap();
            rows += page.len() as u32;
            count += page.iter().map(|entry| entry.count).sum::<i64>();
            if page.len() < 100 {
                return (rows, count);
            }
        }
    };
    audit.flush().await.unwrap();
    assert_eq!(total().await.0, 10, "ten rows per second");
    for _ in 0..200 {
        audit.flush().await.unwrap();
    }
    assert_eq!(total().await, (1_001, 5_000), "a thousand actors, and one row for all others");
}

#[tokio::test]
async fn old_entries_and_too_many_refusals_are_pruned_but_not_the_operators() {
    for database in databases() {
        let (clock, store) = (Arc::new(ManualClock::at(START)), database.open().await);
        let services = services(store.clone(), &clock, &Registry::new()).await;
        services.audit.write(&aether_services::Caller::Server, Uuid::from_u128(1), "BanPlayer", "").await.unwrap();
        clock.advance_ms(1);
        services.audit.write(&aether_services::Caller::Server, Uuid::from_u128(2), "BanPlayer", "").await.unwrap();
        let fill = "INSERT INTO audit_entries
                (period, actor_id, user_id, action, outcome, detail, count, first_at, last_at)
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50010)
            SELECT CAST(?1 AS BIGINT) + i, ?2, ?2, 'clear', 'refused', '', 1, CAST(?1 AS BIGINT) + i, CAST(?1 AS BIGINT) + i FROM n";
        store
            .write(move |transaction| {
                let from = START + 10;
                transaction.execute(fill, aether_store::values![from, Uuid::nil()])
            })
            .await
            .unwrap();
        assert_eq!(
            services.audit.prune(START + 1).await.unwrap(),
            11,
            "{}: one is old, ten are too many",
            database.name
        );
        let newest = services.audit.list(0, 1).await.unwrap();
        assert_eq!(newest[0].last_at, START + 10 + 50_010);
        let oldest = services.audit.list(50_000, 10).await.unwrap();
        assert_eq!(oldest.len(), 1);
        assert_eq!((oldest[0].action.as_str(), oldest[0].user), ("BanPlayer", Uuid::from_u128(2)));
    }
}
