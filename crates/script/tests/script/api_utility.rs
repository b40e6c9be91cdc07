//! Time, schedules, ids, JSON, encodings, random bytes, files and the configuration.

use crate::api_support::Calls;
use serde_json::{Value, json};

/// Start of the 18th of November 2026, a Wednesday, in seconds since 1970.
const WEDNESDAY: i64 = 1_794_960_000;
const HOUR: i64 = 3_600;

#[tokio::test(flavor = "multi_thread")]
async fn time_is_that_of_the_server_or_of_a_date() {
    let mut calls = Calls::start().await;
    let now = calls.first("time", &[]).await.as_i64().expect("a time");
    let real = aether_testkit_server::unix_seconds() as i64 * 1_000;
    assert!((now - real).abs() < 60_000, "{now} {real}");
    let date = json!({ "year": 2026, "month": 11, "day": 18, "hour": 1, "min": 2, "sec": 3, "msec": 4 });
    assert_eq!(calls.first("time", &[date]).await, json!((WEDNESDAY + HOUR + 123) * 1_000 + 4));
    let noon = json!({ "year": 2026, "month": 11, "day": 18 });
    assert_eq!(calls.first("time", &[noon]).await, json!((WEDNESDAY + 12 * HOUR) * 1_000));
    calls.fails("time", &[json!({ "year": 2026 })], "a table with month").await;
    calls.fails("time", &[json!({ "year": 1.5, "month": 1, "day": 1 })], "year to be a whole number").await;
    calls.fails("time", &[json!("x")], "argument 1 (`tbl`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn schedules_have_times_before_and_after() {
    let mut calls = Calls::start().await;
    let monday = "0 0 * * 1";
    let next = calls.first("cron_next", &[json!(monday), json!(WEDNESDAY)]).await;
    assert_eq!(next, json!(WEDNESDAY + 5 * 24 * HOUR));
    let former = calls.first("cron_prev", &[json!(monday), json!(WEDNESDAY)]).await;
    assert_eq!(former, json!(WEDNESDAY - 2 * 24 * HOUR));
    let before_itself = calls.first("cron_prev", &[json!(monday), former]).await;
    assert_eq!(before_itself, json!(WEDNESDAY - 9 * 24 * HOUR), "before the time, not at it");
    calls.fails("cron_next", &[json!("every day"), json!(WEDNESDAY)], "every day").await;
    calls.fails("cron_prev", &[json!(monday)], "argument 2 (`timestamp`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ids_and_encodings_convert_both_ways() {
    let mut calls = Calls::start().await;
    let one = calls.first("uuid_v4", &[]).await;
    let id = uuid::Uuid::try_parse(one.as_str().expect("a text")).expect("an id");
    assert_eq!(id.get_version_num(), 4);
    assert_ne!(calls.first("uuid_v4", &[]).await, one);
    let id = json!("61626364-6566-4768-a96a-6b6c6d6e6f70");
    // Not UTF-8, so it arrives in base64.
    assert_eq!(calls.first("uuid_string_to_bytes", std::slice::from_ref(&id)).await, json!("YWJjZGVmR2ipamtsbW5vcA=="));
    let ascii = json!("abcdefghijklmnop");
    let text = json!("61626364-6566-6768-696a-6b6c6d6e6f70");
    assert_eq!(calls.first("uuid_bytes_to_string", std::slice::from_ref(&ascii)).await, text);
    assert_eq!(calls.first("uuid_string_to_bytes", &[text]).await, ascii);
    let encoded = [
        ("base64_encode", "a?>~", json!(true), "YT8+fg=="),
        ("base64_encode", "a?>~", json!(false), "YT8+fg"),
        ("base64url_encode", "a?>~", Value::Null, "YT8-fg=="),
        ("base64url_encode", "a?>~", json!(false), "YT8-fg"),
        ("base16_encode", "a?>~", Value::Null, "613f3e7e"),
        ("base64_decode", "YT8+fg==", Value::Null, "a?>~"),
        ("base64_decode", "YT8+fg", json!(true), "a?>~"),
        ("base64url_decode", "YT8-fg", json!(false), "a?>~"),
        ("base64url_decode", "YT8-fg==", Value::Null, "a?>~"),
        ("base16_decode", "613F3e7e", Value::Null, "a?>~"),
    ];
    for (name, input, padding, output) in encoded {
        assert_eq!(calls.first(name, &[json!(input), padding]).await, json!(output), "{name} {input}");
    }
    let value = json!({ "a": [1, 2.5, "x"], "b": { "c": true } });
    let encoded = calls.first("json_encode", std::slice::from_ref(&value)).await;
    assert_eq!(calls.first("json_decode", &[encoded]).await, value);
    calls.fails("json_decode", &[json!("{")], "the text is no JSON").await;
    calls.fails("uuid_string_to_bytes", &[json!("x")], "argument 1 (`uuidString`)").await;
    calls.fails("uuid_bytes_to_string", &[json!("x")], "16 bytes").await;
    calls.fails("base64_decode", &[json!("!")], "a base64 text").await;
    calls.fails("base64url_decode", &[json!("+")], "a base64 text").await;
    calls.fails("base16_decode", &[json!("abc")], "a hexadecimal text").await;
    calls.fails("base16_decode", &[json!("zz")], "a hexadecimal text").await;
    calls.fails("base64_encode", &[json!(1)], "argument 1 (`input`)").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn random_bytes_are_bounded() {
    let mut calls = Calls::start().await;
    let bytes = calls.first("secure_random_bytes", &[json!(64)]).await;
    // Random bytes are no text, so they arrive in base64.
    assert_eq!(bytes.as_str().map(str::len), Some(88), "{bytes}");
    assert_ne!(calls.first("secure_random_bytes", &[json!(64)]).await, bytes);
    assert_eq!(calls.first("secure_random_bytes", &[json!(0)]).await, json!(""));
    calls.fails("secure_random_bytes", &[json!(4_097)], "a number from 0 to 4096").await;
    calls.fails("secure_random_bytes", &[json!(-1)], "a number from 0 to 4096").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_are_read_inside_the_folder_only() {
    let mut calls = Calls::start().await;
    let folder = calls.scripts.folder().to_owned();
    std::fs::create_dir_all(folder.join("data")).expect("the folder is created");
    std::fs::write(folder.join("data/items.json"), r#"{"sword":1}"#).expect("the file is written");
    std::fs::write(folder.join("large.bin"), vec![0; (1 << 20) + 1]).expect("the file is written");
    assert_eq!(calls.first("file_read", &[json!("data/items.json")]).await, json!(r#"{"sword":1}"#));
    assert_eq!(calls.first("file_read", &[json!("./data/items.json")]).await, json!(r#"{"sword":1}"#));
    for path in ["../secret", "/etc/hostname", "data/../../secret", "", "."] {
        let error = calls.error("file_read", &[json!(path)]).await;
        assert!(error.contains("inside the folder") || error.contains("not a file"), "{path}: {error}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc", folder.join("outside")).expect("the link is made");
        calls.fails("file_read", &[json!("outside/hostname")], "outside the folder").await;
    }
    calls.fails("file_read", &[json!("missing.txt")], "file `missing.txt` cannot be read").await;
    calls.fails("file_read", &[json!("data")], "it is not a file").await;
    calls.fails("file_read", &[json!("large.bin")], "more than 1048576 bytes").await;
    calls.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_configuration_shows_no_secret() {
    let mut calls = Calls::start_with(|config| {
        config.tokens.access_seconds = 777;
        config.script.environment = vec!["season=autumn".to_owned()];
        config.steam.app_id = Some(480);
        config.steam.publisher_key = Some(aether_testkit_server::aether_server::config::Secret::new("hush-hush-hush"));
    })
    .await;
    let config = calls.first("get_config", &[]).await;
    assert_eq!(config["session"]["token_expiry_sec"], json!(777));
    assert_eq!(config["runtime"]["env"], json!(["season=autumn"]));
    assert!(config["name"].is_string(), "{config}");
    assert!(!config.to_string().contains("hush"), "{config}");
    calls.stop().await;
}
