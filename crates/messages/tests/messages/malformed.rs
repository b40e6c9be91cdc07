//! Malformed messages are rejected with an error, without panics and at bounded cost.

use aether_messages::{
    ELEMENTS_MAX,
    api::{AccountDevice, Event, GetUsersRequest, LeaderboardRecord, Tournament, WriteStorageObject},
    prost::Message,
    realtime::{Envelope, MatchData, MatchmakerAdd},
};
use serde::de::DeserializeOwned;

fn read_error<M: DeserializeOwned + std::fmt::Debug>(json: &str) -> String {
    serde_json::from_str::<M>(json).expect_err(json).to_string()
}

#[test]
fn numbers_out_of_range_are_rejected() {
    for number in ["2147483648", "-2147483649", "1e10", "1.5", "1e400", "123456789012345678901234567890"] {
        read_error::<LeaderboardRecord>(&format!(r#"{{"num_score":{number}}}"#));
        read_error::<LeaderboardRecord>(&format!(r#"{{"num_score":"{number}"}}"#));
        read_error::<WriteStorageObject>(&format!(r#"{{"permission_read":{number}}}"#));
    }
    for number in ["9223372036854775808", "-9223372036854775809", "1e19", "0.5", "9007199254740993.0"] {
        read_error::<LeaderboardRecord>(&format!(r#"{{"score":{number}}}"#));
        read_error::<LeaderboardRecord>(&format!(r#"{{"score":"{number}"}}"#));
    }
    for number in ["-1", "4294967296"] {
        read_error::<Tournament>(&format!(r#"{{"size":{number}}}"#));
    }
    for number in ["\"1e400\"", "1e400", "\"inf\"", "\"nan\"", "\"\""] {
        read_error::<MatchmakerAdd>(&format!(r#"{{"numeric_properties":{{"a":{number}}}}}"#));
    }
}

#[test]
fn values_of_another_type_are_rejected() {
    for json in [
        r#"{"score":""}"#,
        r#"{"score":"ten"}"#,
        r#"{"score":"NaN"}"#,
        r#"{"score":true}"#,
        r#"{"score":{}}"#,
        r#"{"username":5}"#,
        r#"{"owner_id":["a"]}"#,
        r#"{"create_time":1577836800}"#,
        "[]",
        "null",
        "\"text\"",
        "",
        "{",
        r#"{"score":1}}"#,
    ] {
        read_error::<LeaderboardRecord>(json);
    }
    read_error::<GetUsersRequest>(r#"{"ids":"a"}"#);
    read_error::<GetUsersRequest>(r#"{"ids":[null]}"#);
    read_error::<AccountDevice>(r#"{"vars":{"a":null}}"#);
    read_error::<AccountDevice>(r#"{"vars":[]}"#);
    read_error::<Event>(r#"{"external":"true"}"#);
    for operator in [r#""FASTEST""#, "2147483648", "1.5", "{}"] {
        read_error::<Tournament>(&format!(r#"{{"operator":{operator}}}"#));
    }
}

#[test]
fn invalid_base64_is_rejected() {
    for data in ["*", "A", "AA=A", "+_8="] {
        read_error::<MatchData>(&format!(r#"{{"data":"{data}"}}"#));
    }
}

#[test]
fn invalid_times_are_rejected() {
    for time in [
        "",
        "now",
        "2020-02-30T00:00:00Z",
        "2020-01-01T25:00:00Z",
        "2020-01-01T00:00:00Zulu",
        "+99999-01-01T00:00:00Z",
        "-0001-01-01T00:00:00Z",
        "0000-12-31T23:59:59Z",
        "999999999999999999999999-01-01T00:00:00Z",
        "２０２０-01-01T00:00:00Z",
    ] {
        read_error::<Event>(&format!(r#"{{"timestamp":"{time}"}}"#));
    }
}

#[test]
fn duplicate_fields_and_keys_are_rejected() {
    read_error::<AccountDevice>(r#"{"id":"a","id":"b"}"#);
    read_error::<WriteStorageObject>(r#"{"permission_read":1,"permissionRead":2}"#);
    read_error::<AccountDevice>(r#"{"vars":{"a":"1","a":"2"}}"#);
    read_error::<Envelope>(r#"{"ping":{},"ping":{}}"#);
}

#[test]
fn lists_and_maps_are_limited() {
    let list = |count: usize| format!(r#"{{"ids":[{}]}}"#, vec![r#""""#; count].join(","));
    assert_eq!(serde_json::from_str::<GetUsersRequest>(&list(ELEMENTS_MAX)).unwrap().ids.len(), ELEMENTS_MAX);
    assert!(read_error::<GetUsersRequest>(&list(ELEMENTS_MAX + 1)).contains("send fewer"));

    let map = |count: usize| {
        let entries: Vec<String> = (0..count).map(|key| format!(r#""{key}":"""#)).collect();
        format!(r#"{{"vars":{{{}}}}}"#, entries.join(","))
    };
    assert_eq!(serde_json::from_str::<AccountDevice>(&map(ELEMENTS_MAX)).unwrap().vars.len(), ELEMENTS_MAX);
    assert!(read_error::<AccountDevice>(&map(ELEMENTS_MAX + 1)).contains("send fewer"));
}

#[test]
fn deep_nesting_is_rejected_without_exhausting_the_stack() {
    const DEPTH: usize = 200_000;
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = format!("{}1{}", open.repeat(DEPTH), close.repeat(DEPTH));
        for field in ["cid", "ping", "error", "more"] {
            read_error::<Envelope>(&format!(r#"{{"{field}":{nested}}}"#));
        }
        for field in ["ids", "usernames"] {
            read_error::<GetUsersRequest>(&format!(r#"{{"{field}":{nested}}}"#));
        }
        // Unknown fields of the API are skipped without recursion, however deep.
        serde_json::from_str::<GetUsersRequest>(&format!(r#"{{"more":{nested}}}"#)).unwrap();
        read_error::<GetUsersRequest>(&format!(r#"{{"more":{}}}"#, open.repeat(DEPTH)));
    }
    // Groups are the only unknown fields that nest in protobuf.
    assert!(Envelope::decode(&vec![0x0b; DEPTH][..]).is_err());
}

#[test]
fn errors_repeat_little_of_the_input() {
    let error = read_error::<Envelope>(&format!(r#"{{"{}":1}}"#, "x".repeat(100_000)));
    assert!(error.len() < 200, "{error}");
    let error = read_error::<LeaderboardRecord>(&format!(r#"{{"score":"{}"}}"#, "x".repeat(100_000)));
    assert!(error.len() < 200, "{error}");
}

#[test]
fn damaged_frames_never_panic() {
    let json = concat!(
        r#"{"cid":"8","match_data_send":{"match_id":"m1.node","op_code":"7","data":"aGVsbG8=","#,
        r#""presences":[{"user_id":"u1","status":"é\u00e9"}],"reliable":true}}"#
    );
    let bytes = serde_json::from_str::<Envelope>(json).unwrap().encode_to_vec();
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        usize::try_from(random >> 33).unwrap() % below
    };
    for frame in [json.as_bytes(), &bytes] {
        for _ in 0..20_000 {
            let mut damaged = frame.to_vec();
            for _ in 0..=next(3) {
                let place = next(damaged.len());
                damaged[place] = next(256).try_into().unwrap();
            }
            damaged.truncate(damaged.len() - next(3) * next(damaged.len()) / 2);
            if let Ok(envelope) = serde_json::from_slice::<Envelope>(&damaged) {
                serde_json::to_string(&envelope).unwrap();
            }
            if let Ok(envelope) = Envelope::decode(&damaged[..]) {
                // Only times of the far past or future cannot be converted to JSON.
                let _ = serde_json::to_string(&envelope);
            }
        }
    }
}
