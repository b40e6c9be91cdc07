//! Reported events.

use crate::api::Api;
use serde_json::json;
use std::sync::{Arc, Mutex};

#[tokio::test(flavor = "multi_thread")]
async fn an_event_reaches_the_handlers_of_the_program() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let handled = Arc::clone(&seen);
    let mut api = Api::extended(|server| {
        server.on_event(move |_, event| handled.lock().expect("no handler panics").push(event.clone()))
    })
    .await;
    api.run("nk.event", json!(["level_up", { "level": "7" }, 1_700_000_000, true])).await;
    api.run("nk.event", json!(["idle"])).await;
    let events = seen.lock().expect("no handler panics").clone();
    assert_eq!((events[0].name.as_str(), events[0].at, events[0].external), ("level_up", 1_700_000_000_000, true));
    assert_eq!(events[0].properties.get("level").map(String::as_str), Some("7"));
    assert!(events[1].at > 1_700_000_000_000 && !events[1].external, "{events:?}");
    api.refuse("nk.event", json!([{}]), "name").await;
    api.refuse("nk.event", json!(["x", { "level": 7 }]), "properties").await;
    assert!(api.fail("nk.event", json!([""])).await.contains("Event name must be set"));
    api.stop().await;
}
