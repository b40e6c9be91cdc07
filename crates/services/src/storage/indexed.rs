//! Changes of objects that are in storage indexes.

use super::index::{PreparedObject, turn};
use super::{Ack, Author, Change, Storage, apply};
use crate::error::ServiceError;
use std::collections::HashMap;
use std::sync::Arc;

impl Storage {
    /// Returns true if one of the changed objects can be in an index.
    pub(super) fn covers_any(&self, changes: &[Change]) -> bool {
        changes.iter().any(|change| self.indexes.covers(change.id()))
    }

    /// Applies changes, some of which are of indexed objects. The indexes have followed when it returns.
    pub(super) async fn change_indexed(
        &self,
        author: Author,
        changes: Vec<Change>,
        now: i64,
    ) -> Result<Vec<Ack>, ServiceError> {
        self.indexes.check_certain()?;
        match self.prepare(author, &changes, now) {
            Some(prepared) => self.change_in_turn(author, changes, prepared, now).await,
            None => self.change_and_settle(author, changes, now).await,
        }
    }

    /// Prepares the changes of the indexes, if all of them are in one turn and follow from the request.
    fn prepare(&self, author: Author, changes: &[Change], now: i64) -> Option<Vec<PreparedObject>> {
        let covered = changes.iter().filter(|change| self.indexes.covers(change.id()));
        let prepared = covered.map(|change| match change {
            Change::Write(write) => Some(self.indexes.prepare_write(&write.object(author.user, now)?)),
            Change::Delete(delete) => Some(self.indexes.prepare_delete(delete.id())),
        });
        let prepared: Vec<PreparedObject> = prepared.collect::<Option<_>>()?;
        let first = turn(prepared.first()?.id());
        prepared.iter().all(|object| turn(object.id()) == first).then_some(prepared)
    }

    /// Changes objects and indexes in the turn of the objects.
    async fn change_in_turn(
        &self,
        author: Author,
        changes: Vec<Change>,
        prepared: Vec<PreparedObject>,
        now: i64,
    ) -> Result<Vec<Ack>, ServiceError> {
        let Some(number) = prepared.first().map(|object| turn(object.id())) else { return Ok(Vec::new()) };
        if let [Change::Write(write)] = changes.as_slice()
            && let Some(statement) = write.statement(author, now, self.store.dialect())
        {
            let pending = self.indexes.pending(vec![write.id().clone()]);
            let written = prepared.clone();
            let created_at = self.store.run(statement.in_order(number), move |answers| {
                let created_at: Option<i64> = answers.row(0, |row| row.get(0))?;
                match created_at {
                    Some(created_at) => {
                        pending.apply(written.into_iter().map(|object| (object, created_at)).collect());
                    }
                    None => pending.cancel(),
                }
                Ok::<_, ServiceError>(created_at)
            });
            if let Some(created_at) = created_at.await? {
                return Ok(vec![write.ack(created_at, now)]);
            }
        }
        let indexes = Arc::clone(&self.indexes);
        let operation = move |transaction: &mut aether_store::Transaction<'_>| {
            let acks = apply(transaction, author, &changes, now)?;
            let created: HashMap<_, i64> = acks.iter().map(|ack| (&ack.id, ack.created_at)).collect();
            let created_at = |object: &PreparedObject| created.get(object.id()).copied().unwrap_or(now);
            let changed = prepared.iter().map(|object| (object.clone(), created_at(object))).collect();
            let pending = indexes.pending(prepared.iter().map(|object| object.id().clone()).collect());
            transaction.after_commit(move || pending.apply(changed));
            Ok(acks)
        };
        self.store.write_in_order(number, operation).await
    }

    /// Changes objects of several turns, and reads the indexed ones again afterwards.
    async fn change_and_settle(
        &self,
        author: Author,
        changes: Vec<Change>,
        now: i64,
    ) -> Result<Vec<Ack>, ServiceError> {
        let indexes = Arc::clone(&self.indexes);
        let operation = move |transaction: &mut aether_store::Transaction<'_>| {
            let acks = apply(transaction, author, &changes, now)?;
            let covered = changes.iter().map(Change::id).filter(|id| indexes.covers(id)).cloned();
            let pending = indexes.pending(covered.collect());
            // They become uncertain, with or without a commit.
            transaction.after_commit(move || drop(pending));
            Ok::<_, ServiceError>(acks)
        };
        let acks = self.store.write(operation).await?;
        // The objects are written; if they cannot be read now, the next list reads them.
        if let Err(error) = self.indexes.settle(&self.store).await {
            tracing::warn!(%error, "storage index waits for the database");
        }
        Ok(acks)
    }
}
