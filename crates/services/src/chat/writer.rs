//! Stores messages of many senders in one operation.
//!
//! ```text
//!   send ──→ queue ──→ one operation for all that wait ──→ router, in the order of the numbers ──→ answers
//! ```
//!
//! While an operation waits for its commit, the next messages queue up: the higher the load, the more of them share one.
//! One operation runs at a time, and stored messages are delivered by one task while the next operation runs, so members
//! see the messages of this node in the order of their numbers.

use super::limits::{BATCH_MAX, QUEUED_MAX};
use super::log;
use super::message::{ChatMessage, NewMessage};
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use aether_store::{Store, StoreError};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

const FULL: ServiceError =
    ServiceError::new(GrpcCode::Unavailable, "Too many messages wait to be stored. Try again in a moment.")
        .retry_after(1);
const ENDED: ServiceError = ServiceError::new(GrpcCode::Unavailable, "The server stops. Try again in a moment.");
const SENDER_GONE: ServiceError = ServiceError::new(GrpcCode::NotFound, "The account of the sender does not exist.");

/// Handle of the task that stores messages. The task ends when the handle is dropped.
pub(super) struct Writer {
    queue: mpsc::Sender<Queued>,
}

/// A message that waits, and its sender.
struct Queued {
    message: NewMessage,
    answer: oneshot::Sender<Result<ChatMessage, ServiceError>>,
}

/// Messages of one operation, and their senders.
struct StoredBatch {
    outcomes: Vec<Result<ChatMessage, ServiceError>>,
    answers: Vec<oneshot::Sender<Result<ChatMessage, ServiceError>>>,
}

impl StoredBatch {
    /// Delivers the messages and answers their senders.
    fn finish(self, deliver: &impl Fn(&ChatMessage)) {
        for (outcome, answer) in self.outcomes.into_iter().zip(self.answers) {
            if let Ok(message) = &outcome {
                deliver(message);
            }
            // The sender may be gone. The message stays.
            let _ = answer.send(outcome);
        }
    }
}

impl Writer {
    /// Starts the task. `deliver` is called with each stored message, in the order of the numbers.
    pub fn start(store: Store, clock: Arc<dyn WallClock>, deliver: impl Fn(&ChatMessage) + Send + 'static) -> Writer {
        let (queue, mut waiting) = mpsc::channel(QUEUED_MAX);
        let (delivery, mut stored_batches) = mpsc::channel::<StoredBatch>(1);
        tokio::spawn(async move {
            while let Some(batch) = stored_batches.recv().await {
                batch.finish(&deliver);
            }
        });
        tokio::spawn(async move {
            let mut batch = Vec::with_capacity(BATCH_MAX);
            while waiting.recv_many(&mut batch, BATCH_MAX).await > 0 {
                let (messages, answers): (Vec<_>, Vec<_>) =
                    batch.drain(..).map(|Queued { message, answer }| (message, answer)).unzip();
                let outcomes = store_batch(&store, messages, clock.now_ms()).await;
                if delivery.send(StoredBatch { outcomes, answers }).await.is_err() {
                    return;
                }
            }
        });
        Writer { queue }
    }

    /// Stores a message and delivers it.
    pub async fn send(&self, message: NewMessage) -> Result<ChatMessage, ServiceError> {
        let (answer, stored) = oneshot::channel();
        self.queue.try_send(Queued { message, answer }).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => FULL,
            mpsc::error::TrySendError::Closed(_) => ENDED,
        })?;
        stored.await.unwrap_or(Err(ENDED))
    }
}

/// Stores messages together. If that fails, stores each by itself, so that one cannot prevent the others.
async fn store_batch(store: &Store, messages: Vec<NewMessage>, now: i64) -> Vec<Result<ChatMessage, ServiceError>> {
    let messages = Arc::new(messages);
    let error = match store_together(store, Arc::clone(&messages), now).await {
        Ok(stored) => return stored.into_iter().map(|message| message.ok_or(SENDER_GONE)).collect(),
        Err(error) => error,
    };
    if messages.len() == 1 || !matches!(error, StoreError::BadValue(_)) {
        let error = ServiceError::from(error);
        return messages.iter().map(|_| Err(error.clone())).collect();
    }
    let mut outcomes = Vec::with_capacity(messages.len());
    for message in messages.iter() {
        let stored = store_together(store, Arc::new(vec![message.clone()]), now).await;
        outcomes.push(match stored {
            Ok(stored) => stored.into_iter().next().flatten().ok_or(SENDER_GONE),
            Err(error) => Err(error.into()),
        });
    }
    outcomes
}

async fn store_together(
    store: &Store,
    messages: Arc<Vec<NewMessage>>,
    now: i64,
) -> Result<Vec<Option<ChatMessage>>, StoreError> {
    store.write(move |transaction| log::append_all(transaction, &messages, now)).await
}
