//! Log output: text on a terminal, JSON otherwise, filtered by module.

use crate::config::{Log, LogFormat};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::util::SubscriberInitExt;

/// Reason why logging could not be set up.
#[derive(Debug)]
pub enum LoggingError {
    /// The filter cannot be parsed.
    Filter(String),
    /// The process already has a logger.
    AlreadySet,
}

/// Installs the logger of the process. It writes to standard error.
pub fn start(log: &Log) -> Result<(), LoggingError> {
    let is_terminal = std::io::stderr().is_terminal();
    subscriber(log, is_terminal, std::io::stderr)?.try_init().map_err(|_| LoggingError::AlreadySet)
}

/// Returns a subscriber that logs to a writer. Tests use it for one thread.
pub fn subscriber<Writer>(
    log: &Log,
    is_terminal: bool,
    writer: Writer,
) -> Result<Box<dyn tracing::Subscriber + Send + Sync>, LoggingError>
where
    Writer: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let filter = filter(&log.filter)?;
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    let is_json = match log.format {
        LogFormat::Auto => !is_terminal,
        LogFormat::Pretty => false,
        LogFormat::Json => true,
    };
    Ok(if is_json {
        Box::new(builder.json().flatten_event(true).with_current_span(false).finish())
    } else {
        Box::new(builder.with_ansi(is_terminal).finish())
    })
}

/// Parses a filter such as `info,aether_net=debug`.
pub(crate) fn filter(text: &str) -> Result<EnvFilter, LoggingError> {
    EnvFilter::builder().parse(text).map_err(|error| LoggingError::Filter(error.to_string()))
}

impl std::fmt::Display for LoggingError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Filter(error) => write!(formatter, "Cannot parse log.filter: {error}"),
            Self::AlreadySet => formatter.write_str("The process already has a logger."),
        }
    }
}

impl std::error::Error for LoggingError {}
