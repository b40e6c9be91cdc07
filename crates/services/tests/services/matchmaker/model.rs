//! Compares the matchmaker with a check of every set of tickets.

use super::*;
use aether_query::{Document, Query};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const INTERVAL_MS: i64 = 1_000;
const MAX_INTERVALS: u32 = 3;
/// Every set of so many tickets can be tried.
const WAITING_MAX: usize = 9;

/// Ticket of a test, and its creation.
#[derive(Clone, Debug)]
struct Known {
    new: NewTicket,
    created_ms: i64,
}

#[derive(Clone, Debug)]
enum Step {
    Add(Shape),
    Remove(usize),
    /// Run, after some time within the interval.
    Run(i64),
    /// Run at the start of the next interval.
    NextInterval,
}

/// Choices for a ticket.
#[derive(Clone, Debug)]
struct Shape {
    players: usize,
    counts: (usize, usize, usize),
    query: usize,
    mode: usize,
    skill: i32,
    widening: Option<(i32, i32, i32)>,
}

const MODES: &[&str] = &["duel", "team", "both"];
const QUERIES: &[&str] = &[
    "*",
    "",
    "+properties.mode:duel",
    "-properties.mode:team",
    "+properties.skill:>=2 +properties.skill:<=5",
    "properties.mode:duel^2 properties.mode:team",
    "+properties.mode:/(duel|both)/ properties.skill:>4^3",
    "+properties.mode:* -properties.skill:<3",
    "+max_count:<=3",
    "nothing",
];

fn shapes() -> impl Strategy<Value = Shape> {
    let counts = prop::sample::select(&[(2, 2, 1), (2, 4, 1), (2, 4, 2), (3, 5, 1), (3, 3, 3), (2, 3, 1)][..]);
    let players = prop_oneof![4 => Just(1usize), 2 => Just(2), 1 => Just(3)];
    let widening = prop::option::weighted(0.4, (0..3i32, 0..3i32, 0..7i32));
    (players, counts, 0..QUERIES.len(), 0..MODES.len(), 0..7i32, widening).prop_map(
        |(players, counts, query, mode, skill, widening)| {
            let players = players.min(counts.1);
            Shape { players, counts, query, mode, skill, widening }
        },
    )
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => shapes().prop_map(Step::Add),
        1 => (0..8usize).prop_map(Step::Remove),
        2 => (0..400i64).prop_map(Step::Run),
        3 => Just(Step::NextInterval),
    ];
    prop::collection::vec(step, 1..40)
}

/// Ticket of a shape. `user` is the number of its first player.
fn ticket_of(shape: &Shape, id: u128, user: u128) -> NewTicket {
    let mut properties = numbers(&[("skill", f64::from(shape.skill))]);
    properties.strings.insert("mode".to_owned(), MODES[shape.mode].to_owned());
    if let Some((from, by, to)) = shape.widening {
        for (part, value) in [("from", from), ("by", by), ("to", to)] {
            properties.numbers.insert(format!("widen.skill.{part}"), f64::from(value));
        }
    }
    let (min_count, max_count, count_multiple) = shape.counts;
    let players: Vec<u128> = (0..shape.players as u128).map(|player| user + player).collect();
    let query = QUERIES[shape.query].to_owned();
    let id = Uuid::from_u128(id);
    NewTicket { id, query, min_count, max_count, count_multiple, properties, ..ticket(&players) }
}

impl Known {
    fn is_relaxed(&self, now_ms: i64) -> bool {
        now_ms - self.created_ms >= INTERVAL_MS * i64::from(MAX_INTERVALS)
    }

    fn accepts(&self, other: &Known, now_ms: i64) -> bool {
        let skill = |known: &Known| known.new.properties.numbers["skill"];
        let widen = |part: &str| self.new.properties.numbers.get(&format!("widen.skill.{part}")).copied();
        if let (Some(from), Some(by), Some(to)) = (widen("from"), widen("by"), widen("to")) {
            let distance = (from + by * (now_ms - self.created_ms) as f64 / 1_000.0).min(to);
            if (skill(self) - skill(other)).abs() > distance {
                return false;
            }
        }
        let document = Document::builder()
            .text("ticket", &other.new.id.to_string())
            .text("properties.mode", &other.new.properties.strings["mode"])
            .number("properties.skill", skill(other))
            .number("min_count", other.new.min_count as f64)
            .number("max_count", other.new.max_count as f64)
            .build()
            .expect("the document is within the limits");
        Query::parse(&self.new.query).expect("the query is valid").matches(&document).is_some()
    }
}

/// Returns true if tickets make a valid match.
fn is_valid(tickets: &[&Known], mutual: bool, now_ms: i64) -> bool {
    let size: usize = tickets.iter().map(|known| known.new.presences.len()).sum();
    let allows = |known: &&Known| {
        let new = &known.new;
        (new.min_count..=new.max_count).contains(&size) && size.is_multiple_of(new.count_multiple)
    };
    let users: BTreeSet<Uuid> =
        tickets.iter().flat_map(|known| known.new.presences.iter().map(|presence| presence.user_id)).collect();
    if !tickets.iter().all(allows) || users.len() < size {
        return false;
    }
    let decides = |known: &&&Known| size == known.new.max_count || known.is_relaxed(now_ms);
    let accepts_all =
        |known: &&&Known| tickets.iter().all(|other| other.new.id == known.new.id || known.accepts(other, now_ms));
    if mutual {
        tickets.iter().all(|known| accepts_all(&known)) && tickets.iter().any(|known| decides(&known))
    } else {
        tickets.iter().any(|known| decides(&known) && accepts_all(&known))
    }
}

/// Finds any valid match among tickets, by trying all sets.
fn find_valid(known: &BTreeMap<Uuid, Known>, mutual: bool, now_ms: i64) -> Option<Vec<Uuid>> {
    let tickets: Vec<&Known> = known.values().collect();
    (1u32..1 << tickets.len()).find_map(|bits| {
        let chosen: Vec<&Known> =
            tickets.iter().enumerate().filter(|(index, _)| bits >> index & 1 == 1).map(|(_, known)| *known).collect();
        is_valid(&chosen, mutual, now_ms).then(|| chosen.iter().map(|known| known.new.id).collect())
    })
}

/// Matchmaker, and the tickets that it should have.
struct World {
    matchmaker: Matchmaker,
    known: BTreeMap<Uuid, Known>,
    mutual: bool,
    now_ms: i64,
    next: u128,
    /// Tickets of all candidates, in order.
    history: Vec<Vec<Uuid>>,
}

impl World {
    fn new(mutual: bool) -> World {
        let settings =
            Settings { interval_ms: INTERVAL_MS, max_intervals: MAX_INTERVALS, mutual, ..Settings::default() };
        let matchmaker = Matchmaker::new(settings);
        World { matchmaker, known: BTreeMap::new(), mutual, now_ms: 5_000, next: 0, history: Vec::new() }
    }

    fn step(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Add(shape) if self.known.len() < WAITING_MAX => {
                self.next += 10;
                // Some users have two tickets, in two sessions.
                let user = if self.next.is_multiple_of(70) { self.next - 60 } else { self.next };
                let mut new = ticket_of(shape, self.next, user);
                for (index, presence) in new.presences.iter_mut().enumerate() {
                    presence.session_id = Uuid::from_u128(1_000_000 + self.next + index as u128);
                }
                self.matchmaker.add(new.clone(), self.now_ms).expect("the ticket is valid");
                self.known.insert(new.id, Known { new, created_ms: self.now_ms });
            }
            Step::Add(_) => {}
            Step::Remove(index) => {
                if let Some(id) = self.known.keys().nth(*index).copied() {
                    let session = self.known[&id].new.presences[0].session_id;
                    self.known.remove(&id);
                    self.matchmaker.end_session(session);
                }
            }
            Step::Run(later) => {
                self.now_ms = (self.now_ms + later).min(self.now_ms / INTERVAL_MS * INTERVAL_MS + INTERVAL_MS - 1);
                self.run()?;
            }
            Step::NextInterval => {
                self.now_ms = (self.now_ms / INTERVAL_MS + 1) * INTERVAL_MS;
                self.run()?;
                let missed = find_valid(&self.known, self.mutual, self.now_ms);
                prop_assert_eq!(missed, None, "tickets that could match were left");
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), TestCaseError> {
        for candidate in run(&mut self.matchmaker, self.now_ms) {
            let mut tickets = Vec::new();
            for ticket in &candidate.tickets {
                let known = self.known.remove(&ticket.ticket);
                let known = known.ok_or_else(|| TestCaseError::fail("a ticket is matched once"))?;
                let users: Vec<UserPresence> = ticket.users.iter().map(|user| user.presence.clone()).collect();
                prop_assert_eq!(&users, &known.new.presences, "a party stays whole");
                tickets.push(known);
            }
            let tickets: Vec<&Known> = tickets.iter().collect();
            prop_assert!(is_valid(&tickets, self.mutual, self.now_ms), "{:?}", tickets);
            self.history.push(candidate.tickets.iter().map(|ticket| ticket.ticket).collect());
            let target = target(&format!("m{}", candidate.id.0));
            let deliveries = self.matchmaker.resolve(candidate.id, Decision::Accept(target), self.now_ms);
            let deliveries = deliveries.expect("the candidate exists");
            let players: usize = tickets.iter().map(|known| known.new.presences.len()).sum();
            prop_assert_eq!(deliveries.len(), players);
        }
        prop_assert_eq!(self.matchmaker.stats().tickets, self.known.len());
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn matches_are_valid_and_no_possible_match_waits_for_an_interval(steps in steps(), mutual in prop::bool::weighted(0.7)) {
        let mut world = World::new(mutual);
        for step in &steps {
            world.step(step)?;
        }
        let mut again = World::new(mutual);
        for step in &steps {
            again.step(step)?;
        }
        prop_assert_eq!(world.history, again.history, "the same calls give the same matches");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Many tickets, and little work per interval: searches stop and continue, and in the end no pair is left.
    #[test]
    fn no_pair_of_many_tickets_is_left_even_if_work_is_scarce(
        skills in prop::collection::vec((0..400i32, 0..3usize), 150..250),
        work_max in prop::sample::select(&[400u64, 3_000, 1_000_000][..]),
    ) {
        let mut matchmaker = Matchmaker::new(Settings { work_max, ..Settings::default() });
        let mut known = BTreeMap::new();
        for (number, (skill, query)) in skills.iter().enumerate() {
            let query = match query {
                0 => format!("+properties.skill:>={} +properties.skill:<={}", skill - 2, skill + 2),
                1 => format!("-properties.skill:>{} -properties.skill:<{}", skill + 3, skill - 3),
                _ => "properties.skill:>200 properties.skill:<150^2".to_owned(),
            };
            let mut properties = numbers(&[("skill", f64::from(*skill))]);
            properties.strings.insert("mode".to_owned(), "duel".to_owned());
            let new = NewTicket { query, properties, ..ticket(&[number as u128 + 1]) };
            matchmaker.add(new.clone(), 0).unwrap();
            known.insert(new.id, Known { new, created_ms: 0 });
        }
        let mut now_ms = 0;
        // Until every ticket has searched with its minimum count, too.
        while matchmaker.next_run_ms().is_some() {
            for pair in run_and_accept(&mut matchmaker, now_ms) {
                let pair: Vec<Known> = pair.iter().map(|id| known.remove(&Uuid::from_u128(*id)).unwrap()).collect();
                prop_assert!(is_valid(&pair.iter().collect::<Vec<_>>(), true, now_ms));
            }
            now_ms += 1_000;
            prop_assert!(now_ms < 3_000_000, "searches come to an end");
        }
        let left: Vec<&Known> = known.values().collect();
        for (index, one) in left.iter().enumerate() {
            for other in &left[index + 1..] {
                prop_assert!(!is_valid(&[*one, *other], true, now_ms), "{:?} and {:?}", one.new, other.new);
            }
        }
    }
}
