//! Format and filter of the log.

use aether_server::config::{Log, LogFormat};
use aether_server::logging::{LoggingError, subscriber};
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no writer panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Logs two events of different modules and levels. Returns the output.
fn logged(format: LogFormat, filter: &str, is_terminal: bool) -> String {
    let lines = Lines::default();
    let writer = lines.clone();
    let log = Log { format, filter: filter.to_owned() };
    let subscriber = subscriber(&log, is_terminal, move || writer.clone()).expect("the filter is valid");
    tracing::subscriber::with_default(subscriber, || {
        let _connection = tracing::info_span!("connection", id = 7).entered();
        tracing::info!(target: "aether_server", rooms = 3, "ready");
        tracing::debug!(target: "aether_net", "closed");
    });
    let bytes = lines.0.lock().expect("no writer panics").clone();
    String::from_utf8(bytes).expect("log lines are text")
}

#[test]
fn without_a_terminal_each_line_is_a_json_object_with_its_spans() {
    for (format, is_terminal) in [(LogFormat::Auto, false), (LogFormat::Json, true)] {
        let text = logged(format, "info", is_terminal);
        let line: serde_json::Value = serde_json::from_str(text.trim_end()).unwrap();
        assert_eq!((&line["level"], &line["message"], &line["rooms"]), (&"INFO".into(), &"ready".into(), &3.into()));
        assert_eq!(line["spans"][0]["id"], 7);
        assert_eq!(line["target"], "aether_server");
    }
}

#[test]
fn on_a_terminal_the_log_is_text_with_colours() {
    let text = logged(LogFormat::Auto, "info", true);
    assert!(text.contains("ready") && text.contains('\u{1b}'), "{text}");
    let text = logged(LogFormat::Pretty, "info", false);
    assert!(text.contains("ready") && !text.contains('\u{1b}') && !text.starts_with('{'), "{text}");
}

#[test]
fn the_filter_has_levels_by_module() {
    let count = |filter| logged(LogFormat::Json, filter, false).lines().count();
    assert_eq!(count("info"), 1);
    assert_eq!(count("info,aether_net=debug"), 2);
    assert_eq!(count("warn,aether_net=debug"), 1);
    assert_eq!(count("off"), 0);
}

#[test]
fn an_invalid_filter_is_rejected() {
    let log = Log { format: LogFormat::Auto, filter: "aether_net=loud".to_owned() };
    assert!(matches!(subscriber(&log, false, io::sink), Err(LoggingError::Filter(_))));
}
