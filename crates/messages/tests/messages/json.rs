//! JSON form of messages, and accepted variants.

use std::collections::BTreeMap;

use aether_messages::{
    Empty,
    api::{
        Account, AccountDevice, AccountGameCenter, AuthenticateDeviceRequest, Event, LeaderboardRecord,
        ListLeaderboardRecordsRequest, Notification, Operator, Session, StorageObject, Tournament, UpdateGroupRequest,
        User, WriteStorageObject, WriteStorageObjectsRequest, WriteTournamentRecordRequest,
        write_tournament_record_request::TournamentRecordWrite,
    },
    prost::Message,
    realtime::{MatchData, MatchmakerAdd},
    timestamp, timestamp_ms,
};
use serde::{Serialize, de::DeserializeOwned};

/// The start of 2020, in milliseconds.
const YEAR_2020_MS: i64 = 1_577_836_800_000;

fn text(message: &impl Serialize) -> String {
    serde_json::to_string(message).expect("the message has a JSON form")
}

fn read<M: DeserializeOwned>(json: &str) -> M {
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{json}: {error}"))
}

/// Asserts the written form, and that reading it gives the message back.
fn assert_written<M: Serialize + DeserializeOwned + PartialEq + std::fmt::Debug>(message: &M, json: &str) {
    assert_eq!(text(message), json);
    assert_eq!(&read::<M>(json), message);
}

#[test]
fn an_account_is_written_with_its_user_and_devices() {
    let account = Account {
        user: Some(User {
            id: "u1".into(),
            username: "alice".into(),
            metadata: r#"{"level":3}"#.into(),
            online: true,
            create_time: Some(timestamp(YEAR_2020_MS)),
            ..Default::default()
        }),
        wallet: "{}".into(),
        devices: vec![AccountDevice {
            id: "device-id-0001".into(),
            vars: BTreeMap::from([("b".into(), "2".into()), ("a".into(), String::new())]),
        }],
        ..Default::default()
    };
    assert_written(
        &account,
        concat!(
            r#"{"user":{"id":"u1","username":"alice","metadata":"{\"level\":3}","online":true,"#,
            r#""create_time":"2020-01-01T00:00:00Z"},"wallet":"{}","#,
            r#""devices":[{"id":"device-id-0001","vars":{"a":"","b":"2"}}]}"#
        ),
    );
}

#[test]
fn false_zero_and_empty_are_left_out() {
    let session = Session { created: false, token: "t".into(), refresh_token: "r".into() };
    assert_written(&session, r#"{"token":"t","refresh_token":"r"}"#);
    assert_written(&Session { created: true, ..session }, r#"{"created":true,"token":"t","refresh_token":"r"}"#);
    assert_written(&Account::default(), "{}");
    assert_written(&LeaderboardRecord::default(), "{}");
    assert_written(&Empty {}, "{}");
}

#[test]
fn a_message_that_is_present_but_empty_is_written() {
    assert_written(&Account { user: Some(User::default()), ..Default::default() }, r#"{"user":{}}"#);
}

#[test]
fn integers_of_64_bits_are_strings_and_those_of_32_bits_are_numbers() {
    let record = LeaderboardRecord {
        leaderboard_id: "lb1".into(),
        owner_id: "o1".into(),
        username: Some("alice".into()),
        score: i64::MAX,
        subscore: -1,
        num_score: 3,
        create_time: Some(timestamp(YEAR_2020_MS)),
        update_time: Some(timestamp(YEAR_2020_MS + 250)),
        rank: 1,
        max_num_score: u32::MAX,
        ..Default::default()
    };
    assert_written(
        &record,
        concat!(
            r#"{"leaderboard_id":"lb1","owner_id":"o1","username":"alice","score":"9223372036854775807","#,
            r#""subscore":"-1","num_score":3,"create_time":"2020-01-01T00:00:00Z","#,
            r#""update_time":"2020-01-01T00:00:00.250Z","rank":"1","max_num_score":4294967295}"#
        ),
    );
    assert_written(&Tournament { size: 7, ..Default::default() }, r#"{"size":7}"#);
    assert_written(
        &ListLeaderboardRecordsRequest { expiry: Some(0), limit: Some(10), ..Default::default() },
        r#"{"limit":10,"expiry":"0"}"#,
    );
}

#[test]
fn a_storage_object_keeps_its_json_inside_a_string() {
    let object = StorageObject {
        collection: "saves".into(),
        key: "k1".into(),
        value: r#"{"hp":1}"#.into(),
        version: "v".into(),
        permission_read: 2,
        ..Default::default()
    };
    assert_written(
        &object,
        r#"{"collection":"saves","key":"k1","value":"{\"hp\":1}","version":"v","permission_read":2}"#,
    );
}

#[test]
fn an_optional_value_is_bare_and_its_zero_is_not_its_absence() {
    let absent = WriteStorageObject { key: "k".into(), ..Default::default() };
    let zero = WriteStorageObject { permission_read: Some(0), permission_write: Some(1), ..absent.clone() };
    assert_written(&absent, r#"{"key":"k"}"#);
    assert_written(&zero, r#"{"key":"k","permission_read":0,"permission_write":1}"#);
    assert_written(
        &UpdateGroupRequest { name: Some(String::new()), open: Some(false), ..Default::default() },
        r#"{"name":"","open":false}"#,
    );
}

#[test]
fn an_optional_value_is_a_message_of_its_own_in_bytes() {
    let object = WriteStorageObject { permission_read: Some(0), permission_write: Some(1), ..Default::default() };
    let bytes = object.encode_to_vec();
    assert_eq!(bytes, [0x2a, 0x00, 0x32, 0x02, 0x08, 0x01]);
    assert_eq!(WriteStorageObject::decode(&bytes[..]).unwrap(), object);
}

#[test]
fn an_enum_is_written_as_its_number_and_read_by_number_or_name() {
    let record =
        |operator: Operator| TournamentRecordWrite { score: 10, operator: operator.into(), ..Default::default() };
    assert_written(&record(Operator::Increment), r#"{"score":"10","operator":3}"#);
    assert_written(&record(Operator::NoOverride), r#"{"score":"10"}"#);
    for json in
        [r#"{"score":10,"operator":"INCREMENT"}"#, r#"{"score":10,"operator":"3"}"#, r#"{"score":"1e1","operator":3}"#]
    {
        assert_eq!(read::<TournamentRecordWrite>(json), record(Operator::Increment), "{json}");
    }
    assert_eq!(read::<TournamentRecordWrite>(r#"{"score":10,"operator":null}"#), record(Operator::NoOverride));
}

#[test]
fn bytes_are_base64_and_either_alphabet_is_read() {
    let data = MatchData { op_code: 7, data: vec![0xfb, 0xff, 0x01, 0x02].into(), ..Default::default() };
    assert_written(&data, r#"{"op_code":"7","data":"+/8BAg=="}"#);
    for text in ["+/8BAg", "-_8BAg==", "-_8BAg"] {
        assert_eq!(read::<MatchData>(&format!(r#"{{"op_code":7,"data":"{text}"}}"#)), data, "{text}");
    }
}

#[test]
fn floats_are_numbers_and_what_json_lacks_is_named() {
    let properties = [("a", 10.0), ("b", 0.5), ("c", f64::INFINITY), ("d", f64::NEG_INFINITY), ("e", 1e300)];
    let add = MatchmakerAdd {
        numeric_properties: properties.map(|(name, value)| (name.to_owned(), value)).into(),
        ..Default::default()
    };
    assert_written(&add, r#"{"numeric_properties":{"a":10,"b":0.5,"c":"Infinity","d":"-Infinity","e":1e+300}}"#);
    let read: MatchmakerAdd = read(r#"{"numeric_properties":{"a":"1.5","b":-0.0,"c":"NaN"}}"#);
    assert_eq!(read.numeric_properties["a"], 1.5);
    assert!(read.numeric_properties["b"].is_sign_negative());
    assert!(read.numeric_properties["c"].is_nan());
    assert_eq!(text(&read), r#"{"numeric_properties":{"a":1.5,"b":-0.0,"c":"NaN"}}"#);
}

#[test]
fn both_spellings_of_a_name_are_read() {
    let snake: AccountGameCenter =
        read(r#"{"player_id":"p","bundle_id":"b","timestamp_seconds":"1577836800","public_key_url":"u"}"#);
    let camel: AccountGameCenter =
        read(r#"{"playerId":"p","bundleId":"b","timestampSeconds":1577836800,"publicKeyUrl":"u"}"#);
    assert_eq!(snake, camel);
    assert_eq!((snake.player_id.as_str(), snake.timestamp_seconds), ("p", 1_577_836_800));
}

#[test]
fn integers_are_read_from_numbers_strings_and_whole_floats() {
    for json in [
        r#"{"score":100,"num_score":7}"#,
        r#"{"score":"100","num_score":"7"}"#,
        r#"{"score":1e2,"num_score":7.0}"#,
        r#"{"score":"1.0e2","num_score":"7.0"}"#,
    ] {
        let record: LeaderboardRecord = read(json);
        assert_eq!((record.score, record.num_score), (100, 7), "{json}");
    }
}

#[test]
fn null_is_absence() {
    let json = r#"{"account":null,"create":null,"username":null}"#;
    assert_eq!(read::<AuthenticateDeviceRequest>(json), AuthenticateDeviceRequest::default());
    let json = r#"{"user":null,"devices":null,"verify_time":null}"#;
    assert_eq!(read::<Account>(json), Account::default());
    let json = r#"{"id":"d","vars":null}"#;
    assert_eq!(read::<AccountDevice>(json), AccountDevice { id: "d".into(), ..Default::default() });
    let json = r#"{"score":null,"num_score":null,"max_num_score":null}"#;
    assert_eq!(read::<LeaderboardRecord>(json), LeaderboardRecord::default());
}

#[test]
fn a_name_with_escapes_is_the_same_name() {
    assert_eq!(read::<Session>(r#"{"tok\u0065n":"t"}"#).token, "t");
}

#[test]
fn unknown_fields_of_the_api_are_ignored_at_every_depth() {
    let json = r#"{"more":{"a":[1,{"b":null}]},"objects":[{"key":"k","more":"text","permission_read":2}],"last":1.5}"#;
    let expected = WriteStorageObject { key: "k".into(), permission_read: Some(2), ..Default::default() };
    assert_eq!(read::<WriteStorageObjectsRequest>(json).objects, [expected]);
    assert_eq!(read::<Empty>(r#"{"more":1}"#), Empty {});
}

#[test]
fn times_are_read_with_an_offset_and_written_in_utc() {
    let event: Event = read(r#"{"name":"e","timestamp":"2020-01-01T02:00:00.5+02:00","external":true}"#);
    assert_eq!(event.timestamp.map(|time| timestamp_ms(&time)), Some(YEAR_2020_MS + 500));
    assert_eq!(text(&event), r#"{"name":"e","timestamp":"2020-01-01T00:00:00.500Z","external":true}"#);
}

#[test]
fn milliseconds_survive_the_way_through_a_timestamp() {
    for ms in [0, 1, -1, 999, -1_000, YEAR_2020_MS + 123, i64::MAX, i64::MIN + 1_000] {
        assert_eq!(timestamp_ms(&timestamp(ms)), ms);
        assert!((0..1_000_000_000).contains(&timestamp(ms).nanos));
    }
    let mut far = timestamp(0);
    far.seconds = i64::MAX;
    assert_eq!(timestamp_ms(&far), i64::MAX);
}

#[test]
fn a_time_that_rfc_3339_cannot_write_is_an_error() {
    let notification = |ms| Notification { create_time: Some(timestamp(ms)), ..Default::default() };
    assert_eq!(text(&notification(-62_135_596_800_000)), r#"{"create_time":"0001-01-01T00:00:00Z"}"#);
    assert_eq!(text(&notification(253_402_300_799_999)), r#"{"create_time":"9999-12-31T23:59:59.999Z"}"#);
    assert!(serde_json::to_string(&notification(-62_135_596_800_001)).is_err());
    assert!(serde_json::to_string(&notification(253_402_300_800_000)).is_err());
    assert!(serde_json::to_string(&notification(i64::MAX)).is_err());
}

#[test]
fn a_nested_request_is_written_as_one() {
    let request = WriteTournamentRecordRequest {
        tournament_id: "t1".into(),
        record: Some(TournamentRecordWrite { score: 10, subscore: 1, ..Default::default() }),
    };
    assert_written(&request, r#"{"tournament_id":"t1","record":{"score":"10","subscore":"1"}}"#);
}
