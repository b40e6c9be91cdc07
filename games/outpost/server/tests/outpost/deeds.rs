//! What is built is stored first.

use crate::support::{Stage, answer, body, outwards, player, structure};
use aether_bits::{BitWriter, Replicate};
use aether_engine::recording::{Recording, Replay};
use aether_engine::{EntryNumber, JoinRequest, RestoreData, Room, RoomCheckpoint};
use aether_outpost_rules::{Cell, Kind, Place, Remove, Structure};
use aether_outpost_server::{NAME, Outpost, settings};
use aether_replication::DeliveryOrder;
use aether_testkit::{ClientNumber, Conditions, Harness};
use aether_wire::{ErrorCode, PlayerId};

fn durable(restore: Option<RestoreData>) -> Stage {
    let mut builder = Room::builder(Outpost::default(), settings()).seed(5).checkpoint_every(30).record(NAME);
    if let Some(restore) = restore {
        builder = builder.restore(restore);
    }
    Harness::new(builder.build().expect("the settings are valid"), 6)
}

/// A room with Ann in it, who may build on a cell.
fn ann() -> (Stage, ClientNumber, Cell) {
    let mut stage = durable(None);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(5);
    let cell = outwards(&stage, ann, 9.0);
    (stage, ann, cell)
}

fn entries(stage: &Stage) -> Vec<(EntryNumber, Vec<u8>)> {
    let handle = stage.room().handle();
    std::iter::from_fn(|| handle.next_entry()).collect()
}

fn settle(stage: &mut Stage, outcome: Result<(), String>) -> Vec<(EntryNumber, Vec<u8>)> {
    let entries = entries(stage);
    for (number, _) in &entries {
        stage.room().handle().committed(*number, outcome.clone()).expect("the mailbox has place");
    }
    stage.tick(2);
    entries
}

#[test]
fn a_structure_stands_and_is_answered_only_when_it_is_stored() {
    let (mut stage, ann, cell) = ann();
    let material = body(&stage, ann).material;
    let seq = stage.send_message(ann, &Place::on(cell, Kind::Wall));
    stage.tick(90);
    assert_eq!((answer(&stage, ann, seq), structure(&stage, cell)), (None, None));
    assert_eq!(body(&stage, ann).material, material, "it is set aside and not spent");
    settle(&mut stage, Ok(()));
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
    assert_eq!(structure(&stage, cell).map(|wall| wall.kind), Some(Kind::Wall));
    assert_eq!(body(&stage, ann).material, material - Kind::Wall.cost());
    let seq = stage.send_message(ann, &Remove::on(cell));
    stage.tick(30);
    assert!(answer(&stage, ann, seq).is_none() && structure(&stage, cell).is_some());
    settle(&mut stage, Ok(()));
    assert_eq!((answer(&stage, ann, seq), structure(&stage, cell)), (Some(Ok(())), None));
}

#[test]
fn what_could_not_be_stored_is_refused_and_its_cell_and_material_are_free_again() {
    let (mut stage, ann, cell) = ann();
    let first = stage.send_message(ann, &Place::on(cell, Kind::Turret));
    let again = stage.send_message(ann, &Place::on(cell, Kind::Turret));
    stage.tick(3);
    assert_eq!(answer(&stage, ann, again).and_then(Result::err).map(|(code, _)| code), Some(ErrorCode::BadValue));
    settle(&mut stage, Err("the database is away".to_owned()));
    let (code, sentence) = answer(&stage, ann, first).and_then(Result::err).expect("it is refused");
    assert_eq!(code, ErrorCode::Unavailable);
    assert!(sentence.contains("the database is away"), "{sentence}");
    assert_eq!(structure(&stage, cell), None);
    let retry = stage.send_message(ann, &Place::on(cell, Kind::Turret));
    stage.tick(2);
    settle(&mut stage, Ok(()));
    assert_eq!(answer(&stage, ann, retry), Some(Ok(())));
}

#[test]
fn material_that_is_set_aside_cannot_be_spent_twice() {
    let (mut stage, ann, cell) = ann();
    let cells = [(0, 0), (1, 0), (0, 1)].map(|(right, up)| Cell { column: cell.column + right, row: cell.row + up });
    // Two turrets take 80 of 100, and there is none for a third.
    let seqs = cells.map(|cell| stage.send_message(ann, &Place::on(cell, Kind::Turret)));
    stage.tick(3);
    assert_eq!(answer(&stage, ann, seqs[0]), None);
    assert_eq!(answer(&stage, ann, seqs[1]), None);
    assert_eq!(answer(&stage, ann, seqs[2]).and_then(Result::err).map(|it| it.0), Some(ErrorCode::LimitReached));
    assert_eq!(entries(&stage).len(), 2);
}

#[test]
fn a_room_is_rebuilt_with_what_was_stored_and_the_same_players_where_they_were() {
    let (mut stage, ann, cell) = ann();
    let ben = stage.join("ben", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(40);
    let kept: RoomCheckpoint = stage.room().handle().take_checkpoint().expect("it is handed out");
    let seq = stage.send_message(ann, &Place::on(cell, Kind::Fence));
    stage.tick(2);
    let journal = settle(&mut stage, Ok(()));
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
    let places = [ann, ben].map(|client| player(&stage, client).position);
    let material = body(&stage, ann).material;
    let joiner = |name: &str| JoinRequest { user: name.into(), name: name.into(), ..JoinRequest::default() };
    let restore = RestoreData {
        state: Some(kept.state.to_vec()),
        applied: kept.applied,
        last_player: kept.last_player,
        players: vec![(PlayerId(1), joiner("ann")), (PlayerId(2), joiner("ben"))],
        journal,
    };
    let mut after = durable(Some(restore));
    let links = [1, 2]
        .map(|number| after.room().handle().resume(PlayerId(number), DeliveryOrder::Ordered).expect("it has place"));
    after.tick(2);
    for (link, (number, place)) in links.iter().zip([1, 2].into_iter().zip(places)) {
        assert_eq!(link.admission(), Some(&Ok(PlayerId(number))));
        let found = after.room().world().each::<aether_outpost_rules::Body>().find(|(_, body)| body.player == number);
        let (entity, found) = found.expect("it has a body again");
        let position = after.room().world().get::<aether_outpost_rules::Player>(entity).map(|player| player.position);
        assert_eq!(position, Some(place));
        if number == 1 {
            assert!((material..=material + 3).contains(&found.material), "{} was {material}", found.material);
        }
    }
    let fence = structure(&after, cell).expect("it was acknowledged");
    assert_eq!((fence.kind, fence.builder), (Kind::Fence, 1));
    let recording = after.room().recording().expect("it is recorded").to_bytes();
    let recording = Recording::from_bytes(&recording).expect("it was written");
    let mut replay = Replay::new(Outpost::default(), settings(), &recording).expect("it is the same game");
    let last = (after.room().now(), after.room().hash());
    assert_eq!(replay.run_to(last.0), Ok(Some(last)));
}

#[test]
fn what_was_stored_wins_over_an_older_state() {
    let (mut stage, ann, cell) = ann();
    stage.send_message(ann, &Place::on(cell, Kind::Wall));
    stage.tick(2);
    settle(&mut stage, Ok(()));
    stage.tick(40);
    let state = stage.room().handle().take_checkpoint().expect("the wall stands in it");
    stage.send_message(ann, &Remove::on(cell));
    stage.tick(2);
    let mut journal = settle(&mut stage, Ok(()));
    stage.send_message(ann, &Place::on(cell, Kind::Door));
    stage.tick(2);
    journal.extend(settle(&mut stage, Ok(())));
    let (applied, last_player) = (state.applied, state.last_player);
    let state = Some(state.state.to_vec());
    let after = durable(Some(RestoreData { state, applied, last_player, players: Vec::new(), journal }));
    assert_eq!(structure(&after, cell).map(|door| door.kind), Some(Kind::Door));
    assert_eq!(after.room().world().each::<Structure>().count(), 1);
}

/// An entry of the journal, as the game writes it.
#[derive(Clone, Debug, PartialEq, Replicate)]
struct Deed {
    builds: bool,
    column: u8,
    row: u8,
    kind: Kind,
    player: u32,
    #[replicate(text = 128)]
    account: String,
}

/// Prints what a checkpoint of a full room takes on the tick. The bound only catches what is out of all proportion.
#[test]
fn a_checkpoint_of_a_full_room_is_bounded() {
    let cells = (0..128_u8).flat_map(|row| (0..128_u8).map(move |column| (column, row))).step_by(3).take(3_500);
    let entry = |(number, (column, row)): (usize, (u8, u8))| {
        let account = format!("00000000-0000-7000-8000-{:012}", number / 64);
        let deed = Deed { builds: true, column, row, kind: Kind::ALL[number % 4], player: 0, account };
        let mut writer = BitWriter::new();
        deed.write_full(&mut writer);
        (EntryNumber(number as u64 + 1), writer.to_bytes())
    };
    let journal = cells.enumerate().map(entry).collect();
    let joiner = |number: u32| {
        let user = format!("00000000-0000-7000-8000-{number:012}");
        (PlayerId(number + 1), JoinRequest { name: format!("settler {number}"), user, ..JoinRequest::default() })
    };
    let players = (0..100).map(joiner).collect();
    let stage = durable(Some(RestoreData { journal, players, ..RestoreData::default() }));
    let structures = stage.room().world().each::<Structure>().count();
    assert_eq!(structures, 3_500);
    let rounds = 50;
    let began = std::time::Instant::now();
    let bytes = (0..rounds).map(|_| stage.room().checkpoint().map_or(0, |state| state.len())).max().unwrap_or(0);
    println!("{structures} structures, 100 players: {bytes} bytes, {:?} a checkpoint", began.elapsed() / rounds);
    assert!((10_000..60_000).contains(&bytes), "{bytes}");
}
