//! Telling the game that a period has ended.

use super::Leaderboards;
use super::board::Board;
use crate::error::ServiceError;
use aether_store::{StoreError, values};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tracing::{error, warn};

/// Resets of one board that are told in one call of [`Leaderboards::tick`]. More wait only after the server was off for
/// long, and then other boards have their turn in between.
const RESETS_PER_TICK_MAX: usize = 64;
/// How long others wait for a hook. After that it goes on by itself.
const HOOK_TIME_MAX: Duration = Duration::from_secs(10);

/// The end of a period.
#[derive(Clone, Debug)]
pub struct Reset {
    /// The board.
    pub board: Arc<Board>,
    /// The period that has ended, which is also when it did, in seconds since 1970. Its records are read by this.
    pub expiry: i64,
}

/// What is done at the end of a period.
pub type ResetHook = Box<dyn Fn(Reset) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

impl Leaderboards {
    /// Has something done when a period of any board has ended. Hooks are registered before the server starts.
    ///
    /// Each reset is told once and in order, also one that came while the server was off. Only a server that is killed
    /// while a hook runs tells it again when it is back: give rewards under a key made of board and expiry.
    pub fn on_reset<F>(&mut self, hook: impl Fn(Reset) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.reset_hooks.push(Box::new(move |reset| Box::pin(hook(reset))));
    }

    /// Tells the resets that have come by `now`, in seconds since 1970, and mends what is in memory where the database
    /// went away in the middle of a write. To be called every second.
    pub async fn tick(&self, now: i64) -> Result<(), ServiceError> {
        let _turn = self.telling.lock().await;
        self.settle_doubts().await?;
        let due: Vec<Arc<Board>> = {
            let boards = self.boards.read().unwrap_or_else(std::sync::PoisonError::into_inner);
            boards.values().filter(|board| board.untold_reset(now).is_some()).map(Arc::clone).collect()
        };
        for board in due {
            self.tell(&board, now).await?;
        }
        Ok(())
    }

    async fn tell(&self, board: &Arc<Board>, now: i64) -> Result<(), ServiceError> {
        for _ in 0..RESETS_PER_TICK_MAX {
            let Some(expiry) = board.untold_reset(now) else { break };
            for hook in &self.reset_hooks {
                run(hook(Reset { board: Arc::clone(board), expiry }), board).await;
            }
            board.note_told(expiry);
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

/// Runs a hook by itself, so that neither its panic nor its slowness is ours.
async fn run(hook: Pin<Box<dyn Future<Output = ()> + Send>>, board: &Board) {
    let leaderboard = &board.definition.id;
    match tokio::time::timeout(HOOK_TIME_MAX, tokio::spawn(hook)).await {
        Ok(Ok(())) => {}
        Ok(Err(why)) => error!(leaderboard, %why, "a hook on the reset of a leaderboard failed"),
        Err(_) => warn!(leaderboard, "a hook on the reset of a leaderboard takes long; others go on without it"),
    }
}
