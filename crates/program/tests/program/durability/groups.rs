//! Members of one group who join and leave, and its superadmin, who changes the role of another user.

use aether_testkit_server::ApiClient;
use aether_testkit_server::durability::Work;
use serde_json::{Value, json};
use std::net::SocketAddr;
use uuid::Uuid;

/// Calls of the superadmin in their order, and the role of the user after each.
const CALLS: [(&str, Option<i64>); 5] =
    [("add", Some(2)), ("promote", Some(1)), ("demote", Some(2)), ("ban", Some(4)), ("kick", None)];

/// A client that joins a group and leaves it, in turns.
pub struct Member {
    device: String,
    group: String,
    /// True if the last acknowledged call was a join.
    is_member: bool,
    /// True if the next call was sent and not acknowledged.
    sent: bool,
    acknowledged: u64,
}

/// The superadmin of a group, who changes the role of a user.
pub struct Superadmin {
    device: String,
    name: String,
    group: String,
    user: String,
    /// Number of acknowledged calls.
    acknowledged: u64,
    sent: bool,
}

impl Superadmin {
    /// Creates a group.
    pub async fn new(server: SocketAddr) -> Superadmin {
        let device = format!("device-{}", Uuid::new_v4());
        let mut client = ApiClient::sign_in(server, &device).await.expect("the server runs");
        let name = format!("group {}", Uuid::new_v4());
        let body = json!({ "name": name, "open": true });
        let created = client.post("/v2/group", &body).await.expect("the server runs");
        assert_eq!(created.status, 200, "{}", created.body);
        let group = created.json()["id"].as_str().expect("a group has an id").to_owned();
        let user = ApiClient::new_user(server).await.user;
        Superadmin { device, name, group, user, acknowledged: 0, sent: false }
    }

    /// Returns a client that joins the group.
    pub fn member(&self) -> Member {
        let device = format!("device-{}", Uuid::new_v4());
        Member { device, group: self.group.clone(), is_member: false, sent: false, acknowledged: 0 }
    }

    /// Compares the server's data with the records, and the number of members with the list.
    pub async fn compare(mut self, server: SocketAddr) -> Superadmin {
        let mut client = ApiClient::sign_in(server, &self.device).await.expect("the server runs");
        let users = format!("/v2/group/{}/user", self.group);
        let mut listed = entries(&mut client, &users, "group_users").await;
        listed.extend(entries(&mut client, &format!("{users}?state=4"), "group_users").await);
        let state = |user: &Value| user["state"].as_i64().expect("a user has a state");
        let role = listed.iter().find(|one| one["user"]["id"] == self.user.as_str()).map(state);
        let attempted = self.acknowledged + u64::from(self.sent);
        let possible = [self.acknowledged, attempted].map(role_after);
        assert!(possible.contains(&role), "{role:?} is none of {possible:?}");
        if self.sent && role == role_after(attempted) {
            self.acknowledged = attempted;
        }
        self.sent = false;
        let named = format!("/v2/group?limit=1&name={}", self.name.replace(' ', "%20"));
        let groups = entries(&mut client, &named, "groups").await;
        let members = listed.iter().filter(|user| state(user) <= 2).count();
        assert_eq!(groups[0]["edge_count"], members, "the count is that of the members");
        self
    }
}

impl Work for Superadmin {
    async fn work(mut self, server: SocketAddr) -> Superadmin {
        let Ok(mut client) = ApiClient::sign_in(server, &self.device).await else { return self };
        loop {
            let (call, _) = CALLS[(self.acknowledged % CALLS.len() as u64) as usize];
            let path = format!("/v2/group/{}/{call}?user_ids={}", self.group, self.user);
            self.sent = true;
            let Ok(answer) = client.post(&path, &json!({})).await else { return self };
            assert_eq!(answer.status, 200, "{call}: {}", answer.body);
            self.acknowledged += 1;
            self.sent = false;
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

impl Member {
    /// Compares the server's data with the records, and records the result of the last attempt.
    pub async fn compare(mut self, server: SocketAddr) -> Member {
        let mut client = ApiClient::sign_in(server, &self.device).await.expect("the server runs");
        let own = format!("/v2/user/{}/group", client.user);
        let is_member = !entries(&mut client, &own, "user_groups").await.is_empty();
        assert!(is_member == self.is_member || self.sent, "an acknowledged join or leave is missing");
        self.is_member = is_member;
        self.sent = false;
        self
    }
}

impl Work for Member {
    async fn work(mut self, server: SocketAddr) -> Member {
        let Ok(mut client) = ApiClient::sign_in(server, &self.device).await else { return self };
        loop {
            let call = if self.is_member { "leave" } else { "join" };
            self.sent = true;
            let Ok(answer) = client.post(&format!("/v2/group/{}/{call}", self.group), &json!({})).await else {
                return self;
            };
            assert_eq!(answer.status, 200, "{call}: {}", answer.body);
            self.is_member = !self.is_member;
            self.acknowledged += 1;
            self.sent = false;
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged
    }
}

/// Returns the role of the user after a number of calls.
fn role_after(calls: u64) -> Option<i64> {
    let last = calls.checked_sub(1)?;
    CALLS[(last % CALLS.len() as u64) as usize].1
}

async fn entries(client: &mut ApiClient, path: &str, field: &str) -> Vec<Value> {
    let answer = client.get(path).await.expect("the server runs");
    assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    answer.json()[field].as_array().cloned().unwrap_or_default()
}
