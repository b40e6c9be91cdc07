//! The admin listener, metrics and shutdown.

use aether_testkit_server::{
    ApiClient, ConnectionError, DEADLINE, JSON, PROTOBUF, TRANSPORTS, TestServer, TransportKind,
};
use aether_wire::{ClientMessage, CloseReason, Ping, ServerMessage};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpStream;

#[tokio::test(flavor = "multi_thread")]
async fn admin_routes_are_not_on_the_public_listener() {
    let server = TestServer::start(|_| {}).await;
    for path in
        ["/metrics", "/health", "/debug/heap", "/debug/threads", "/debug/profile?seconds=1", "/debug/../metrics"]
    {
        assert_eq!(server.get(path).await.status, 404, "{path}");
    }
    for path in ["/metrics", "/health", "/debug/heap", "/debug/threads"] {
        assert_eq!(server.request(server.admin, "GET", path, &[]).await.status, 200, "{path}");
    }
    // An idle process has no samples.
    let is_over = Arc::new(AtomicBool::new(false));
    let busy = std::thread::spawn({
        let is_over = Arc::clone(&is_over);
        move || while !is_over.load(Ordering::Relaxed) {}
    });
    let profile = server.request(server.admin, "GET", "/debug/profile?seconds=1", &[]).await;
    is_over.store(true, Ordering::Relaxed);
    busy.join().expect("it ends");
    assert!(profile.status == 200 && profile.body.contains("<svg"), "{}", profile.head);
    assert_eq!(server.request(server.admin, "GET", "/debug/profile?seconds=61", &[]).await.status, 400);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_key_the_admin_listener_requires_it() {
    let key = "a key of the tests and nobody else";
    let server =
        TestServer::start(|config| config.http.admin_key = Some(aether_server::config::Secret::new(key))).await;
    let bearer = format!("Bearer {key}");
    for path in ["/metrics", "/health", "/debug/heap", "/debug/threads", "/debug/profile?seconds=1"] {
        assert_eq!(server.request(server.admin, "GET", path, &[]).await.status, 401, "{path}");
        let wrong = [("authorization", "Bearer another key of the same sort")];
        assert_eq!(server.request(server.admin, "GET", path, &wrong).await.status, 401, "{path}");
    }
    let right = [("authorization", bearer.as_str())];
    assert_eq!(server.request(server.admin, "GET", "/health", &right).await.status, 200);
    assert_eq!(server.request(server.admin, "GET", "/metrics", &right).await.status, 200);
    assert_eq!(server.request(server.admin, "GET", "/livez", &[]).await.status, 200, "it reveals nothing");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_admin_listener_answers_only_to_its_own_names() {
    let server = TestServer::start(|config| config.http.admin_hosts = vec!["metrics.internal".to_owned()]).await;
    for host in ["127.0.0.1:7351", "[::1]:7351", "localhost:7351", "Metrics.Internal:7351", "metrics.internal"] {
        let answer = server.request(server.admin, "GET", "/metrics", &[("host", host)]).await;
        assert_eq!(answer.status, 200, "{host}: {}", answer.body);
    }
    for host in ["rebound.example:7351", "127.0.0.1.example", "localhost.example", ""] {
        for path in ["/metrics", "/health", "/livez", "/nothing"] {
            let answer = server.request(server.admin, "GET", path, &[("host", host)]).await;
            assert_eq!((answer.status, answer.json()["code"].as_str()), (421, Some("bad_host")), "{host} {path}");
        }
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_with_two_hosts_is_rejected() {
    let server = TestServer::start(|_| {}).await;
    for address in [server.http, server.admin] {
        for hosts in [["localhost", "localhost"], ["localhost", "rebound.example"]] {
            let answer = server.request(address, "GET", "/livez", &[("host", hosts[0]), ("host", hosts[1])]).await;
            assert_eq!((answer.status, answer.json()["code"].as_str()), (400, Some("bad_host")), "{hosts:?}");
        }
        let absolute = server.request(address, "GET", "http://rebound.example/livez", &[("host", "localhost")]).await;
        assert_eq!(absolute.status, 400, "{}", absolute.body);
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn answers_with_tokens_are_not_stored() {
    let server = TestServer::start(|_| {}).await;
    let guest = server.request(server.http, "POST", "/api/guest", &[]).await;
    assert!(guest.status == 200 && guest.head.contains("cache-control: no-store"), "{}", guest.head);
    let mut client = ApiClient::new_user(server.http).await;
    let refresh = serde_json::json!({ "token": client.refresh_token });
    client.authorize("Basic ZGVmYXVsdGtleTo=");
    let session = client.post("/v2/account/session/refresh", &refresh).await.expect("the server answers");
    assert!(session.status == 200 && session.head.contains("cache-control: no-store"), "{}", session.head);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_writes_make_the_server_not_ready_until_they_succeed() {
    let server = TestServer::start(|_| {}).await;
    let mut client = ApiClient::new_user(server.http).await;
    // Reads still work while another program holds the lock for writing, as they do with a full disk.
    let file = rusqlite::Connection::open(server.data_dir().join("aether.db")).expect("the file can be opened");
    file.execute_batch("BEGIN IMMEDIATE").expect("the lock is free");
    assert_eq!(server.get("/readyz").await.status, 200, "nothing was written yet");
    let object = serde_json::json!({ "objects": [{ "collection": "c", "key": "k", "value": "{}" }] });
    let refused = client.put("/v2/storage", &object).await.expect("the server answers");
    assert_eq!(refused.status, 503, "{}", refused.body);
    let until = async |status: u16| {
        let asked = async {
            loop {
                let answer = server.get("/readyz").await;
                if answer.status == status {
                    return answer;
                }
            }
        };
        tokio::time::timeout(DEADLINE, asked).await.unwrap_or_else(|_| panic!("/readyz never had {status}"))
    };
    let problem = until(503).await;
    assert!(problem.body.contains("writes fail"), "{}", problem.body);
    assert_eq!(client.get("/v2/account").await.expect("the server answers").status, 200, "reads work");
    file.execute_batch("ROLLBACK").expect("the lock is held");
    until(200).await;
    assert_eq!(client.put("/v2/storage", &object).await.expect("the server answers").status, 200);
    server.stop().await;
}

/// Name and labels of a metric.
type Series = (&'static str, &'static [(&'static str, &'static str)]);

/// Metrics whose value follows from two players that joined, over one transport each.
fn exact_metrics() -> impl Iterator<Item = (&'static str, &'static [(&'static str, &'static str)], f64)> {
    let counted: [(Series, f64); 11] = [
        (("aether_active_connections", &[("transport", "websocket")]), 1.0),
        (("aether_active_connections", &[("transport", "webtransport")]), 1.0),
        (("aether_player_count", &[("room_type", "sandbox")]), 2.0),
        (("aether_room_count", &[("room_type", "sandbox")]), 1.0),
        (("aether_build_info", &[("version", "1.2.3")]), 1.0),
        (("aether_messages_received_total", &[("kind", "hello")]), 2.0),
        (("aether_room_events_total", &[("kind", "joins")]), 2.0),
        (("aether_pings_total", &[]), 2.0),
        (("aether_auth_to_possession_seconds_count", &[]), 2.0),
        // Old names, for one version.
        (("aether_packets_total", &[("direction", "in"), ("kind", "hello")]), 2.0),
        (("aether_players", &[("room_type", "sandbox")]), 2.0),
    ];
    let none: [Series; 9] = [
        ("aether_decode_errors_total", &[]),
        ("aether_encode_errors_total", &[]),
        ("aether_connection_errors_total", &[]),
        ("aether_connections_refused_total", &[]),
        ("aether_connections_closed_total", &[("reason", "too_slow")]),
        ("aether_messages_dropped_total", &[("reason", "before_hello")]),
        ("aether_room_events_total", &[("kind", "unprivileged")]),
        ("aether_room_events_total", &[("kind", "movement_speed")]),
        ("aether_room_failures_total", &[]),
    ];
    let counted = counted.into_iter().map(|((name, labels), value)| (name, labels, value));
    counted.chain(none.into_iter().map(|(name, labels)| (name, labels, 0.0)))
}

/// Metrics of what happens all the time.
fn positive_metrics() -> [Series; 15] {
    [
        ("aether_tick_duration_seconds_count", &[("room_type", "sandbox")]),
        ("aether_tick_stage_duration_seconds_count", &[]),
        ("aether_tick_lateness_seconds_count", &[]),
        ("aether_entity_count", &[("room_type", "sandbox")]),
        ("aether_aoi_queries_total", &[("room_type", "sandbox")]),
        ("aether_memory_bytes", &[]),
        ("aether_messages_sent_total", &[("kind", "snapshot")]),
        ("aether_bytes_received_total", &[]),
        ("aether_bytes_sent_total", &[]),
        ("aether_ping_hold_seconds_count", &[]),
        ("aether_pong_dispatch_seconds_count", &[]),
        ("aether_http_requests_total", &[("route", "/rt"), ("status", "101")]),
        ("aether_http_request_duration_seconds_count", &[("route", "/rt")]),
        ("aether_bytes_total", &[("direction", "out")]),
        ("aether_tick_seconds_count", &[]),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn metrics_are_served() {
    let server = TestServer::start(|_| {}).await;
    let mut players = Vec::new();
    for transport in TRANSPORTS {
        let mut player = server.join(transport, JSON, &server.hello("sandbox")).await;
        player.possession().await;
        players.push(player);
    }
    for player in &mut players {
        player.send(ClientMessage::Ping(Ping::default())).await;
        player.wait("a pong", |message| matches!(message, ServerMessage::Pong(_)).then_some(())).await;
    }
    let sandbox: &[(&str, &str)] = &[("room_type", "sandbox")];
    server.until_metric("aether_player_count", sandbox, 2.0).await;
    // These are published once a second.
    for (name, labels) in
        [("aether_tick_rate_hertz", sandbox), ("aether_uptime_seconds", &[]), ("aether_active_sessions", &[])]
    {
        server.until_metric(name, labels, 1.0).await;
    }
    let text = server.request(server.admin, "GET", "/metrics", &[]).await.body;
    for (name, labels, exactly) in exact_metrics() {
        assert_eq!(server.metric(name, labels), exactly, "{name} {labels:?}");
        // An alert on a series that is absent never fires.
        assert!(text.lines().any(|line| line.split(['{', ' ']).next() == Some(name)), "{name} is missing");
    }
    for (name, labels) in positive_metrics() {
        assert!(server.metric(name, labels) > 0.0, "{name} {labels:?}");
    }
    for name in ["aether_tick_overruns_total", "aether_ticks_dropped_total", "aether_overload_rung"] {
        let mut series = text.lines().filter(|line| line.split(['{', ' ']).next() == Some(name));
        let value = series.next().and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
        assert!(value.is_some_and(|value| value >= 0.0), "{name} depends on the machine, but has a value: {value:?}");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_server_notifies_clients_and_rejects_joins() {
    for transport in TRANSPORTS {
        let mut server = TestServer::start(|_| {}).await;
        let mut leaves = server.join(transport, PROTOBUF, &server.hello("sandbox")).await;
        let stays = server.join(transport, JSON, &server.hello("sandbox")).await;
        let member = server.join(transport, PROTOBUF, &server.hello("relay")).await;
        assert_eq!(server.get("/readyz").await.status, 200);
        let health = server.get("/api/health").await;
        assert_eq!((health.status, health.json()), (200, serde_json::json!({ "status": "ok" })));
        let running = server.take_running();
        let stopping = tokio::spawn(running.stop(Duration::from_secs(3)));
        let closing = leaves
            .wait("closing", |message| match message {
                ServerMessage::Closing(closing) => Some(closing),
                _ => None,
            })
            .await;
        assert_eq!((closing.reason, closing.deadline_ms), (CloseReason::Shutdown, 3_000));
        let readiness = server.get("/readyz").await;
        let not_ready = serde_json::json!({ "code": "not_ready", "error": "the server is stopping" });
        assert_eq!((readiness.status, readiness.json()), (503, not_ready.clone()));
        let health = server.get("/api/health").await;
        assert_eq!((health.status, health.json()), (503, not_ready));
        assert_eq!(server.get("/livez").await.status, 200);
        let late = server.connector(PROTOBUF).open(transport).await;
        // A WebSocket is refused with 503; a WebTransport session ends before its hello.
        match late {
            Err(ConnectionError::Refused(refused)) => assert!(refused.to_string().contains("503"), "{refused}"),
            Err(error) => assert_eq!(transport, TransportKind::WebTransport, "{error}"),
            Ok(mut late) => {
                assert_eq!(transport, TransportKind::WebTransport, "a WebSocket does not open");
                late.next_message().await.expect_err("nobody is admitted");
            }
        }
        leaves.send(ClientMessage::Leave).await;
        assert_eq!(leaves.end().await.reason(), Some(CloseReason::Left));
        assert_eq!(stays.end().await.reason(), Some(CloseReason::Shutdown));
        assert_eq!(member.end().await.reason(), Some(CloseReason::Shutdown));
        tokio::time::timeout(DEADLINE, stopping).await.expect("the server ends in time").expect("it does not panic");
        assert!(TcpStream::connect(server.http).await.is_err(), "nothing listens any more");
    }
}
