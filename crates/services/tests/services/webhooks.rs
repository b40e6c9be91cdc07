//! Delivery of the outbox.

use aether_metrics::Registry;
use aether_services::clock::{ManualClock, WallClock};
use aether_services::event::{Event, Events, Handler};
use aether_services::http_client::{self, HttpClient};
use aether_services::webhook::{Settings, Webhooks};
use aether_services::{CallContext, GrpcCode};
use aether_store::{Database, Store, StoreError, outbox};
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const NOW: i64 = 1_800_000_000_000;

/// Receiver that answers with a given status.
#[derive(Clone)]
struct Receiver {
    received: Arc<Mutex<Vec<(HeaderMap, String)>>>,
    status: Arc<Mutex<StatusCode>>,
}

impl Receiver {
    async fn start() -> (Receiver, String) {
        let receiver = Receiver { received: Arc::default(), status: Arc::new(Mutex::new(StatusCode::OK)) };
        let take = |State(receiver): State<Receiver>, headers: HeaderMap, body: Bytes| async move {
            let text = String::from_utf8(body.to_vec()).expect("it is JSON");
            receiver.received.lock().expect("the lock is not poisoned").push((headers, text));
            *receiver.status.lock().expect("the lock is not poisoned")
        };
        let router = axum::Router::new().route("/hook", post(take)).with_state(receiver.clone());
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}/hook", listener.local_addr().expect("it is bound"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        (receiver, url)
    }

    fn answer(&self, status: StatusCode) {
        *self.status.lock().expect("the lock is not poisoned") = status;
    }

    fn received(&self) -> Vec<(HeaderMap, String)> {
        self.received.lock().expect("the lock is not poisoned").clone()
    }
}

struct Fixture {
    store: Store,
    clock: Arc<ManualClock>,
    webhooks: Webhooks,
    registry: Registry,
}

impl Fixture {
    async fn new(url: &str, private_allowed: bool) -> Fixture {
        let registry = Registry::new();
        let store = Store::open(&aether_store::StoreSettings::new(Database::Memory), &registry).await.expect("memory");
        let clock = Arc::new(ManualClock::at(NOW));
        let allowed = if private_allowed { vec!["127.0.0.0/8".parse().expect("a network")] } else { Vec::new() };
        let http_client = HttpClient::new(&http_client::Settings { allowed, ..Default::default() });
        let settings = Settings { url: url.to_owned(), secret: "a secret of its own".to_owned(), attempts_max: 3 };
        let webhooks =
            Webhooks::new(store.clone(), Arc::clone(&clock) as Arc<dyn WallClock>, http_client, settings, &registry);
        Fixture { store, clock, webhooks, registry }
    }

    async fn push(&self, topic: &'static str) {
        let push = move |transaction: &mut aether_store::Transaction<'_>| {
            outbox::push(transaction, topic, "{\"a\":1}", NOW).map(|_| ())
        };
        self.store.write(push).await.expect("it is written");
    }

    async fn depth(&self) -> (i64, i64) {
        self.store.read::<_, StoreError>(outbox::depth).await.expect("it is read")
    }
}

#[tokio::test]
async fn a_written_message_is_posted_and_removed_after_delivery() {
    let (receiver, url) = Receiver::start().await;
    let fixture = Fixture::new(&url, true).await;
    fixture.push("account.created").await;
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(1));
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(0));
    let received = receiver.received();
    assert_eq!(received.len(), 1);
    let (headers, body) = &received[0];
    let body: serde_json::Value = serde_json::from_str(body).expect("it is JSON");
    assert_eq!((&body["topic"], &body["payload"]["a"]), (&"account.created".into(), &1.into()));
    assert_eq!(headers["idempotency-key"].to_str().expect("text"), body["id"]);
    assert!(headers["aether-signature"].to_str().expect("text").starts_with("t=1800000000,v1="));
    assert_eq!(fixture.depth().await, (0, 0));
}

#[tokio::test]
async fn a_failed_message_is_retried_with_the_same_key_and_parked_in_the_end() {
    let (receiver, url) = Receiver::start().await;
    receiver.answer(StatusCode::INTERNAL_SERVER_ERROR);
    let fixture = Fixture::new(&url, true).await;
    fixture.push("event").await;
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(1));
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(0), "not at once");
    fixture.clock.advance_ms(1_000);
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(1));
    fixture.clock.advance_ms(1_000);
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(0), "the wait doubles");
    fixture.clock.advance_ms(1_000);
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(1));
    fixture.clock.advance_ms(10_000_000);
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(0), "there are no attempts after the third");
    assert_eq!(fixture.depth().await, (0, 1), "it stays in the outbox");
    let keys: Vec<_> = receiver.received().iter().map(|(headers, _)| headers["idempotency-key"].clone()).collect();
    assert!(keys.len() == 3 && keys.iter().all(|key| *key == keys[0]));
    assert!(fixture.registry.render().contains("aether_webhook_messages_total{outcome=\"given_up\"} 1\n"));
}

#[tokio::test]
async fn a_private_address_is_rejected_unless_it_is_allowed() {
    let (receiver, url) = Receiver::start().await;
    let fixture = Fixture::new(&url, false).await;
    fixture.push("event").await;
    assert_eq!(fixture.webhooks.deliver_due().await, Ok(1));
    assert!(receiver.received().is_empty());
    assert_eq!(fixture.depth().await, (1, 0), "it waits");
}

#[tokio::test]
async fn events_reach_the_handlers_and_the_outbox() {
    let fixture = Fixture::new("http://127.0.0.1:9/", true).await;
    let seen = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&seen);
    let handler: Handler = Box::new(move |_, event| noted.lock().expect("no handler panics").push(event.clone()));
    let clock = Arc::clone(&fixture.clock) as Arc<dyn WallClock>;
    let events = Events::new(fixture.store.clone(), clock, vec![handler], true);
    let event = Event {
        name: "level_up".to_owned(),
        properties: BTreeMap::from([("level".to_owned(), "7".to_owned())]),
        at: 0,
        external: true,
    };
    events.report(&CallContext::server(), event.clone()).await.expect("it is right");
    assert_eq!(*seen.lock().expect("no handler panics"), [Event { at: NOW, ..event.clone() }]);
    assert_eq!(fixture.depth().await, (1, 0));
    for wrong in [
        Event { name: String::new(), ..event.clone() },
        Event { name: "x".repeat(129), ..event.clone() },
        Event { name: "a\0b".to_owned(), ..event.clone() },
        Event { properties: (0..65).map(|index| (index.to_string(), String::new())).collect(), ..event.clone() },
        Event { properties: BTreeMap::from([("a".to_owned(), "x".repeat(8_193))]), ..event.clone() },
    ] {
        let rejected = events.report(&CallContext::server(), wrong).await.expect_err("it is wrong");
        assert_eq!(rejected.code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn parked_messages_are_removed_after_seven_days() {
    let (receiver, url) = Receiver::start().await;
    receiver.answer(StatusCode::INTERNAL_SERVER_ERROR);
    let fixture = Fixture::new(&url, true).await;
    fixture.push("event").await;
    for _ in 0..3 {
        assert_eq!(fixture.webhooks.deliver_due().await, Ok(1));
        fixture.clock.advance_ms(10_000);
    }
    assert_eq!(fixture.depth().await, (0, 1));
    fixture.clock.advance_ms(7 * 86_400_000 - 30_000);
    assert_eq!(fixture.webhooks.prune().await, Ok(0), "exactly seven days");
    fixture.clock.advance_ms(1);
    fixture.push("event").await;
    assert_eq!(fixture.webhooks.prune().await, Ok(1));
    assert_eq!(fixture.depth().await, (1, 0), "what waits stays");
    assert!(fixture.registry.render().contains("aether_webhook_messages_total{outcome=\"pruned\"} 1\n"));
}
