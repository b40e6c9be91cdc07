//! Characters: profiles of the account, chosen by join metadata and by a message.

use crate::support::{Stage, answer, body, names, player, stage};
use aether::prelude::*;
use aether_outpost_rules::{APPEARANCES, Controls, Play, Player, Presence};
use aether_outpost_server::{Outpost, settings};

/// Joins as a profile of an account.
fn join_as(stage: &mut Stage, name: &str, profile: &str) -> ClientNumber {
    let request = JoinRequest {
        user: name.to_owned(),
        name: name.to_owned(),
        metadata: [("profile", profile)].into(),
        ..JoinRequest::default()
    };
    let client = stage.join_as(request, DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    client
}

/// Returns the profile requests of the room since the last call.
fn requests(stage: &Stage) -> Vec<(RequestId, String, Option<String>)> {
    let handle = stage.room().handle();
    let profile_of = |(id, request)| match request {
        Request::Profile { user, profile } => Some((id, user, profile)),
        _ => None,
    };
    std::iter::from_fn(|| handle.next_request()).filter_map(profile_of).collect()
}

/// Answers the only pending request with a profile.
fn serve(stage: &mut Stage, id: &str, name: &str, data: &str) {
    let text = format!(r#"{{"id":"{id}","name":"{name}","data":{data},"active":true}}"#);
    respond(stage, Answer::Value(Some(text.into_bytes())));
}

fn respond(stage: &mut Stage, answer: Answer) {
    let [(request, ..)] = requests(stage)[..] else { panic!("one request is pending") };
    stage.room().handle().answer(request, answer).expect("the mailbox has room");
    stage.tick(5);
}

fn walk(stage: &mut Stage, client: ClientNumber, push: [f32; 2]) -> [f32; 2] {
    stage.set_input(client, Some(&Controls { push, ..Controls::default() }));
    stage.tick(20);
    stage.set_input(client, None);
    stage.tick(10);
    player(stage, client).position
}

#[test]
fn the_profile_of_the_join_metadata_is_shown() {
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", "mage");
    assert_eq!(names(&stage, ann), ["ann"], "she plays at once");
    let asked: Vec<_> = requests(&stage).into_iter().map(|(_, user, profile)| (user, profile)).collect();
    assert_eq!(asked, [("ann".to_owned(), Some("mage".to_owned()))]);
    stage.leave(ann);
    let ann = join_as(&mut stage, "ann", "mage");
    serve(&mut stage, "mage", "Ända the Grey", r#"{"appearance":6,"gold":1000}"#);
    assert_eq!((names(&stage, ann), body(&stage, ann).appearance), (vec!["Ända the Grey".to_owned()], 6));
}

#[test]
fn without_metadata_the_active_profile_is_played() {
    let mut stage = stage(settings());
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    assert_eq!(requests(&stage).pop().map(|(_, user, profile)| (user, profile)), Some(("ann".to_owned(), None)));
    stage.leave(ann);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    // The first profile has no name of its own until the player gives it one.
    serve(&mut stage, "default", "default", "{}");
    assert_eq!(names(&stage, ann), ["ann"]);
}

#[test]
fn only_a_name_and_an_appearance_are_taken_from_a_profile() {
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", "mage");
    let before = body(&stage, ann);
    for data in [r#"{"appearance":8}"#, r#"{"appearance":-1}"#, r#"{"appearance":"6"}"#, "[6]", "null", "{}"] {
        serve(&mut stage, "mage", &"é".repeat(64), data);
        assert!(body(&stage, ann).appearance < APPEARANCES);
        assert_eq!(body(&stage, ann).appearance, before.appearance, "{data}");
        assert_eq!(names(&stage, ann), [format!("{}…", "é".repeat(10))], "{data}");
        stage.send_message(ann, &Play { profile: "mage".to_owned() });
        stage.tick(3);
    }
    serve(&mut stage, "mage", "Mage", r#"{"appearance":1,"health":1,"hits":900,"material":1}"#);
    let after = body(&stage, ann);
    assert_eq!((after.appearance, after.health, after.material), (1, before.health, before.material));
}

#[test]
fn a_damaged_or_missing_answer_changes_nothing() {
    for bytes in [&b"nonsense"[..], b"{}", br#"{"id":7,"name":"x","data":{}}"#] {
        let mut stage = stage(settings());
        let ann = join_as(&mut stage, "ann", "mage");
        respond(&mut stage, Answer::Value(Some(bytes.to_vec())));
        assert_eq!(names(&stage, ann), ["ann"]);
    }
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", "mage");
    respond(&mut stage, Answer::Failed("the database is away".to_owned()));
    assert_eq!(names(&stage, ann), ["ann"]);
    let position = walk(&mut stage, ann, [0.0, 1.0]);
    stage.leave(ann);
    stage.tick(3);
    let ann = stage.join("ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    stage.tick(3);
    assert_eq!(player(&stage, ann).position, position, "she continues as her first character");
}

#[test]
fn each_character_has_its_own_place_in_the_world() {
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", "mage");
    serve(&mut stage, "mage", "Mage", r#"{"appearance":1}"#);
    let of_mage = walk(&mut stage, ann, [0.0, 1.0]);
    let seq = stage.send_message(ann, &Play { profile: "thief".to_owned() });
    stage.tick(3);
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
    serve(&mut stage, "thief", "Thief", r#"{"appearance":2}"#);
    assert_eq!((names(&stage, ann), body(&stage, ann).appearance), (vec!["Thief".to_owned()], 2));
    assert_ne!(player(&stage, ann).position, of_mage, "the thief is new here");
    let of_thief = walk(&mut stage, ann, [1.0, 0.0]);
    stage.send_message(ann, &Play { profile: "mage".to_owned() });
    stage.tick(3);
    serve(&mut stage, "mage", "Mage", r#"{"appearance":1}"#);
    assert_eq!((player(&stage, ann).position, body(&stage, ann).appearance), (of_mage, 1));
    stage.leave(ann);
    stage.tick(3);
    let ann = join_as(&mut stage, "ann", "thief");
    assert_eq!(player(&stage, ann).position, of_thief, "before the profile is confirmed");
    serve(&mut stage, "thief", "Thief", r#"{"appearance":2}"#);
    assert_eq!(player(&stage, ann).position, of_thief);
}

#[test]
fn a_profile_that_the_account_does_not_have_leads_to_the_active_one() {
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", "default");
    serve(&mut stage, "default", "Ann", "{}");
    let position = walk(&mut stage, ann, [0.0, 1.0]);
    stage.leave(ann);
    stage.tick(3);
    let ann = join_as(&mut stage, "ann", "stolen");
    assert_ne!(player(&stage, ann).position, position);
    serve(&mut stage, "default", "Ann", "{}");
    assert_eq!(player(&stage, ann).position, position);
}

#[test]
fn two_choices_at_once_are_refused() {
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", "mage");
    let seq = stage.send_message(ann, &Play { profile: "thief".to_owned() });
    stage.tick(3);
    let refused = answer(&stage, ann, seq).expect("it is answered").expect_err("the first is pending");
    assert_eq!(refused.0, ErrorCode::RateLimited);
    serve(&mut stage, "mage", "Mage", "{}");
    let seq = stage.send_message(ann, &Play { profile: "thief".to_owned() });
    stage.tick(3);
    assert_eq!(answer(&stage, ann, seq), Some(Ok(())));
}

#[test]
fn metadata_that_cannot_name_a_profile_is_refused() {
    let mut stage = stage(settings());
    let ann = join_as(&mut stage, "ann", &"p".repeat(65));
    let rejection = stage.client(ann).rejection().expect("it is refused");
    assert_eq!(rejection.code, ErrorCode::BadValue);
    assert!(rejection.message.contains("longer than 64 bytes"), "{}", rejection.message);
}

#[test]
fn an_account_with_many_characters_replaces_only_its_own() {
    let mut stage = stage(settings());
    let ben = join_as(&mut stage, "ben", "default");
    serve(&mut stage, "default", "Ben", "{}");
    let position = walk(&mut stage, ben, [0.0, 1.0]);
    stage.leave(ben);
    let ann = join_as(&mut stage, "ann", "p");
    serve(&mut stage, "p", "Ann", "{}");
    let mut bytes = Vec::new();
    for number in 0..60 {
        let id = format!("p{number:02}");
        stage.send_message(ann, &Play { profile: id.clone() });
        stage.tick(3);
        serve(&mut stage, &id, "Ann", "{}");
        bytes.push(stage.room().checkpoint().expect("it is durable").len());
    }
    assert!(bytes[59] <= bytes[20] + 64, "{bytes:?}");
    assert!(bytes[10] > bytes[0] + 64, "{bytes:?}");
    let ben = join_as(&mut stage, "ben", "default");
    assert_eq!(player(&stage, ben).position, position);
}

/// Stored character of format 2.
#[derive(Clone, Replicate)]
struct OldCharacter {
    #[replicate(text = 128)]
    account: String,
    player: Player,
    #[replicate(range = 0..=100, default = 100)]
    health: i32,
    #[replicate(range = 0..=100, default = 100)]
    material: i32,
    #[replicate(range = 0..=7)]
    appearance: u8,
    hits: u16,
    falls: u16,
    is_present: bool,
    left: u32,
    number: u32,
}

#[test]
fn a_checkpoint_from_before_profiles_continues_as_the_first_profile() {
    let old = OldCharacter {
        account: "ann".to_owned(),
        player: Player::at([40.0, -24.0]),
        health: 60,
        material: 7,
        appearance: 5,
        hits: 3,
        falls: 1,
        is_present: false,
        left: 9,
        number: 0,
    };
    let mut writer = BitWriter::new();
    writer.write(2, 8);
    // No accounts, no structures, one character.
    [0, 0, 1].into_iter().for_each(|len| writer.write(len, 32));
    old.write_full(&mut writer);
    let room = Room::builder(Outpost::default(), settings()).seed(9).checkpoint(writer.to_bytes());
    let mut stage: Stage = Harness::new(room.build().expect("the checkpoint is read"), 10);
    let ann = join_as(&mut stage, "ann", "default");
    serve(&mut stage, "default", "default", "{}");
    assert_eq!(player(&stage, ann).position, [40.0, -24.0]);
    assert_eq!((body(&stage, ann).health, body(&stage, ann).appearance), (60, 5), "with its earlier appearance");
    let presence = crate::support::all_seen::<Presence>(&stage, ann).pop().expect("it is shown");
    assert_eq!((presence.name.as_str(), presence.hits, presence.falls), ("ann", 3, 1));
}
