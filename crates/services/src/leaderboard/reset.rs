//! Reports resets of boards to the game.

use super::Leaderboards;
use super::board::{Board, Due};
use crate::error::ServiceError;
use aether_store::{StoreError, values};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, warn};

/// Maximum resets and ends of one board reported per [`Leaderboards::tick`]. More are due only after the server was off
/// for long; other boards then get their turn in between.
const REPORTS_PER_TICK_MAX: usize = 64;
/// Time that other hooks wait for a hook. After that it continues on its own.
const HOOK_TIME_MAX: Duration = Duration::from_secs(10);

/// Reset of a board.
#[derive(Clone, Debug)]
pub struct Reset {
    /// Board.
    pub board: Arc<Board>,
    /// Expiry of the ended period, in seconds since 1970. Its records are read by it.
    pub expiry: i64,
}

/// End of the active time of a tournament.
#[derive(Clone, Debug)]
pub struct TournamentEnd {
    /// Tournament.
    pub tournament: Arc<Board>,
    /// End, in seconds since 1970.
    pub end: i64,
    /// Expiry of the period, in seconds since 1970; 0 without resets. Its records are read by it.
    pub expiry: i64,
}

/// Reset of a tournament.
#[derive(Clone, Debug)]
pub struct TournamentReset {
    /// Tournament.
    pub tournament: Arc<Board>,
    /// Expiry of the ended period, in seconds since 1970. Its records are read by it.
    pub expiry: i64,
}

/// Event of a board or a tournament that hooks get.
#[derive(Clone, Debug)]
pub(crate) enum Report {
    Reset(Reset),
    TournamentEnd(TournamentEnd),
    TournamentReset(TournamentReset),
}

/// Running hook.
pub(crate) type HookFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Function that runs at the end of a period.
pub type ResetHook = Box<dyn Fn(Reset) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl Leaderboards {
    /// Adds a hook that runs when a period of any board has ended. Register hooks before the server starts.
    ///
    /// Each reset is reported once and in order, including those that came while the server was off. Only a server that
    /// is killed while a hook runs reports it again: give rewards under a key of board and expiry.
    pub fn on_reset<F>(&mut self, hook: impl Fn(Reset) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.reset_hooks.push(Box::new(move |reset| Box::pin(hook(reset))));
    }

    /// Reports resets that are due at `now`, in seconds since 1970, and re-reads uncertain records. Call it every
    /// second.
    pub async fn tick(&self, now: i64) -> Result<(), ServiceError> {
        self.tick_with(now, |_| Vec::new()).await
    }

    /// Does the work of [`Leaderboards::tick`]. `more` returns further hooks for a report.
    pub(crate) async fn tick_with(
        &self,
        now: i64,
        more: impl Fn(&Report) -> Vec<HookFuture> + Sync,
    ) -> Result<(), ServiceError> {
        let _turn = self.reporting.lock().await;
        self.settle_uncertain().await?;
        let due: Vec<Arc<Board>> = {
            let boards = self.boards.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            boards.values().filter(|board| board.unreported(now).is_some()).map(Arc::clone).collect()
        };
        for board in due {
            self.report(&board, now, &more).await?;
        }
        Ok(())
    }

    async fn report(
        &self,
        board: &Arc<Board>,
        now: i64,
        more: &(impl Fn(&Report) -> Vec<HookFuture> + Sync),
    ) -> Result<(), ServiceError> {
        for _ in 0..REPORTS_PER_TICK_MAX {
            let Some(due) = board.unreported(now) else { break };
            let report = Report::new(board, due);
            if let Report::Reset(reset) = &report {
                for hook in &self.reset_hooks {
                    run(hook(reset.clone()), board).await;
                }
            }
            for hook in more(&report) {
                run(hook, board).await;
            }
            board.mark_reported(due);
            let board = Arc::clone(board);
            let noted = self.store.write(move |transaction| {
                let (sql, time) = match due {
                    Due::Reset(time) => ("UPDATE leaderboards SET reset_told_until = ?2 WHERE id = ?1", time),
                    Due::End(time) => ("UPDATE leaderboards SET end_reported_until = ?2 WHERE id = ?1", time),
                };
                transaction.execute(sql, values![&board.definition.id, time])
            });
            noted.await.map_err(|error: StoreError| ServiceError::from(error))?;
        }
        Ok(())
    }
}

impl Report {
    fn new(board: &Arc<Board>, due: Due) -> Report {
        let board = Arc::clone(board);
        match due {
            Due::Reset(expiry) if board.definition.tournament.is_none() => Report::Reset(Reset { board, expiry }),
            Due::Reset(expiry) => Report::TournamentReset(TournamentReset { tournament: board, expiry }),
            Due::End(end) => {
                let expiry = board.timetable().map_or(0, |times| times.expiry_of_end(end));
                Report::TournamentEnd(TournamentEnd { tournament: board, end, expiry })
            }
        }
    }
}

/// Runs a hook in its own task, which isolates panics and delays.
async fn run(hook: HookFuture, board: &Board) {
    let leaderboard = &board.definition.id;
    match tokio::time::timeout(HOOK_TIME_MAX, tokio::spawn(hook)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => error!(leaderboard, %why, "leaderboard hook failed"),
        Err(_) => warn!(leaderboard, "leaderboard hook is slow; continuing without it"),
    }
}
