//! A hostile server with any schema and state: a generic client does not panic.

#![no_main]

use aether_bits::Schema;
use aether_client::JoinOptions;
use aether_client_web::{ClientCore, PredictionRules, description};
use aether_replication::DeliveryOrder;
use aether_wire::{EntityId, Possession, SchemaHash, ServerMessage, Snapshot, Tick, Welcome};
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

/// Rules that reverse the state.
struct Reverse;

impl PredictionRules for Reverse {
    fn channel(&self) -> &str {
        "movement"
    }

    fn ignored(&self) -> &[String] {
        &[]
    }

    fn step(&self, state: &mut Vec<f64>, input: &[f64], _seconds: f32) {
        state.reverse();
        state.extend_from_slice(input);
    }
}

fuzz_target!(|input: (bool, &[u8], Vec<&[u8]>)| {
    let (ordered, schema, packets) = input;
    let Ok(schema) = Schema::from_bytes(schema) else { return };
    let _ = description(&schema);
    let mut core = ClientCore::new(Some(Reverse), JoinOptions::default(), 1);
    core.client.connected(if ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered }, Duration::ZERO);
    let schema_hash = SchemaHash(schema.hash());
    let welcome = Welcome { tick_hz: 20, snapshot_hz: 20, schema_hash, ..Welcome::default() };
    let possession = Possession { tick: Tick(1), entity: EntityId::default() };
    let mut messages = vec![ServerMessage::Welcome(welcome), ServerMessage::Schema(schema.to_bytes())];
    messages.push(ServerMessage::Possession(possession));
    messages.extend(packets.iter().map(|packet| ServerMessage::Snapshot(Snapshot::Packed(packet.to_vec().into()))));
    let (mut frame, mut out) = (Vec::new(), Vec::new());
    for (step, message) in messages.iter().enumerate() {
        let now = Duration::from_millis(50) * step as u32;
        frame.clear();
        if message.encode(&mut frame).is_ok() {
            core.receive(&frame, now);
        }
        let row = core.client.game().input().map(|layout| vec![1.0; layout.len_max()]);
        core.set_input(&row.unwrap_or_default());
        core.client.advance(now).for_each(drop);
        while core.next_event().is_some() {}
        out.clear();
        (0..core.channels().len()).for_each(|channel| core.draw(channel, &mut out));
    }
});
