//! Cost of a search among 10,000 tickets for players of one mode and a range of skill, against a check of every ticket
//! in the same run.

use std::hint::black_box;
use std::time::{Duration, Instant};

use aether_query::{Document, DocumentIndex, Query, SearchOrder};

const DOCUMENTS: usize = 10_000;
const DOCUMENTS_SHORT: usize = 1_000;
const SEARCHES: usize = 2_000;
const SEARCHES_SHORT: usize = 50;
/// Searches per check of every ticket, which takes much longer.
const SEARCHES_PER_SCAN: usize = 20;
const MODES: u64 = 8;
const REGIONS: u64 = 6;
const SKILL_END: u64 = 3_000;
/// Width of the range of skill that a ticket asks for: one in sixty tickets is in it.
const SKILL_RANGE: u64 = 50;
/// Results that a search asks for, as a matchmaker would.
const LIMIT: usize = 24;
const AIM: Duration = Duration::from_micros(50);
const SEED: u64 = 1;

fn main() {
    let short = std::env::args().any(|argument| argument == "--short");
    let (documents, searches) = if short { (DOCUMENTS_SHORT, SEARCHES_SHORT) } else { (DOCUMENTS, SEARCHES) };
    let mut random = Random(SEED);
    println!("{documents} tickets, {MODES} modes, skill 0 to {SKILL_END}; {searches} searches for {LIMIT}, one thread");

    let tickets: Vec<Document> = (0..documents).map(|_| random.ticket()).collect();
    let start = Instant::now();
    let mut index = DocumentIndex::new();
    for (key, ticket) in tickets.iter().enumerate() {
        index.insert(key, ticket.clone());
    }
    println!("insert: {:.2} µs", microseconds(start.elapsed()) / documents as f64);
    let texts: Vec<String> = (0..searches).map(|_| random.query()).collect();
    let start = Instant::now();
    let queries: Vec<Query> = texts.iter().map(|text| Query::parse(text).expect("the query is valid")).collect();
    println!("parse: {:.2} µs", microseconds(start.elapsed()) / searches as f64);

    let order = SearchOrder::best_then_oldest();
    let mut found = 0;
    let search = median(queries.iter().map(|query| {
        let start = Instant::now();
        found += black_box(index.search(query, LIMIT, &order)).len();
        start.elapsed()
    }));
    println!("search: median {:.2} µs, {:.1} found", microseconds(search), found as f64 / searches as f64);
    let scan = median(queries.iter().step_by(SEARCHES_PER_SCAN).map(|query| {
        let start = Instant::now();
        let matching = black_box(tickets.iter().filter(|ticket| query.matches(ticket).is_some()).count());
        let elapsed = start.elapsed();
        assert_eq!(matching, index.search(query, usize::MAX, &order).len(), "both must find the same");
        elapsed
    }));
    println!("check of every ticket: median {:.2} µs, {:.0} times as long", microseconds(scan), ratio(scan, search));
    println!(
        "query: {:.2} µs, aim under {} µs: {}",
        microseconds(search),
        AIM.as_micros(),
        if search < AIM { "met" } else { "missed" },
    );
}

fn median(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times[times.len() / 2]
}

fn microseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn ratio(left: Duration, right: Duration) -> f64 {
    left.as_secs_f64() / right.as_secs_f64()
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

    fn ticket(&mut self) -> Document {
        let (mode, region) = (self.below(MODES), self.below(REGIONS));
        Document::builder()
            .text("ticket", &format!("{:016x}", self.next()))
            .text("properties.mode", &format!("mode-{mode}"))
            .text("properties.region", &format!("region-{region}"))
            .number("properties.skill", self.below(SKILL_END) as f64)
            .number("min_count", 2.0)
            .number("max_count", 8.0)
            .build()
            .expect("a ticket is within the limits")
    }

    fn query(&mut self) -> String {
        let (mode, region, skill) = (self.below(MODES), self.below(REGIONS), self.below(SKILL_END - SKILL_RANGE));
        format!(
            "+properties.mode:mode-{mode} +properties.skill:>={skill} +properties.skill:<{} properties.region:region-{region}^2",
            skill + SKILL_RANGE
        )
    }
}
