//! Messages of a session in both directions, and the end of a session.

use super::support::{
    SETTLE_TIME, STEP_TIMEOUT, TestServer, connect, flush, framed, open, receive, receive_all, receive_end, reliable,
};
use aether_framing::FramingError;
use aether_net::webtransport::{CODE_VIOLATION_FIRST, WebTransportSettings};
use aether_net::{CloseNotice, Transport, TransportEnded};
use aether_replication::DeliveryOrder;
use aether_wire::limits::{DATAGRAM_BYTES_MAX, HELLO_BYTES_MAX};
use aether_wire::{CloseReason, Closing, DeliveryPath, Encoding};
use std::future::poll_fn;
use std::time::Duration;
use tokio::time::timeout;
use wtransport::error::{ConnectionError, StreamWriteError};

#[tokio::test]
async fn reliable_messages_arrive_in_order_with_any_chunk_sizes() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, mut receiver) = open(&client).await;
    let messages: Vec<Vec<u8>> = (1..=60_usize).map(|size| vec![size as u8; size * size]).collect();
    let bytes: Vec<u8> = messages.iter().flat_map(|message| framed(message)).collect();
    let sending = async {
        for chunk in bytes.chunks(997) {
            send.write_all(chunk).await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    let (received, ()) = tokio::join!(receive_all(&mut session.transport, messages.len()), sending);
    let wanted: Vec<_> = messages.iter().map(|message| reliable(message)).collect();
    assert_eq!(received, wanted);

    received.iter().for_each(|(path, message)| session.transport.queue(*path, message));
    let mut echo = vec![0; bytes.len()];
    let (_, received) =
        tokio::join!(flush(&mut session.transport), timeout(STEP_TIMEOUT, receiver.read_exact(&mut echo)));
    received.unwrap().unwrap();
    assert!(echo == bytes, "the echo is the same bytes");
}

#[tokio::test]
async fn a_session_has_peer_path_and_origin() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (session, client) = server.pair("/rt").await;
    assert_eq!(session.peer.ip(), server.address.ip());
    assert_eq!((session.room_code, session.origin.as_deref()), (None, Some("https://example.org")));
    assert_eq!(session.authority, format!("localhost:{}", server.address.port()));
    assert_eq!(
        (session.transport.order(), session.transport.encoding()),
        (DeliveryOrder::Unordered, Encoding::Protobuf)
    );
    drop(client);

    let (session, _client) = server.pair("/api/rooms/KX7Q/rt?encoding=json").await;
    assert_eq!(session.room_code.as_deref(), Some("KX7Q"));
    assert_eq!((session.transport.order(), session.transport.encoding()), (DeliveryOrder::Ordered, Encoding::Json));
    assert_eq!(session.transport.name(), "webtransport");
}

#[tokio::test]
async fn datagrams_carry_one_message_each_in_both_directions() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"hello")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"hello")]));

    client.send_datagram(b"input").unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![(DeliveryPath::Unreliable, b"input".to_vec())]));

    let state = vec![7; DATAGRAM_BYTES_MAX];
    assert!(session.transport.datagram_bytes_max() >= state.len(), "a state packet fits from the start");
    session.transport.queue(DeliveryPath::Unreliable, &state);
    let datagram = timeout(STEP_TIMEOUT, client.receive_datagram()).await.unwrap().unwrap();
    assert_eq!(datagram.payload(), state);
}

#[tokio::test]
async fn a_datagram_that_does_not_fit_is_dropped_and_counted() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"hello")).await.unwrap();
    receive(&mut session.transport).await.unwrap();

    session.transport.queue(DeliveryPath::Unreliable, &[0; 20_000]);
    session.transport.queue(DeliveryPath::Unreliable, b"small");
    assert_eq!(timeout(STEP_TIMEOUT, client.receive_datagram()).await.unwrap().unwrap().payload(), &b"small"[..]);
    assert!(server.has_metric(r#"aether_datagrams_dropped_total{reason="not_sent"} 1"#));

    session.transport.set_message_bytes_max(10);
    client.send_datagram([1; 11]).unwrap();
    client.send_datagram([2; 10]).unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![(DeliveryPath::Unreliable, vec![2; 10])]));
    assert!(server.has_metric(r#"aether_datagrams_dropped_total{reason="too_long"} 1"#));
}

#[tokio::test]
async fn datagrams_before_the_stream_are_dropped() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    client.send_datagram(b"too early").unwrap();
    let early = timeout(SETTLE_TIME, receive(&mut session.transport));
    assert!(early.await.is_err(), "it is not delivered");
    assert!(server.has_metric(r#"aether_datagrams_dropped_total{reason="too_early"} 1"#));

    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"hello")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"hello")]));
}

#[tokio::test]
async fn memory_and_work_of_a_datagram_flood_are_bounded() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"hello")).await.unwrap();
    receive(&mut session.transport).await.unwrap();

    for number in 0..2_000_u32 {
        let mut message = vec![0; 1_000];
        message[..4].copy_from_slice(&number.to_le_bytes());
        client.send_datagram(&message).unwrap();
        if number % 20 == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    tokio::time::sleep(SETTLE_TIME).await;
    send.write_all(&framed(b"still here")).await.unwrap();

    let (mut flood, mut received) = (0, false);
    while !received {
        let mut turn = 0;
        poll_fn(|cx| {
            session.transport.poll_receive(cx, &mut |path, _| match path {
                DeliveryPath::Unreliable => turn += 1,
                DeliveryPath::Reliable => received = true,
            })
        })
        .await
        .unwrap();
        assert!(turn <= 16, "one turn read {turn} datagrams");
        flood += turn;
    }
    assert!(flood <= 65, "{flood} datagrams were buffered");
    assert!(flood >= 16, "only {flood} datagrams were buffered");
}

/// Returns the end of a session whose client sends these bytes on its stream.
async fn end_after(bytes: &[u8]) -> TransportEnded {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(bytes).await.unwrap();
    receive_end(&mut session.transport).await
}

#[tokio::test]
async fn a_length_beyond_the_limit_is_a_violation_before_the_message_arrives() {
    let length = framed(&vec![0; HELLO_BYTES_MAX + 1]);
    let ended = end_after(&length[..2]).await;
    assert!(matches!(ended, TransportEnded::Violation(FramingError::Oversized(_))), "{ended:?}");
}

#[tokio::test]
async fn a_length_that_is_not_in_its_shortest_form_is_a_violation() {
    for bytes in [&[0x85, 0x00][..], &[0xff, 0xff, 0xff, 0xff], &[0x00]] {
        let ended = end_after(bytes).await;
        assert!(matches!(ended, TransportEnded::Violation(FramingError::Protocol(_))), "{bytes:?}: {ended:?}");
    }
}

#[tokio::test]
async fn a_violation_is_reported_again() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&[0x85, 0x00]).await.unwrap();
    let first = receive_end(&mut session.transport).await;
    send.write_all(&framed(b"more")).await.unwrap();
    assert_eq!(receive_end(&mut session.transport).await, first);
}

#[tokio::test]
async fn a_second_stream_is_not_granted_and_the_first_continues() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"one")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"one")]));

    assert!(
        timeout(SETTLE_TIME, client.open_bi()).await.is_err(),
        "a second stream waits for a grant that never comes"
    );
    send.write_all(&framed(b"two")).await.unwrap();
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"two")]));
}

#[tokio::test]
async fn unidirectional_streams_are_rejected_and_too_many_end_the_session() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"hello")).await.unwrap();
    receive(&mut session.transport).await.unwrap();

    let opening = async {
        for _ in 0..40 {
            let Ok(opening) = client.open_uni().await else { return };
            let Ok(mut stream) = opening.await else { return };
            let stopped = timeout(STEP_TIMEOUT, stream.stopped()).await.expect("the stream is rejected");
            if stopped == StreamWriteError::NotConnected {
                return;
            }
            assert!(matches!(stopped, StreamWriteError::Stopped(_)), "{stopped:?}");
        }
    };
    let ended = async {
        let ended = receive_end(&mut session.transport).await;
        drop(session);
        ended
    };
    let (ended, ()) = tokio::join!(ended, opening);
    assert!(matches!(ended, TransportEnded::Violation(FramingError::Excess(_))), "{ended:?}");
}

#[tokio::test]
async fn messages_before_the_end_are_received_before_the_end() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let (mut send, _receiver) = open(&client).await;
    send.write_all(&framed(b"leave")).await.unwrap();
    timeout(STEP_TIMEOUT, send.finish()).await.unwrap().unwrap();
    client.close(0_u32.into(), b"");
    tokio::time::sleep(SETTLE_TIME).await;
    assert_eq!(receive(&mut session.transport).await, Ok(vec![reliable(b"leave")]));
    assert_eq!(receive_end(&mut session.transport).await, TransportEnded::Closed);
}

#[tokio::test]
async fn a_client_may_leave_before_it_opens_its_stream() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    (0..40).for_each(|_| client.send_datagram(b"too early").unwrap());
    tokio::time::sleep(SETTLE_TIME).await;
    client.close(0_u32.into(), b"");
    tokio::time::sleep(SETTLE_TIME).await;
    assert_eq!(receive_end(&mut session.transport).await, TransportEnded::Closed);
    assert_eq!(receive_end(&mut session.transport).await, TransportEnded::Closed);
    session.transport.queue_close(&CloseNotice::Violation(FramingError::Excess("not received")));
    flush(&mut session.transport).await;
    timeout(STEP_TIMEOUT, poll_fn(|cx| session.transport.poll_closed(cx)))
        .await
        .expect("it does not wait for the client");
}

#[tokio::test]
async fn a_client_that_falls_silent_is_lost() {
    let idle = Duration::from_millis(1_500);
    let mut server = TestServer::start(WebTransportSettings { idle, ..WebTransportSettings::default() });
    // The client ends with its own runtime, so it cannot close the connection.
    let (address, hash) = (server.address, server.certificates.hash().unwrap());
    let client = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            std::mem::forget(connect(address, hash, "/rt").await.unwrap());
            tokio::time::sleep(SETTLE_TIME).await;
        });
        runtime.shutdown_background();
    });
    let mut session = server.accept().await;
    assert_eq!(receive_end(&mut session.transport).await, TransportEnded::Lost);
    client.join().unwrap();
}

#[tokio::test]
async fn an_idle_client_stays_connected() {
    let idle = Duration::from_secs(1);
    let mut server = TestServer::start(WebTransportSettings { idle, ..WebTransportSettings::default() });
    let (mut session, _client) = server.pair("/rt").await;
    assert!(timeout(idle * 5 / 2, receive_end(&mut session.transport)).await.is_err());
}

#[tokio::test]
async fn the_last_message_the_code_and_the_reason_reach_the_client() {
    let closing =
        Closing { reason: CloseReason::Kicked, text: "be nicer".to_owned(), deadline_ms: 0, may_resume: false };
    let violation = FramingError::Oversized("a message is too long");
    let violated = CODE_VIOLATION_FIRST + 1009;
    for (goodbye, code, text) in [
        (CloseNotice::Closing(&closing), CloseReason::Kicked.number(), "be nicer"),
        (CloseNotice::Violation(violation), violated, violation.text()),
    ] {
        let mut server = TestServer::start(WebTransportSettings::default());
        let (mut session, client) = server.pair("/rt").await;
        let (mut send, mut receiver) = open(&client).await;
        send.write_all(&framed(b"hello")).await.unwrap();
        receive(&mut session.transport).await.unwrap();

        let last = vec![9; 100_000];
        session.transport.queue(DeliveryPath::Reliable, &last);
        session.transport.queue_close(&goodbye);
        let server = async {
            flush(&mut session.transport).await;
            timeout(STEP_TIMEOUT, poll_fn(|cx| session.transport.poll_closed(cx))).await.expect("the client closes");
        };
        let client = async {
            let mut received = vec![0; framed(&last).len()];
            timeout(STEP_TIMEOUT, receiver.read_exact(&mut received)).await.unwrap().unwrap();
            assert!(received == framed(&last), "the last message is complete");
            timeout(STEP_TIMEOUT, client.receive_datagram()).await.unwrap().unwrap_err()
        };
        let ((), error) = tokio::join!(server, client);
        let ConnectionError::ApplicationClosed(close) = error else { panic!("{error:?}") };
        assert_eq!((close.code().into_inner(), close.reason()), (u64::from(code), text.as_bytes()));
    }
}

#[tokio::test]
async fn a_session_without_a_stream_is_closed_with_its_reason_too() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (mut session, client) = server.pair("/rt").await;
    let violation = FramingError::Excess("no hello came");
    session.transport.queue(DeliveryPath::Reliable, b"there is no stream for this");
    session.transport.queue_close(&CloseNotice::Violation(violation));
    flush(&mut session.transport).await;
    let closed = poll_fn(|cx| session.transport.poll_closed(cx));
    let ((), error) = tokio::join!(closed, client.receive_datagram());
    let Err(ConnectionError::ApplicationClosed(close)) = error else { panic!("unexpected end of the session") };
    assert_eq!((close.code().into_inner(), close.reason()), (0x1000 + 1008, &b"no hello came"[..]));
}

#[tokio::test]
async fn dropping_a_session_closes_it() {
    let mut server = TestServer::start(WebTransportSettings::default());
    let (session, client) = server.pair("/rt").await;
    drop(session);
    timeout(STEP_TIMEOUT, client.closed()).await.expect("the client is notified");
}
