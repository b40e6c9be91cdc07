//! The pages on Lua run: modules of the how-to, and every step of the tutorial.

use crate::support::{ScriptServer, rpc};
use aether_testkit_server::{ApiClient, ServicesSocket};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

const HOW_TO: &str = include_str!("../../../../docs/how-to/lua.md");
const TUTORIAL: &str = include_str!("../../../../docs/lua-game.md");

/// Returns the code after a comment such as `<!-- module: shop -->`.
fn code<'a>(page: &'a str, comment: &str) -> &'a str {
    let after = page.split_once(&format!("<!-- {comment} -->\n```lua\n")).expect(comment).1;
    after.split_once("```").expect("the code ends").0
}

#[tokio::test(flavor = "multi_thread")]
async fn the_modules_of_the_how_to_answer() {
    let modules = [("hello", code(HOW_TO, "module: hello")), ("shop", code(HOW_TO, "module: shop"))];
    let scripts = ScriptServer::start(&modules).await;
    let mut user = scripts.user().await;
    let (status, answer) = rpc(&mut user, "hello", &json!("")).await;
    assert_eq!(status, 200, "{answer}");
    assert!(answer["greeting"].as_str().is_some_and(|greeting| greeting.starts_with("Hello ")), "{answer}");
    let (status, answer) = rpc(&mut user, "shop.buy", &json!({ "item": "sword" })).await;
    assert_eq!((status, answer), (200, json!({ "item": "sword", "price": 30 })));
    let (status, answer) = rpc(&mut user, "shop.buy", &json!({ "item": "moon" })).await;
    assert_eq!((status, &answer["message"]), (404, &json!("the shop has no moon")));
    scripts.stop().await;
}

struct Player {
    user: ApiClient,
    socket: ServicesSocket,
}

impl Player {
    async fn new(scripts: &ScriptServer) -> Player {
        let user = scripts.user().await;
        let socket = ServicesSocket::connect(scripts.server.http, &user.token).await;
        Player { user, socket }
    }

    async fn join(&mut self, id: &str) -> Value {
        self.socket.request(json!({ "match_join": { "match_id": id } })).await
    }

    async fn play(&mut self, id: &str, step: &str) {
        let message = json!({ "match_id": id, "op_code": "1", "data": STANDARD.encode(step) });
        self.socket.send(&json!({ "match_data_send": message })).await;
    }

    /// Returns op code and text of the next match data.
    async fn news(&mut self) -> (String, String) {
        loop {
            let message = self.socket.next().await;
            let data = &message["match_data"];
            if data.is_object() {
                let bytes = STANDARD.decode(data["data"].as_str().unwrap_or_default()).expect("data is base64");
                let op_code = data["op_code"].as_str().unwrap_or_default().to_owned();
                return (op_code, String::from_utf8(bytes).expect("the match sends texts"));
            }
        }
    }

    /// Returns the number and the winner of the next state.
    async fn state(&mut self) -> (u64, Option<String>) {
        let (op_code, text) = self.news().await;
        assert_eq!(op_code, "2", "{text}");
        let state: Value = serde_json::from_str(&text).expect("the state is JSON");
        (state["number"].as_u64().expect("a number"), state["winner"].as_str().map(ToOwned::to_owned))
    }
}

/// Writes a step of the tutorial, and loads it.
async fn step(scripts: &ScriptServer, text: &str) {
    scripts.write("race", text);
    scripts.reload_as_operator().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_step_of_the_tutorial_runs() {
    let scripts = ScriptServer::start_with(&[("race", code(TUTORIAL, "step: 1 race"))], |config| {
        config.script.watch = Some(false);
    })
    .await;
    let (mut ann, mut ben, mut eve) =
        (Player::new(&scripts).await, Player::new(&scripts).await, Player::new(&scripts).await);
    assert_eq!(rpc(&mut ann.user, "race.state", &json!("")).await, (200, json!("ready")));

    step(&scripts, code(TUTORIAL, "step: 2 race")).await;
    let (status, answer) = rpc(&mut ann.user, "race.create", &json!("")).await;
    assert_eq!(status, 200, "{answer}");
    let id = answer["match_id"].as_str().expect("an id").to_owned();
    for player in [&mut ann, &mut ben] {
        let joined = player.join(&id).await;
        assert_eq!(joined["match"]["match_id"], json!(id), "{joined}");
    }
    let refused = eve.join(&id).await;
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("full")), "{refused}");

    // The running match takes the turns over.
    let turns = code(TUTORIAL, "step: 3 race");
    step(&scripts, turns).await;
    ben.play(&id, "1").await;
    assert_eq!(ben.news().await, ("3".to_owned(), "it is not your turn".to_owned()));
    ann.play(&id, "3").await;
    assert_eq!((ann.state().await, ben.state().await), ((3, None), (3, None)));
    ben.play(&id, "7").await;
    assert_eq!(ben.news().await, ("3".to_owned(), "add 1, 2 or 3".to_owned()));

    step(&scripts, &turns.replace("local GOAL = 21", "local GOAL = 5")).await;
    ben.play(&id, "2").await;
    let (number, winner) = ann.state().await;
    assert_eq!((number, winner.as_deref()), (5, Some(ben.user.user.as_str())));
    scripts.stop().await;
}
