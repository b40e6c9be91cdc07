use crate::world::{Player, World};
use axum::body::to_bytes;
use axum::response::Response;
use flate2::Compression;
use flate2::read::{GzDecoder, ZlibDecoder};
use flate2::write::{GzEncoder, ZlibEncoder};
use http::{Method, Request, header};
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};

/// Upper bound of a request body, in bytes.
const BODY_BYTES_MAX: usize = 262_144;

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).expect("writes to memory succeed");
    encoder.finish().expect("writes to memory succeed")
}

fn deflate(plain: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(plain).expect("writes to memory succeed");
    encoder.finish().expect("writes to memory succeed")
}

async fn write(world: &World, player: &Player, encoding: &str, body: Vec<u8>) -> u16 {
    let request = Request::builder().method(Method::PUT).uri("/v2/storage").header(header::CONTENT_ENCODING, encoding);
    world.send(Some(player), request, body).await.status().as_u16()
}

async fn read(world: &World, player: &Player, key: &str, accepted: &str) -> Response {
    let request = Request::builder().method(Method::POST).uri("/v2/storage").header(header::ACCEPT_ENCODING, accepted);
    let id = json!({ "object_ids": [{ "collection": "saves", "key": key, "user_id": player.id }] });
    world.send(Some(player), request, id.to_string().into_bytes()).await
}

/// Returns a request to write an object whose value has slightly more than `bytes` bytes.
fn object(key: &str, bytes: usize) -> Vec<u8> {
    let value = json!({ "text": "x".repeat(bytes) }).to_string();
    json!({ "objects": [{ "collection": "saves", "key": key, "value": value }] }).to_string().into_bytes()
}

async fn decompressed(response: Response) -> Value {
    let encoding =
        response.headers().get(header::CONTENT_ENCODING).and_then(|name| name.to_str().ok()).map(str::to_owned);
    let bytes = to_bytes(response.into_body(), 1 << 24).await.expect("the body is complete");
    let mut plain = Vec::new();
    match encoding.as_deref() {
        Some("gzip") => GzDecoder::new(&*bytes).read_to_end(&mut plain).expect("the body is gzip"),
        Some("deflate") => ZlibDecoder::new(&*bytes).read_to_end(&mut plain).expect("the body is deflate"),
        _ => (&*bytes).read_to_end(&mut plain).expect("reads from memory succeed"),
    };
    serde_json::from_slice(&plain).expect("every answer is JSON")
}

#[tokio::test]
async fn only_large_answers_are_compressed_if_the_client_accepts_it() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    assert_eq!(write(&world, &player, "identity", object("small", 100)).await, 200);
    assert_eq!(write(&world, &player, "identity", object("large", 100_000)).await, 200);
    assert_eq!(write(&world, &player, "identity", object("middle", 2_000)).await, 200);
    let cases = [
        ("large", "gzip, deflate, br", Some("gzip")),
        ("middle", "gzip, deflate, br", Some("gzip")),
        ("large", "deflate", Some("deflate")),
        ("large", "gzip;q=0.1, deflate;q=0.2", Some("deflate")),
        ("large", "br", None),
        ("large", "gzip;q=0", None),
        ("large", "", None),
        ("small", "gzip", None),
    ];
    for (key, accepted, expected) in cases {
        let plain = decompressed(read(&world, &player, key, "").await).await;
        let answer = read(&world, &player, key, accepted).await;
        let encoding = answer.headers().get(header::CONTENT_ENCODING).and_then(|name| name.to_str().ok());
        assert_eq!(encoding, expected, "{key} {accepted:?}");
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/json");
        let varies = answer.headers().get_all(header::VARY).iter().any(|name| name == "Accept-Encoding");
        assert_eq!(varies, key != "small", "{key} {accepted:?}");
        assert_eq!(decompressed(answer).await, plain, "{key} {accepted:?}");
    }
}

#[tokio::test]
async fn a_request_may_be_compressed() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    assert_eq!(write(&world, &player, "gzip", gzip(&object("a", 5_000))).await, 200);
    assert_eq!(write(&world, &player, "deflate", deflate(&object("b", 5_000))).await, 200);
    for key in ["a", "b"] {
        let found = decompressed(read(&world, &player, key, "gzip").await).await;
        assert_eq!(found["objects"][0]["value"].as_str().map(str::len), Some(5_011), "{key}");
    }
}

#[tokio::test]
async fn a_body_has_the_same_limit_before_and_after_decompression() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let padded = |bytes: usize| {
        let mut body = object("a", 10);
        body.resize(bytes, b' ');
        body
    };
    assert_eq!(write(&world, &player, "identity", padded(BODY_BYTES_MAX)).await, 200);
    assert_eq!(write(&world, &player, "identity", padded(BODY_BYTES_MAX + 1)).await, 400);
    assert_eq!(write(&world, &player, "gzip", gzip(&padded(BODY_BYTES_MAX))).await, 200);
    assert_eq!(write(&world, &player, "gzip", gzip(&padded(BODY_BYTES_MAX + 1))).await, 413);
    let bomb = padded(100 << 20);
    for (encoding, compressed) in [("gzip", gzip(&bomb)), ("deflate", deflate(&bomb))] {
        assert!(compressed.len() < BODY_BYTES_MAX, "the compressed body is within the limit");
        assert_eq!(write(&world, &player, encoding, compressed).await, 413, "{encoding}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_match_its_encoding_is_rejected() {
    let world = World::new(|_| {}).await;
    let player = world.player().await;
    let body = object("a", 10);
    assert_eq!(write(&world, &player, "br", body.clone()).await, 415);
    assert_eq!(write(&world, &player, "gzip", body.clone()).await, 400);
    assert_eq!(write(&world, &player, "deflate", gzip(&body)).await, 400);
    assert_eq!(write(&world, &player, "gzip", gzip(&body)[..20].to_vec()).await, 400);
}

#[tokio::test]
async fn the_openapi_description_is_the_same_when_compressed() {
    let world = World::new(|_| {}).await;
    let ask = async |accepted: &str| {
        let request = Request::builder().uri("/openapi.json").header(header::ACCEPT_ENCODING, accepted);
        world.send(None, request, Vec::new()).await
    };
    let plain = decompressed(ask("").await).await;
    assert!(plain["paths"].is_object());
    for (accepted, expected) in [("gzip", Some("gzip")), ("br", None)] {
        let answer = ask(accepted).await;
        let encoding = answer.headers().get(header::CONTENT_ENCODING).and_then(|name| name.to_str().ok());
        assert_eq!(encoding, expected, "{accepted}");
        assert_eq!(decompressed(answer).await, plain, "{accepted}");
    }
}
