//! Numbers that are not finite or too large, and the JSON form of the messages.

use super::support::{Flyer, events, is_same, links, violations};
use aether_testkit_server::{DEADLINE, JSON, PROTOBUF, TestServer};
use aether_wire::{ClientMessage, ErrorCode, ServerMessage};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tokio::time::timeout;

/// Returns the frame of a movement with a number that the encoder refuses.
fn frame(flyer: &mut Flyer, dx: f32) -> Vec<u8> {
    const PLACEHOLDER: f32 = 1234.5;
    let movement = flyer.movement(flyer.ship, [PLACEHOLDER, 0.0]);
    let mut frame = Vec::new();
    ClientMessage::MovementDelta(movement).encode(&mut frame).expect("it is valid");
    let number = PLACEHOLDER.to_le_bytes();
    let at = frame.windows(4).position(|bytes| bytes == number).expect("it has the number");
    frame[at..at + 4].copy_from_slice(&dx.to_le_bytes());
    assert!(ClientMessage::decode(&frame).is_err(), "{dx}");
    frame
}

fn text(flyer: &mut Flyer, dx: &str) -> String {
    let movement = flyer.movement(flyer.ship, [0.0; 2]);
    let (entity, seq) = (movement.entity.to_bits(), movement.seq.0);
    format!(
        r#"{{"v":2,"kind":"command","seq":{seq},"clientTime":1.5,"feature":"movement","action":"delta","payload":{{"entity":{entity},"dx":{dx},"dy":0}}}}"#
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_that_are_not_finite_or_too_large_are_refused() {
    let server = TestServer::start(|_| {}).await;
    let errors = || server.metric("aether_decode_errors_total", &[]);
    for link in links() {
        let mut flyer = Flyer::join(&server, link).await;
        let frames = if link.1 == PROTOBUF {
            [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, 1e38].map(|dx| frame(&mut flyer, dx))
        } else {
            ["NaN", "1e39", "-1e39", "1e38"].map(|dx| text(&mut flyer, dx).into_bytes())
        };
        for frame in frames {
            let before = errors();
            flyer.player.send_frame(&frame).await;
            let notice = flyer.notice().await;
            assert_eq!((notice.code, notice.fatal), (ErrorCode::BadMessage, false), "{link:?}");
            assert_eq!(errors(), before + 1.0, "{link:?}");
        }
        let [x, y] = flyer.position;
        flyer.step([1.0, 0.0]).await;
        assert!(is_same(flyer.position, [x + 1.0, y]), "{link:?}: {:?}", flyer.position);
    }
    assert_eq!((violations(&server), events(&server, "corrections")), (BTreeMap::new(), 0));
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_delta_and_its_correction_have_the_documented_json_form() {
    let server = TestServer::start(|_| {}).await;
    for link in links().into_iter().filter(|(_, encoding)| *encoding == JSON) {
        let mut flyer = Flyer::join(&server, link).await;
        let frame = text(&mut flyer, "6");
        flyer.player.send_frame(&frame).await;
        let correction = loop {
            let frame =
                timeout(DEADLINE, flyer.player.client.next_frame()).await.expect("in time").expect("it is open");
            let message: Value = serde_json::from_slice(&frame).expect("it is JSON");
            if message["kind"] == "correction" {
                break message;
            }
        };
        let payload = &correction["payload"];
        let number = |pointer: &str| payload.pointer(pointer).and_then(Value::as_f64).expect("it is a number") as f32;
        let [x, y] = flyer.position;
        assert_eq!(payload["entity"], json!(flyer.ship.to_bits()), "{correction}");
        assert_eq!(payload["ackSeq"], json!(1), "{correction}");
        assert!(is_same([number("/position/x"), number("/position/y")], [x + 2.0, y]), "{correction}");
        assert!(is_same([number("/velocity/x"), number("/velocity/y")], [2.0, 0.0]), "{correction}");
    }
    server.stop().await;
}

/// A notice about a movement is not a reason to leave the room.
#[tokio::test(flavor = "multi_thread")]
async fn the_connection_stays_open_after_violations() {
    let server = TestServer::start(|_| {}).await;
    for link in links() {
        let mut flyer = Flyer::join(&server, link).await;
        for _ in 0..10 {
            flyer.propose([100.0, 0.0]).await;
            flyer.correction().await;
        }
        flyer.player.send(ClientMessage::ManifestRequest).await;
        flyer.player.wait("a manifest", |message| matches!(message, ServerMessage::Manifest(_)).then_some(())).await;
    }
    server.stop().await;
}
