//! Frames of the socket: messages of SDKs are read in both encodings, and written back unchanged.

use aether_messages::{
    api::{ChannelMessage, Notification, Rpc},
    prost::Message as _,
    realtime::{
        ChannelJoin, Envelope, Error, Match, MatchCreate, MatchData, MatchDataSend, MatchJoin, MatchmakerAdd,
        Notifications, PartyAccept, Ping, Pong, StatusUpdate, UserPresence, channel_join, envelope::Message, error,
    },
    timestamp,
};

fn read(json: &str) -> Envelope {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

fn text(envelope: &Envelope) -> String {
    serde_json::to_string(envelope).expect("an envelope has a JSON form")
}

fn envelope(cid: &str, message: impl Into<Option<Message>>) -> Envelope {
    Envelope { cid: cid.into(), message: message.into() }
}

fn presence() -> UserPresence {
    UserPresence { user_id: "u1".into(), session_id: "s1".into(), username: "n".into(), ..Default::default() }
}

/// Text frames as nakama-js 2.8.0 sends them.
const RECORDED: [&str; 28] = [
    r#"{"ping":{},"cid":"1"}"#,
    r#"{"channel_join":{"target":"room","type":1,"persistence":true,"hidden":false},"cid":"2"}"#,
    r#"{"channel_message_send":{"channel_id":"2...room","content":"{\"hi\":1}"},"cid":"3"}"#,
    r#"{"channel_message_update":{"channel_id":"2...room","message_id":"m","content":"{\"hi\":2}"},"cid":"4"}"#,
    r#"{"channel_message_remove":{"channel_id":"2...room","message_id":"m"},"cid":"5"}"#,
    r#"{"channel_leave":{"channel_id":"2...room"},"cid":"6"}"#,
    r#"{"match_create":{},"cid":"7"}"#,
    r#"{"match_join":{"metadata":{"a":"b"},"match_id":"m1.node"},"cid":"8"}"#,
    r#"{"match_join":{"token":"tok"},"cid":"9"}"#,
    r#"{"match_data_send":{"match_id":"m1.node","op_code":"7","data":"aGVsbG8=","presences":[]}}"#,
    r#"{"match_leave":{"match_id":"m1.node"},"cid":"10"}"#,
    concat!(
        r#"{"matchmaker_add":{"min_count":2,"max_count":4,"query":"+properties.mode:x","#,
        r#""string_properties":{"mode":"x"},"numeric_properties":{"skill":10}},"cid":"11"}"#
    ),
    r#"{"matchmaker_remove":{"ticket":"t1"},"cid":"12"}"#,
    r#"{"party_create":{"open":true,"max_size":4},"cid":"13"}"#,
    r#"{"party_join":{"party_id":"p1"},"cid":"14"}"#,
    r#"{"party_accept":{"party_id":"p1","presence":{"user_id":"u1","session_id":"s1","username":"n"}},"cid":"15"}"#,
    r#"{"party_promote":{"party_id":"p1","presence":{"user_id":"u1","session_id":"s1","username":"n"}},"cid":"16"}"#,
    r#"{"party_remove":{"party_id":"p1","presence":{"user_id":"u1","session_id":"s1","username":"n"}},"cid":"17"}"#,
    r#"{"party_join_request_list":{"party_id":"p1"},"cid":"18"}"#,
    concat!(
        r#"{"party_matchmaker_add":{"party_id":"p1","min_count":2,"max_count":4,"query":"*","#,
        r#""string_properties":{"a":"b"},"numeric_properties":{"c":1}},"cid":"19"}"#
    ),
    r#"{"party_matchmaker_remove":{"party_id":"p1","ticket":"t1"},"cid":"20"}"#,
    r#"{"party_data_send":{"party_id":"p1","op_code":"3","data":"eA=="}}"#,
    r#"{"party_leave":{"party_id":"p1"},"cid":"21"}"#,
    r#"{"party_close":{"party_id":"p1"},"cid":"22"}"#,
    r#"{"status_follow":{"user_ids":["u1"]},"cid":"23"}"#,
    r#"{"status_unfollow":{"user_ids":["u1"]},"cid":"24"}"#,
    r#"{"status_update":{"status":"hi"},"cid":"25"}"#,
    r#"{"rpc":{"id":"myrpc","payload":"{\"a\":1}"},"cid":"27"}"#,
];

#[test]
fn recorded_frames_round_trip() {
    for json in RECORDED {
        let envelope = read(json);
        assert!(envelope.message.is_some(), "{json}");
        assert_eq!(read(&text(&envelope)), envelope, "{json}");
        assert_eq!(Envelope::decode(&envelope.encode_to_vec()[..]).unwrap(), envelope, "{json}");

        // Of these frames, only empty lists are not written again.
        let mut sent: serde_json::Value = serde_json::from_str(json).unwrap();
        if let Some(data) = sent.get_mut("match_data_send").and_then(|data| data.as_object_mut()) {
            data.remove("presences");
        }
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text(&envelope)).unwrap(), sent);
    }
}

#[test]
fn recorded_frames_are_parsed_correctly() {
    let frames = [
        (0, envelope("1", Message::Ping(Ping {}))),
        (
            1,
            envelope(
                "2",
                Message::ChannelJoin(ChannelJoin {
                    target: "room".into(),
                    r#type: channel_join::Type::Room.into(),
                    persistence: Some(true),
                    hidden: Some(false),
                }),
            ),
        ),
        (6, envelope("7", Message::MatchCreate(MatchCreate::default()))),
        (8, envelope("9", Message::MatchJoin(MatchJoin { token: "tok".into(), ..Default::default() }))),
        (
            9,
            envelope(
                "",
                Message::MatchDataSend(MatchDataSend {
                    match_id: "m1.node".into(),
                    op_code: 7,
                    data: "hello".into(),
                    ..Default::default()
                }),
            ),
        ),
        (
            11,
            envelope(
                "11",
                Message::MatchmakerAdd(MatchmakerAdd {
                    min_count: 2,
                    max_count: 4,
                    query: "+properties.mode:x".into(),
                    string_properties: [("mode".to_owned(), "x".to_owned())].into(),
                    numeric_properties: [("skill".to_owned(), 10.0)].into(),
                    count_multiple: None,
                }),
            ),
        ),
        (15, envelope("15", Message::PartyAccept(PartyAccept { party_id: "p1".into(), presence: Some(presence()) }))),
        (26, envelope("25", Message::StatusUpdate(StatusUpdate { status: Some("hi".into()) }))),
    ];
    for (index, expected) in frames {
        assert_eq!(read(RECORDED[index]), expected);
    }
    assert_eq!(
        read(r#"{"status_update":{},"cid":"26"}"#),
        envelope("26", Message::StatusUpdate(StatusUpdate { status: None }))
    );
}

#[test]
fn recorded_binary_frames_round_trip_exactly() {
    let frames: [(&[u8], Envelope); 2] = [
        (&[0x0a, 0x01, b'1', 0x82, 0x02, 0x00], envelope("1", Message::Ping(Ping {}))),
        (
            b"\x7a\x12\x0a\x07m1.node\x10\x07\x1a\x05hello",
            envelope(
                "",
                Message::MatchDataSend(MatchDataSend {
                    match_id: "m1.node".into(),
                    op_code: 7,
                    data: "hello".into(),
                    ..Default::default()
                }),
            ),
        ),
    ];
    for (bytes, expected) in frames {
        assert_eq!(Envelope::decode(bytes).unwrap(), expected);
        assert_eq!(expected.encode_to_vec(), bytes);
    }
}

#[test]
fn frames_of_the_server_are_written_as_clients_expect_them() {
    let mut state = Match { match_id: "m1.".into(), size: 1, self_: Some(presence()), ..Default::default() };
    state.label = Some(String::new());
    let frames = [
        (envelope("6", None), r#"{"cid":"6"}"#),
        (envelope("1", Message::Pong(Pong {})), r#"{"cid":"1","pong":{}}"#),
        (
            envelope(
                "4",
                Message::Error(Error {
                    code: error::Code::RuntimeException.into(),
                    message: "no".into(),
                    ..Default::default()
                }),
            ),
            r#"{"cid":"4","error":{"message":"no"}}"#,
        ),
        (
            envelope("5", Message::Match(state)),
            concat!(
                r#"{"cid":"5","match":{"match_id":"m1.","label":"","size":1,"#,
                r#""self":{"user_id":"u1","session_id":"s1","username":"n"}}}"#
            ),
        ),
        (
            envelope(
                "",
                Message::MatchData(MatchData {
                    match_id: "m1.".into(),
                    presence: Some(presence()),
                    op_code: -3,
                    data: vec![1, 2, 3].into(),
                    reliable: true,
                }),
            ),
            concat!(
                r#"{"match_data":{"match_id":"m1.","#,
                r#""presence":{"user_id":"u1","session_id":"s1","username":"n"},"#,
                r#""op_code":"-3","data":"AQID","reliable":true}}"#
            ),
        ),
    ];
    for (envelope, json) in frames {
        assert_eq!(text(&envelope), json);
        assert_eq!(read(json), envelope);
    }
}

#[test]
fn frames_of_the_server_carry_messages_of_the_api() {
    let frames = [
        (
            envelope(
                "",
                Message::ChannelMessage(ChannelMessage {
                    channel_id: "2...room".into(),
                    code: Some(0),
                    content: "{}".into(),
                    create_time: Some(timestamp(0)),
                    persistent: Some(false),
                    ..Default::default()
                }),
            ),
            concat!(
                r#"{"channel_message":{"channel_id":"2...room","code":0,"content":"{}","#,
                r#""create_time":"1970-01-01T00:00:00Z","persistent":false}}"#
            ),
        ),
        (
            envelope(
                "",
                Message::Notifications(Notifications {
                    notifications: vec![Notification { code: -1, ..Default::default() }],
                }),
            ),
            r#"{"notifications":{"notifications":[{"code":-1}]}}"#,
        ),
    ];
    for (envelope, json) in frames {
        assert_eq!(text(&envelope), json);
        assert_eq!(read(json), envelope);
    }
}

#[test]
fn lower_camel_case_frames_are_read() {
    let frame = read(r#"{"cid":"1","matchDataSend":{"matchId":"m","opCode":7,"presences":[{"userId":"u1"}]}}"#);
    let Some(Message::MatchDataSend(data)) = frame.message else { panic!("not a match_data_send") };
    assert_eq!((data.match_id.as_str(), data.op_code, data.presences[0].user_id.as_str()), ("m", 7, "u1"));
}

#[test]
fn unknown_fields_are_rejected_at_every_depth() {
    for json in [
        r#"{"cid":"1","more":1}"#,
        r#"{"cid":"1","ping":{"more":1}}"#,
        r#"{"match_data_send":{"match_id":"m","presences":[{"user_id":"u1","node":"x"}]}}"#,
        r#"{"rpc":{"id":"f","more":1}}"#,
        r#"{"notifications":{"notifications":[{"more":1}]}}"#,
    ] {
        let error = serde_json::from_str::<Envelope>(json).unwrap_err().to_string();
        assert!(error.contains("unknown field"), "{json}: {error}");
    }
    assert!(serde_json::from_str::<UserPresence>(r#"{"node":"x"}"#).is_err());
    assert!(serde_json::from_str::<Rpc>(r#"{"id":"f","more":1}"#).is_ok(), "outside a frame it is an api message");
}

#[test]
fn a_frame_carries_one_message() {
    assert!(serde_json::from_str::<Envelope>(r#"{"ping":{},"pong":{}}"#).is_err());
    assert_eq!(read(r#"{"ping":null,"pong":{}}"#).message, Some(Message::Pong(Pong {})));
    assert_eq!(read(r#"{"ping":null}"#).message, None);
}
