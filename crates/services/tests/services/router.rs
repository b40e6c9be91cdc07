//! The router against a simple model: lists that are searched for every question.

use aether_messages::realtime::envelope::Message;
use aether_messages::socket::SocketFormat;
use aether_metrics::Registry;
use aether_services::GrpcCode;
use aether_services::router::{
    FOLLOWERS_PER_USER_MAX, FOLLOWS_PER_SESSION_MAX, OUTBOX_BYTES_MAX, OUTBOX_MESSAGES_MAX, OpenSocket, Outgoing,
    PRESENCES_PER_STREAM_MAX, PresenceMeta, Router, STATUS_BYTES_MAX, STREAM_LABEL_BYTES_MAX, STREAMS_PER_SESSION_MAX,
    Shown, SocketSession, StreamId, mode,
};
use aether_wire::CloseReason;
use proptest::prelude::*;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use uuid::Uuid;

const SESSIONS: u8 = 5;
const USERS: u8 = 3;

#[derive(Clone, Debug)]
enum Step {
    Open(u8),
    Drop(u8),
    Track { session: u8, stream: u8, hidden: bool, status: u8 },
    Untrack { session: u8, stream: u8 },
    CloseStream(u8),
    Follow { session: u8, user: u8 },
    Unfollow { session: u8, user: u8 },
    Send(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (session, stream, user) = (0..SESSIONS, 0..6_u8, 0..USERS);
    let step = prop_oneof![
        3 => session.clone().prop_map(Step::Open),
        1 => session.clone().prop_map(Step::Drop),
        5 => (session.clone(), stream.clone(), any::<bool>(), 0..3_u8)
            .prop_map(|(session, stream, hidden, status)| Step::Track { session, stream: own(session, stream), hidden, status }),
        2 => (session.clone(), stream.clone()).prop_map(|(session, stream)| Step::Untrack { session, stream }),
        1 => stream.clone().prop_map(Step::CloseStream),
        2 => (session.clone(), user.clone()).prop_map(|(session, user)| Step::Follow { session, user }),
        1 => (session, user).prop_map(|(session, user)| Step::Unfollow { session, user }),
        2 => stream.prop_map(Step::Send),
    ];
    prop::collection::vec(step, 1..80)
}

fn id(number: u8) -> Uuid {
    Uuid::from_u128(u128::from(number) + 1)
}

/// User of a session: sessions 0 and 3 are of the same user.
fn user_of(session: u8) -> u8 {
    session % USERS
}

fn socket(session: u8) -> SocketSession {
    let (user, username) = (id(100 + user_of(session)), format!("user-{}", user_of(session)));
    SocketSession { session: id(session), user, username: username.into(), node: "test".into() }
}

/// Status streams of the users, then streams of a game.
fn stream(number: u8) -> StreamId {
    match number {
        0..USERS => StreamId::status(id(100 + number)),
        _ => StreamId { mode: mode::GAME_MIN, label: format!("game-{number}"), ..StreamId::default() },
    }
}

/// A session has only the status of its own user.
fn own(session: u8, stream: u8) -> u8 {
    if stream < USERS { user_of(session) } else { stream }
}

/// Sessions, presences and follows as plain lists.
#[derive(Default)]
struct Model {
    open: BTreeSet<u8>,
    presences: Vec<(u8, u8, PresenceMeta)>,
    follows: BTreeSet<(u8, u8)>,
    /// Number of messages that each session has to get.
    expected: BTreeMap<u8, Vec<String>>,
}

impl Model {
    fn find(&self, session: u8, stream: u8) -> Option<usize> {
        self.presences.iter().position(|(of, at, _)| (*of, *at) == (session, stream))
    }

    fn event(&mut self, number: u8, joins: &[(u8, PresenceMeta)], leaves: &[(u8, PresenceMeta)]) {
        let shown = |all: &[(u8, PresenceMeta)]| {
            let visible = all.iter().filter(|(_, meta)| !meta.hidden);
            visible.map(|(session, meta)| format!("{}:{}", id(*session), meta.status)).collect::<Vec<_>>()
        };
        let (joins, leaves) = (shown(joins), shown(leaves));
        if joins.is_empty() && leaves.is_empty() {
            return;
        }
        let receivers: Vec<u8> = match number {
            0..USERS => self.follows.iter().filter(|(_, user)| *user == number).map(|(session, _)| *session).collect(),
            _ => self.presences.iter().filter(|(_, at, _)| *at == number).map(|(session, _, _)| *session).collect(),
        };
        for session in receivers {
            self.expected.entry(session).or_default().push(format!("{number} +{joins:?} -{leaves:?}"));
        }
    }

    fn untrack(&mut self, session: u8, stream: u8) -> bool {
        let Some(index) = self.find(session, stream) else { return false };
        let (_, _, meta) = self.presences.remove(index);
        self.event(stream, &[], &[(session, meta)]);
        true
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Open(session) => {
                self.open.insert(session);
            }
            Step::Drop(session) => {
                self.open.remove(&session);
                self.follows.retain(|(follower, _)| *follower != session);
                self.expected.remove(&session);
                let mut streams: Vec<u8> =
                    self.presences.iter().filter(|(of, _, _)| *of == session).map(|(_, at, _)| *at).collect();
                streams.sort_by_key(|number| stream(*number));
                streams.into_iter().for_each(|stream| {
                    self.untrack(session, stream);
                });
            }
            Step::Track { session, stream, hidden, status } if self.open.contains(&session) => {
                let meta = PresenceMeta { hidden, persistence: false, status: format!("s{status}") };
                let former = self.find(session, stream).map(|index| self.presences.remove(index).2);
                self.presences.push((session, stream, meta.clone()));
                if former.as_ref() != Some(&meta) {
                    let leaves: Vec<_> = former.into_iter().map(|meta| (session, meta)).collect();
                    self.event(stream, &[(session, meta)], &leaves);
                }
            }
            Step::Untrack { session, stream } => {
                self.untrack(session, stream);
            }
            Step::CloseStream(stream) => self.close_stream(stream),
            Step::Follow { session, user } if self.open.contains(&session) => {
                self.follows.insert((session, user));
            }
            Step::Unfollow { session, user } => {
                self.follows.remove(&(session, user));
            }
            Step::Send(stream) => {
                for (session, _, _) in self.presences.iter().filter(|(_, at, _)| *at == stream) {
                    self.expected.entry(*session).or_default().push(format!("data {stream}"));
                }
            }
            Step::Track { .. } | Step::Follow { .. } => {}
        }
    }

    /// All leave in one batch. Members are gone, so only followers of a status get it.
    fn close_stream(&mut self, stream: u8) {
        let mut left: Vec<_> = self.presences.iter().filter(|(_, at, _)| *at == stream).cloned().collect();
        left.sort_by_key(|(session, _, _)| id(*session));
        self.presences.retain(|(_, at, _)| *at != stream);
        let leaves: Vec<_> = left.into_iter().map(|(session, _, meta)| (session, meta)).collect();
        self.event(stream, &[], &leaves);
    }
}

/// Text of a delivered message, as the model writes it.
fn text(message: &Outgoing) -> String {
    let shown = |all: &[aether_messages::realtime::UserPresence]| -> Vec<String> {
        all.iter().map(|one| format!("{}:{}", one.session_id, one.status.clone().unwrap_or_default())).collect()
    };
    let number = |label: &str| label.trim_start_matches("game-").to_owned();
    match message.envelope().message.as_ref().expect("pushes have contents") {
        Message::StatusPresenceEvent(event) => {
            let one = event.joins.iter().chain(&event.leaves).next().expect("an event has a presence");
            let user = Uuid::try_parse(&one.user_id).expect("ids are ids").as_u128() - 101;
            format!("{user} +{:?} -{:?}", shown(&event.joins), shown(&event.leaves))
        }
        Message::StreamPresenceEvent(event) => {
            let label = &event.stream.as_ref().expect("it names its stream").label;
            format!("{} +{:?} -{:?}", number(label), shown(&event.joins), shown(&event.leaves))
        }
        Message::StreamData(data) => data.data.clone(),
        other => panic!("unexpected {other:?}"),
    }
}

fn run_step(router: &Arc<Router>, open: &mut BTreeMap<u8, OpenSocket>, step: &Step) {
    match *step {
        Step::Open(session) => {
            if let Entry::Vacant(vacant) = open.entry(session) {
                vacant.insert(router.open(socket(session)).expect("the session is new"));
            } else {
                assert!(router.open(socket(session)).is_err(), "a session connects once");
            }
        }
        Step::Drop(session) => drop(open.remove(&session)),
        Step::Track { session, stream: number, hidden, status } => {
            let meta = PresenceMeta { hidden, persistence: false, status: format!("s{status}") };
            let tracked = router.track(id(session), &stream(number), meta);
            assert_eq!(tracked.is_ok(), open.contains_key(&session));
        }
        Step::Untrack { session, stream: number } => {
            router.untrack(id(session), &stream(number));
        }
        Step::CloseStream(number) => {
            router.close_stream(&stream(number));
        }
        Step::Follow { session, user } => {
            let followed = router.follow(id(session), &[id(100 + user)]);
            assert_eq!(followed.is_ok(), open.contains_key(&session));
        }
        Step::Unfollow { session, user } => {
            let _ = router.unfollow(id(session), &[id(100 + user)]);
        }
        Step::Send(number) => {
            router.send_data(&stream(number), None, format!("data {number}"), true);
        }
    }
}

proptest! {
    #[test]
    fn sessions_get_what_the_model_says(steps in steps()) {
        let registry = Registry::new();
        let router = Arc::new(Router::new(&registry));
        let (mut model, mut open) = (Model::default(), BTreeMap::new());
        for step in &steps {
            model.run(step);
            run_step(&router, &mut open, step);
            for number in 0..6 {
                let mut expected: Vec<(Uuid, PresenceMeta)> = model.presences.iter()
                    .filter(|(_, at, _)| *at == number)
                    .map(|(session, _, meta)| (id(*session), meta.clone()))
                    .collect();
                expected.sort_by_key(|(session, _)| *session);
                prop_assert_eq!(router.count(&stream(number)), expected.len());
                let kinds = [(Shown::All, [true, true]), (Shown::Visible, [true, false]), (Shown::Hidden, [false, true])];
                for (shown, includes) in kinds {
                    let listed: Vec<_> = router.list(&stream(number), shown).into_iter()
                        .map(|presence| (presence.socket.session, presence.meta)).collect();
                    let wanted: Vec<_> = expected.iter()
                        .filter(|(_, meta)| includes[usize::from(meta.hidden)]).cloned().collect();
                    prop_assert_eq!(listed, wanted);
                }
            }
            for (session, socket) in &open {
                let got: Vec<String> = std::iter::from_fn(|| socket.outbox.take()?.into_message()).map(|message| text(&message)).collect();
                prop_assert_eq!(got, model.expected.remove(session).unwrap_or_default(), "session {}", session);
            }
        }
        drop(open);
        let metrics = registry.render();
        for gauge in ["aether_sockets", "aether_streams", "aether_presences"] {
            prop_assert!(metrics.contains(&format!("\n{gauge} 0\n")), "nothing is left: {}", metrics);
        }
    }
}

fn router() -> Arc<Router> {
    Arc::new(Router::new(&Registry::new()))
}

#[test]
fn a_session_that_does_not_read_is_closed_alone() {
    let router = router();
    let [slow, quick] = [0, 1].map(|session| router.open(socket(session)).expect("the session is new"));
    let game = stream(5);
    for socket in [&slow, &quick] {
        router.track(socket.socket.session, &game, PresenceMeta { hidden: true, ..Default::default() }).expect("room");
    }
    for number in 0..=OUTBOX_MESSAGES_MAX {
        assert_eq!(slow.outbox.closing(), None, "after {number} messages");
        assert_eq!(router.send_data(&game, None, "tick".to_owned(), true), 2);
        assert!(quick.outbox.take().is_some());
    }
    assert_eq!(slow.outbox.closing().map(|closing| closing.reason), Some(CloseReason::TooSlow));
    assert_eq!(quick.outbox.closing(), None);
    assert_eq!(router.send_data(&game, None, "tick".to_owned(), true), 1, "it takes no more messages");
}

#[test]
fn the_bytes_that_wait_are_limited_too() {
    let router = router();
    let socket = router.open(socket(0)).expect("the session is new");
    let user = socket.socket.user;
    let data = "x".repeat(OUTBOX_BYTES_MAX / 4);
    for _ in 0..3 {
        router.send_data(&StreamId::notifications(user), None, data.clone(), true);
    }
    assert_eq!(socket.outbox.closing(), None);
    router.send_data(&StreamId::notifications(user), None, data, true);
    assert!(socket.outbox.closing().is_some());
}

#[test]
fn streams_follows_and_texts_are_limited() {
    let router = router();
    let socket = router.open(socket(0)).expect("the session is new");
    let session = socket.socket.session;
    let named = |label: String| StreamId { mode: mode::GAME_MIN, label, ..StreamId::default() };
    // The session is in the stream of its user's sessions already.
    for number in 1..STREAMS_PER_SESSION_MAX {
        router.track(session, &named(number.to_string()), PresenceMeta::default()).expect("below the limit");
    }
    let error = router.track(session, &named("more".to_owned()), PresenceMeta::default()).expect_err("at the limit");
    assert_eq!(error.code, GrpcCode::ResourceExhausted);
    assert!(router.untrack(session, &named("1".to_owned())));
    router.track(session, &named("more".to_owned()), PresenceMeta::default()).expect("a place is free again");

    let users: Vec<Uuid> = (0..FOLLOWS_PER_SESSION_MAX as u128).map(|number| Uuid::from_u128(number + 1)).collect();
    router.follow(session, &users).expect("at the limit");
    router.follow(session, &users).expect("the same users count once");
    assert!(router.follow(session, &[Uuid::from_u128(u128::MAX)]).is_err());

    let status = PresenceMeta { status: "x".repeat(STATUS_BYTES_MAX + 1), ..Default::default() };
    assert_eq!(
        router.track(session, &named("more".to_owned()), status).expect_err("long").code,
        GrpcCode::InvalidArgument
    );
    let label = named("x".repeat(STREAM_LABEL_BYTES_MAX + 1));
    assert_eq!(
        router.track(session, &label, PresenceMeta::default()).expect_err("long").code,
        GrpcCode::InvalidArgument
    );
}

#[test]
fn followers_of_a_user_and_presences_of_a_stream_are_limited() {
    let router = router();
    let (game, star) = (stream(5), id(200));
    let many: Vec<OpenSocket> = (0..PRESENCES_PER_STREAM_MAX.max(FOLLOWERS_PER_USER_MAX) as u128 + 1)
        .map(|number| {
            let session = Uuid::from_u128(1_000 + number);
            let socket = SocketSession { session, user: session, username: "many".into(), node: "test".into() };
            router.open(socket).expect("the session is new")
        })
        .collect();
    let hidden = || PresenceMeta { hidden: true, ..PresenceMeta::default() };
    let tracked = many.iter().filter(|one| router.track(one.socket.session, &game, hidden()).is_ok()).count();
    assert_eq!(tracked, PRESENCES_PER_STREAM_MAX);
    let followed = many.iter().filter(|one| router.follow(one.socket.session, &[star]).is_ok()).count();
    assert_eq!(followed, FOLLOWERS_PER_USER_MAX);
}

#[test]
fn a_message_is_encoded_once_for_each_format() {
    let message = Outgoing::new(Message::Pong(aether_messages::realtime::Pong {}));
    let json = message.frame(SocketFormat::Json).expect("it has a JSON form");
    assert_eq!(&json[..], br#"{"pong":{}}"#);
    assert_eq!(json.as_ptr(), message.frame(SocketFormat::Json).expect("as before").as_ptr());
    assert_eq!(&message.frame(SocketFormat::Protobuf).expect("it has bytes")[..], [0x8a, 0x02, 0x00]);
}

#[test]
fn the_end_of_a_session_is_announced_after_it_has_left_its_streams() {
    let router = router();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let (noted, of_router) = (Arc::clone(&ended), Arc::downgrade(&router));
    router.on_end(move |socket, streams| {
        let router = of_router.upgrade().expect("the router is in use");
        let is_known = router.session(socket.session).is_some();
        noted.lock().unwrap().push((socket.session, is_known, router.count(&stream(1)), streams.contains(&stream(1))));
    });
    let first = router.open(socket(1)).expect("it connects");
    let second = router.open(socket(2)).expect("it connects");
    router.track(id(1), &stream(1), PresenceMeta::default()).expect("it is connected");
    assert_eq!(router.session(id(1)), Some(socket(1)));
    drop(first);
    assert_eq!(*ended.lock().unwrap(), [(id(1), false, 0, true)]);
    drop(second);
    assert_eq!(ended.lock().unwrap().len(), 2);
}

#[test]
fn streams_of_sessions_matches_and_parties_are_managed_by_the_server() {
    let managed: Vec<u8> =
        (0..=u8::MAX).filter(|mode| StreamId { mode: *mode, ..StreamId::default() }.is_managed()).collect();
    let expected = [
        mode::NOTIFICATIONS,
        mode::RELAYED_MATCH,
        mode::MATCH,
        mode::PARTY,
        mode::MATCH_LIST,
        mode::BRACKET,
        mode::REMOTE_VALUES,
    ];
    assert_eq!(managed, expected);
}
