//! Requests of rooms to the services.

use aether_bits::{BitReader, Replicate};
use aether_engine::{Answer, Context, Game, GameSchemaBuilder, PlayerMessage, Rejection, Request, RoomSettings};
use aether_replication::{DeliveryOrder, Mirror};
use aether_server::Server;
use aether_server::config::{Config, Secret};
use aether_server::services::leaderboard::Definition;
use aether_server::services::operation::{ReadStorageObjects, RpcFunc, WriteLeaderboardRecord, WriteStorageObjects};
use aether_server::services::{CallContext, Caller, ServiceError};
use aether_store::Database;
use aether_testkit_server::ApiClient;
use aether_testkit_server::seeing_player::{SeeingPlayer, account, guest, hello, of_type};
use aether_testkit_store::databases;
use aether_wire::{ErrorCode, Event, GameBody, PlayerId, RequestId, ServerMessage};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use uuid::Uuid;

/// Text of a request for the room, or of its answer.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
struct Words {
    #[replicate(text = 200)]
    words: String,
}

#[derive(Clone, Debug, PartialEq, Replicate)]
struct Nothing {
    nothing: bool,
}

/// A game that sends the requests that players name.
#[derive(Default)]
struct Asker {
    asked: BTreeMap<RequestId, PlayerId>,
}

impl Game for Asker {
    type Input = Nothing;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration.event::<Words>()
    }

    fn join(&mut self, _room: &mut Context<'_>, _player: PlayerId) {}

    fn input(&mut self, _room: &mut Context<'_>, _player: PlayerId, _input: &Nothing) {}

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        let Some(Ok(Words { words })) = message.read() else {
            return Err(Rejection::new(ErrorCode::BadValue, "say what to ask"));
        };
        let own = room.user(player).unwrap_or_default().to_owned();
        let (collection, key) = ("asker".to_owned(), "it".to_owned());
        let request = match words.split_once(' ').unwrap_or((words.as_str(), "")) {
            ("read", "own") => Request::Read { owner: own, collection, key },
            ("read", _) => Request::Read { owner: String::new(), collection, key },
            ("write", value) => Request::Write { owner: own, collection, key, value: value.as_bytes().to_vec() },
            ("keep", value) => {
                Request::Write { owner: String::new(), collection, key, value: value.as_bytes().to_vec() }
            }
            ("score", score) => {
                let score = score.parse().map_err(|_| Rejection::new(ErrorCode::BadValue, "that is no score"))?;
                Request::SubmitScore { board: "asker".to_owned(), user: own, score }
            }
            (name, payload) => Request::Call { name: name.to_owned(), payload: payload.as_bytes().to_vec() },
        };
        self.asked.insert(room.request(request), player);
        Ok(())
    }

    fn tick(&mut self, _room: &mut Context<'_>) {}

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        let words = match answer {
            Answer::Done => "done".to_owned(),
            Answer::Value(None) => "nothing".to_owned(),
            Answer::Value(Some(value)) => format!("value {}", String::from_utf8_lossy(value)),
            Answer::Failed(why) => format!("failed {why}"),
        };
        if let Some(player) = self.asked.remove(&id) {
            room.send(player, &Words { words });
        }
    }
}

async fn ask(seat: &mut SeeingPlayer, words: &str) -> String {
    seat.command(0, &Words { words: words.to_owned() }).await.expect("it is asked");
    seat.wait("an answer", |message| match message {
        ServerMessage::Event(Event { body: GameBody::Packed { payload, .. }, .. }) => {
            Words::read_full(&mut BitReader::new(&payload)).ok().map(|it| it.words)
        }
        _ => None,
    })
    .await
}

async fn take(http: SocketAddr, token: aether_wire::Token) -> SeeingPlayer {
    let mirror = Mirror::builder().build(DeliveryOrder::Ordered, 1.0 / 40.0);
    SeeingPlayer::join(http, &hello(token, of_type("asker")), mirror).await.expect("it is let in")
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_use_storage_of_accounts_and_their_own_and_call_functions_of_the_program() {
    let mut config = Config::default();
    config.data_dir = std::env::temp_dir().join(format!("aether-asker-{}", uuid::Uuid::new_v4().simple()));
    config.database.url = Some(Secret::new("memory"));
    config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
    config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
    let folder = config.data_dir.clone();
    let running = Server::new("asker", "1.0.0")
        .game("asker", RoomSettings::default(), Asker::default)
        .on_start(async |services| services.leaderboards.create(Definition::new("asker")).await.map(|_| ()))
        .call("shout", |_, payload| async move { Ok(Some(payload.to_ascii_uppercase())) })
        .call("panic", |_, _| async move { panic!("it was asked for") })
        .start(config)
        .await
        .expect("it starts");
    let (token, mut client) = account(running.http).await;
    let mut ann = take(running.http, token).await;
    assert_eq!(ask(&mut ann, "read own").await, "nothing");
    for permission in [1, 2] {
        let object = serde_json::json!({ "collection": "asker", "key": "it", "value": r#"{"base64":"Zm9yZ2Vk"}"#,
            "permission_write": permission });
        let forged = client.put("/v2/storage", &serde_json::json!({ "objects": [object] })).await.expect("it answers");
        assert_eq!(forged.status, 200, "the collection is not reserved: {}", forged.body);
        assert_eq!(ask(&mut ann, "read own").await, "nothing", "the game does not believe what she may write");
    }
    assert_eq!(ask(&mut ann, "write some words").await, "done");
    assert_eq!(ask(&mut ann, "read own").await, "value some words");
    assert_eq!(ask(&mut ann, "read").await, "nothing", "what is hers is not the game's");
    assert_eq!(ask(&mut ann, "keep a secret").await, "done");
    assert_eq!(ask(&mut ann, "read").await, "value a secret");
    let path = format!("/v2/storage/asker/{}", client.user);
    let list = client.get(&path).await.expect("it answers").json();
    assert_eq!(list["objects"].as_array().map(Vec::len), Some(1), "she sees what is kept of her: {list}");
    let write = serde_json::json!({ "objects": [{ "collection": "asker", "key": "it", "value": "{}" }] });
    let refused = client.put("/v2/storage", &write).await.expect("it answers");
    assert_ne!(refused.status, 200, "and cannot change it");
    let deletion = serde_json::json!({ "object_ids": [{ "collection": "asker", "key": "it" }] });
    let refused = client.put("/v2/storage/delete", &deletion).await.expect("it answers");
    assert_ne!(refused.status, 200, "nor delete it");
    let forged = client.post("/v2/leaderboard/asker", &serde_json::json!({ "score": "99" })).await.expect("it answers");
    assert_eq!(forged.status, 403, "nor submit a score: {}", forged.body);
    assert_eq!(ask(&mut ann, "score 77").await, "done");
    let board = format!("/v2/leaderboard/asker?owner_ids={}", client.user);
    let list = client.get(&board).await.expect("it answers").json();
    assert_eq!(list["owner_records"][0]["score"], "77");
    let top = ask(&mut ann, "leaderboard_top asker").await;
    assert!(top.starts_with("value 77 "), "{top}");
    assert!(ask(&mut ann, "leaderboard_top none").await.starts_with("failed "));
    assert_eq!(ask(&mut ann, "shout hello").await, "value HELLO");
    assert!(ask(&mut ann, "whisper").await.contains("Server::call"));
    assert!(ask(&mut ann, "panic").await.contains("function `panic` panicked"));
    let mut ben = take(running.http, guest(running.http).await).await;
    assert!(ask(&mut ben, "write it").await.starts_with("failed "), "nothing is kept of guests");
    assert!(ask(&mut ben, "score 1").await.starts_with("failed "));
    assert_eq!(ask(&mut ben, "read").await, "value a secret");
    drop((ann, ben, ApiClient::new(running.http)));
    running.stop(Duration::ZERO).await;
    let _ = std::fs::remove_dir_all(folder);
}

/// Notes of hooks: operation, account and value.
type Notes = Arc<Mutex<Vec<(&'static str, Option<Uuid>, String)>>>;

/// Returns a server whose hooks note, change, reject and break requests of rooms.
fn hooked(notes: &Notes) -> Server {
    let [on_write, on_read, on_score, on_call, after_call] = std::array::from_fn(|_| Arc::clone(notes));
    let note = |notes: &Notes, operation, context: &CallContext, value: &str| {
        assert_eq!(context.caller, Caller::Server, "a room is server code");
        notes.lock().expect("no hook panics with it").push((operation, context.account, value.to_owned()));
    };
    Server::new("asker", "1.0.0")
        .game("asker", RoomSettings::default(), Asker::default)
        .on_start(async |services| services.leaderboards.create(Definition::new("asker")).await.map(|_| ()))
        .call("shout", |_, payload| async move { Ok(Some(payload.to_ascii_uppercase())) })
        .before::<WriteStorageObjects, _>(move |context, mut request| {
            let notes = Arc::clone(&on_write);
            async move {
                let object = &mut request.objects[0];
                note(&notes, "write", &context, &object.value);
                match object.value.as_str() {
                    r#"{"word":"bad"}"# => return Err(ServiceError::invalid("not this word")),
                    r#"{"word":"panic"}"# => panic!("it was asked for"),
                    _ => object.value = object.value.replace("old", "new"),
                }
                Ok(Some(request))
            }
        })
        .after::<ReadStorageObjects, _>(move |context, _, answer| {
            let notes = Arc::clone(&on_read);
            async move { note(&notes, "read", &context, &answer.objects.len().to_string()) }
        })
        .before::<WriteLeaderboardRecord, _>(move |context, mut request| {
            let notes = Arc::clone(&on_score);
            async move {
                let record = request.record.as_mut().expect("a room sends a record");
                note(&notes, "score", &context, &record.score.to_string());
                record.score = record.score.min(100);
                Ok(Some(request))
            }
        })
        .before::<RpcFunc, _>(move |context, mut request| {
            let notes = Arc::clone(&on_call);
            async move {
                note(&notes, "call", &context, &request.payload);
                if request.payload == "silence" {
                    return Ok(None);
                }
                request.payload = request.payload.replace("hello", "bye");
                Ok(Some(request))
            }
        })
        .after::<RpcFunc, _>(move |context, _, answer| {
            let notes = Arc::clone(&after_call);
            async move { note(&notes, "called", &context, &answer.payload) }
        })
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_rooms_run_hooks_and_are_counted_by_operation() {
    for database in databases() {
        let notes = Notes::default();
        let mut config = Config::default();
        config.data_dir = std::env::temp_dir().join(format!("aether-hooks-{}", Uuid::new_v4().simple()));
        config.database.url = Some(Secret::new(&match &database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        }));
        config.http.address = SocketAddr::from(([127, 0, 0, 1], 0));
        config.http.admin_address = SocketAddr::from(([127, 0, 0, 1], 0));
        let folder = config.data_dir.clone();
        let running = hooked(&notes).start(config).await.expect("it starts");
        let (token, client) = account(running.http).await;
        let mut ann = take(running.http, token).await;
        assert_eq!(ask(&mut ann, r#"write {"word":"old"}"#).await, "done");
        assert_eq!(ask(&mut ann, "read own").await, r#"value {"word":"new"}"#, "a hook changed it");
        assert_eq!(ask(&mut ann, r#"write {"word":"bad"}"#).await, "failed not this word");
        let panicked = ask(&mut ann, r#"write {"word":"panic"}"#).await;
        assert_eq!(panicked, "failed A hook of WriteStorageObjects panicked.");
        assert_eq!(ask(&mut ann, r#"keep {"word":"x"}"#).await, "done", "the room goes on");
        assert_eq!(ask(&mut ann, "score 500").await, "done");
        assert!(ask(&mut ann, "leaderboard_top asker").await.starts_with("value 100 "), "a hook changed it");
        assert_eq!(ask(&mut ann, "shout hello").await, "value BYE");
        assert!(ask(&mut ann, "shout silence").await.starts_with("failed "), "a hook dropped it");
        let me = Some(Uuid::try_parse(&client.user).expect("an id"));
        let expected = [
            ("write", me, r#"{"word":"old"}"#),
            ("read", me, "1"),
            ("write", me, r#"{"word":"bad"}"#),
            ("write", me, r#"{"word":"panic"}"#),
            ("write", Some(Uuid::nil()), r#"{"word":"x"}"#),
            ("score", me, "500"),
            ("call", None, "asker"),
            ("called", None, "100 "),
            ("call", None, "hello"),
            ("called", None, "BYE"),
            ("call", None, "silence"),
        ];
        let noted = notes.lock().expect("no hook panics with it").clone();
        assert_eq!(noted.len(), expected.len(), "{noted:?}");
        for ((operation, account, value), expected) in noted.iter().zip(expected) {
            assert_eq!((*operation, *account), (expected.0, expected.1));
            assert!(value.starts_with(expected.2), "{value}");
        }
        let metrics = running.registry().render();
        for (operation, count) in
            [("WriteStorageObjects", 3), ("ReadStorageObjects", 1), ("WriteLeaderboardRecord", 1), ("RpcFunc", 3)]
        {
            let line = format!("aether_operation_duration_seconds_count{{operation=\"{operation}\"}} {count}\n");
            assert!(metrics.contains(&line), "{line} on {}", database.name);
        }
        let failed = "aether_operations_refused_total{code=\"invalid_argument\",operation=\"WriteStorageObjects\"} 1\n";
        assert!(metrics.contains(failed), "{metrics}");
        drop(ann);
        running.stop(Duration::ZERO).await;
        let _ = std::fs::remove_dir_all(folder);
    }
}
