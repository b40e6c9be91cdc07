//! Join metadata: from the join to the game, to recordings and to rebuilt rooms.

use aether_bits::Replicate;
use aether_engine::recording::{Recording, Replay};
use aether_engine::{
    Context, Game, GameSchemaBuilder, JoinMetadata, JoinRequest, NoObserver, Rejection, RestoreData, Room, RoomSettings,
};
use aether_replication::DeliveryOrder;
use aether_wire::{ErrorCode, PlayerId};

/// Player of a team, by the first letter of its name.
#[derive(Clone, Debug, PartialEq, Replicate)]
struct Scout {
    team: u8,
}

#[derive(Clone, Replicate)]
struct Step {
    right: bool,
}

/// A game that reads the team of a player from its metadata.
#[derive(Default)]
struct Teams;

impl Game for Teams {
    type Input = Step;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Scout>()
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        match request.metadata.get("team") {
            Some("black") => Err(Rejection::new(ErrorCode::JoinRefused, "team black is full; choose another one")),
            _ => Ok(()),
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let team = room.join_metadata(player).and_then(|metadata| metadata.get("team")?.bytes().next());
        if let Ok(scout) = room.world.spawn(Scout { team: team.unwrap_or(b'-') }) {
            room.possess(player, scout);
        }
    }

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Step) {}

    fn tick(&mut self, _room: &mut Context<'_>) {}
}

fn settings() -> RoomSettings {
    RoomSettings { rings: Vec::new(), resume_ticks: 100, ..RoomSettings::default() }
}

fn request(metadata: impl Into<JoinMetadata>) -> JoinRequest {
    JoinRequest { user: "u".to_owned(), name: "ann".to_owned(), metadata: metadata.into(), ..JoinRequest::default() }
}

fn teams(room: &Room<Teams>) -> String {
    room.world().each::<Scout>().map(|(_, scout)| char::from(scout.team)).collect()
}

/// A recorded room with a player of team red, one of team green and one without a team.
fn played() -> Room<Teams> {
    let mut room = Room::builder(Teams, settings()).seed(1).record("teams").build().unwrap();
    let handle = room.handle();
    let joins = [
        request([("team", "red"), ("greeting", "hé")]),
        request([("team", "green")]),
        request(JoinMetadata::default()),
    ];
    let endpoints = joins.map(|join| handle.join(join, DeliveryOrder::Ordered).unwrap());
    room.tick(&mut NoObserver);
    assert!(endpoints.iter().all(|endpoint| matches!(endpoint.admission(), Some(Ok(_)))));
    room.tick(&mut NoObserver);
    room
}

#[test]
fn a_game_reads_the_metadata_of_each_player() {
    assert_eq!(teams(&played()), "rg-");
}

#[test]
fn a_game_refuses_a_join_by_its_metadata() {
    let mut room = Room::builder(Teams, settings()).build().unwrap();
    let endpoint = room.handle().join(request([("team", "black")]), DeliveryOrder::Ordered).unwrap();
    room.tick(&mut NoObserver);
    let expected = Rejection::new(ErrorCode::JoinRefused, "team black is full; choose another one");
    assert_eq!(endpoint.admission(), Some(&Err(expected)));
    assert_eq!(teams(&room), "");
}

#[test]
fn a_recording_has_the_metadata() {
    let room = played();
    let bytes = room.recording().unwrap().to_bytes();
    let recording = Recording::from_bytes(&bytes).unwrap();
    assert_eq!(recording.to_bytes(), bytes);
    let mut replay = Replay::new(Teams, settings(), &recording).unwrap();
    assert_eq!(replay.run_to(room.now()), Ok(Some((room.now(), room.hash()))));
    assert_eq!(teams(replay.room()), "rg-");
}

#[test]
fn a_join_without_metadata_is_recorded_as_before_metadata() {
    let bytes = played().recording().unwrap().to_bytes();
    // Player 3, the account, the name, no permissions, and an empty byte field.
    let join = [&[0, 3, 1][..], b"u", &[3], b"ann", &[0, 0]].concat();
    assert!(bytes.windows(join.len()).any(|window| window == join));
}

#[test]
fn a_rebuilt_room_and_a_resumed_player_have_the_metadata() {
    let players = vec![(PlayerId(4), request([("team", "blue")]))];
    let restore = RestoreData { last_player: PlayerId(4), players, ..RestoreData::default() };
    let builder = Room::builder(Teams, settings()).record("teams").restore(restore);
    let mut room = builder.build().unwrap();
    let endpoint = room.handle().resume(PlayerId(4), DeliveryOrder::Ordered).unwrap();
    room.tick(&mut NoObserver);
    assert_eq!(endpoint.admission(), Some(&Ok(PlayerId(4))));
    assert_eq!(teams(&room), "b");
    let recording = Recording::from_bytes(&room.recording().unwrap().to_bytes()).unwrap();
    let mut replay = Replay::new(Teams, settings(), &recording).unwrap();
    assert_eq!(replay.run_to(room.now()), Ok(Some((room.now(), room.hash()))));
}
