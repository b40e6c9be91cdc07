//! Settings of the matchmaker.

use super::{error, load};

#[test]
fn the_matchmaker_is_set_in_its_section() {
    let file = "[matchmaker]\ninterval_ms = 500\nmutual = false\nseat_seconds = 20\nroom_type = \"arena\"\n";
    let config = load(file, &[("AETHER_MATCHMAKER_MAX_INTERVALS", "3")], &[]).unwrap();
    let matchmaker = &config.matchmaker;
    assert_eq!((matchmaker.interval_ms, matchmaker.max_intervals, matchmaker.mutual), (500, 3, false));
    assert_eq!((matchmaker.seat_seconds, matchmaker.room_type.as_deref()), (20, Some("arena")));
}

#[test]
fn values_that_cannot_work_are_rejected_with_their_line() {
    let message = error("[matchmaker]\ninterval_ms = 10\n");
    assert!(message.contains("aether.toml, line 2") && message.contains("interval_ms"), "{message}");
    let message = error("[matchmaker]\ntickets_per_session_max = 7\ntickets_per_user_max = 5\n");
    assert!(message.contains("aether.toml, line 3"), "{message}");
    assert!(
        message.contains("tickets_per_user_max (5) is less than matchmaker.tickets_per_session_max (7)"),
        "{message}"
    );
}
