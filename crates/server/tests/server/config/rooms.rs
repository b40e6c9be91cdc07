//! Overrides by room type.

use super::{error, errors, load};
use aether_engine::RoomSettings;

#[test]
fn a_room_type_is_overridden_in_every_layer_and_others_stay() {
    let file = "[room.sandbox]\ntick_hz = 60\nsnapshot_hz = 30\n[room.my-game]\nplayers_max = 4\n";
    let environment = [("AETHER_ROOM_SANDBOX_SNAPSHOT_HZ", "20"), ("AETHER_ROOM_MY_GAME_ENTITIES_MAX", "50")];
    let config =
        load(file, &environment, &[("room.sandbox.resume_seconds", "10"), ("room.relay.flush_ms", "5")]).unwrap();
    let sandbox = config.room_settings("sandbox", RoomSettings::default()).unwrap();
    assert_eq!((sandbox.tick_hz, sandbox.snapshot_hz, sandbox.resume_ticks), (60, 20, 600));
    let game = config.room_settings("my-game", RoomSettings::default()).unwrap();
    assert_eq!((game.players_max, game.entities_max, game.tick_hz), (4, 50, 40));
    assert_eq!(config.room("relay").flush_ms, Some(5));
    assert_eq!(config.room_settings("other", RoomSettings::default()).unwrap(), RoomSettings::default());
}

#[test]
fn update_rings_scale_with_the_interest_radius() {
    let config =
        load("[room.sandbox]\ninterest_radius = 400.0\n[room.flat]\ninterest_radius = 50\n", &[], &[]).unwrap();
    let settings = config.room_settings("sandbox", RoomSettings::default()).unwrap();
    assert_eq!(settings.interest.unwrap().radius, 400.0);
    assert_eq!(settings.rings.iter().map(|ring| ring.distance).collect::<Vec<_>>(), [200.0, 400.0]);
    let unseen = RoomSettings { interest: None, rings: Vec::new(), ..RoomSettings::default() };
    assert_eq!(config.room_settings("flat", unseen).unwrap().interest.unwrap().radius, 50.0);
}

#[test]
fn snapshots_must_divide_ticks() {
    let message = error("[room.sandbox]\ntick_hz = 40\nsnapshot_hz = 15\n");
    assert!(message.starts_with("aether.toml, line 3: room.sandbox.snapshot_hz is 15"), "{message}");
    assert!(message.ends_with("set one of 1, 2, 4, 5, 8, 10, 20, 40."), "{message}");
}

#[test]
fn snapshots_must_divide_the_ticks_that_the_game_declares() {
    let config = load("[room.sandbox]\ntick_hz = 30\n", &[], &[]).unwrap();
    let problem = config.room_settings("sandbox", RoomSettings::default()).unwrap_err().to_string();
    assert!(
        problem.starts_with("aether.toml, line 2: room type sandbox: snapshot_hz must divide tick_hz"),
        "{problem}"
    );
    assert!(problem.contains("tick_hz is 30, snapshot_hz is 20"), "{problem}");
}

#[test]
fn unknown_keys_and_room_types_are_rejected() {
    assert_eq!(
        error("[room.sandbox]\ntick_hertz = 40\n"),
        "aether.toml, line 2: Unknown setting room.sandbox.tick_hertz; did you mean room.sandbox.tick_hz?"
    );
    assert_eq!(
        error("[room.sandbox]\ntick_hz = 129\n"),
        "aether.toml, line 2: room.sandbox.tick_hz: expected a whole number from 1 to 128, found 129."
    );
    assert!(error("[room]\ntick_hz = 20\n").contains("write [room.<type>]"));
    assert!(error("[room.\"../etc\"]\ntick_hz = 20\n").contains("cannot be the name of a room type"));
    assert!(errors("", &[], &[("room..tick_hz", "1")])[0].contains("cannot be the name of a room type"));
    assert!(errors("", &[("AETHER_ROOM_TICK_HZ", "1")], &[])[0].contains("Unknown setting"));
    let config = load("[room.sandbx]\ntick_hz = 20\n", &[], &[]).unwrap();
    let problems = config.unknown_room_types(&["sandbox", "relay"]);
    assert_eq!(problems.len(), 1);
    assert_eq!(
        problems[0].to_string(),
        "aether.toml, line 2: Unknown room type sandbx; this server has sandbox, relay."
    );
    assert!(load("[room.my-game]\ntick_hz = 20\n", &[], &[]).unwrap().unknown_room_types(&["my-game"]).is_empty());
}
