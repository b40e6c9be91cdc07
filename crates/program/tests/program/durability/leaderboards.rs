//! Increments of scores, by one client or by several at once.

use aether_testkit_server::ApiClient;
use aether_testkit_server::durability::Work;
use serde_json::json;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use uuid::Uuid;

/// Leaderboard that the configuration opens to clients.
const LEADERBOARD: &str = "open";
/// Operator that adds.
const INCREMENT: u8 = 3;

/// A client that increments a record.
#[derive(Clone)]
pub struct Scorer {
    record: Arc<Record>,
    acknowledged: u64,
}

struct Record {
    device: String,
    attempted: AtomicU64,
    acknowledged: AtomicU64,
}

impl Scorer {
    /// Creates a client with its own record.
    pub fn alone() -> Scorer {
        let record = Record {
            device: format!("device-{}", Uuid::new_v4()),
            attempted: AtomicU64::new(0),
            acknowledged: AtomicU64::new(0),
        };
        Scorer { record: Arc::new(record), acknowledged: 0 }
    }

    /// Creates a client whose clones increment the same record.
    pub fn shared() -> Scorer {
        Scorer::alone()
    }
}

impl Scorer {
    /// Compares the server's data with the records.
    pub async fn compare(self, server: SocketAddr) -> Scorer {
        let mut client = ApiClient::sign_in(server, &self.record.device).await.expect("the server runs");
        let path = format!("/v2/leaderboard/{LEADERBOARD}?owner_ids={}", client.user);
        let answer = client.get(&path).await.expect("the server runs").json();
        let record = &answer["owner_records"][0];
        let score: u64 = record["score"].as_str().map_or(0, |score| score.parse().expect("a score is a number"));
        let (least, most) =
            (self.record.acknowledged.load(Ordering::SeqCst), self.record.attempted.load(Ordering::SeqCst));
        assert!((least..=most).contains(&score), "{score} is not within {least}..={most}");
        assert_eq!(record["num_score"].as_u64().unwrap_or(0), score, "each write counts once");
        if score > 0 {
            let around = format!("/v2/leaderboard/{LEADERBOARD}/owner/{}?limit=1", client.user);
            let around = client.get(&around).await.expect("the server runs").json();
            assert_eq!(around["records"][0]["score"], record["score"], "ranks are built from what is stored");
        }
        self
    }
}

impl Work for Scorer {
    async fn work(mut self, server: SocketAddr) -> Scorer {
        let Ok(mut client) = ApiClient::sign_in(server, &self.record.device).await else { return self };
        let path = format!("/v2/leaderboard/{LEADERBOARD}");
        loop {
            self.record.attempted.fetch_add(1, Ordering::SeqCst);
            let Ok(answer) = client.post(&path, &json!({ "score": "1", "operator": INCREMENT })).await else {
                return self;
            };
            assert_eq!(answer.status, 200, "{}", answer.body);
            self.record.acknowledged.fetch_add(1, Ordering::SeqCst);
            self.acknowledged += 1;
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}
