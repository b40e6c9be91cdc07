//! Outpost over the worst supported network.

use crate::support::{controls, player, prompt, stage};
use aether::engine::Random;
use aether::prelude::*;
use aether::wire::{ClientMessage, GameMessage};
use aether_outpost_rules::{Cell, Kind, Place};

#[test]
fn all_clients_converge_after_a_storm() {
    let mut stage = stage(prompt());
    let clients: Vec<_> = (0..8)
        .map(|number| {
            let order = if number % 2 == 0 { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
            stage.join(&format!("player {number}"), order, Conditions::STORM)
        })
        .collect();
    for tick in 0..400 {
        for (number, client) in clients.iter().enumerate() {
            stage.set_input(*client, Some(&controls(tick, number as u32)));
            if tick % 30 == 29 && !stage.client(*client).received().possessions.is_empty() {
                let [x, y] = player(&stage, *client).position;
                if let Some(cell) = Cell::at([x + 7.0, y]) {
                    stage.send_message(*client, &Place::on(cell, Kind::ALL[number % 4]));
                }
            }
        }
        stage.tick(1);
    }
    assert!(clients.iter().any(|client| !stage.has_converged(*client)), "the storm must cause divergence first");
    stage.heal();
    stage.tick(120);
    for client in &clients {
        assert!(stage.has_converged(*client), "{}", stage.client(*client).name());
        assert_eq!(stage.client(*client).received().faults, Vec::<String>::new());
    }
}

#[test]
fn any_message_bytes_are_answered_without_panic() {
    let mut stage = stage(prompt());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    let mut random = Random::new(1);
    for _ in 0..2_000 {
        let (code, len) = (random.below(9) as u16, random.below(9));
        let payload = (0..len).map(|_| random.below(256) as u8).collect();
        let body = GameBody::Packed { code, payload };
        stage.command(ann, |seq| ClientMessage::Game(GameMessage { seq, body }));
        stage.tick(1);
    }
    stage.tick(2);
    assert_eq!(stage.client(ann).received().acks.len(), 2_000);
    assert!(stage.client(ann).received().acks.iter().filter(|ack| ack.error.is_some()).count() > 1_000);
    assert!(stage.has_converged(ann));
}
