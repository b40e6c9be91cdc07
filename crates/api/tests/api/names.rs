//! Names that people choose: their characters, and names that look alike.

use crate::client_account::World;
use aether_services::ServicesExtensions;
use aether_testkit_store::{TestDatabase, databases};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use std::sync::Arc;

async fn world(database: &TestDatabase) -> World {
    World::over(database.open().await, ServicesExtensions::default()).await
}

/// Signs a new device in with a username.
async fn named(world: &World, device: &str, username: &str) -> StatusCode {
    let username: String = form_encoded(username);
    let path = format!("/v2/account/authenticate/device?create=true&username={username}");
    world.post(&path, json!({ "id": device })).await.status
}

fn form_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn rename(world: &World, session: &str, change: Value) -> StatusCode {
    world.ask(Method::PUT, "/v2/account", session, change).await.status
}

/// Characters that are invisible, change the direction of text, or have no meaning.
const BAD: [&str; 9] =
    ["\u{200b}", "\u{202e}", "\u{2066}", "\u{200f}", "\u{feff}", "\u{ad}", "\u{e000}", "\u{378}", "\u{3164}"];

#[tokio::test]
async fn names_with_invisible_characters_are_refused_wherever_one_is_chosen() {
    for database in databases() {
        let world = world(&database).await;
        let session = world.device("device-number-0").await;
        for (number, bad) in BAD.into_iter().enumerate() {
            let name = format!("an{bad}n");
            let device = format!("device-number-{number}-b");
            assert_eq!(named(&world, &device, &name).await, 400, "{name:?} as a new username");
            for field in ["username", "display_name", "location"] {
                assert_eq!(rename(&world, &session, json!({ field: &name })).await, 400, "{name:?} as {field}");
            }
            let profile = json!({ "name": &name });
            let created = world.ask(Method::POST, "/v2/profile", &session, profile.clone()).await;
            assert_eq!(created.status, 400, "{name:?} as a profile: {created:?}");
            let updated = world.ask(Method::PUT, "/v2/profile/default", &session, profile).await;
            assert_eq!(updated.status, 400, "{name:?} as a profile: {updated:?}");
        }
    }
}

#[tokio::test]
async fn a_name_that_looks_like_an_existing_one_is_refused() {
    for database in databases() {
        let world = world(&database).await;
        assert_eq!(named(&world, "device-number-0", "Paypal").await, 200);
        let copies = ["paypal", "PAYPAL", "pаypаl", "PaypaI", "Paypa1", "Ｐａｙｐａｌ", "Раураl"];
        for (number, copy) in copies.into_iter().enumerate() {
            let device = format!("device-number-{number}-b");
            assert_eq!(named(&world, &device, copy).await, 409, "{copy} {}", database.name);
        }
        let session = world.device("device-number-1").await;
        assert_eq!(rename(&world, &session, json!({ "username": "pаypаl" })).await, 409, "{}", database.name);
        assert_eq!(rename(&world, &session, json!({ "display_name": "pаypаl" })).await, 200, "not unique");
        let owner = world.device("device-number-0").await;
        assert_eq!(rename(&world, &owner, json!({ "username": "PayPal" })).await, 200, "it is their own");
        assert_eq!(rename(&world, &owner, json!({ "username": "Someone" })).await, 200);
        assert_eq!(rename(&world, &session, json!({ "username": "paypal" })).await, 200, "it is free again");
    }
}

#[tokio::test]
async fn honest_names_of_every_script_are_accepted() {
    let world = world(&aether_testkit_store::memory()).await;
    let names = [
        "Ann",
        "Anna",
        "Ваня",
        "Иван",
        "Ελένη",
        "张伟",
        "李娜",
        "محمد",
        "فاطمة",
        "שרה",
        "अनिल",
        "山田 太郎",
        "김민준",
        "Łukasz",
        "Zoë",
        "Ali",
        "All",
        "می\u{200c}خواهم",
        "x_Sniper-42",
    ];
    for (number, name) in names.into_iter().enumerate() {
        assert_eq!(named(&world, &format!("device-number-{number}"), name).await, 200, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_concurrent_look_alikes_wins() {
    for database in databases() {
        let world = Arc::new(world(&database).await);
        let copies = ["paypal", "pаypal", "paypаl", "pаypаl", "PayPal", "paypaI", "paypa1", "РАУРАL"];
        let mut tasks = tokio::task::JoinSet::new();
        for (number, copy) in copies.into_iter().enumerate() {
            let world = Arc::clone(&world);
            tasks.spawn(async move { named(&world, &format!("device-number-{number}"), copy).await.as_u16() });
        }
        let mut statuses = tasks.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409, 409, 409, 409, 409, 409], "{}", database.name);
        // The same for changes.
        let mut tasks = tokio::task::JoinSet::new();
        for (number, copy) in ["Zoe", "zoe", "Zое", "ZOE"].into_iter().enumerate() {
            let world = Arc::clone(&world);
            tasks.spawn(async move {
                let session = world.device(&format!("other-device-{number}")).await;
                rename(&world, &session, json!({ "username": copy })).await.as_u16()
            });
        }
        let mut statuses = tasks.join_all().await;
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409, 409, 409], "{}", database.name);
    }
}
