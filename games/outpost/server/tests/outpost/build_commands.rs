//! Building is stored before it takes effect.

use crate::support::{Stage, answer, body, outwards, player, structure};
use aether::prelude::*;
use aether_outpost_rules::{Cell, Kind, Place, Remove, Structure};
use aether_outpost_server::{NAME, Outpost, settings};

fn durable(restore: Option<RestoreData>) -> Stage {
    let mut builder = Room::builder(Outpost::default(), settings()).seed(5).checkpoint_every(30).record(NAME);
    if let Some(restore) = restore {
        builder = builder.restore(restore);
    }
    Harness::new(builder.build().expect("the settings are valid"), 6)
}

/// Creates a room with Ann, who may build on the returned cell.
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

fn finish_commits(stage: &mut Stage, outcome: Result<(), String>) -> Vec<(EntryNumber, Vec<u8>)> {
    let entries = entries(stage);
    for (number, _) in &entries {
        stage.room().handle().committed(*number, outcome.clone()).expect("the mailbox has room");
    }
    stage.tick(2);
    entries
}

#[test]
fn a_structure_appears_and_is_answered_only_when_stored() {
    let (mut stage, ann, cell) = ann();
    let material = body(&stage, ann).material;
    let seq = stage.send_message(ann, &Place::on(cell, Kind::Wall));
    stage.tick(90);
    assert_eq!((answer(&stage, ann, seq), structure(&stage, cell)), (None, None));
    assert_eq!(body(&stage, ann).material, material, "it is reserved and not spent");
    finish_commits(&mut stage, Ok(()));
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
    assert_eq!(structure(&stage, cell).map(|wall| wall.kind), Some(Kind::Wall));
    assert_eq!(body(&stage, ann).material, material - Kind::Wall.cost());
    let seq = stage.send_message(ann, &Remove::on(cell));
    stage.tick(30);
    assert!(answer(&stage, ann, seq).is_none() && structure(&stage, cell).is_some());
    finish_commits(&mut stage, Ok(()));
    assert_eq!((answer(&stage, ann, seq), structure(&stage, cell)), (Some(Ok(())), None));
}

#[test]
fn a_failed_commit_is_rejected_and_frees_cell_and_material() {
    let (mut stage, ann, cell) = ann();
    let first = stage.send_message(ann, &Place::on(cell, Kind::Turret));
    let again = stage.send_message(ann, &Place::on(cell, Kind::Turret));
    stage.tick(3);
    assert_eq!(answer(&stage, ann, again).and_then(Result::err).map(|(code, _)| code), Some(ErrorCode::BadValue));
    finish_commits(&mut stage, Err("the database is away".to_owned()));
    let (code, sentence) = answer(&stage, ann, first).and_then(Result::err).expect("it is rejected");
    assert_eq!(code, ErrorCode::Unavailable);
    assert!(sentence.contains("the database is away"), "{sentence}");
    assert_eq!(structure(&stage, cell), None);
    let retry = stage.send_message(ann, &Place::on(cell, Kind::Turret));
    stage.tick(2);
    finish_commits(&mut stage, Ok(()));
    assert_eq!(answer(&stage, ann, retry), Some(Ok(())));
}

#[test]
fn reserved_material_cannot_be_spent_twice() {
    let (mut stage, ann, cell) = ann();
    let cells = [(0, 0), (1, 0), (0, 1)].map(|(right, up)| Cell { column: cell.column + right, row: cell.row + up });
    // Two turrets cost 80 of 100, which leaves too little for a third.
    let seqs = cells.map(|cell| stage.send_message(ann, &Place::on(cell, Kind::Turret)));
    stage.tick(3);
    assert_eq!(answer(&stage, ann, seqs[0]), None);
    assert_eq!(answer(&stage, ann, seqs[1]), None);
    assert_eq!(answer(&stage, ann, seqs[2]).and_then(Result::err).map(|it| it.0), Some(ErrorCode::LimitReached));
    assert_eq!(entries(&stage).len(), 2);
}

#[test]
fn a_rebuilt_room_has_the_stored_structures_and_players() {
    let (mut stage, ann, cell) = ann();
    let ben = stage.join("ben", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(40);
    let checkpoint: RoomCheckpoint = stage.room().handle().take_checkpoint().expect("it is handed out");
    let seq = stage.send_message(ann, &Place::on(cell, Kind::Fence));
    stage.tick(2);
    let journal = finish_commits(&mut stage, Ok(()));
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
    let positions = [ann, ben].map(|client| player(&stage, client).position);
    let material = body(&stage, ann).material;
    let request = |name: &str| JoinRequest { user: name.into(), name: name.into(), ..JoinRequest::default() };
    let restore = RestoreData {
        tick: checkpoint.tick,
        state: Some(checkpoint.state.to_vec()),
        applied: checkpoint.applied,
        last_player: checkpoint.last_player,
        players: vec![(PlayerId(1), request("ann")), (PlayerId(2), request("ben"))],
        journal,
    };
    let mut after = durable(Some(restore));
    let endpoints = [1, 2].map(|number| {
        after.room().handle().resume(PlayerId(number), DeliveryOrder::Ordered).expect("the mailbox has room")
    });
    after.tick(2);
    for (endpoint, (number, expected)) in endpoints.iter().zip([1, 2].into_iter().zip(positions)) {
        assert_eq!(endpoint.admission(), Some(&Ok(PlayerId(number))));
        let found = after.room().world().each::<aether_outpost_rules::Body>().find(|(_, body)| body.player == number);
        let (entity, found) = found.expect("it has a body again");
        let position = after.room().world().get::<aether_outpost_rules::Player>(entity).map(|player| player.position);
        assert_eq!(position, Some(expected));
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
fn the_journal_overrides_an_older_checkpoint() {
    let (mut stage, ann, cell) = ann();
    stage.send_message(ann, &Place::on(cell, Kind::Wall));
    stage.tick(2);
    finish_commits(&mut stage, Ok(()));
    stage.tick(40);
    let state = stage.room().handle().take_checkpoint().expect("the wall stands in it");
    stage.send_message(ann, &Remove::on(cell));
    stage.tick(2);
    let mut journal = finish_commits(&mut stage, Ok(()));
    stage.send_message(ann, &Place::on(cell, Kind::Door));
    stage.tick(2);
    journal.extend(finish_commits(&mut stage, Ok(())));
    let (applied, last_player) = (state.applied, state.last_player);
    let state = Some(state.state.to_vec());
    let after = durable(Some(RestoreData { state, applied, last_player, journal, ..RestoreData::default() }));
    assert_eq!(structure(&after, cell).map(|door| door.kind), Some(Kind::Door));
    assert_eq!(after.room().world().each::<Structure>().count(), 1);
}

/// Journal entry, as the game writes it.
#[derive(Clone, Debug, PartialEq, Replicate)]
struct BuildCommand {
    builds: bool,
    column: u8,
    row: u8,
    kind: Kind,
    player: u32,
    #[replicate(text = 128)]
    account: String,
}

/// Prints the cost of a checkpoint of a full room. The bound only catches gross regressions.
#[test]
fn a_checkpoint_of_a_full_room_is_bounded() {
    let cells = (0..128_u8).flat_map(|row| (0..128_u8).map(move |column| (column, row))).step_by(3).take(3_500);
    let entry = |(number, (column, row)): (usize, (u8, u8))| {
        let account = format!("00000000-0000-7000-8000-{:012}", number / 64);
        let command = BuildCommand { builds: true, column, row, kind: Kind::ALL[number % 4], player: 0, account };
        let mut writer = BitWriter::new();
        command.write_full(&mut writer);
        (EntryNumber(number as u64 + 1), writer.to_bytes())
    };
    let journal = cells.enumerate().map(entry).collect();
    let request = |number: u32| {
        let user = format!("00000000-0000-7000-8000-{number:012}");
        (PlayerId(number + 1), JoinRequest { name: format!("player {number}"), user, ..JoinRequest::default() })
    };
    let players = (0..100).map(request).collect();
    let stage = durable(Some(RestoreData { journal, players, ..RestoreData::default() }));
    let structures = stage.room().world().each::<Structure>().count();
    assert_eq!(structures, 3_500);
    let rounds = 50;
    let began = std::time::Instant::now();
    let bytes = (0..rounds).map(|_| stage.room().checkpoint().map_or(0, |state| state.len())).max().unwrap_or(0);
    println!("{structures} structures, 100 players: {bytes} bytes, {:?} a checkpoint", began.elapsed() / rounds);
    assert!((10_000..60_000).contains(&bytes), "{bytes}");
}
