//! Transfers of coins between wallets, each with an id in the ledger.

use aether_server::services::wallet::Wallets;
use aether_testkit_server::ApiClient;
use aether_testkit_server::durability::Work;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use uuid::Uuid;

/// Initial coins of each wallet.
const COINS: i64 = 1_000;
/// Maximum amount of a transfer. Some transfers exceed the wallet and are rejected.
const TRANSFER_MAX: u64 = 500;

/// A client that transfers coins to others.
pub struct Payer {
    device: String,
    user: Uuid,
    all: Arc<Vec<Uuid>>,
    random_state: u64,
    /// Acknowledged transfers by id, with the amount.
    acknowledged: BTreeMap<Uuid, i64>,
    rejected: BTreeSet<Uuid>,
}

/// Creates accounts with coins.
pub async fn open(server: SocketAddr, count: usize) -> Vec<Payer> {
    let mut payers = Vec::new();
    for number in 0..count {
        let device = format!("device-{}", Uuid::new_v4());
        let mut client = ApiClient::sign_in(server, &device).await.expect("the server runs");
        let mint = json!({ "name": "mint", "properties": { "coins": COINS.to_string(), "id": Uuid::new_v4() } });
        let answer = client.post("/v2/event", &mint).await.expect("the server runs");
        assert_eq!(answer.status, 200, "{}", answer.body);
        let user = Uuid::try_parse(&client.user).expect("an id");
        let (acknowledged, rejected) = (BTreeMap::new(), BTreeSet::new());
        payers.push(Payer { device, user, all: Arc::default(), random_state: number as u64, acknowledged, rejected });
    }
    let all: Arc<Vec<Uuid>> = Arc::new(payers.iter().map(|payer| payer.user).collect());
    payers.iter_mut().for_each(|payer| payer.all = Arc::clone(&all));
    payers
}

/// Compares wallets and ledgers with the records of the payers.
pub async fn compare(wallets: &Wallets, payers: &[Payer]) {
    let mut total = 0;
    // Ledger entries of each transfer, by its id.
    let mut entered: BTreeMap<Uuid, Vec<(Uuid, i64)>> = BTreeMap::new();
    for payer in payers {
        let amounts = wallets.amounts(payer.user).await.expect("the wallet can be read");
        let coins = amounts.get("coins").copied().unwrap_or(0);
        assert!(coins >= 0, "a wallet is never negative: {coins}");
        total += coins;
        let mut in_ledger = 0;
        let mut cursor = String::new();
        loop {
            let page = wallets.list_ledger(payer.user, 100, &cursor).await.expect("the wallet can be read");
            for entry in page.entries {
                let note: Value = serde_json::from_str(&entry.metadata).expect("metadata is JSON");
                let id = Uuid::try_parse(note["id"].as_str().expect("a transfer has an id")).expect("an id");
                in_ledger += entry.changes["coins"];
                entered.entry(id).or_default().push((payer.user, entry.changes["coins"]));
            }
            cursor = page.cursor;
            if cursor.is_empty() {
                break;
            }
        }
        assert_eq!(coins, in_ledger, "a wallet is the sum of its ledger");
    }
    assert_eq!(total, COINS * payers.len() as i64, "the number of coins is constant");
    let minted = entered.values().filter(|entries| entries.len() == 1).count();
    assert_eq!(minted, payers.len(), "every other transfer has two sides");
    for (id, entries) in &entered {
        assert!(entries.len() <= 2, "{id} was done twice: {entries:?}");
    }
    for payer in payers {
        for (id, coins) in &payer.acknowledged {
            let entries = entered.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is missing"));
            assert!(entries.contains(&(payer.user, -coins)), "{id} has another amount: {entries:?}");
        }
        assert!(payer.rejected.iter().all(|id| !entered.contains_key(id)), "rejected transfers are not in the ledger");
    }
}

impl Work for Payer {
    async fn work(mut self, server: SocketAddr) -> Payer {
        let Ok(mut client) = ApiClient::sign_in(server, &self.device).await else { return self };
        loop {
            let others = self.all.iter().filter(|other| **other != self.user).count() as u64;
            let index = usize::try_from(self.random() % others).expect("a few");
            let to = *self.all.iter().filter(|other| **other != self.user).nth(index).expect("one of them");
            let coins = i64::try_from(1 + self.random() % TRANSFER_MAX).expect("a few");
            let id = Uuid::new_v4();
            let properties = json!({ "to": to, "coins": coins.to_string(), "id": id });
            let event = json!({ "name": "transfer", "properties": properties });
            let Ok(answer) = client.post("/v2/event", &event).await else { return self };
            match answer.status {
                200 => drop(self.acknowledged.insert(id, coins)),
                400 => drop(self.rejected.insert(id)),
                _ => panic!("{} {}", answer.status, answer.body),
            }
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.len() as u64
    }
}

impl Payer {
    /// Returns a pseudo-random number.
    fn random(&mut self) -> u64 {
        self.random_state =
            self.random_state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.random_state >> 33
    }
}
