//! A player on the realtime path who reads everything by the schema of the room: entities by id, with their fields by name.

use aether_testkit_server::seeing_player::{guest, hello, of_type};
use aether_testkit_server::{Connector, DEADLINE, JSON, TestPlayer, TransportKind};
use aether_wire::{EntityId, Event, GameBody, ServerMessage, Snapshot};
use serde_json::{Value as Json, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// Entities by channel and id.
pub type Seen = BTreeMap<String, BTreeMap<EntityId, BTreeMap<String, Json>>>;

/// A player over WebSocket with readable messages.
pub struct Viewer {
    player: TestPlayer,
    /// Visible entities.
    pub seen: Seen,
    /// Events as `action` and fields.
    pub heard: Vec<(String, Json)>,
    /// Errors of the server.
    pub refused: Vec<String>,
    /// Newest tick.
    pub tick: u32,
    inputs: u32,
    commands: u32,
}

impl Viewer {
    /// Joins any room of a type.
    pub async fn join(server: SocketAddr, room_type: &str) -> Viewer {
        let hello = hello(guest(server).await, of_type(room_type));
        let connector =
            Connector::new(&format!("http://{server}").parse().expect("the address is valid")).encoding(JSON);
        let joined = TestPlayer::join(&connector, TransportKind::WebSocket, &hello).await;
        let player = joined.expect("the join is accepted");
        Viewer { player, seen: Seen::new(), heard: Vec::new(), refused: Vec::new(), tick: 0, inputs: 0, commands: 0 }
    }

    /// Waits for an entity to control.
    pub async fn possession(&mut self) -> EntityId {
        self.player.possession().await
    }

    /// Sends an input.
    pub async fn input(&mut self, keys: Json) {
        self.inputs += 1;
        self.command("movement", "input_batch", json!({ "inputs": [{ "seq": self.inputs, "keys": keys }] })).await;
    }

    /// Sends an event of the schema.
    pub async fn command(&mut self, feature: &str, action: &str, payload: Json) {
        self.commands += 1;
        let command = json!({
            "v": 2, "kind": "command", "seq": self.commands, "feature": feature, "action": action, "payload": payload,
        });
        self.player.send_frame(command.to_string()).await;
    }

    /// Reads messages until `look` returns a value.
    pub async fn until<T>(&mut self, what: &str, mut look: impl FnMut(&mut Viewer) -> Option<T>) -> T {
        let end = Instant::now() + DEADLINE;
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            let left = end.saturating_duration_since(Instant::now());
            assert!(left > Duration::ZERO, "timeout while waiting for {what}: {:?} {:?}", self.heard, self.refused);
            if let Ok(message) = timeout(left, self.player.next()).await {
                self.take(message.expect("the connection is open"));
            }
        }
    }

    /// Waits for an event and returns its fields. Earlier events are dropped.
    pub async fn event(&mut self, action: &str) -> Json {
        let fields = self.until(action, |viewer| {
            let at = viewer.heard.iter().position(|(heard, _)| heard == action)?;
            Some(viewer.heard.drain(..=at).next_back()?.1)
        });
        fields.await
    }

    /// Returns a field of an entity.
    pub fn field(&self, channel: &str, id: EntityId, name: &str) -> Option<&Json> {
        self.seen.get(channel)?.get(&id)?.get(name)
    }

    /// Returns the entities of a channel, by a field.
    pub fn by(&self, channel: &str, name: &str) -> BTreeMap<String, EntityId> {
        let entities = self.seen.get(channel).into_iter().flatten();
        entities.filter_map(|(id, fields)| Some((fields.get(name)?.as_str()?.to_owned(), *id))).collect()
    }

    fn take(&mut self, message: ServerMessage) {
        match message {
            ServerMessage::Snapshot(Snapshot::Readable(snapshot)) => {
                self.tick = snapshot.tick.0;
                for id in &snapshot.removed {
                    self.seen.values_mut().for_each(|channel| drop(channel.remove(id)));
                }
                for (channel, entities) in snapshot.features {
                    let known = self.seen.entry(channel).or_default();
                    known.extend(entities.into_iter().map(|entity| (entity.id, entity.fields.0.into_iter().collect())));
                }
            }
            ServerMessage::Event(Event { body: GameBody::Named { action, fields, .. }, .. }) => {
                self.heard.push((action, json!(fields.0)));
            }
            ServerMessage::Error(notice) => self.refused.push(notice.message),
            ServerMessage::Ack(ack) => self.refused.extend(ack.error.map(|error| error.message)),
            _ => {}
        }
    }
}
