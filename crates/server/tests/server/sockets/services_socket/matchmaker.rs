//! The matchmaker behind the socket: limits, the hook, rooms for matches, seats and backfill.

use aether_server::services::matches::NewMatch;
use aether_server::services::matchmaker::{MatchPlan, MatchedAnswer};
use aether_server::services::{CallContext, GrpcCode, ServiceError};
use aether_server::{Server, StartError};
use aether_testkit_server::{ApiClient, ServicesSocket, TestServer, until};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use uuid::Uuid;

/// A player with a socket.
struct Player {
    user: Uuid,
    socket: ServicesSocket,
}

async fn player(server: &TestServer) -> Player {
    let user = ApiClient::new_user(server.http).await;
    let socket = server.socket(&user.token).await;
    Player { user: Uuid::try_parse(&user.user).expect("ids are ids"), socket }
}

/// Message for a ticket of a match of exactly so many players.
fn ticket(count: u32) -> Value {
    json!({ "matchmaker_add": { "min_count": count, "max_count": count, "query": "*", "string_properties": { "mode": "duel" } } })
}

impl Player {
    /// Adds a ticket, and returns its id.
    async fn add(&mut self, message: Value) -> String {
        let answer = self.socket.request(message).await;
        answer["matchmaker_ticket"]["ticket"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Returns the message of the match.
    async fn matched(&mut self) -> Value {
        let message = self.socket.next().await;
        assert!(message["matchmaker_matched"].is_object(), "{message}");
        message["matchmaker_matched"].clone()
    }
}

fn message_of(answer: &Value) -> &str {
    answer["error"]["message"].as_str().unwrap_or_else(|| panic!("{answer}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_of_a_session_and_of_a_user_are_limited_and_end_with_the_session() {
    let server = TestServer::start(|config| {
        config.matchmaker.tickets_per_session_max = 2;
        config.matchmaker.tickets_per_user_max = 3;
    })
    .await;
    let user = ApiClient::new_user(server.http).await;
    let [mut one, mut other] = [server.socket(&user.token).await, server.socket(&user.token).await];
    for _ in 0..2 {
        assert!(one.request(ticket(2)).await["matchmaker_ticket"].is_object());
    }
    let answer = one.request(ticket(2)).await;
    assert_eq!(answer["error"]["code"], Value::Null, "code 0: {answer}");
    assert_eq!(message_of(&answer), "Too many matchmaker tickets. Remove one, or wait until it matches.");
    assert!(other.request(ticket(2)).await["matchmaker_ticket"].is_object());
    assert!(message_of(&other.request(ticket(2)).await).starts_with("Too many matchmaker tickets."));
    let matchmaker = &server.services().matchmaker;
    assert_eq!(matchmaker.stats().tickets, 3, "two sessions of one user do not meet");
    assert_eq!(server.metric("aether_matchmaker_tickets", &[]), 3.0);
    drop(one);
    until("the end of the tickets of the first session", || matchmaker.stats().tickets == 1).await;
    drop(other);
    until("the end of all tickets", || matchmaker.stats().tickets == 0).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_is_made_at_once_and_counted() {
    let server = TestServer::start(|config| config.matchmaker.interval_ms = 60_000).await;
    let [mut ann, mut bob] = [player(&server).await, player(&server).await];
    let id = ann.add(ticket(2)).await;
    bob.add(ticket(2)).await;
    let [of_ann, of_bob] = [ann.matched().await, bob.matched().await];
    assert_eq!(of_ann["ticket"], id);
    assert_eq!(of_ann["self"]["presence"]["user_id"], ann.user.to_string());
    assert_eq!(of_ann["users"].as_array().map(Vec::len), Some(2));
    assert_eq!((&of_ann["token"], &of_ann["users"]), (&of_bob["token"], &of_bob["users"]));
    let services = server.services();
    let token = of_ann["token"].as_str().expect("a token");
    let now = u64::try_from(services.clock.now_seconds()).expect("the clock is after 1970");
    let match_id = services.match_tokens.verify(token, now).expect("the token is valid");
    assert!(match_id.ends_with('.'), "{match_id} is relayed");
    assert_eq!(services.matchmaker.reserved_seats(&match_id), 2);
    assert!(services.matchmaker.has_seat(&match_id, ann.user));
    assert!(services.matchmaker.claim_seat(&match_id, ann.user));
    assert!(!services.matchmaker.claim_seat(&match_id, ann.user), "a seat is claimed once");
    services.matchmaker.end_match(&match_id);
    assert_eq!(services.matchmaker.reserved_seats(&match_id), 0);
    assert_eq!(server.metric("aether_matchmaker_matches_total", &[("kind", "new")]), 1.0);
    assert_eq!(server.metric("aether_matchmaker_wait_seconds_count", &[]), 2.0);
    assert!(server.metric("aether_matchmaker_run_seconds_count", &[]) >= 1.0);
    assert_eq!(server.metric("aether_matchmaker_tickets", &[]), 0.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_of_the_configured_type_is_created_for_a_match() {
    let server = TestServer::start(|config| config.matchmaker.room_type = Some("relay".to_owned())).await;
    let [mut ann, mut bob] = [player(&server).await, player(&server).await];
    ann.add(ticket(2)).await;
    bob.add(ticket(2)).await;
    let [of_ann, of_bob] = [ann.matched().await, bob.matched().await];
    assert_eq!((&of_ann["match_id"], &of_ann["token"]), (&of_bob["match_id"], &Value::Null));
    let match_id = of_ann["match_id"].as_str().expect("an id");
    let room = server.services().matches().expect("rooms are hosted").find(match_id).await.expect("rooms are found");
    let room = room.expect("the room exists");
    assert_eq!((room.match_type.as_str(), room.private), ("relay", true));
    assert_eq!(server.services().matchmaker.reserved_seats(match_id), 2);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_room_type_for_matches_stops_the_start() {
    let mut config = aether_server::config::Config::default();
    let data_dir = std::env::temp_dir().join(format!("aether-{}", Uuid::new_v4().simple()));
    config.data_dir.clone_from(&data_dir);
    config.http.address.set_port(0);
    config.http.admin_address.set_port(0);
    config.matchmaker.room_type = Some("arena".to_owned());
    let started = Server::new("test", "1.2.3").relay("relay", Default::default()).start(config).await;
    let _ = std::fs::remove_dir_all(data_dir);
    match started.err() {
        Some(StartError::Config(why)) => {
            assert!(why.contains("unknown room type arena; this server has relay"), "{why}")
        }
        other => panic!("{other:?}"),
    }
}

/// Starts a server whose hook refuses, fails, panics, and then decides by the number of players.
async fn with_hook() -> (TestServer, Arc<AtomicU32>) {
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let server = TestServer::start_with(
        |config| config.matchmaker.interval_ms = 100,
        move |server| {
            server.matchmaker_matched(move |_, candidate| {
                let call = counted.fetch_add(1, Ordering::SeqCst);
                async move {
                    let users: Vec<_> = candidate.tickets.iter().flat_map(|ticket| &ticket.users).collect();
                    assert!(users.iter().all(|user| user.properties.strings["mode"] == "duel"));
                    match call {
                        0 => return Ok(MatchedAnswer::Refuse),
                        1 => return Err(ServiceError::with(GrpcCode::Internal, "The hook failed.")),
                        2 => panic!("the hook panics"),
                        3 => return Ok(MatchedAnswer::AcceptOnly(vec![Uuid::nil()], MatchPlan::Default)),
                        _ => {}
                    }
                    if users.len() == 2 {
                        let new = NewMatch {
                            match_type: "relay".to_owned(),
                            label: "duel".to_owned(),
                            ..NewMatch::default()
                        };
                        return Ok(MatchedAnswer::Accept(MatchPlan::Create(new)));
                    }
                    let first = candidate.tickets.iter().take(2).map(|ticket| ticket.ticket).collect();
                    Ok(MatchedAnswer::AcceptOnly(first, MatchPlan::Default))
                }
            })
        },
    )
    .await;
    (server, calls)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hook_refuses_creates_and_picks() {
    let (server, calls) = with_hook().await;
    let mut players = [player(&server).await, player(&server).await, player(&server).await];
    let [ann, bob, _] = &mut players;
    ann.add(ticket(2)).await;
    bob.add(ticket(2)).await;
    let of_ann = ann.matched().await;
    assert_eq!(
        calls.load(Ordering::SeqCst),
        5,
        "a refused candidate, and one of a hook that failed, is proposed again"
    );
    assert_eq!(server.metric("aether_matchmaker_released_total", &[]), 4.0);
    let match_id = of_ann["match_id"].as_str().expect("an authoritative match has an id");
    let matches = server.services().matches().expect("rooms are hosted");
    let room = matches.find(match_id).await.expect("rooms are found").expect("the room exists");
    assert_eq!((room.match_type.as_str(), room.label.as_str()), ("relay", "duel"));
    assert_eq!(bob.matched().await["match_id"], of_ann["match_id"]);

    for one in &mut players {
        one.add(ticket(3)).await;
    }
    let [ann, bob, cid] = &mut players;
    assert_eq!(ann.matched().await["users"].as_array().map(Vec::len), Some(2));
    assert!(bob.matched().await["token"].is_string(), "the default is a relayed match");
    assert_eq!(server.services().matchmaker.stats().tickets, 1, "the third goes on waiting");
    assert_eq!(cid.socket.request(json!({ "ping": {} })).await, json!({ "pong": {} }));
    server.stop().await;
}

/// Calls a function as a room does.
async fn call(server: &TestServer, name: &str, payload: Value) -> Result<Option<Vec<u8>>, ServiceError> {
    let payload = serde_json::to_vec(&payload).expect("values are JSON");
    server.services().call_bytes(name, &Arc::new(CallContext::server()), payload).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_asks_for_players_by_function() {
    let server = TestServer::start(|config| config.matchmaker.seat_seconds = 300).await;
    let matches = server.services().matches().expect("rooms are hosted");
    let room = matches.create("relay", "").await.expect("the room is created");
    let wanted = json!({
        "id": room.id, "players": 1, "seats": 1, "query": "+properties.mode:duel", "stringProperties": { "map": "ice" },
    });
    call(&server, "match_backfill", wanted.clone()).await.expect("the request is valid");
    assert_eq!(server.services().matchmaker.stats().backfills, 1);
    let [mut ann, mut bob] = [player(&server).await, player(&server).await];
    ann.add(json!({ "matchmaker_add": { "min_count": 2, "max_count": 2, "query": "+properties.map:ice" } })).await;
    let mode = json!({ "mode": "duel" });
    let add = json!({ "min_count": 2, "max_count": 2, "query": "+properties.map:ice", "string_properties": mode });
    bob.add(json!({ "matchmaker_add": add })).await;
    let matched = bob.matched().await;
    assert_eq!((&matched["match_id"], &matched["token"]), (&json!(room.id), &Value::Null), "{matched}");
    assert_eq!(server.services().matchmaker.reserved_seats(&room.id), 1);
    assert_eq!(server.services().matchmaker.stats().tickets, 1, "the query of the room does not accept ann");
    assert_eq!(server.metric("aether_matchmaker_matches_total", &[("kind", "backfill")]), 1.0);
    assert!(server.services().matchmaker.claim_seat(&room.id, bob.user));
    assert_eq!(server.services().matchmaker.stats().backfills, 0, "all seats are taken");

    call(&server, "match_backfill", wanted.clone()).await.expect("the request is valid");
    call(&server, "match_backfill_cancel", json!({ "id": room.id })).await.expect("there is a request");
    let again = call(&server, "match_backfill_cancel", json!({ "id": room.id })).await;
    assert_eq!(again.expect_err("it is cancelled").code, GrpcCode::NotFound);
    for (change, code) in [
        (json!({ "seats": 0 }), GrpcCode::InvalidArgument),
        (json!({ "query": "+" }), GrpcCode::InvalidArgument),
        (json!({ "id": "nowhere" }), GrpcCode::NotFound),
        (json!({ "unknown": 1 }), GrpcCode::InvalidArgument),
    ] {
        let mut request = wanted.clone();
        request.as_object_mut().expect("an object").extend(change.as_object().expect("an object").clone());
        assert_eq!(call(&server, "match_backfill", request).await.expect_err("it is invalid").code, code, "{change}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn players_are_not_sent_to_a_room_that_ended() {
    let server = TestServer::start(|config| config.matchmaker.interval_ms = 100).await;
    let matches = server.services().matches().expect("rooms are hosted");
    let room = matches.create("relay", "").await.expect("the room is created");
    call(&server, "match_backfill", json!({ "id": room.id, "players": 1, "seats": 1 })).await.expect("it is valid");
    matches.end(&room.id).await.expect("the room ends");
    for _ in 0..1_000 {
        if matches.find(&room.id).await.expect("rooms are found").is_none() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let [mut ann, mut bob] = [player(&server).await, player(&server).await];
    ann.add(ticket(2)).await;
    until("the end of the request", || server.services().matchmaker.stats().backfills == 0).await;
    bob.add(ticket(2)).await;
    assert!(ann.matched().await["token"].is_string(), "ann goes on waiting and meets bob");
    server.stop().await;
}
