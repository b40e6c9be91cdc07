//! Metrics of the matchmaker.

use super::Matchmaker;
use aether_metrics::{Counter, Gauge, Histogram, Registry};

/// Upper bounds of waiting times, in seconds.
const WAIT_BUCKETS: [f64; 10] = [0.05, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0];
/// Upper bounds of the time of a part of a run, in seconds.
const RUN_BUCKETS: [f64; 8] = [0.000_1, 0.000_5, 0.001, 0.005, 0.01, 0.02, 0.05, 0.1];

pub(super) struct MatchmakerMetrics {
    tickets: Gauge,
    backfills: Gauge,
    seats: Gauge,
    matches: [Counter; 2],
    pub released: Counter,
    pub seats_freed: Counter,
    pub wait_seconds: Histogram,
    pub run_seconds: Histogram,
}

impl MatchmakerMetrics {
    pub fn new(registry: &Registry) -> MatchmakerMetrics {
        let gauge = |name, help| registry.gauge(name, help, &[]);
        let counter = |name, help| registry.counter(name, help, &[]);
        let matches = |kind| {
            let (name, help) =
                ("aether_matchmaker_matches_total", "Matches of the matchmaker: new ones, and backfills.");
            registry.counter(name, help, &[("kind", kind)])
        };
        let histogram = |name, help, buckets: &[f64]| registry.histogram(name, help, &[], buckets);
        let wait_help = "Time from the ticket to its match.";
        let run_help = "Time of a part of a run, in which tickets search.";
        MatchmakerMetrics {
            tickets: gauge("aether_matchmaker_tickets", "Tickets in the matchmaker."),
            backfills: gauge("aether_matchmaker_backfills", "Running matches that ask for players."),
            seats: gauge("aether_matchmaker_seats", "Seats reserved for matched players who have not joined yet."),
            matches: [matches("new"), matches("backfill")],
            released: counter(
                "aether_matchmaker_released_total",
                "Match candidates that were refused by the hook, or for which no match could be created.",
            ),
            seats_freed: counter("aether_matchmaker_seats_freed_total", "Seats of players who did not join in time."),
            wait_seconds: histogram("aether_matchmaker_wait_seconds", wait_help, &WAIT_BUCKETS),
            run_seconds: histogram("aether_matchmaker_run_seconds", run_help, &RUN_BUCKETS),
        }
    }

    /// Shows the sizes of the state.
    pub fn show(&self, matchmaker: &Matchmaker) {
        let (tickets, backfills, seats) = matchmaker.sizes();
        self.tickets.set(tickets as f64);
        self.backfills.set(backfills as f64);
        self.seats.set(seats as f64);
    }

    pub fn count_match(&self, is_backfill: bool) {
        self.matches[usize::from(is_backfill)].inc();
    }
}
