//! Hits are decided by the positions that the shooter saw, and by the order of players.

use crate::support::controls;
use aether::engine::{ConnectionEndpoint, RoomHandle};
use aether::prelude::*;
use aether::wire::{
    ClientMessage, Event, InputBytes, InputPayload, InputSeq, Inputs, ServerMessage, StateAck, ViewTick,
};
use aether_sandbox_rules::{Controls, Hit};
use aether_sandbox_server::{Sandbox, settings};

const PILOTS: u32 = 150;
const TICKS: u32 = 400;
/// Hash after the last tick, which includes the hits of every pilot, from a hit test that compared every shot with every
/// ship. There were 757 hits.
const EXPECTED_HASH: u64 = 6_632_523_336_857_363_392;

/// Joins a player.
fn join(handle: &RoomHandle, number: u32) -> ConnectionEndpoint {
    let name = format!("pilot {number}");
    let request =
        JoinRequest { user: name.clone(), name, permissions: Permissions::default(), ..JoinRequest::default() };
    handle.join(request, DeliveryOrder::Ordered).expect("the mailbox has room")
}

/// Sends an input of a client that displays the world some ticks late, some of them outside the stored history.
fn steer(endpoint: &ConnectionEndpoint, tick: u32, number: u32) {
    let mut writer = BitWriter::new();
    Controls { fire: !number.is_multiple_of(4), ..controls(tick, number) }.write_full(&mut writer);
    let late = number * 7 % 50;
    let view = ViewTick { tick: Tick(tick.saturating_sub(late)), fraction: (number * 37 % 256) as u8 };
    let bytes = InputBytes::new(&writer.to_bytes()).expect("controls are small");
    let payloads = vec![InputPayload::Packed(bytes)].into();
    let inputs = Inputs { first_seq: InputSeq(tick + 1), payloads, ack: StateAck::NONE, view };
    let _ = endpoint.push(ClientMessage::Inputs(inputs));
}

#[test]
fn a_battle_has_the_hits_of_a_comparison_with_every_ship() {
    let mut room = Room::builder(Sandbox::default(), settings()).seed(11).build().expect("the settings are valid");
    let handle = room.handle();
    let mut pilots: Vec<ConnectionEndpoint> = (0..PILOTS).map(|number| join(&handle, number)).collect();
    let (mut hits, mut told) = (0, 0);
    for tick in 0..TICKS {
        // Players who leave have shots in flight; those who join were not seen before.
        if tick % 8 == 7 {
            let place = (tick * 13 % PILOTS) as usize;
            let _ = pilots[place].push(ClientMessage::Leave);
            pilots[place] = join(&handle, PILOTS + tick);
        }
        for (number, pilot) in (0..).zip(&pilots) {
            steer(pilot, tick, number);
        }
        room.tick(&mut NoObserver);
        for pilot in &pilots {
            let player = pilot.admission().and_then(|admission| admission.as_ref().ok()).map(|player| player.0);
            while let Some(message) = pilot.next_reliable() {
                let ServerMessage::Event(Event { body: GameBody::Packed { payload, .. }, .. }) = &*message else {
                    continue;
                };
                let hit = Hit::read_full(&mut BitReader::new(payload)).expect("the event is a hit");
                hits += usize::from(player == Some(hit.shooter));
                told += 1;
            }
            while let Some(packet) = pilot.next_state() {
                pilot.recycle(packet);
            }
        }
        while handle.next_request().is_some() {}
    }
    assert_eq!(room.hash(), EXPECTED_HASH);
    // A few shooters leave before their shot hits.
    assert!((700..=757).contains(&hits), "every shooter is told of its {hits} hits");
    assert!(
        told > 2 * hits && told < hits * PILOTS as usize / 8,
        "{told} were told of {hits} hits: those who see them"
    );
}
