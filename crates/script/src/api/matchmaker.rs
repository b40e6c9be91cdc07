//! Matchmaker.

use crate::function::{Function, Modules, Outcome};
use crate::scripts::ScriptServices;
use crate::value::Value;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type MatchmakerStats = {
    tickets: number,
    players: number,
    oldest_create_time: number?,
    candidates: number,
    backfills: number,
    seats: number,
    matches: number,
    backfilled: number,
}
";

pub(crate) const FUNCTIONS: &[Function] = &[Function::service("matchmaker_stats", |used, _| Box::pin(stats(used)))
    .about("Returns the numbers of the matchmaker: those who wait now, and matches since the start.")
    .returns("MatchmakerStats")
    .only_in(Modules::Aether)];

async fn stats(used: ScriptServices) -> Outcome {
    let stats = used.services.matchmaker.stats();
    let count = |count: usize| Value::from(count as f64);
    Ok(vec![Value::table([
        ("tickets", count(stats.tickets)),
        ("players", count(stats.players)),
        ("oldest_create_time", stats.oldest_created_ms.map_or(Value::Nil, Value::seconds)),
        ("candidates", count(stats.candidates)),
        ("backfills", count(stats.backfills)),
        ("seats", count(stats.seats)),
        ("matches", Value::from(stats.matches as f64)),
        ("backfilled", Value::from(stats.backfilled as f64)),
    ])])
}
