//! Writes of a durable room: one writer per room, so that writes keep their order.
//!
//! What is to be stored waits in a queue; the writer takes all of it at once and writes it in one transaction. While a
//! write is under way the queue fills again, and of states only the newest stays. A failed write is tried again, except for
//! entries: whoever waits for them gets the failure at once.

use crate::durable::DurableSettings;
use crate::telemetry::DurableMetrics;
use aether_engine::{EntryNumber, RoomCheckpoint, RoomHandle};
use aether_services::Services;
use aether_services::room::{Batch, Checkpoint, LEASE_LOST, RoomLease, Rooms, StoredMember};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, oneshot};
use tokio::time::{sleep, timeout};
use tracing::{error, warn};

/// Pause before a failed write is tried again.
const RETRY: Duration = Duration::from_millis(500);
/// Attempts after the room has ended.
const LAST_ATTEMPTS: u32 = 6;
/// Departures that wait to be stored. Beyond, places stay until they are too old.
const LEFT_MAX: usize = 10_000;
/// Pause before an outcome is offered to a full mailbox again.
const MAILBOX_PAUSE: Duration = Duration::from_millis(10);

/// Queue of what is to be stored of a durable room.
#[derive(Default)]
pub(crate) struct WriteQueue {
    inbox: Mutex<Inbox>,
    news: Notify,
}

/// Contents of the queue.
#[derive(Default)]
struct Inbox {
    entries: Vec<(EntryNumber, Vec<u8>)>,
    kept: Option<RoomCheckpoint>,
    places: BTreeMap<u32, (StoredMember, Vec<oneshot::Sender<bool>>)>,
    heard: Vec<u32>,
    left: Vec<u32>,
    /// Set when there will be nothing more: whether the room is over for good.
    ended: Option<bool>,
}

/// Contents that a writer has taken.
struct Taken {
    inbox: Inbox,
    voided: Vec<u64>,
}

impl WriteQueue {
    /// Queues an entry of the journal.
    pub fn push_entry(&self, number: EntryNumber, entry: Vec<u8>) {
        self.inbox().entries.push((number, entry));
        self.news.notify_one();
    }

    /// Queues a state, which replaces one that waits.
    pub fn push_state(&self, kept: RoomCheckpoint) {
        self.inbox().kept = Some(kept);
        self.news.notify_one();
    }

    /// Stores a place with its resume token; returns true if it is stored within the time. Attempts go on after that.
    pub async fn store_place(&self, place: StoredMember, at_most: Duration) -> bool {
        let (sender, stored) = oneshot::channel();
        let player = place.identity.player;
        {
            let mut inbox = self.inbox();
            inbox.heard.retain(|other| *other != player);
            let mut waiting = inbox.places.remove(&player).map(|(_, waiting)| waiting).unwrap_or_default();
            waiting.push(sender);
            inbox.places.insert(player, (place, waiting));
        }
        self.news.notify_one();
        matches!(timeout(at_most, stored).await, Ok(Ok(true)))
    }

    /// Notes that a player sent something since getting the resume token.
    pub fn note_heard(&self, player: u32) {
        self.inbox().heard.push(player);
        self.news.notify_one();
    }

    /// Notes that a player has left.
    pub fn note_left(&self, player: u32) {
        let mut inbox = self.inbox();
        inbox.places.remove(&player);
        inbox.heard.retain(|other| *other != player);
        if inbox.left.len() < LEFT_MAX {
            inbox.left.push(player);
        }
        drop(inbox);
        self.news.notify_one();
    }

    /// Ends the queue: nothing more will come.
    pub fn end(&self, is_over: bool) {
        self.inbox().ended = Some(is_over);
        self.news.notify_one();
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes everything.
    fn take(&self) -> Inbox {
        let mut inbox = self.inbox();
        let ended = inbox.ended;
        let taken = std::mem::take(&mut *inbox);
        inbox.ended = ended;
        taken
    }
}

/// Writes what is queued, until the end of the queue.
pub(crate) struct RoomWriter {
    pub queue: Arc<WriteQueue>,
    pub services: Arc<Services>,
    pub hold: RoomLease,
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
            let taken = Taken { inbox: self.queue.take(), voided: std::mem::take(&mut voided) };
            if taken.is_empty() {
                voided = taken.voided;
                if let Some(is_over) = taken.inbox.ended {
                    return self.finish(is_over).await;
                }
                self.queue.news.notified().await;
                continue;
            }
            let ended = taken.inbox.ended.is_some();
            let is_due = taken.inbox.kept.is_some() && Instant::now() >= snapshot_at && self.settings.snapshots_max > 0;
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
                    if ended && failures > LAST_ATTEMPTS {
                        error!(room = self.hold.room, "the last state of a room could not be stored");
                        return;
                    }
                    // Someone may want to know at once whether an entry can be stored.
                    let _ = timeout(RETRY, self.queue.news.notified()).await;
                }
            }
        }
    }

    async fn write(&self, taken: Taken, is_due: bool) -> Outcome {
        let batch = Arc::new(taken.batch(is_due.then_some(self.settings.snapshots_max)));
        let began = Instant::now();
        self.metrics.pending.add(batch.entries.len() as f64);
        let outcome = self.service().write_batch(&self.hold, Arc::clone(&batch)).await;
        self.metrics.pending.add(-(batch.entries.len() as f64));
        self.metrics.seconds.observe(began.elapsed().as_secs_f64());
        match outcome {
            Ok(()) => {
                self.metrics.stored.inc();
                self.metrics.bytes.add(batch.state.as_ref().map_or(0, |state| state.bytes.len() as u64));
                for (number, _) in taken.inbox.entries {
                    self.report(number, Ok(())).await;
                }
                for waiting in taken.inbox.places.into_values().flat_map(|(_, waiting)| waiting) {
                    let _ = waiting.send(true);
                }
                Outcome::Stored
            }
            Err(refusal) if refusal == LEASE_LOST => {
                self.refuse(taken.inbox.entries, "another server has the room").await;
                Outcome::Lost
            }
            Err(refusal) => {
                self.metrics.failures.inc();
                warn!(room = self.hold.room, %refusal, "a room waits for the database");
                let mut voided = taken.voided;
                voided.extend(taken.inbox.entries.iter().map(|(number, _)| number.0));
                let entries = self.put_back(taken.inbox);
                self.refuse(entries, &refusal.to_string()).await;
                Outcome::Failed(voided)
            }
        }
    }

    /// Queues what was not stored again, unless something newer waits. Returns the entries: someone waits for their outcome.
    fn put_back(&self, taken: Inbox) -> Vec<(EntryNumber, Vec<u8>)> {
        let mut inbox = self.queue.inbox();
        if inbox.kept.is_none() {
            inbox.kept = taken.kept;
        }
        for (player, (place, waiting)) in taken.places {
            for waiting in waiting {
                let _ = waiting.send(false);
            }
            if !inbox.left.contains(&player) {
                inbox.places.entry(player).or_insert((place, Vec::new()));
            }
        }
        let heard = taken.heard.into_iter().filter(|player| !inbox.places.contains_key(player)).collect::<Vec<_>>();
        inbox.heard.extend(heard);
        let space = LEFT_MAX.saturating_sub(inbox.left.len());
        inbox.left.extend(taken.left.into_iter().take(space));
        taken.entries
    }

    async fn refuse(&self, entries: Vec<(EntryNumber, Vec<u8>)>, why: &str) {
        for (number, _) in entries {
            self.report(number, Err(why.to_owned())).await;
        }
    }

    /// Reports the outcome of an entry to the room. Outcomes keep their order, so a full mailbox is waited for.
    async fn report(&self, number: EntryNumber, outcome: Result<(), String>) {
        while self.handle.is_open() && self.handle.committed(number, outcome.clone()).is_err() {
            sleep(MAILBOX_PAUSE).await;
        }
    }

    /// Releases the room after the last write, or removes it if its game is over.
    async fn finish(&self, is_over: bool) {
        let outcome = match is_over {
            true => self.service().remove(&self.hold).await,
            false => self.service().release(&self.hold).await,
        };
        if let Err(refusal) = outcome {
            warn!(room = self.hold.room, %refusal, "a room that has ended was not given up; its lease runs out");
        }
    }

    /// Ends the room here because another server holds it. Those who wait get a failure until it has ended.
    async fn give_up(&self) {
        error!(room = self.hold.room, "another server has taken the room; it ends here");
        self.metrics.lost.inc();
        while self.handle.is_open() && self.handle.lease_lost().is_err() {
            sleep(MAILBOX_PAUSE).await;
        }
        loop {
            let inbox = self.queue.take();
            self.refuse(inbox.entries, "another server has the room").await;
            for waiting in inbox.places.into_values().flat_map(|(_, waiting)| waiting) {
                let _ = waiting.send(false);
            }
            if inbox.ended.is_some() {
                return;
            }
            self.queue.news.notified().await;
        }
    }

    fn service(&self) -> &Rooms {
        &self.services.rooms
    }
}

enum Outcome {
    Stored,
    Lost,
    /// The write failed. The entries with these numbers were given up, but may be stored nevertheless.
    Failed(Vec<u64>),
}

impl Taken {
    fn is_empty(&self) -> bool {
        let Inbox { entries, kept, places, heard, left, ended: _ } = &self.inbox;
        entries.is_empty() && kept.is_none() && places.is_empty() && heard.is_empty() && left.is_empty()
    }

    fn batch(&self, snapshots: Option<u32>) -> Batch {
        let Inbox { entries, kept, places, heard, left, ended: _ } = &self.inbox;
        Batch {
            entries: entries.iter().map(|(number, entry)| (number.0, entry.clone())).collect(),
            voided: self.voided.clone(),
            members: places.values().map(|(place, _)| place.clone()).collect(),
            confirmed: heard.clone(),
            left: left.clone(),
            checkpoint: kept.as_ref().map(|kept| Checkpoint {
                bytes: Arc::clone(&kept.state),
                applied: kept.applied.0,
                last_player: kept.last_player.0,
                label: kept.label.clone(),
                players: kept.players,
                entities: kept.entities,
            }),
            checkpoints_max: snapshots,
        }
    }
}
