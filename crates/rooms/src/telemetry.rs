//! Metrics of rooms, and the observer that measures their ticks.

use crate::hosted::HostedRoom;
use aether_engine::{AuditEvent, Observer, RoomCounts, TickStage};
use aether_limits::{RateLimit, TokenBucket};
use aether_metrics::{Counter, Gauge, Histogram, Registry};
use aether_services::audit::Audit;
use aether_wire::Tick;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tracing::{info, warn};
use uuid::Uuid;

/// Histogram buckets as shares of a tick's budget.
const SHARES: &[f64] = &[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0, 4.0];
/// Histogram buckets of tick lateness, in seconds.
const LATE: &[f64] = &[0.000_1, 0.000_25, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.1, 0.5];

/// Histogram buckets of write times, in seconds.
const STORE_SECONDS: &[f64] = &[0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0];
/// Histogram buckets of checkpoint times, in seconds.
const CHECKPOINT_SECONDS: &[f64] = &[0.000_01, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.05];

/// Metrics of the writes of durable rooms of one type, resolved once.
#[derive(Clone)]
pub(crate) struct DurableMetrics {
    pub stored: Counter,
    pub failures: Counter,
    pub lost: Counter,
    pub bytes: Counter,
    pub seconds: Histogram,
    pub pending: Gauge,
}

impl DurableMetrics {
    pub fn new(registry: &Registry, name: &str) -> DurableMetrics {
        let of_type = [("room_type", name)];
        let counter = |metric: &str, help: &str| registry.counter(metric, help, &of_type);
        let seconds = "Time that writes of durable rooms take.";
        DurableMetrics {
            stored: counter("aether_room_writes_total", "Writes of durable rooms to the database."),
            failures: counter("aether_room_write_failures_total", "Writes of durable rooms that failed."),
            lost: counter("aether_rooms_lost_total", "Durable rooms whose lease another server has taken."),
            bytes: counter("aether_checkpoint_bytes_total", "Bytes of stored checkpoints."),
            seconds: registry.histogram("aether_room_write_duration_seconds", seconds, &of_type, STORE_SECONDS),
            pending: registry.gauge(
                "aether_room_entries_pending",
                "Journal entries that wait for their commit.",
                &of_type,
            ),
        }
    }
}

/// Metrics of all rooms of one type, resolved once.
#[derive(Clone)]
pub(crate) struct RoomMetrics {
    name: String,
    step: f64,
    stages: [Histogram; 5],
    tick: Histogram,
    late: Histogram,
    checkpoint: Histogram,
    overruns: Counter,
    dropped: Counter,
    ticks: Counter,
    counts: Vec<Counter>,
    pub failures: Counter,
    audit_suppressed: Counter,
    refusals: Arc<Mutex<RefusalLog>>,
    rooms: Gauge,
    players: Gauge,
    entities: Gauge,
    overload: Gauge,
    time_rate: Gauge,
    queue_depth: Gauge,
    tick_rate: Gauge,
}

/// Most refused attempts in the audit log, for all rooms of a type together: a line of 200 bytes each makes 170 MB a day.
const REFUSALS: RateLimit = RateLimit { per_second: 10, burst: 50 };

/// Limits refused attempts in the audit log.
struct RefusalLog {
    began: Instant,
    bucket: TokenBucket,
    /// Attempts since the last line.
    suppressed: u64,
}

impl RefusalLog {
    fn new() -> RefusalLog {
        RefusalLog { began: Instant::now(), bucket: TokenBucket::new(REFUSALS, Duration::ZERO), suppressed: 0 }
    }

    /// Returns the number of attempts that were left out before this one; none if this one is left out too.
    fn take(&mut self) -> Option<u64> {
        if self.bucket.take(self.began.elapsed()) {
            return Some(std::mem::take(&mut self.suppressed));
        }
        self.suppressed += 1;
        None
    }
}

impl RoomMetrics {
    /// Registers the metrics of a room type. `step` is the duration of a tick, in seconds.
    pub fn new(registry: &Registry, name: &str, step: f64) -> RoomMetrics {
        let of_type = [("room_type", name)];
        // Buckets are fixed shares of the budget, in seconds, so that one query works for every tick rate. A type that
        // replaces one of another tick rate keeps the buckets of the first.
        let seconds: Vec<f64> = SHARES.iter().map(|share| share * if step > 0.0 { step } else { 0.025 }).collect();
        let counter = |metric: &str, help: &str| registry.counter(metric, help, &of_type);
        let gauge = |metric: &str, help: &str| registry.gauge(metric, help, &of_type);
        RoomMetrics {
            name: name.to_owned(),
            step,
            stages: TickStage::ALL.map(|stage| {
                let labels = [("room_type", name), ("stage", stage.label())];
                let help = "Time that the stages of a tick take.";
                registry.histogram_or_existing("aether_tick_stage_duration_seconds", help, &labels, &seconds)
            }),
            tick: {
                let help = "Time that whole ticks take.";
                registry.histogram_or_existing("aether_tick_duration_seconds", help, &of_type, &seconds)
            },
            late: registry.histogram("aether_tick_lateness_seconds", "Delay of the start of ticks.", &of_type, LATE),
            checkpoint: {
                let help = "Time that checkpoints take within a tick.";
                registry.histogram("aether_checkpoint_duration_seconds", help, &of_type, CHECKPOINT_SECONDS)
            },
            overruns: counter("aether_tick_overruns_total", "Ticks that took longer than their budget."),
            dropped: counter("aether_ticks_dropped_total", "Ticks that were skipped."),
            ticks: counter("aether_ticks_total", "Ticks."),
            counts: RoomCounts::default()
                .each()
                .map(|(kind, _)| {
                    if kind == "interest_queries" {
                        let help = "Queries of the spatial index for what a player sees.";
                        return counter("aether_aoi_queries_total", help);
                    }
                    let labels = [("room_type", name), ("kind", kind)];
                    registry.counter("aether_room_events_total", "Events in rooms, by kind.", &labels)
                })
                .collect(),
            failures: counter("aether_room_failures_total", "Rooms that ended because their game panicked or failed."),
            audit_suppressed: counter(
                "aether_audit_suppressed_total",
                "Refused attempts that are not in the audit log, because there were too many.",
            ),
            refusals: Arc::new(Mutex::new(RefusalLog::new())),
            rooms: gauge("aether_room_count", "Running rooms."),
            players: gauge("aether_player_count", "Players in rooms."),
            entities: gauge("aether_entity_count", "Entities in rooms."),
            overload: gauge("aether_overload_rung", "Highest level of the overload ladder of any room."),
            time_rate: gauge(
                "aether_time_rate",
                "Lowest speed of time of any room: 1 is normal, less is slowed by the overload ladder.",
            ),
            queue_depth: gauge(
                "aether_room_queue_depth",
                "Joins, answers and signals that wait in the fullest mailbox.",
            ),
            tick_rate: gauge("aether_tick_rate_hertz", "Average ticks per second of a room."),
        }
    }

    /// Sets the gauges. Called once a second.
    pub fn set_stats(&self, stats: &RoomTypeStats) {
        self.rooms.set(stats.rooms);
        self.players.set(stats.players);
        self.entities.set(stats.entities);
        self.overload.set(stats.overload);
        self.time_rate.set(1.0 - stats.slowdown_percent / 100.0);
        self.queue_depth.set(stats.queue_depth);
    }

    /// Total ticks of all rooms of the type.
    pub fn ticks(&self) -> u64 {
        self.ticks.value()
    }

    /// Sets the tick rate of a room, given the ticks of all rooms in the last second.
    pub fn set_tick_rate(&self, ticks: f64) {
        let rooms = self.rooms.value();
        self.tick_rate.set(if rooms > 0.0 { ticks / rooms } else { 0.0 });
    }
}

/// Sums over all rooms of a type, taken once a second.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RoomTypeStats {
    pub rooms: f64,
    pub players: f64,
    pub entities: f64,
    /// Highest overload level of any room.
    pub overload: f64,
    /// Greatest slowdown of time of any room, in percent.
    pub slowdown_percent: f64,
    /// Queue depth of the fullest room.
    pub queue_depth: f64,
}

impl RoomTypeStats {
    /// Adds a room.
    pub fn add(&mut self, room: &dyn HostedRoom) {
        self.rooms += 1.0;
        self.players += f64::from(room.players());
        if let Some(stats) = room.stats() {
            self.entities += f64::from(stats.entities);
            self.overload = self.overload.max(f64::from(stats.overload));
            self.slowdown_percent = self.slowdown_percent.max(f64::from(stats.slowdown_percent));
        }
        self.queue_depth = self.queue_depth.max(room.queue_depth() as f64);
    }
}

/// Observer of one room. It reads the clock, so that the engine needs none.
pub(crate) struct RoomObserver {
    metrics: RoomMetrics,
    began: Instant,
    stage_began: Instant,
    stage: Option<TickStage>,
    /// Receives refused commands.
    audit: Arc<Audit>,
}

impl RoomObserver {
    pub fn new(metrics: &RoomMetrics, audit: Arc<Audit>) -> RoomObserver {
        let now = Instant::now();
        RoomObserver { metrics: metrics.clone(), began: now, stage_began: now, stage: None, audit }
    }

    fn end_stage(&mut self, now: Instant) {
        if let Some(stage) = self.stage.take() {
            self.metrics.stages[stage as usize].observe((now - self.stage_began).as_secs_f64());
        }
    }
}

impl Observer for RoomObserver {
    fn tick_started(&mut self, late: Duration) {
        self.metrics.late.observe(late.as_secs_f64());
    }

    fn stage(&mut self, _tick: Tick, stage: TickStage) {
        let now = Instant::now();
        if stage == TickStage::Receive {
            self.began = now;
        }
        self.end_stage(now);
        self.stage = Some(stage);
        self.stage_began = now;
    }

    fn checkpoint_started(&mut self) {
        let now = Instant::now();
        self.end_stage(now);
        self.stage_began = now;
    }

    fn checkpoint_finished(&mut self) {
        self.metrics.checkpoint.observe(self.stage_began.elapsed().as_secs_f64());
    }

    fn tick_finished(&mut self, _tick: Tick, counts: &RoomCounts) {
        let now = Instant::now();
        self.end_stage(now);
        let took = (now - self.began).as_secs_f64();
        self.metrics.tick.observe(took);
        self.metrics.ticks.inc();
        if took > self.metrics.step {
            self.metrics.overruns.inc();
        }
        for (counter, (_, count)) in self.metrics.counts.iter().zip(counts.each()) {
            if count > 0 {
                counter.add(count);
            }
        }
    }

    fn ticks_dropped(&mut self, ticks: u32) {
        if ticks > 0 {
            self.metrics.dropped.add(u64::from(ticks));
        }
    }

    fn audit(&mut self, audit: &AuditEvent<'_>) {
        let AuditEvent { player, user, action, allowed } = audit;
        let room_type = self.metrics.name.as_str();
        if *allowed {
            info!(target: "aether_audit", room_type, player = player.0, user, action, "done");
        } else {
            self.audit.note_refusal(Uuid::try_parse(user).unwrap_or_default(), action);
            // Nobody needs a permission for these, so they are bounded.
            let suppressed = self.metrics.refusals.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some(suppressed) = suppressed else { return self.metrics.audit_suppressed.inc() };
            let player = player.0;
            warn!(target: "aether_audit", room_type, player, user, action, suppressed, "refused: no permission");
        }
    }
}
