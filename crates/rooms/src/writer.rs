//! Writes of a durable room: one writer per room, so that writes keep their order.
//!
//! Pending data waits in a queue; the writer takes all of it and writes it in one transaction. During a write the queue
//! fills again; only the newest checkpoint stays. A failed write is retried, except for journal entries: the game gets
//! the failure at once.

use crate::durable::DurableSettings;
use crate::telemetry::DurableMetrics;
use aether_engine::{EntryNumber, RoomCheckpoint, RoomHandle};
use aether_services::Services;
use aether_services::room::{Batch, Checkpoint, LEASE_LOST, RoomLease, Rooms, StoredMember};
use aether_wire::Tick;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{error, warn};

/// Pause before a failed write is retried.
const RETRY: Duration = Duration::from_millis(500);
/// Most failed writes after the room has ended.
const LAST_ATTEMPTS: u32 = 6;
/// Most pending departures. Beyond it, stored members stay until they expire.
const DEPARTURES_MAX: usize = 10_000;
/// Pause before a full mailbox is tried again.
const MAILBOX_PAUSE: Duration = Duration::from_millis(10);

/// Failure that games get for entries of a room whose lease is lost.
const LEASE_LOST_TEXT: &str = "another server has the lease of the room";

/// Pending writes of a durable room.
#[derive(Default)]
pub(crate) struct WriteQueue {
    pending: Mutex<PendingWrites>,
    changed: Notify,
}

/// Contents of the queue.
#[derive(Default)]
struct PendingWrites {
    entries: Vec<(EntryNumber, Vec<u8>)>,
    checkpoint: Option<RoomCheckpoint>,
    /// Members by player id, with those who wait for the write.
    members: BTreeMap<u32, (StoredMember, Vec<oneshot::Sender<bool>>)>,
    /// Players who have confirmed their resume token.
    confirmed: Vec<u32>,
    departures: Vec<u32>,
    /// Set at the end of the queue; true if the room has ended for good.
    ended: Option<bool>,
}

/// Contents that the writer has taken.
struct TakenWrites {
    writes: PendingWrites,
    /// Entries that were reported as failed, but may be stored.
    voided: Vec<u64>,
}

impl WriteQueue {
    /// Queues a journal entry.
    pub fn push_entry(&self, number: EntryNumber, entry: Vec<u8>) {
        self.pending().entries.push((number, entry));
        self.changed.notify_one();
    }

    /// Queues a checkpoint, which replaces a pending one.
    pub fn push_checkpoint(&self, checkpoint: RoomCheckpoint) {
        self.pending().checkpoint = Some(checkpoint);
        self.changed.notify_one();
    }

    /// Stores a member with its resume token. Returns true if it is stored within the time; attempts continue after
    /// that.
    pub async fn store_member(&self, member: StoredMember, time_max: Duration) -> bool {
        let (sender, stored) = oneshot::channel();
        let player = member.identity.player;
        {
            let mut pending = self.pending();
            pending.confirmed.retain(|other| *other != player);
            let mut waiting = pending.members.remove(&player).map(|(_, waiting)| waiting).unwrap_or_default();
            waiting.push(sender);
            pending.members.insert(player, (member, waiting));
        }
        self.changed.notify_one();
        matches!(timeout(time_max, stored).await, Ok(Ok(true)))
    }

    /// Queues that a player has sent a message and thereby confirmed the new resume token.
    pub fn push_confirmation(&self, player: u32) {
        self.pending().confirmed.push(player);
        self.changed.notify_one();
    }

    /// Queues the departure of a player.
    pub fn push_departure(&self, player: u32) {
        let mut pending = self.pending();
        pending.members.remove(&player);
        pending.confirmed.retain(|other| *other != player);
        if pending.departures.len() < DEPARTURES_MAX {
            pending.departures.push(player);
        }
        drop(pending);
        self.changed.notify_one();
    }

    /// Ends the queue. `has_ended_for_good` is true if the stored room can be deleted.
    pub fn end(&self, has_ended_for_good: bool) {
        self.pending().ended = Some(has_ended_for_good);
        self.changed.notify_one();
    }

    fn pending(&self) -> MutexGuard<'_, PendingWrites> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes everything.
    fn take(&self) -> PendingWrites {
        let mut pending = self.pending();
        let ended = pending.ended;
        let taken = std::mem::take(&mut *pending);
        pending.ended = ended;
        taken
    }
}

/// Writes the contents of a queue until its end.
pub(crate) struct RoomWriter {
    pub queue: Arc<WriteQueue>,
    pub services: Arc<Services>,
    pub lease: RoomLease,
    pub handle: RoomHandle,
    pub settings: DurableSettings,
    pub metrics: DurableMetrics,
}

impl RoomWriter {
    pub async fn run(self) {
        let mut snapshot_at = Instant::now();
        let mut voided = Vec::new();
        let mut failures = 0;
        loop {
            let taken = TakenWrites { writes: self.queue.take(), voided: std::mem::take(&mut voided) };
            if taken.is_empty() {
                voided = taken.voided;
                if let Some(has_ended_for_good) = taken.writes.ended {
                    return self.finish(has_ended_for_good).await;
                }
                self.queue.changed.notified().await;
                continue;
            }
            let has_ended = taken.writes.ended.is_some();
            let is_due =
                taken.writes.checkpoint.is_some() && Instant::now() >= snapshot_at && self.settings.snapshots_max > 0;
            match self.write(taken, is_due).await {
                Outcome::Stored => {
                    failures = 0;
                    if is_due {
                        snapshot_at = Instant::now() + self.settings.snapshot_interval;
                    }
                }
                Outcome::Lost => return self.give_up().await,
                Outcome::Failed(again) => {
                    failures += 1;
                    voided = again;
                    if has_ended && failures > LAST_ATTEMPTS {
                        error!(room = self.lease.room, "last checkpoint could not be stored");
                        return;
                    }
                    // A new entry is tried at once, because the game waits for its outcome.
                    let _ = timeout(RETRY, self.queue.changed.notified()).await;
                }
            }
        }
    }

    async fn write(&self, taken: TakenWrites, is_due: bool) -> Outcome {
        let batch = Arc::new(taken.batch(self.handle.stats().tick, is_due.then_some(self.settings.snapshots_max)));
        let began = Instant::now();
        self.metrics.pending.add(batch.entries.len() as f64);
        let outcome = self.service().write_batch(&self.lease, Arc::clone(&batch)).await;
        self.metrics.pending.add(-(batch.entries.len() as f64));
        self.metrics.seconds.observe(began.elapsed().as_secs_f64());
        match outcome {
            Ok(()) => {
                self.metrics.stored.inc();
                self.metrics.bytes.add(batch.checkpoint.as_ref().map_or(0, |state| state.bytes.len() as u64));
                for (number, _) in taken.writes.entries {
                    self.report(number, Ok(())).await;
                }
                for waiting in taken.writes.members.into_values().flat_map(|(_, waiting)| waiting) {
                    let _ = waiting.send(true);
                }
                Outcome::Stored
            }
            Err(error) if error == LEASE_LOST => {
                self.fail_entries(taken.writes.entries, LEASE_LOST_TEXT).await;
                Outcome::Lost
            }
            Err(error) => {
                self.metrics.failures.inc();
                warn!(room = self.lease.room, %error, "room write failed; it is retried");
                let mut voided = taken.voided;
                voided.extend(taken.writes.entries.iter().map(|(number, _)| number.0));
                let entries = self.put_back(taken.writes);
                self.fail_entries(entries, &error.to_string()).await;
                Outcome::Failed(voided)
            }
        }
    }

    /// Queues failed writes again, unless newer ones are pending. Returns the entries, whose failure is reported.
    fn put_back(&self, taken: PendingWrites) -> Vec<(EntryNumber, Vec<u8>)> {
        let mut pending = self.queue.pending();
        if pending.checkpoint.is_none() {
            pending.checkpoint = taken.checkpoint;
        }
        for (player, (member, waiting)) in taken.members {
            for waiting in waiting {
                let _ = waiting.send(false);
            }
            if !pending.departures.contains(&player) {
                pending.members.entry(player).or_insert((member, Vec::new()));
            }
        }
        let confirmed =
            taken.confirmed.into_iter().filter(|player| !pending.members.contains_key(player)).collect::<Vec<_>>();
        pending.confirmed.extend(confirmed);
        let space = DEPARTURES_MAX.saturating_sub(pending.departures.len());
        pending.departures.extend(taken.departures.into_iter().take(space));
        taken.entries
    }

    async fn fail_entries(&self, entries: Vec<(EntryNumber, Vec<u8>)>, reason: &str) {
        for (number, _) in entries {
            self.report(number, Err(reason.to_owned())).await;
        }
    }

    /// Reports the outcome of an entry to the room. Outcomes keep their order, so a full mailbox is retried.
    async fn report(&self, number: EntryNumber, outcome: Result<(), String>) {
        while self.handle.is_open() && self.handle.committed(number, outcome.clone()).is_err() {
            sleep(MAILBOX_PAUSE).await;
        }
    }

    /// Releases the lease after the last write, or deletes the room if it has ended for good.
    async fn finish(&self, has_ended_for_good: bool) {
        let outcome = match has_ended_for_good {
            true => self.service().remove(&self.lease).await,
            false => self.service().release_at(&self.lease, self.handle.stats().tick.0).await,
        };
        if let Err(error) = outcome {
            warn!(room = self.lease.room, %error, "lease of an ended room was not released; it will expire");
        }
    }

    /// Ends the room because another server has its lease. Pending writes fail until the room has ended.
    async fn give_up(&self) {
        error!(room = self.lease.room, "lease was taken by another server; room ends here");
        self.metrics.lost.inc();
        while self.handle.is_open() && self.handle.lease_lost().is_err() {
            sleep(MAILBOX_PAUSE).await;
        }
        loop {
            let writes = self.queue.take();
            self.fail_entries(writes.entries, LEASE_LOST_TEXT).await;
            for waiting in writes.members.into_values().flat_map(|(_, waiting)| waiting) {
                let _ = waiting.send(false);
            }
            if writes.ended.is_some() {
                return;
            }
            self.queue.changed.notified().await;
        }
    }

    fn service(&self) -> &Rooms {
        &self.services.rooms
    }
}

enum Outcome {
    Stored,
    Lost,
    /// The write failed. The entries with these numbers were reported as failed, but may be stored.
    Failed(Vec<u64>),
}

impl TakenWrites {
    fn is_empty(&self) -> bool {
        let PendingWrites { entries, checkpoint, members, confirmed, departures, ended: _ } = &self.writes;
        entries.is_empty()
            && checkpoint.is_none()
            && members.is_empty()
            && confirmed.is_empty()
            && departures.is_empty()
    }

    fn batch(&self, tick: Tick, snapshots: Option<u32>) -> Batch {
        let PendingWrites { entries, checkpoint, members, confirmed, departures, ended: _ } = &self.writes;
        Batch {
            tick: tick.0,
            entries: entries.iter().map(|(number, entry)| (number.0, entry.clone())).collect(),
            voided: self.voided.clone(),
            members: members.values().map(|(member, _)| member.clone()).collect(),
            confirmed: confirmed.clone(),
            left: departures.clone(),
            checkpoint: checkpoint.as_ref().map(|checkpoint| Checkpoint {
                tick: checkpoint.tick.0,
                bytes: Arc::clone(&checkpoint.state),
                applied: checkpoint.applied.0,
                last_player: checkpoint.last_player.0,
                label: checkpoint.label.clone(),
                players: checkpoint.players,
                entities: checkpoint.entities,
            }),
            checkpoints_max: snapshots,
        }
    }
}
