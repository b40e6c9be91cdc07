//! Several statements in one flush.

use super::connection::{PostgresConnection, StatementError, wait};
use crate::statement::{Answer, AnsweredRows};
use crate::value::{OwnedValue, SqlValue};
use futures_util::{StreamExt, pin_mut};
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Instant;
use tokio::runtime::Runtime;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Error, Statement};

/// A prepared statement with its parameters.
pub(super) struct Step<'a> {
    pub statement: Statement,
    pub parameters: &'a [OwnedValue],
}

/// Reason why a step failed.
pub(super) struct StepError {
    pub error: StatementError,
    /// False if PostgreSQL certainly did not run the statement.
    pub may_have_run: bool,
}

/// Sends all steps at once and waits for their answers, which are in the same order. PostgreSQL runs a step even if an
/// earlier one failed, unless both are in the same transaction.
pub(super) fn send(
    runtime: &Runtime,
    connection: &mut PostgresConnection,
    deadline: Instant,
    steps: &[Step<'_>],
) -> Vec<Result<Answer, StepError>> {
    connection.count_round_trip(steps.len() as u64);
    let mut outcomes = Vec::with_capacity(steps.len());
    let client = &connection.client;
    let all = wait(runtime, Some(deadline), async {
        let mut answers: Vec<_> = steps.iter().map(|step| Box::pin(answer(client, step))).collect();
        let mut ready = poll_each(&mut answers).await.into_iter();
        for answer in answers {
            outcomes.push(match ready.next().flatten() {
                Some(outcome) => outcome,
                None => answer.await,
            });
        }
        Ok(())
    });
    if all.is_err() {
        outcomes.resize_with(steps.len(), || Err(StepError { error: StatementError::TimedOut, may_have_run: true }));
    }
    for failed in outcomes.iter().filter_map(|outcome| outcome.as_ref().err()) {
        connection.check_error(&failed.error);
    }
    outcomes
}

/// Polls each future once, in order: the first poll sends its request. Returns the results of those that are ready.
async fn poll_each<F: Future + Unpin>(futures: &mut [F]) -> Vec<Option<F::Output>> {
    std::future::poll_fn(|context| {
        let polled = futures.iter_mut().map(|future| match Pin::new(future).poll(context) {
            Poll::Ready(output) => Some(output),
            Poll::Pending => None,
        });
        Poll::Ready(polled.collect())
    })
    .await
}

async fn answer(client: &Client, step: &Step<'_>) -> Result<Answer, StepError> {
    let parameters: Vec<SqlValue<'_>> = step.parameters.iter().map(OwnedValue::borrow).collect();
    let parameters = parameters.iter().map(|value| value as &(dyn ToSql + Sync));
    // PostgreSQL reports its own shutdown in place of the answer. If there is no report, the answer may have been lost.
    let stream = client.query_raw(&step.statement, parameters).await.map_err(|error| StepError {
        may_have_run: error.as_db_error().is_none(),
        error: StatementError::Database(error),
    })?;
    let failed = |error: Error| StepError { error: StatementError::Database(error), may_have_run: true };
    pin_mut!(stream);
    let mut rows = Vec::new();
    while let Some(row) = stream.next().await {
        rows.push(row.map_err(failed)?);
    }
    Ok(Answer { changed: stream.rows_affected().unwrap_or(0), rows: AnsweredRows::Postgres(rows) })
}
