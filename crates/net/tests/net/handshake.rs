//! Handshakes of the room protocol, with a test lobby.

use aether_engine::Rejection;
use aether_metrics::Registry;
use aether_net::lobby::{JoinAttempt, JoinGrant, Lobby, RoomMember, SessionCheck, SessionValidity, VerifiedAccount};
use aether_net::memory::{MemoryClient, pair};
use aether_net::relay::{Relay, RelaySettings};
use aether_net::{ConnectionMetrics, ConnectionSettings, Gateway, PendingClient};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, ClientTime, CloseReason, Closing, Encoding, ErrorCode, ErrorNotice, Hello, Manifest, Permissions,
    Ping, PlayerId, RoomId, ServerMessage, SessionId, Tick, Token,
};
use std::any::Any;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

/// Handshake deadline in these tests.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// Answer of the lobby to a hello.
#[derive(Clone, Copy)]
enum Answer {
    /// Does not answer, as if the database had stopped.
    Never,
    /// Joins the client to a relay room at once.
    AtOnce,
    /// Joins the client to a relay room after a delay.
    AfterSeconds(u64),
    /// Joins the client, and never finishes storing its resume token.
    NeverStored,
    /// Rejects the client.
    Rejects,
}

struct TestLobby {
    answer: Answer,
    relay: Arc<Relay>,
}

impl Lobby for TestLobby {
    fn join<'a>(&'a self, _: JoinAttempt) -> Pin<Box<dyn Future<Output = Result<JoinGrant, Rejection>> + Send + 'a>> {
        Box::pin(async move {
            match self.answer {
                Answer::Never => std::future::pending().await,
                Answer::AfterSeconds(seconds) => tokio::time::sleep(Duration::from_secs(seconds)).await,
                Answer::AtOnce | Answer::NeverStored => {}
                Answer::Rejects => return Err(Rejection::new(ErrorCode::Unauthenticated, "no")),
            }
            Ok(JoinGrant {
                session: SessionId(1),
                user: "ann".to_owned(),
                permissions: Permissions::default(),
                room: RoomId("room".to_owned()),
                room_code: "CODE".to_owned(),
                member: RoomMember::Relay(self.relay.join("ann")?),
                resources: Box::new(()),
            })
        })
    }

    fn issue_resume_token<'a>(
        &'a self,
        _: &JoinGrant,
        _: PlayerId,
    ) -> Pin<Box<dyn Future<Output = Option<Token>> + Send + 'a>> {
        match self.answer {
            Answer::NeverStored => Box::pin(std::future::pending()),
            _ => Box::pin(async { None }),
        }
    }

    fn confirm_welcome(&self, _: &JoinGrant) {}

    fn manifest(&self, _: &JoinGrant) -> Manifest {
        Manifest::default()
    }

    fn admit_account(&self, _: VerifiedAccount) -> Result<Box<dyn Any + Send>, Rejection> {
        Ok(Box::new(()))
    }

    fn sessions(&self) -> &dyn SessionCheck {
        self
    }
}

impl SessionCheck for TestLobby {
    fn epoch(&self) -> u64 {
        0
    }

    fn validity(&self, _: SessionId, _: bool) -> SessionValidity {
        SessionValidity::Valid
    }

    fn permissions(&self, _: SessionId) -> Permissions {
        Permissions::default()
    }
}

/// Connects to a server whose lobby has this answer.
fn connect(answer: Answer) -> MemoryClient {
    let lobby = Arc::new(TestLobby { answer, relay: Relay::new(RelaySettings::default()) });
    let settings = ConnectionSettings { handshake: HANDSHAKE, ..ConnectionSettings::default() };
    let gateway = Gateway::new(lobby, settings, ConnectionMetrics::new(&Registry::new()));
    let (server, client) = pair(DeliveryOrder::Ordered, Encoding::Protobuf);
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let permit = gateway.permit(address).expect("the limit is not reached");
    tokio::spawn(gateway.serve(server, PendingClient { address, is_local: true, room: None, account: None, permit }));
    client
}

/// Returns all messages until the server closes.
async fn messages(client: &mut MemoryClient) -> Vec<ServerMessage> {
    let mut messages = Vec::new();
    while let Some(message) = tokio::time::timeout(HANDSHAKE * 2, client.next()).await.expect("the server closes") {
        messages.push(message.expect("messages of the server can be decoded"));
    }
    messages
}

fn hello() -> ClientMessage {
    ClientMessage::Hello(Hello { token: Some(Token::new("token")), ..Hello::default() })
}

/// Returns the error notice and the close notice of a client that did not join in time.
async fn close_notices(mut client: MemoryClient) -> (ErrorNotice, Closing) {
    let received = messages(&mut client).await;
    match &received[..] {
        [ServerMessage::Error(notice), ServerMessage::Closing(closing)] => (notice.clone(), closing.clone()),
        other => panic!("expected an error and a close notice: {other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn a_lobby_that_does_not_answer_in_time_is_unavailable() {
    for answer in [Answer::Never, Answer::AfterSeconds(11), Answer::NeverStored] {
        let client = connect(answer);
        client.send(&hello()).await.unwrap();
        let (notice, closing) = close_notices(client).await;
        assert_eq!((notice.code, notice.fatal), (ErrorCode::Unavailable, true));
        assert!(notice.message.contains("try again"), "{}", notice.message);
        assert_eq!((closing.reason, closing.may_resume), (CloseReason::TimedOut, false));
        assert!(closing.text.contains("try again"), "{}", closing.text);
    }
}

#[tokio::test(start_paused = true)]
async fn a_resume_token_stays_valid_if_the_hello_is_not_answered_in_time() {
    let client = connect(Answer::Never);
    let resume = Hello { resume_token: Some(Token::new("resume")), ..Hello::default() };
    client.send(&ClientMessage::Hello(resume)).await.unwrap();
    let (notice, closing) = close_notices(client).await;
    assert_eq!(notice.code, ErrorCode::Unavailable);
    assert_eq!((closing.reason, closing.may_resume), (CloseReason::TimedOut, true));
}

#[tokio::test(start_paused = true)]
async fn a_client_without_an_accepted_hello_in_time_is_unauthenticated() {
    let began = tokio::time::Instant::now();
    let mut silent = connect(Answer::Never);
    let received = messages(&mut silent).await;
    assert!(
        matches!(&received[..], [ServerMessage::Closing(c)] if c.reason == CloseReason::Unauthenticated),
        "{received:?}"
    );
    assert!(began.elapsed() >= HANDSHAKE, "it is closed at the deadline");

    let rejected = connect(Answer::Rejects);
    rejected.send(&hello()).await.unwrap();
    let (notice, closing) = close_notices(rejected).await;
    assert_eq!((notice.code, notice.fatal), (ErrorCode::Unauthenticated, false));
    assert_eq!(closing.reason, CloseReason::Unauthenticated);
}

#[tokio::test(start_paused = true)]
async fn a_client_has_three_attempts_that_are_answered_at_once() {
    let began = tokio::time::Instant::now();
    let mut client = connect(Answer::Rejects);
    for _ in 0..3 {
        client.send(&hello()).await.unwrap();
        let answer = client.next().await.expect("the connection is open").expect("the message can be decoded");
        assert!(matches!(&answer, ServerMessage::Error(notice) if !notice.fatal), "{answer:?}");
    }
    let received = messages(&mut client).await;
    assert!(
        matches!(&received[..], [ServerMessage::Closing(c)] if c.reason == CloseReason::Unauthenticated),
        "{received:?}"
    );
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_joins_if_the_lobby_answers_before_the_deadline() {
    let mut client = connect(Answer::AfterSeconds(9));
    client.send(&hello()).await.unwrap();
    let first = client.next().await.expect("the connection is open").expect("the message can be decoded");
    assert!(matches!(first, ServerMessage::Welcome(_)), "{first:?}");
}

#[tokio::test(start_paused = true)]
async fn a_message_right_after_the_welcome_is_handled_at_once() {
    for answer in [Answer::AtOnce, Answer::AfterSeconds(1)] {
        let mut client = connect(answer);
        client.send(&hello()).await.unwrap();
        client.next().await.expect("the connection is open").expect("the message can be decoded");
        let welcomed = tokio::time::Instant::now();
        client.send(&ClientMessage::Ping(Ping { client_time: ClientTime(7), tick: Tick(0) })).await.unwrap();
        let answer = client.next().await.expect("the connection is open").expect("the message can be decoded");
        assert!(matches!(answer, ServerMessage::Pong(_)), "{answer:?}");
        assert!(welcomed.elapsed() < Duration::from_millis(100), "{:?}", welcomed.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_disconnects_after_its_hello_still_joins_and_leaves() {
    let relay = Relay::new(RelaySettings::default());
    let observer = relay.join("observer").expect("the room is empty");
    let lobby = Arc::new(TestLobby { answer: Answer::AfterSeconds(1), relay: Arc::clone(&relay) });
    let gateway = Gateway::new(lobby, ConnectionSettings::default(), ConnectionMetrics::new(&Registry::new()));
    let (server, client) = pair(DeliveryOrder::Ordered, Encoding::Protobuf);
    let address = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let permit = gateway.permit(address).expect("the limit is not reached");
    let serving = tokio::spawn(
        gateway.serve(server, PendingClient { address, is_local: true, room: None, account: None, permit }),
    );
    client.send(&hello()).await.unwrap();
    drop(client);
    serving.await.expect("the connection ends");
    assert_eq!(relay.members(), 1);
    let next = relay.join("next").expect("the room is not full");
    assert_eq!((observer.player(), next.player()), (PlayerId(1), PlayerId(3)), "the client had the id in between");
}
