//! Messages of several users in one chat room.

use aether_testkit_server::durability::Work;
use aether_testkit_server::{ApiClient, ServicesSocket, SocketInput};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use uuid::Uuid;

/// Room of all clients.
const ROOM: &str = "durability";
const CHANNEL: &str = "2...durability";

/// A client that sends numbered messages.
pub struct Talker {
    device: String,
    socket: Option<ServicesSocket>,
    /// Number of its last attempt.
    attempted: u64,
    /// Acknowledged messages: the number of the attempt by the number in the channel.
    acknowledged: BTreeMap<u64, u64>,
}

impl Default for Talker {
    fn default() -> Talker {
        let device = format!("device-{}", Uuid::new_v4());
        Talker { device, socket: None, attempted: 0, acknowledged: BTreeMap::new() }
    }
}

impl Talker {
    /// Compares the history with the records, and joins the room again.
    pub async fn compare(mut self, server: SocketAddr) -> Talker {
        let mut client = ApiClient::sign_in(server, &self.device).await.expect("the server runs");
        let history = history(&mut client).await;
        for (index, message) in history.iter().enumerate() {
            assert_eq!(message.sequence, index as u64 + 1, "the numbers have no gaps");
        }
        let own: Vec<&Stored> = history.iter().filter(|message| message.sender == client.user).collect();
        assert!(own.is_sorted_by(|one, next| one.attempt < next.attempt), "each is stored once, and in order");
        assert!(own.iter().all(|message| message.attempt <= self.attempted), "only what was sent is stored");
        let stored: BTreeMap<u64, u64> = own.iter().map(|message| (message.sequence, message.attempt)).collect();
        for (sequence, attempt) in &self.acknowledged {
            assert_eq!(stored.get(sequence), Some(attempt), "an acknowledged message is missing");
        }
        let mut socket = ServicesSocket::connect(server, &client.token).await;
        let joined = socket.request(json!({ "channel_join": { "target": ROOM, "type": 1 } })).await;
        assert_eq!(joined["channel"]["id"], CHANNEL, "{joined}");
        self.socket = Some(socket);
        self
    }
}

impl Work for Talker {
    async fn work(mut self, _: SocketAddr) -> Talker {
        let Some(mut socket) = self.socket.take() else { return self };
        loop {
            self.attempted += 1;
            let content = json!({ "n": self.attempted }).to_string();
            let send = json!({ "channel_id": CHANNEL, "content": content });
            let cid = format!("m{}", self.attempted);
            socket.send(&json!({ "cid": cid, "channel_message_send": send })).await;
            let Some(answer) = answer(&mut socket, &cid).await else { return self };
            let sequence = answer["channel_message_ack"]["sequence"].as_str().and_then(|text| text.parse().ok());
            match sequence {
                Some(sequence) => self.acknowledged.insert(sequence, self.attempted),
                // A server that is being killed may still refuse.
                None => return self,
            };
        }
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.len() as u64
    }
}

/// Returns the answer to a request; `None` if the connection ends.
async fn answer(socket: &mut ServicesSocket, cid: &str) -> Option<Value> {
    loop {
        if let SocketInput::Text(text) = socket.input().await? {
            let message: Value = serde_json::from_str(&text).ok()?;
            if message["cid"] == cid {
                return Some(message);
            }
        }
    }
}

/// A message of the history.
struct Stored {
    sequence: u64,
    sender: String,
    attempt: u64,
}

async fn history(client: &mut ApiClient) -> Vec<Stored> {
    let (mut stored, mut cursor) = (Vec::new(), String::new());
    loop {
        let path = format!("/v2/channel/{CHANNEL}?limit=100&forward=true&cursor={cursor}");
        let page = client.get(&path).await.expect("the server runs").json();
        stored.extend(page["messages"].as_array().into_iter().flatten().map(read));
        match page["next_cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return stored,
        }
    }
}

fn read(message: &Value) -> Stored {
    let text = |field: &str| message[field].as_str().unwrap_or_else(|| panic!("{message}")).to_owned();
    let content: Value = serde_json::from_str(&text("content")).expect("the content is JSON");
    Stored {
        sequence: text("sequence").parse().expect("a number"),
        sender: text("sender_id"),
        attempt: content["n"].as_u64().expect("a number"),
    }
}
