//! Load run from the first bot to the report.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::{Duration, Instant};

use aether_client_native::{ServerAddress, ServerAddressError};
use tokio::task::JoinSet;

use crate::arguments::{BotBehavior, LoadArguments};
use crate::bot::{Bot, Phase, Shared, is_local};
use crate::process::{cpu_seconds, raise_file_limit};
use crate::progress::Progress;
use crate::report::LoadReport;
use crate::tokens::BotTokens;

/// Longest wait for the last bots to join.
const SETTLE_DEADLINE: Duration = Duration::from_secs(60);

/// Time for messages in flight to arrive at the end.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Longest wait for bots to leave.
const LEAVE_DEADLINE: Duration = Duration::from_secs(5);

/// Interval at which the run checks its progress.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// File descriptors of the process besides the bots' sockets.
const FILES_RESERVED: u64 = 64;

/// Reason why a run did not start.
#[derive(Debug)]
pub enum LoadError {
    /// The address cannot be used.
    Address(ServerAddressError),
    /// The server is on another machine.
    Remote(ServerAddress),
    /// The token key is not of the form `ID:SECRET`.
    TokenKey,
    /// Two arguments contradict each other.
    Arguments(String),
    /// The system does not allow enough sockets.
    TooManyBots {
        /// Number of bots that it allows.
        allowed: u64,
    },
}

impl Display for LoadError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Address(error) => error.fmt(formatter),
            Self::Remote(address) => {
                write!(formatter, "`{address}` is not on this machine; add --allow-remote if the server is yours")
            }
            Self::Arguments(problem) => formatter.write_str(problem),
            Self::TokenKey => formatter.write_str("the token key must have the form ID:SECRET"),
            Self::TooManyBots { allowed } => {
                write!(formatter, "the limit of open files allows only {allowed} bots; raise it with `ulimit -n`")
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// Lets bots play and returns a report. An interrupt ends the run early, also with a report.
pub async fn run(arguments: LoadArguments) -> Result<LoadReport, LoadError> {
    arguments.check().map_err(LoadError::Arguments)?;
    let addresses = arguments.address.resolve().await.map_err(LoadError::Address)?;
    if !arguments.allow_remote && !addresses.iter().all(|address| is_local(address.ip().to_canonical())) {
        return Err(LoadError::Remote(arguments.address));
    }
    let tokens = BotTokens::new(&arguments).ok_or(LoadError::TokenKey)?;
    let allowed = raise_file_limit().unwrap_or(u64::MAX).saturating_sub(FILES_RESERVED);
    if u64::from(arguments.bots) > allowed {
        return Err(LoadError::TooManyBots { allowed });
    }
    let mut progress = Progress::new(arguments.quiet);
    let shared = Arc::new(Shared::new(arguments, tokens));
    let mut bots = JoinSet::new();
    let mut played = Duration::ZERO;
    let mut cpu = None;
    tokio::select! {
        () = play(&shared, &mut bots, &mut progress, (&mut played, &mut cpu)) => {}
        _ = tokio::signal::ctrl_c() => {}
    }
    shared.set_phase(Phase::End);
    let left = async { while bots.join_next().await.is_some() {} };
    // Tasks of bots that hang are aborted when the set is dropped.
    let _ = tokio::time::timeout(LEAVE_DEADLINE, left).await;
    progress.finish();
    Ok(LoadReport::new(&shared.arguments, &shared.metrics(), played, cpu))
}

/// Starts all bots, lets them play, and waits for messages in flight. Updates the played time and the CPU time
/// meanwhile, so that they are valid after an interrupt.
async fn play(
    shared: &Arc<Shared>,
    bots: &mut JoinSet<()>,
    progress: &mut Progress,
    (played, cpu): (&mut Duration, &mut Option<f64>),
) {
    let count = shared.arguments.bots;
    let start = tokio::time::Instant::now();
    for number in 0..count {
        let ramp = Duration::from_secs(1).mul_f64(f64::from(number) / f64::from(shared.arguments.ramp));
        tokio::time::sleep_until(start + ramp).await;
        bots.spawn(Bot::new(number, Arc::clone(shared)).run());
        progress.show(shared, shared.settled().into(), count.into());
    }
    let deadline = Instant::now() + SETTLE_DEADLINE;
    while shared.settled() < count && Instant::now() < deadline {
        tokio::time::sleep(POLL_INTERVAL).await;
        progress.show(shared, shared.settled().into(), count.into());
    }

    shared.set_phase(Phase::Play);
    let (began, cpu_before) = (Instant::now(), cpu_seconds(std::process::id()));
    let length = Duration::from_secs(shared.arguments.seconds);
    while *played < length && !bots.is_empty() {
        tokio::time::sleep(POLL_INTERVAL.min(length - *played)).await;
        *played = began.elapsed();
        *cpu = cpu_seconds(std::process::id()).zip(cpu_before).map(|(now, before)| now - before);
        progress.show(shared, played.as_millis() as u64, length.as_millis() as u64);
        while bots.try_join_next().is_some() {}
    }

    if shared.arguments.play() == BotBehavior::Messages {
        shared.set_phase(Phase::Drain);
        tokio::time::sleep(DRAIN_TIME).await;
    }
}
