//! Accounts that are made, one after the other.

use aether_testkit_server::ApiClient;
use aether_testkit_server::durability::Work;
use serde_json::json;
use std::collections::HashSet;
use std::net::SocketAddr;
use uuid::Uuid;

/// Makes one account after the other.
#[derive(Default)]
pub struct Newcomers {
    /// Devices and their users, as they were acknowledged.
    known: Vec<(String, String)>,
    /// How many of them were compared before.
    compared: usize,
    /// The device whose account may be there or not.
    last: Option<String>,
}

impl Newcomers {
    /// Compares what the server knows with what was written down, and takes note of what became of the last attempt.
    pub async fn compare(mut self, server: SocketAddr) -> Newcomers {
        let mut client = ApiClient::new(server);
        for (device, user) in &self.known[self.compared..] {
            assert_eq!(find(&mut client, device).await.as_ref(), Some(user), "an account that was acknowledged");
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

    /// Compares all, also those of earlier rounds.
    pub async fn compare_all(mut self, server: SocketAddr) -> Newcomers {
        self.compared = 0;
        let users: HashSet<&String> = self.known.iter().map(|(_, user)| user).collect();
        assert_eq!(users.len(), self.known.len(), "each device has an account of its own");
        self.compare(server).await
    }
}

impl Work for Newcomers {
    async fn work(mut self, server: SocketAddr) -> Newcomers {
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
