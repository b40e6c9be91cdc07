//! Log of the server.

use crate::api::Api;
use serde_json::json;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Mutex, OnceLock};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// Lines of scripts since the start of the process: level and fields.
static LINES: Mutex<Vec<(String, Fields)>> = Mutex::new(Vec::new());

type Fields = BTreeMap<String, String>;

struct Lines;

impl<S: tracing::Subscriber> Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        if event.metadata().target() == "lua" {
            let mut fields = Visitor(Fields::new());
            event.record(&mut fields);
            LINES.lock().expect("no line panics").push((event.metadata().level().to_string(), fields.0));
        }
    }
}

struct Visitor(Fields);

impl tracing::field::Visit for Visitor {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &tracing::field::Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.to_owned());
    }
}

/// Collects the lines of all tests of the process.
fn collect() {
    static COLLECTED: OnceLock<()> = OnceLock::new();
    COLLECTED.get_or_init(|| {
        let subscriber = tracing_subscriber::registry().with(Lines);
        tracing::subscriber::set_global_default(subscriber).expect("no other test sets it");
    });
}

/// Returns the line with a message.
fn line(message: &str) -> (String, Fields) {
    let lines = LINES.lock().expect("no line panics");
    let found = lines.iter().find(|(_, fields)| fields.get("message").is_some_and(|text| text == message));
    found.cloned().unwrap_or_else(|| panic!("{message} is not in {lines:?}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_have_their_level_their_fields_and_the_position_of_the_call() {
    collect();
    let mut api = Api::start().await;
    for (function, level) in [("debug", "DEBUG"), ("info", "INFO"), ("warn", "WARN"), ("error", "ERROR")] {
        let message = format!("a line of {function}");
        api.run(&format!("nk.logger_{function}"), json!([message, { "level": 7 }])).await;
        let (found, fields) = line(&message);
        assert_eq!(found, level);
        assert_eq!(fields["vars"], r#"{"level":7}"#);
        assert_eq!((fields["module"].as_str(), fields["line"].as_str()), ("call", "8"), "{fields:?}");
    }
    api.run("aether.logger_info", json!(["without fields"])).await;
    assert!(!line("without fields").1.contains_key("vars"));
    api.refuse("nk.logger_info", json!([7]), "message").await;
    api.refuse("nk.logger_warn", json!(["text", "fields"]), "vars").await;
    api.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn long_lines_are_cut_off() {
    collect();
    let mut api = Api::start().await;
    let long = format!("long {}", "é".repeat(8_000));
    api.run("nk.logger_info", json!([long, { "text": long }])).await;
    // The limit is within a character.
    let (_, fields) = line(&long[..8_191]);
    assert_eq!(fields["vars"].len(), 8_192 - 8_192 % 2);
    api.stop().await;
}
