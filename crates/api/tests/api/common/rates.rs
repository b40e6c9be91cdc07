use crate::world::{ApiParts, Player, World};
use aether_api::client::{RatePreset, RateSettings, RequestRates, operations};
use aether_limits::RateLimit;
use aether_metrics::Registry;
use axum::response::Response;
use http::{Method, Request, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A world with a manual clock.
struct TimedWorld {
    world: World,
    time_ms: Arc<AtomicU64>,
    registry: Registry,
}

impl TimedWorld {
    async fn new(settings: RateSettings) -> TimedWorld {
        let time_ms = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&time_ms);
        let rates = RequestRates::with_clock(settings, move || Duration::from_millis(clock.load(Ordering::Relaxed)));
        let registry = Registry::new();
        let parts = ApiParts { rates, registry: registry.clone(), ..ApiParts::default() };
        TimedWorld { world: World::with_parts(|_| {}, parts).await, time_ms, registry }
    }

    async fn ask(&self, player: &Player, method: Method, path: &str) -> Response {
        self.world.send(Some(player), Request::builder().method(method).uri(path), b"{}".to_vec()).await
    }

    /// Sends ten requests. Returns the number of successful ones.
    async fn count_served(&self, player: &Player, method: Method, path: &str) -> usize {
        let mut served = 0;
        for _ in 0..10 {
            served += usize::from(self.ask(player, method.clone(), path).await.status() == 200);
        }
        served
    }

    fn advance(&self, ms: u64) {
        self.time_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

fn rate(per_second: u32, burst: u32) -> Option<RateLimit> {
    Some(RateLimit { per_second, burst })
}

/// Returns settings with limits of the presets: read, write, login, expensive. Messages have none.
fn presets([read, write, login, expensive]: [Option<RateLimit>; 4]) -> RateSettings {
    RateSettings { presets: [read, write, None, login, expensive], ..RateSettings::default() }
}

#[tokio::test]
async fn operations_of_a_preset_share_a_limit() {
    let timed = TimedWorld::new(presets([rate(10, 4), rate(10, 2), None, None])).await;
    let player = timed.world.player().await;
    assert_eq!(timed.count_served(&player, Method::GET, "/v2/account").await, 4);
    assert_eq!(timed.count_served(&player, Method::GET, "/v2/profile").await, 0, "it has the same preset");
    assert_eq!(timed.count_served(&player, Method::PUT, "/v2/account").await, 2, "writes have another preset");
    timed.advance(200);
    assert_eq!(timed.count_served(&player, Method::GET, "/v2/profile").await, 2, "the bucket refills");
    let other = timed.world.player().await;
    assert_eq!(timed.count_served(&other, Method::GET, "/v2/account").await, 4, "another user is not affected");
}

#[tokio::test]
async fn an_operation_may_have_its_own_limit_instead_of_its_preset() {
    let mut settings = presets([rate(10, 4); 4]);
    settings.operations.insert("GetAccount".to_owned(), rate(10, 6));
    settings.operations.insert("ListProfiles".to_owned(), None);
    let timed = TimedWorld::new(settings).await;
    let player = timed.world.player().await;
    assert_eq!(timed.count_served(&player, Method::GET, "/v2/account").await, 6);
    assert_eq!(timed.count_served(&player, Method::GET, "/v2/profile").await, 10, "it has no limit");
    assert_eq!(
        timed.count_served(&player, Method::GET, "/v2/storage/saves").await,
        4,
        "other operations use the preset"
    );
}

#[tokio::test]
async fn all_operations_together_have_a_limit() {
    let settings = RateSettings { account: rate(10, 5), ..presets([rate(10, 4); 4]) };
    let timed = TimedWorld::new(settings).await;
    let player = timed.world.player().await;
    assert_eq!(timed.count_served(&player, Method::GET, "/v2/account").await, 4);
    assert_eq!(timed.count_served(&player, Method::PUT, "/v2/account").await, 1, "rejected requests are not counted");
}

#[tokio::test]
async fn a_rate_limit_error_says_when_to_try_again() {
    let timed = TimedWorld::new(presets([rate(1, 1), None, None, None])).await;
    let player = timed.world.player().await;
    assert_eq!(timed.ask(&player, Method::GET, "/v2/account").await.status(), 200);
    let rejected = timed.ask(&player, Method::GET, "/v2/account").await;
    assert_eq!(rejected.status(), 429);
    assert_eq!(rejected.headers()[header::RETRY_AFTER], "1");
    assert_eq!(rejected.headers()[header::ACCESS_CONTROL_EXPOSE_HEADERS], "Retry-After", "pages can read it");
    let (status, body) = timed.world.ask(Some(&player), Method::GET, "/v2/account", "").await;
    assert_eq!((status, body["code"].as_u64()), (429, Some(8)));
    assert_eq!(body["message"], "Too many requests of the kind \"read\". Try again in 1 second.");
    timed.advance(999);
    assert_eq!(timed.ask(&player, Method::GET, "/v2/account").await.status(), 429);
    timed.advance(1);
    assert_eq!(timed.ask(&player, Method::GET, "/v2/account").await.status(), 200);
    let text = timed.registry.render();
    let line = "aether_operations_refused_total{code=\"resource_exhausted\",operation=\"GetAccount\"} 3\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("aether_operation_duration_seconds_count{operation=\"GetAccount\"} 5\n"), "{text}");
}

#[test]
fn presets_match_the_operations() {
    let operations = operations();
    let preset = |name: &str| operations.iter().find(|(known, _)| *known == name).map(|(_, preset)| *preset);
    for (name, expected) in [
        ("GetAccount", RatePreset::Read),
        ("ReadStorageObjects", RatePreset::Read),
        ("ListLeaderboardRecords", RatePreset::Read),
        ("WriteStorageObjects", RatePreset::Write),
        ("CreateProfile", RatePreset::Write),
        ("AuthenticateDevice", RatePreset::Login),
        ("SessionRefresh", RatePreset::Login),
        ("ResetPassword", RatePreset::Login),
        ("ValidatePurchaseApple", RatePreset::Expensive),
        ("ExportAccount", RatePreset::Expensive),
        ("LinkEmail", RatePreset::Expensive),
        ("ListParties", RatePreset::Expensive),
    ] {
        assert_eq!(preset(name), Some(expected), "{name}");
    }
    for (name, preset) in &operations {
        let of_socket = [
            "Ping",
            "StatusFollow",
            "StatusUnfollow",
            "ChannelLeave",
            "PartyJoinRequestList",
            "PartyDataSend",
            "MatchLeave",
            "MatchDataSend",
        ]
        .contains(name);
        let reads = name.starts_with("Get") || name.starts_with("List") || name.starts_with("Read") || of_socket;
        // It searches all parties.
        let is_costly = *name == "ListParties";
        assert_eq!(*preset == RatePreset::Read, reads && !is_costly, "{name}");
    }
}
