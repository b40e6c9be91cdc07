//! Sample competitions of `aether seed`: a tournament with records, and a bracket in progress. A second run adds nothing.

use aether_services::account::SignedIn;
use aether_services::bracket::{self, Format, Phase, Rules, Verdict};
use aether_services::leaderboard::{Definition, RecordQuery, RecordWrite, Score};
use aether_services::tournament::Terms;
use aether_services::{Caller, GrpcCode, ServiceError, Services};
use uuid::Uuid;

/// Id of the sample tournament: it begins every day at midnight UTC, and takes all day.
const TOURNAMENT: &str = "daily";
/// Id of the sample bracket.
const BRACKET: &str = "sample-cup";
const DAY_SECONDS: i64 = 86_400;

/// Adds a tournament in which these players have records.
pub(super) async fn add_tournament(services: &Services, players: &[SignedIn]) -> Result<(), ServiceError> {
    let terms = Terms {
        title: "Daily cup".to_owned(),
        description: "The best of three runs counts.".to_owned(),
        max_num_score: 3,
        ..Terms::lasting(DAY_SECONDS)
    };
    let definition = Definition { reset_schedule: "0 0 * * *".to_owned(), ..Definition::new(TOURNAMENT) };
    services.tournaments.create(definition.tournament(terms)).await?;
    let owners: Vec<Uuid> = players.iter().map(|player| player.user).collect();
    let listed = services.tournaments.records(TOURNAMENT, &owners, &RecordQuery::default()).await?;
    for (index, player) in (0..).zip(players) {
        if listed.owner_records.iter().any(|record| record.owner == player.user) {
            continue;
        }
        let score = Score { score: 900 - 53 * index, subscore: index };
        let (owner, username, operator, metadata) = (player.user, player.username.clone(), None, None);
        let write = RecordWrite { owner, username, score, operator, metadata };
        services.tournaments.write(&Caller::Server, TOURNAMENT, write).await?;
    }
    Ok(())
}

/// Adds a double elimination of these players, whose first two matches are decided.
pub(super) async fn add_bracket(services: &Services, players: &[SignedIn]) -> Result<(), ServiceError> {
    let rules = Rules { format: Format::Double, rounds: 0, match_seconds: 7 * DAY_SECONDS };
    let title = "Sample cup".to_owned();
    let definition = bracket::Definition { title, rules, ..bracket::Definition::new(BRACKET, Format::Double) };
    match services.brackets.create(definition).await {
        Err(error) if error.code == GrpcCode::AlreadyExists => {}
        outcome => drop(outcome?),
    }
    // An earlier run may have ended in between.
    if services.brackets.find(BRACKET).await?.phase != Phase::Registration {
        return Ok(());
    }
    for player in players {
        services.brackets.join(BRACKET, player.user, 0).await?;
    }
    let started = services.brackets.start(BRACKET).await?;
    let Some(machine) = &started.machine else { return Ok(()) };
    let ready =
        machine.games().iter().enumerate().filter(|(_, game)| matches!(game.state, bracket::State::Ready { .. }));
    for (number, game) in ready.take(2) {
        let bracket::Slot::Seed(seed) = game.slots[0] else { continue };
        let Some(winner) = started.entrants.get(seed).and_then(|entrant| entrant.user) else { continue };
        services.brackets.resolve(BRACKET, number, Verdict::Winner(winner), [2, 1]).await?;
    }
    Ok(())
}
