//! Conditional writes of objects, each on the version before.

use aether_testkit_server::ApiClient;
use aether_testkit_server::durability::Work;
use serde_json::{Value, json};
use std::net::SocketAddr;
use uuid::Uuid;

/// Objects of one batch: both are written or neither.
const KEYS: [&str; 2] = ["one", "other"];

/// A client that counts up in two objects.
pub struct Writer {
    device: String,
    /// Last acknowledged number. The next write is conditional on `versions`.
    written: u64,
    versions: [String; 2],
    /// True if a write of the next number was sent and not acknowledged.
    sent: bool,
    acknowledged: u64,
}

impl Default for Writer {
    fn default() -> Writer {
        let versions = ["*".to_owned(), "*".to_owned()];
        Writer { device: format!("device-{}", Uuid::new_v4()), written: 0, versions, sent: false, acknowledged: 0 }
    }
}

impl Writer {
    /// Compares the server's data with the records, and records the result of the last attempt.
    pub async fn compare(mut self, server: SocketAddr) -> Writer {
        let mut client = ApiClient::sign_in(server, &self.device).await.expect("the server runs");
        let id = |key: &str| json!({ "collection": "durability", "key": key, "user_id": client.user });
        let ids: Vec<Value> = KEYS.into_iter().map(id).collect();
        let answer = client.post("/v2/storage", &json!({ "object_ids": ids })).await.expect("the server runs");
        let answer = answer.json();
        let found = answer["objects"].as_array().cloned().unwrap_or_default();
        let numbers: Vec<u64> = found.iter().map(number).collect();
        let attempted = self.written + u64::from(self.sent);
        match numbers[..] {
            [] => assert_eq!(self.written, 0, "an acknowledged write is missing"),
            [one, other] => {
                assert_eq!(one, other, "the batch was written by half");
                assert!(
                    (self.written..=attempted).contains(&one),
                    "{one} is not within {}..={attempted}",
                    self.written
                );
                self.written = one;
                self.versions = [0, 1].map(|index| found[index]["version"].as_str().expect("a version").to_owned());
            }
            _ => panic!("the batch was written by half: {numbers:?}"),
        }
        self.sent = false;
        self
    }
}

impl Work for Writer {
    async fn work(mut self, server: SocketAddr) -> Writer {
        let Ok(mut client) = ApiClient::sign_in(server, &self.device).await else { return self };
        loop {
            let value = json!({ "n": self.written + 1 }).to_string();
            let object = |(key, version): (&str, &String)| json!({ "collection": "durability", "key": key, "value": value, "version": version });
            let objects: Vec<Value> = KEYS.into_iter().zip(&self.versions).map(object).collect();
            self.sent = true;
            let Ok(answer) = client.put("/v2/storage", &json!({ "objects": objects })).await else { return self };
            assert_eq!(answer.status, 200, "there is no other writer: {}", answer.body);
            let acks = answer.json();
            self.versions = [0, 1].map(|index| acks["acks"][index]["version"].as_str().expect("a version").to_owned());
            self.written += 1;
            self.acknowledged += 1;
            self.sent = false;
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

fn number(object: &Value) -> u64 {
    let value = object["value"].as_str().expect("an object has a value");
    serde_json::from_str::<Value>(value).expect("the text is JSON")["n"].as_u64().expect("it is a number")
}
