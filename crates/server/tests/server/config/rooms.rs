//! Overrides by room type.

use super::{error, errors, load};
use aether_engine::{IndexKind, RoomSettings, UpdateRing, WorldBounds};

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

#[test]
fn bounds_movement_interest_rings_and_index_are_settings() {
    let file = "[room.sandbox]\nbounds = [-50, -20.5, 50, 20]\nspeed_max = 2.5\nacceleration_max = 1\nteleport_min = 9\n\
                movement_burst = 7\nnearest_max = 12\nhysteresis = 0.25\nrings = [\"30:1\", \"60.5:3\"]\n\
                interest_radius = 80\nindex = \"quadtree\"\n";
    let check = |settings: RoomSettings| {
        assert_eq!(settings.bounds, WorldBounds { min: [-50.0, -20.5], max: [50.0, 20.0] });
        let movement = settings.movement;
        let numbers = (movement.speed_max, movement.acceleration_max, movement.teleport_min, movement.burst);
        assert_eq!(numbers, (2.5, 1.0, 9.0, 7));
        let interest = settings.interest.unwrap();
        assert_eq!((interest.radius, interest.hysteresis, interest.nearest_max), (80.0, 0.25, Some(12)));
        let ring = |distance, interval| UpdateRing { distance, interval };
        assert_eq!(settings.rings, [ring(30.0, 1), ring(60.5, 3)]);
        assert_eq!(settings.index, IndexKind::Quadtree);
    };
    let config = load(file, &[], &[]).unwrap();
    check(config.room_settings("sandbox", RoomSettings::default()).unwrap());
    // The values that `aether check` prints can be read again.
    let line = |setting: &aether_server::config::EffectiveSetting<'_>| format!("{} = {}\n", setting.key, setting.value);
    let printed: String = config.effective().iter().map(line).collect();
    check(load(&printed, &[], &[]).unwrap().room_settings("sandbox", RoomSettings::default()).unwrap());
    let variables = [
        ("AETHER_ROOM_SANDBOX_BOUNDS", "-50,-20.5,50,20"),
        ("AETHER_ROOM_SANDBOX_RINGS", "30:1, 60.5:3"),
        ("AETHER_ROOM_SANDBOX_INDEX", "quadtree"),
        ("AETHER_ROOM_SANDBOX_NEAREST_MAX", "12"),
    ];
    let settings = load("", &variables, &[]).unwrap().room_settings("sandbox", RoomSettings::default()).unwrap();
    assert_eq!(settings.bounds.max, [50.0, 20.0]);
    assert_eq!((settings.rings.len(), settings.index), (2, IndexKind::Quadtree));
    let unlimited = load("[room.sandbox]\nnearest_max = 0\nrings = []\n", &[], &[]).unwrap();
    let settings = unlimited.room_settings("sandbox", settings).unwrap();
    assert_eq!((settings.interest.unwrap().nearest_max, settings.rings.len()), (None, 0));
}

#[test]
fn an_invalid_setting_of_a_room_type_is_reported_with_its_line() {
    for (line, expected) in [
        ("bounds = [0, 0, 10]", "expected a list of four numbers"),
        ("bounds = [0, 0, 10, 0]", "each minimum below its maximum"),
        ("rings = [\"100\"]", "expected a list, each element a ring as \"distance:interval\""),
        ("rings = [\"100:0\"]", "with an interval of at least 1"),
        ("index = \"octree\"", "expected grid or quadtree, found \"octree\""),
        ("hysteresis = -0.1", "expected a number from 0 to 10"),
        ("movement_burst = 0", "expected a whole number from 1 to 1000"),
    ] {
        let message = error(&format!("[room.sandbox]\nplayers_max = 4\n{line}\n"));
        let key = line.split_once(' ').unwrap().0;
        assert!(message.starts_with(&format!("aether.toml, line 3: room.sandbox.{key}: ")), "{message}");
        assert!(message.contains(expected), "{message}");
    }
    let everything = RoomSettings { interest: None, ..RoomSettings::default() };
    for (line, declared, expected) in [
        ("rings = [\"200:1\", \"100:1\"]", RoomSettings::default(), "rings must be given nearest first"),
        ("teleport_min = 4", RoomSettings::default(), "teleport_min must be greater than speed_max"),
        ("speed_max = 0", RoomSettings::default(), "speed_max must be finite and greater than zero"),
        ("nearest_max = 4", everything, "nearest_max has no effect"),
    ] {
        let config = load(&format!("[room.sandbox]\nplayers_max = 4\n{line}\n"), &[], &[]).unwrap();
        let problem = config.room_settings("sandbox", declared).unwrap_err().to_string();
        assert!(problem.starts_with(&format!("aether.toml, line 3: room type sandbox: {expected}")), "{problem}");
    }
}
