//! Ends and resets, as hooks get them.

use super::*;
use crate::leaderboard::Report;
use std::sync::Mutex;

/// Reports everything that is due. Returns tournament, kind, time and expiry of each event.
async fn reported(fixture: &Fixture, now: i64) -> Vec<(String, &'static str, i64, i64)> {
    let seen = Mutex::new(Vec::new());
    let note = |report: &Report| {
        let entry = match report {
            Report::Reset(reset) => (reset.board.definition.id.clone(), "leaderboard", reset.expiry, reset.expiry),
            Report::TournamentEnd(end) => (end.tournament.definition.id.clone(), "end", end.end, end.expiry),
            Report::TournamentReset(reset) => {
                (reset.tournament.definition.id.clone(), "reset", reset.expiry, reset.expiry)
            }
        };
        seen.lock().unwrap().push(entry);
        Vec::new()
    };
    fixture.boards.tick_with(now, note).await.unwrap();
    seen.into_inner().unwrap()
}

#[tokio::test]
async fn ends_and_resets_are_reported_once_and_in_order_also_after_a_restart() {
    for database in aether_testkit_store::databases() {
        let fixture = Fixture::at(&database).await;
        let night = with(nightly("night"), |terms| terms.end_time = MIDNIGHT + 2 * DAY + HOUR);
        fixture.tournaments.create(night).await.unwrap();
        fixture.tournaments.create(once("once")).await.unwrap();
        let end = |id: &str, end: i64, expiry: i64| (id.to_owned(), "end", end, expiry);
        let reset = |expiry: i64| ("night".to_owned(), "reset", expiry, expiry);
        assert_eq!(reported(&fixture, MIDNIGHT - 1).await, [], "{}", database.name);
        assert_eq!(reported(&fixture, MIDNIGHT).await, [reset(MIDNIGHT)]);
        assert_eq!(reported(&fixture, MIDNIGHT + 6 * HOUR - 1).await, []);
        let first_end = end("night", MIDNIGHT + 6 * HOUR, MIDNIGHT + DAY);
        assert_eq!(reported(&fixture, MIDNIGHT + 6 * HOUR).await, [first_end]);
        assert_eq!(reported(&fixture, MIDNIGHT + 7 * HOUR).await, [], "only once");
        let restarted = fixture.reopened().await;
        assert_eq!(reported(&restarted, MIDNIGHT + 7 * HOUR).await, [], "{}", database.name);
        let missed = [
            reset(MIDNIGHT + DAY),
            end("night", MIDNIGHT + DAY + 6 * HOUR, MIDNIGHT + 2 * DAY),
            reset(MIDNIGHT + 2 * DAY),
            end("night", MIDNIGHT + 2 * DAY + HOUR, MIDNIGHT + 3 * DAY),
            end("once", NOON + DAY, 0),
        ];
        assert_eq!(reported(&restarted, NOON + 30 * DAY).await, missed, "{}: what came meanwhile", database.name);
        assert_eq!(reported(&restarted.reopened().await, NOON + 60 * DAY).await, []);
    }
}

#[tokio::test]
async fn an_event_whose_report_was_not_stored_is_reported_again() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    fixture.tournaments.create(once("once")).await.unwrap();
    assert_eq!(reported(&fixture, NOON + DAY).await.len(), 1);
    let undone = fixture.store.write(|transaction| {
        transaction.execute("UPDATE leaderboards SET end_reported_until = ?1", aether_store::values![NOON])
    });
    undone.await.map_err(|error: StoreError| error).unwrap();
    assert_eq!(reported(&fixture.reopened().await, NOON + DAY).await.len(), 1, "as after a kill during the hook");
}

#[tokio::test]
async fn a_tournament_that_starts_later_has_no_earlier_events() {
    let fixture = Fixture::at(&aether_testkit_store::memory()).await;
    let later = with(nightly("night"), |terms| terms.start_time = MIDNIGHT + 2 * DAY + HOUR);
    fixture.tournaments.create(later).await.unwrap();
    let events = reported(&fixture, MIDNIGHT + 3 * DAY).await;
    let times: Vec<_> = events.iter().map(|(_, kind, time, _)| (*kind, (time - MIDNIGHT) / HOUR)).collect();
    assert_eq!(times, [("end", 54), ("reset", 72)]);
}
