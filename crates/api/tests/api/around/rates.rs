use crate::desk::{Furnishing, Player, World};
use aether_api::client::{RatePreset, RateSettings, RequestRates, operations};
use aether_limits::RateLimit;
use aether_metrics::Registry;
use axum::response::Response;
use http::{Method, Request, header};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A world in which time goes on only when it is told to.
struct Timed {
    world: World,
    time_ms: Arc<AtomicU64>,
    registry: Registry,
}

impl Timed {
    async fn new(settings: RateSettings) -> Timed {
        let time_ms = Arc::new(AtomicU64::new(0));
        let clock = Arc::clone(&time_ms);
        let rates = RequestRates::with_clock(settings, move || Duration::from_millis(clock.load(Ordering::Relaxed)));
        let registry = Registry::new();
        let furnishing = Furnishing { rates, registry: registry.clone(), ..Furnishing::default() };
        Timed { world: World::furnished(|_| {}, furnishing).await, time_ms, registry }
    }

    async fn ask(&self, player: &Player, method: Method, path: &str) -> Response {
        self.world.send(Some(player), Request::builder().method(method).uri(path), b"{}".to_vec()).await
    }

    /// How many of ten requests are served.
    async fn served(&self, player: &Player, method: Method, path: &str) -> usize {
        let mut served = 0;
        for _ in 0..10 {
            served += usize::from(self.ask(player, method.clone(), path).await.status() == 200);
        }
        served
    }

    fn pass(&self, ms: u64) {
        self.time_ms.fetch_add(ms, Ordering::Relaxed);
    }
}

fn rate(per_second: u32, burst: u32) -> Option<RateLimit> {
    Some(RateLimit { per_second, burst })
}

/// Limits of the presets, in their order: read, write, login, expensive.
fn presets(presets: [Option<RateLimit>; 4]) -> RateSettings {
    RateSettings { presets, ..RateSettings::default() }
}

#[tokio::test]
async fn operations_of_a_kind_share_a_limit_and_other_kinds_have_theirs() {
    let timed = Timed::new(presets([rate(10, 4), rate(10, 2), None, None])).await;
    let player = timed.world.player().await;
    assert_eq!(timed.served(&player, Method::GET, "/v2/account").await, 4);
    assert_eq!(timed.served(&player, Method::GET, "/v2/profile").await, 0, "it reads too");
    assert_eq!(timed.served(&player, Method::PUT, "/v2/account").await, 2, "writing is another kind");
    timed.pass(200);
    assert_eq!(timed.served(&player, Method::GET, "/v2/profile").await, 2, "time heals");
    let other = timed.world.player().await;
    assert_eq!(timed.served(&other, Method::GET, "/v2/account").await, 4, "another is not concerned");
}

#[tokio::test]
async fn an_operation_may_have_a_limit_of_its_own_in_the_place_of_its_preset() {
    let mut settings = presets([rate(10, 4); 4]);
    settings.operations.insert("GetAccount".to_owned(), rate(10, 6));
    settings.operations.insert("ListProfiles".to_owned(), None);
    let timed = Timed::new(settings).await;
    let player = timed.world.player().await;
    assert_eq!(timed.served(&player, Method::GET, "/v2/account").await, 6);
    assert_eq!(timed.served(&player, Method::GET, "/v2/profile").await, 10, "it has none");
    assert_eq!(timed.served(&player, Method::GET, "/v2/storage/saves").await, 4, "others of its kind have theirs");
}

#[tokio::test]
async fn all_operations_together_have_a_limit_too() {
    let settings = RateSettings { account: rate(10, 5), ..presets([rate(10, 4); 4]) };
    let timed = Timed::new(settings).await;
    let player = timed.world.player().await;
    assert_eq!(timed.served(&player, Method::GET, "/v2/account").await, 4);
    assert_eq!(timed.served(&player, Method::PUT, "/v2/account").await, 1, "what was refused was not counted");
}

#[tokio::test]
async fn who_asks_too_often_is_told_so_and_when_to_come_back() {
    let timed = Timed::new(presets([rate(1, 1), None, None, None])).await;
    let player = timed.world.player().await;
    assert_eq!(timed.ask(&player, Method::GET, "/v2/account").await.status(), 200);
    let refused = timed.ask(&player, Method::GET, "/v2/account").await;
    assert_eq!(refused.status(), 429);
    assert_eq!(refused.headers()[header::RETRY_AFTER], "1");
    assert_eq!(refused.headers()[header::ACCESS_CONTROL_EXPOSE_HEADERS], "Retry-After", "pages may read it");
    let (status, body) = timed.world.ask(Some(&player), Method::GET, "/v2/account", "").await;
    assert_eq!((status, body["code"].as_u64()), (429, Some(8)));
    assert_eq!(body["message"], "Too many requests of the kind \"read\". Try again in 1 second.");
    timed.pass(999);
    assert_eq!(timed.ask(&player, Method::GET, "/v2/account").await.status(), 429);
    timed.pass(1);
    assert_eq!(timed.ask(&player, Method::GET, "/v2/account").await.status(), 200);
    let text = timed.registry.render();
    let line = "aether_operations_refused_total{code=\"resource_exhausted\",operation=\"GetAccount\"} 3\n";
    assert!(text.contains(line), "{text}");
    assert!(text.contains("aether_operation_duration_seconds_count{operation=\"GetAccount\"} 5\n"), "{text}");
}

#[test]
fn every_operation_has_the_preset_of_what_it_does() {
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
    ] {
        assert_eq!(preset(name), Some(expected), "{name}");
    }
    for (name, preset) in &operations {
        let reads = name.starts_with("Get") || name.starts_with("List") || name.starts_with("Read");
        assert_eq!(*preset == RatePreset::Read, reads, "{name}");
    }
}
