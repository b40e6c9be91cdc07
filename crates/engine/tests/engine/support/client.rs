//! A client in memory.

use super::yard::{Chat, Crate, Poke, Push, Scoreboard, Secret};
use aether_bits::{BitReader, BitWriter, Component, Replicate};
use aether_engine::ConnectionEndpoint;
use aether_engine::connection::InboxFull;
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    Ack, ClientMessage, CloseReason, CommandSeq, EntityId, GameBody, GameMessage, InputBytes, InputPayload, InputSeq,
    Inputs, PlayerId, ServerMessage, StateAck, Tick, ViewTick,
};
use std::collections::BTreeSet;
use std::sync::Arc;

/// An endpoint with the client's mirror.
pub struct Client {
    pub endpoint: ConnectionEndpoint,
    pub player: PlayerId,
    pub mirror: Mirror,
    /// Received reliable messages, in order.
    pub reliable: Vec<Arc<ServerMessage>>,
    /// Every entity that was ever sent to this client.
    pub ever: BTreeSet<EntityId>,
    /// Ticks of all received state packets.
    pub packet_ticks: Vec<Tick>,
    pub state_bytes: usize,
    order: DeliveryOrder,
}

impl Client {
    pub fn new(endpoint: ConnectionEndpoint, player: PlayerId, order: DeliveryOrder, seconds_per_tick: f32) -> Self {
        let mirror = Mirror::builder().component::<Crate>().component::<Secret>().component::<Scoreboard>();
        Client {
            endpoint,
            player,
            mirror: mirror.build(order, seconds_per_tick),
            reliable: Vec::new(),
            ever: BTreeSet::new(),
            packet_ticks: Vec::new(),
            state_bytes: 0,
            order,
        }
    }

    /// Takes all output: first the reliable messages, then the state. Returns the number of state packets.
    pub fn read(&mut self) -> usize {
        self.read_reliable();
        let mut packets = 0;
        while let Some(packet) = self.endpoint.next_state() {
            let applied = self.mirror.apply(&packet).unwrap();
            assert!(!applied.stale);
            self.packet_ticks.push(applied.tick);
            self.ever.extend(self.mirror.entered());
            self.state_bytes += packet.len();
            self.endpoint.recycle(packet);
            packets += 1;
        }
        if packets > 0 && self.order == DeliveryOrder::Unordered {
            self.send(ClientMessage::Ack(self.mirror.acknowledgement()));
        }
        packets
    }

    pub fn read_reliable(&mut self) {
        while let Some(message) = self.endpoint.next_reliable() {
            self.reliable.push(message);
        }
    }

    pub fn send(&self, message: ClientMessage) {
        self.endpoint.push(message).unwrap();
    }

    /// Sends pushes to the right, numbered from `first_seq`.
    pub fn push(&self, first_seq: u32, by: &[f32]) {
        self.try_push(first_seq, by).unwrap();
    }

    pub fn try_push(&self, first_seq: u32, by: &[f32]) -> Result<(), InboxFull> {
        self.endpoint.push(inputs(first_seq, by, ViewTick::default()))
    }

    /// Sends one push made at `view`.
    pub fn push_seeing(&self, seq: u32, by: f32, view: ViewTick) {
        self.send(inputs(seq, &[by], view));
    }

    /// Sends a chat message.
    pub fn chat(&self, seq: u32, text: &str) {
        self.send(message(seq, 0, &Chat { text: text.to_owned() }));
    }

    /// Sends a poke of an entity.
    pub fn poke(&self, seq: u32, entity: EntityId) {
        self.send(message(seq, 1, &Poke { slot: entity.slot, generation: entity.generation }));
    }

    /// Returns the entity of the last possession message.
    pub fn possession(&self) -> Option<EntityId> {
        self.reliable.iter().rev().find_map(|message| match &**message {
            ServerMessage::Possession(possession) => Some(possession.entity),
            _ => None,
        })
    }

    /// Returns the answer to a command.
    pub fn ack(&self, seq: u32) -> Option<Ack> {
        self.reliable.iter().find_map(|message| match &**message {
            ServerMessage::Ack(ack) if ack.seq == CommandSeq(seq) => Some(ack.clone()),
            _ => None,
        })
    }

    /// Returns all received chat messages, each with its tick.
    pub fn chats(&self) -> Vec<(Tick, String)> {
        let events = self.reliable.iter().filter_map(|message| match &**message {
            ServerMessage::Event(event) => Some(event),
            _ => None,
        });
        events.map(|event| (event.tick, text_of(&event.body))).collect()
    }

    /// Returns the close reason, if the room closed the connection.
    pub fn closed(&self) -> Option<CloseReason> {
        self.endpoint.closing().map(|closing| closing.reason)
    }

    /// Returns the position of an entity in view.
    pub fn place(&self, entity: EntityId) -> Option<[f32; 2]> {
        self.mirror.get::<Crate>(entity).map(|body| body.position)
    }

    /// Returns the position of the player's own entity.
    pub fn own_place(&self) -> Option<[f32; 2]> {
        self.place(self.possession()?)
    }

    /// Returns the number of crates in view.
    pub fn crates(&self) -> usize {
        self.mirror.entities().filter(|&entity| self.mirror.get::<Crate>(entity).is_some()).count()
    }
}

/// Reads for all clients.
pub fn read_all(clients: &mut [Client]) {
    for client in clients {
        client.read();
    }
}

fn inputs(first_seq: u32, by: &[f32], view: ViewTick) -> ClientMessage {
    let payloads = by.iter().map(|&by| {
        let bytes = packed(&Push { by: [by, 0.0] });
        InputPayload::Packed(InputBytes::new(&bytes).unwrap())
    });
    let first_seq = InputSeq(first_seq);
    ClientMessage::Inputs(Inputs { first_seq, payloads: payloads.collect(), ack: StateAck::NONE, view })
}

fn message(seq: u32, code: u16, event: &impl Component) -> ClientMessage {
    let body = GameBody::Packed { code, payload: packed(event) };
    ClientMessage::Game(GameMessage { seq: CommandSeq(seq), body })
}

fn packed(record: &impl Component) -> Vec<u8> {
    let mut writer = BitWriter::new();
    record.write_full(&mut writer);
    writer.to_bytes()
}

fn text_of(body: &GameBody) -> String {
    match body {
        GameBody::Packed { code: 0, payload } => Chat::read_full(&mut BitReader::new(payload)).unwrap().text,
        other => panic!("{other:?} is no chat"),
    }
}
