//! Time of one run of the matchmaker over many tickets with ranges of skill, all of which arrived since the last run.

use aether_services::matchmaker::{Matchmaker, NewTicket, Output, Properties, Settings, UserPresence};
use std::time::{Duration, Instant};
use uuid::Uuid;

const TICKETS: u64 = 10_000;
const TICKETS_MANY: u64 = 100_000;
const TICKETS_SHORT: u64 = 1_000;
const RUNS: usize = 5;
const MODES: u64 = 4;
const REGIONS: u64 = 6;
const SKILL_END: u64 = 3_000;
/// Distance of skill that a ticket accepts.
const SKILL_RANGE: u64 = 100;
const AIM: Duration = Duration::from_millis(200);
const SEED: u64 = 1;

/// Workloads.
#[derive(Clone, Copy)]
enum Load {
    /// Teams of two to eight players by mode and skill, those of the same region first.
    Teams,
    /// Duels by mode, with a skill range that widens.
    Duels,
    /// Everyone accepts everyone.
    Anyone,
    /// Everyone searches and nobody finds enough players.
    Nobody,
}

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let tickets = if short { TICKETS_SHORT } else { TICKETS };
    println!("one run, one thread; {MODES} modes, skill 0 to {SKILL_END}, {SKILL_RANGE} accepted in each direction");
    let result = measure("teams of 8 by skill", Load::Teams, tickets);
    measure("duels by skill, widening", Load::Duels, tickets);
    measure("teams of 8, anyone", Load::Anyone, tickets);
    measure("nobody matches", Load::Nobody, tickets);
    if !short {
        let many = measure("teams of 8 by skill", Load::Teams, TICKETS_MANY);
        println!(
            "{} times the tickets: {:.1} times the time",
            TICKETS_MANY / tickets,
            many.as_secs_f64() / result.as_secs_f64()
        );
    }
    println!(
        "matchmaker: {:.1} ms, aim under {} ms: {}",
        result.as_secs_f64() * 1e3,
        AIM.as_millis(),
        if result < AIM { "met" } else { "missed" },
    );
}

/// Prints the median time of a run over fresh tickets and returns it.
fn measure(name: &str, load: Load, tickets: u64) -> Duration {
    let mut times = Vec::new();
    let mut adding = Duration::ZERO;
    let mut summary = String::new();
    for _ in 0..RUNS {
        let mut random = Random(SEED);
        let mut matchmaker = Matchmaker::new(Settings { work_max: u64::MAX, ..Settings::default() });
        let start = Instant::now();
        for number in 0..tickets {
            matchmaker.add(random.ticket(number, load), 0).expect("the ticket is valid");
        }
        adding = start.elapsed();
        // At ten seconds everyone accepts the minimum count, and everyone searches.
        let start = Instant::now();
        matchmaker.run(10_000);
        times.push(start.elapsed());
        let found = std::iter::from_fn(|| matchmaker.poll_output());
        let matched: usize = found
            .map(|output| match output {
                Output::Candidate(candidate) => candidate.tickets.len(),
                Output::SeatsFreed { .. } => 0,
            })
            .sum();
        let last = matchmaker.stats().last_run;
        summary = format!("{matched} matched, {} searches, work {}", last.searches, last.work);
    }
    times.sort_unstable();
    let median = times[times.len() / 2];
    let per_add = adding.as_secs_f64() * 1e6 / tickets as f64;
    let (median_ms, each_us) = (median.as_secs_f64() * 1e3, median.as_secs_f64() * 1e6 / tickets as f64);
    println!(
        "{name}, {tickets} tickets: run {median_ms:.1} ms, {each_us:.1} µs a ticket; add {per_add:.1} µs; {summary}"
    );
    median
}

/// A small generator, so that every run has the same tickets.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    fn ticket(&mut self, number: u64, load: Load) -> NewTicket {
        let (mode, region, skill) = (self.below(MODES), self.below(REGIONS), self.below(SKILL_END));
        let id = Uuid::from_u128(u128::from(number) + 1);
        let range = format!(
            "+properties.mode:mode-{mode} +properties.skill:>={} +properties.skill:<={}",
            skill.saturating_sub(SKILL_RANGE),
            skill + SKILL_RANGE
        );
        let query = match load {
            Load::Teams => format!("{range} properties.region:region-{region}^2"),
            Load::Duels => format!("+properties.mode:mode-{mode}"),
            Load::Anyone => "*".to_owned(),
            Load::Nobody => format!("{range} -properties.mode:mode-{mode}"),
        };
        let mut numbers: Vec<(&str, f64)> = vec![("skill", skill as f64)];
        if matches!(load, Load::Duels) {
            numbers.extend([("widen.skill.from", 20.0), ("widen.skill.by", 5.0), ("widen.skill.to", 200.0)]);
        }
        let texts = [("mode", format!("mode-{mode}")), ("region", format!("region-{region}"))];
        NewTicket {
            id,
            presences: vec![UserPresence { user_id: id, session_id: id, username: format!("player{number}") }],
            party_id: None,
            query,
            min_count: 2,
            max_count: if matches!(load, Load::Duels) { 2 } else { 8 },
            count_multiple: 1,
            properties: Properties {
                strings: texts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect(),
                numbers: numbers.into_iter().map(|(name, number)| (name.to_owned(), number)).collect(),
            },
            blocked: Default::default(),
        }
    }
}
