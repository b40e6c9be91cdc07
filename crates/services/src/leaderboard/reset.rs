//! Reports resets of boards to the game.

use super::Leaderboards;
use super::board::Board;
use crate::error::ServiceError;
use aether_store::{StoreError, values};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, warn};

/// Maximum resets of one board reported per [`Leaderboards::tick`]. More are due only after the server was off for
/// long; other boards then get their turn in between.
const RESETS_PER_TICK_MAX: usize = 64;
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
        let _turn = self.reporting.lock().await;
        self.settle_uncertain().await?;
        let due: Vec<Arc<Board>> = {
            let boards = self.boards.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            boards.values().filter(|board| board.unreported_reset(now).is_some()).map(Arc::clone).collect()
        };
        for board in due {
            self.report_resets(&board, now).await?;
        }
        Ok(())
    }

    async fn report_resets(&self, board: &Arc<Board>, now: i64) -> Result<(), ServiceError> {
        for _ in 0..RESETS_PER_TICK_MAX {
            let Some(expiry) = board.unreported_reset(now) else { break };
            for hook in &self.reset_hooks {
                run(hook(Reset { board: Arc::clone(board), expiry }), board).await;
            }
            board.mark_reported(expiry);
            let board = Arc::clone(board);
            let noted = self.store.write(move |transaction| {
                transaction.execute(
                    "UPDATE leaderboards SET reset_told_until = ?2 WHERE id = ?1",
                    values![&board.definition.id, expiry],
                )
            });
            noted.await.map_err(|error: StoreError| ServiceError::from(error))?;
        }
        Ok(())
    }
}

/// Runs a hook in its own task, which isolates panics and delays.
async fn run(hook: Pin<Box<dyn Future<Output = ()> + Send>>, board: &Board) {
    let leaderboard = &board.definition.id;
    match tokio::time::timeout(HOOK_TIME_MAX, tokio::spawn(hook)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => error!(leaderboard, %why, "leaderboard reset hook failed"),
        Err(_) => warn!(leaderboard, "leaderboard reset hook is slow; continuing without it"),
    }
}
