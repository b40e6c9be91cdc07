//! Creation of accounts.

use aether_testkit_server::ApiClient;
use aether_testkit_server::durability::Work;
use serde_json::json;
use std::collections::HashSet;
use std::net::SocketAddr;
use uuid::Uuid;

/// A client that creates accounts.
#[derive(Default)]
pub struct AccountCreator {
    /// Acknowledged devices and users.
    known: Vec<(String, String)>,
    /// Number of accounts compared before.
    compared: usize,
    /// Device whose account may or may not exist.
    last: Option<String>,
}

impl AccountCreator {
    /// Compares the server's data with the records, and records the result of the last attempt.
    pub async fn compare(mut self, server: SocketAddr) -> AccountCreator {
        let mut client = ApiClient::new(server);
        for (device, user) in &self.known[self.compared..] {
            assert_eq!(find(&mut client, device).await.as_ref(), Some(user), "an acknowledged account");
        }
        if let Some(device) = self.last.take() {
            let before = find(&mut client, &device).await;
            let signed_in = ApiClient::sign_in(server, &device).await.expect("the server runs");
            assert!(before.is_none_or(|user| user == signed_in.user), "a device has one account");
            self.known.push((device, signed_in.user));
        }
        self.compared = self.known.len();
        self
    }

    /// Compares all accounts, including those of earlier rounds.
    pub async fn compare_all(mut self, server: SocketAddr) -> AccountCreator {
        self.compared = 0;
        let users: HashSet<&String> = self.known.iter().map(|(_, user)| user).collect();
        assert_eq!(users.len(), self.known.len(), "each device has its own account");
        self.compare(server).await
    }
}

impl Work for AccountCreator {
    async fn work(mut self, server: SocketAddr) -> AccountCreator {
        loop {
            let device = format!("device-{}", Uuid::new_v4());
            self.last = Some(device.clone());
            let Ok(client) = ApiClient::sign_in(server, &device).await else { return self };
            self.known.push((device, client.user));
            self.last = None;
        }
    }

    fn acknowledged(&self) -> u64 {
        self.known.len() as u64
    }
}

async fn find(client: &mut ApiClient, device: &str) -> Option<String> {
    let path = "/v2/account/authenticate/device?create=false";
    let answer = client.post(path, &json!({ "id": device })).await.expect("the server runs");
    if answer.status == 404 {
        return None;
    }
    assert_eq!(answer.status, 200, "{}", answer.body);
    let mut found = ApiClient::new(([127, 0, 0, 1], 0).into());
    found.adopt(&answer.json());
    Some(found.user)
}
