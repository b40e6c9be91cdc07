//! Matches with a schema: their entities are replicated like those of any other game.

use crate::support::ScriptServer;
use crate::viewer::Viewer;
use serde_json::json;

/// A match that players drive by events: each does one thing with the world.
const YARD: &str = r#"
local tests = require("tests")

local function match_init()
    local state = { carts = {}, logged = {} }
    state.near = aether.world_spawn({ Crate = { position = { 10, 0 }, label = "near" } })
    state.far = aether.world_spawn({ Crate = { position = { 400, 0 }, label = "far" } })
    state.team = aether.world_spawn({ Crate = { position = { 5, 5 }, label = "team" } })
    aether.world_set_visibility(state.team, 2)
    state.sign = aether.world_spawn({ Sign = { text = "no position", lines = { 1, 2, 3 }, hook = { depth = 4, open = true } } })
    return { state = state, tick_rate = 20, label = "yard" }
end

local function match_join(_, state, presences)
    for _, presence in presences do
        local cart = aether.world_spawn({
            Cart = { position = { 0, 0 }, mode = "moving", plan = "secret" },
            Crate = { position = { 0, 0 }, label = "of a cart" },
        })
        aether.world_remove(cart, "Crate")
        aether.world_possess(presence.player, cart)
        local purse = aether.world_spawn({ Crate = { position = { 1, 1 }, label = "purse" } })
        aether.world_set_owner(purse, presence.player)
        aether.world_set_visibility(purse, "owner")
        state.carts[presence.player] = cart
    end
    return state
end

local function match_leave(_, state, presences)
    for _, presence in presences do
        aether.world_despawn(state.carts[presence.player])
        state.carts[presence.player] = nil
    end
    return state
end

local function match_input(_, state, player, input)
    local cart = aether.world_possession(player)
    local x, y = aether.world_get(cart, "Cart", "position")
    aether.world_set(cart, "Cart", "position", x + input.push[1], y + input.push[2])
    if input.horn then
        aether.world_broadcast("Honk", { by = player, name = aether.world_player_name(player) })
    end
end

local function match_event(_, state, player, event, fields)
    if event ~= "Do" then
        return false, "only Do"
    end
    local run = tests[fields.what]
    if not run then
        return false, "unknown: " .. fields.what
    end
    local ok, result = pcall(run, state, player, fields)
    aether.world_send(player, "Done", { text = string.sub(tostring(if ok then result else "error: " .. tostring(result)), 1, 250) })
end

aether.register_match("yard", {
    schema = {
        components = {
            Cart = {
                channel = "movement",
                position = { "vec2", range = { -500, 500 }, step = 0.01, position = true, moves_by = "velocity" },
                velocity = { "vec2", range = { -50, 50 } },
                mode = { "choice", of = { "idle", "moving" } },
                heading = { "angle" },
                plan = { "private", default = "none" },
            },
            Crate = {
                channel = "crates",
                position = { "vec2", range = { -500, 500 }, position = true },
                label = { "text", max = 16 },
                weight = { "u8", default = 7 },
            },
            Sign = {
                channel = "signs",
                text = { "text", max = 40 },
                lines = { "list", max = 4, of = { "int", range = { 0, 9 } } },
                hook = { "record", of = { depth = { "u8" }, open = { "bool" } } },
            },
        },
        input = { push = { "vec2", range = { -5, 5 } }, horn = { "bool" } },
        events = {
            Honk = { channel = "talk", by = { "player" }, name = { "text", max = 64 } },
            Do = { channel = "talk", what = { "text", max = 32 }, number = { "i32" } },
            Done = { channel = "talk", text = { "text", max = 255 } },
        },
    },
    interest = 50,
    entities_max = 200,
    snapshot_hz = 20,
    match_init = match_init,
    match_join = match_join,
    match_leave = match_leave,
    match_input = match_input,
    match_event = match_event,
    match_loop = function(_, state) return state end,
})
"#;

/// Things that a player asks for.
const TESTS: &str = r#"
local tests = {}

function tests.look_far(state, player) aether.world_set_viewpoint(player, 400, 0) end
function tests.look_everywhere(state, player) aether.world_set_viewpoint(player, "everything") end
function tests.look_home(state, player) aether.world_set_viewpoint(player) end
function tests.join_team(state, player) aether.world_set_team(player, 2) end
function tests.leave_team(state, player) aether.world_set_team(player) end
function tests.remove(state) return aether.world_despawn(state.near) and not aether.world_despawn(state.near) end
function tests.read(state)
    local sign = aether.world_get(state.sign, "Sign")
    return `{sign.text} {table.concat(sign.lines, ",")} {sign.hook.depth} {sign.hook.open}`
end
function tests.private(state, player)
    local cart = aether.world_get(state.carts[player], "Cart")
    aether.world_set(state.carts[player], "Cart", { plan = cart.plan .. "!" })
    return aether.world_get(state.carts[player], "Cart", "plan") .. " " .. cart.mode
end
function tests.out_of_range(state) aether.world_set(state.near, "Crate", "position", 900, 0) end
function tests.not_finite(state) aether.world_set(state.near, "Crate", "position", 0 / 0, 0) end
function tests.wrong_type(state) aether.world_set(state.near, "Crate", { weight = "heavy" }) end
function tests.fraction(state) aether.world_set(state.near, "Crate", { weight = 1.5 }) end
function tests.too_long(state) aether.world_set(state.near, "Crate", "label", string.rep("x", 17)) end
function tests.unknown_field(state) aether.world_set(state.near, "Crate", { colour = 1 }) end
function tests.unknown_component(state) aether.world_get(state.near, "Ship") end
function tests.unknown_event(state) aether.world_broadcast("Sunk", {}) end
function tests.unknown_choice(state, player) aether.world_set(state.carts[player], "Cart", "mode", "flying") end
function tests.no_entity(state) return aether.world_get(999999, "Crate") == nil and aether.world_set(999999, "Crate", { weight = 1 }) == false end
function tests.bad_entity(state) aether.world_get(-1, "Crate") end
function tests.possess_nothing(state, player) aether.world_possess(player, 999999) end
function tests.short_column(state) aether.world_set_column("Crate", "position", { 1, 2, 3 }) end
function tests.full(state)
    for _ = 1, 300 do aether.world_spawn({ Crate = { label = "many" } }) end
end
function tests.clear_many(state)
    for _, id in aether.world_ids("Crate") do
        if aether.world_get(id, "Crate", "label") == "many" then aether.world_despawn(id) end
    end
end
function tests.nearby(state)
    local ids, distances = aether.world_nearby(9, 0, 20, "Crate")
    return `{aether.world_get(ids[1], "Crate", "label")} {distances[1]} {#ids == #distances}`
end
-- Moves all crates by columns, and compares with a call for each.
function tests.columns(state)
    local ids = aether.world_ids("Crate")
    local column = aether.world_column("Crate", "position")
    local floats = aether.world_column("Crate", "position", true)
    local weights = aether.world_column("Crate", "weight")
    for index, id in ids do
        local x, y = aether.world_get(id, "Crate", "position")
        assert(x == column[2 * index - 1] and y == column[2 * index], "list")
        assert(x == buffer.readf32(floats, 8 * (index - 1)) and y == buffer.readf32(floats, 8 * (index - 1) + 4), "buffer")
        assert(aether.world_get(id, "Crate", "weight") == weights[index], "weight")
        column[2 * index] += 3
        buffer.writef32(floats, 8 * (index - 1), x + 2)
        weights[index] = index
    end
    aether.world_set_column("Crate", "position", column)
    aether.world_set_column("Crate", "weight", weights)
    for index, id in ids do
        local x, y = aether.world_get(id, "Crate", "position")
        assert(y == column[2 * index] and aether.world_get(id, "Crate", "weight") == index, "set by list")
        buffer.writef32(floats, 8 * (index - 1) + 4, y)
    end
    aether.world_set_column("Crate", "position", floats)
    local x, y = aether.world_get(state.near, "Crate", "position")
    return `{#ids} {x} {y} {table.concat(aether.world_column("Crate", "label"), ",")}`
end
return tests
"#;

async fn ask(viewer: &mut Viewer, what: &str) -> String {
    viewer.command("talk", "do", json!({ "what": what })).await;
    viewer.event("done").await["text"].as_str().expect("a text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn entities_of_a_match_are_replicated_by_interest_and_visibility() {
    let scripts = ScriptServer::start(&[("yard", YARD), ("tests", TESTS)]).await;
    let mut ann = Viewer::join(scripts.server.http, "yard").await;
    let cart = ann.possession().await;
    ann.until("the cart", |ann| ann.field("movement", cart, "position").cloned()).await;
    ann.until("crates in view", |ann| (ann.by("crates", "label").len() == 2).then_some(())).await;
    let labels = ann.by("crates", "label");
    assert!(
        labels.contains_key("near") && labels.contains_key("purse"),
        "neither far ones nor those of a team: {labels:?}"
    );
    assert_eq!(ann.field("movement", cart, "plan"), None, "private fields are not sent");
    let sign = ann.by("signs", "text")["no position"];
    assert_eq!(ann.field("signs", sign, "lines"), Some(&json!([1, 2, 3])));

    ann.input(json!({ "push": [3.0, -2.0], "horn": true })).await;
    let honk = ann.event("honk").await;
    let moved = ann.until("movement", |ann| ann.field("movement", cart, "position").filter(|at| at[0] != 0.0).cloned());
    assert_eq!(moved.await, json!([3.0, -2.0]));
    assert_eq!(honk["by"], 1);

    let mut bob = Viewer::join(scripts.server.http, "yard").await;
    let of_bob = bob.possession().await;
    bob.until("both carts", |bob| (bob.seen.get("movement")?.len() == 2).then_some(())).await;
    ann.until("the other cart", |ann| ann.field("movement", of_bob, "position").cloned()).await;
    assert_eq!(ask(&mut bob, "join_team").await, "nil");
    bob.until("the crate of the team", |bob| bob.by("crates", "label").get("team").copied()).await;
    assert!(!ann.by("crates", "label").contains_key("team"), "Ann is in no team");
    let purses = |viewer: &Viewer| viewer.seen["crates"].values().filter(|fields| fields["label"] == "purse").count();
    assert_eq!((purses(&ann), purses(&bob)), (1, 1), "each sees its own");
    ask(&mut bob, "leave_team").await;
    bob.until("without the team", |bob| (!bob.by("crates", "label").contains_key("team")).then_some(())).await;

    ask(&mut bob, "look_far").await;
    bob.until("the far crate alone", |bob| {
        let labels = bob.by("crates", "label");
        (labels.contains_key("far") && !labels.contains_key("near")).then_some(())
    })
    .await;
    ask(&mut bob, "look_everywhere").await;
    bob.until("both crates", |bob| {
        let labels = bob.by("crates", "label");
        (labels.contains_key("far") && labels.contains_key("near")).then_some(())
    })
    .await;
    ask(&mut bob, "look_home").await;
    bob.until("home", |bob| (!bob.by("crates", "label").contains_key("far")).then_some(())).await;

    assert_eq!(ask(&mut ann, "remove").await, "true");
    bob.until("a despawn", |bob| (!bob.by("crates", "label").contains_key("near")).then_some(())).await;
    drop(ann);
    bob.until("the cart of Ann is gone", |bob| bob.field("movement", cart, "position").is_none().then_some(())).await;
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_values_get_errors_that_name_component_and_field() {
    let scripts = ScriptServer::start(&[("yard", YARD), ("tests", TESTS)]).await;
    let mut ann = Viewer::join(scripts.server.http, "yard").await;
    ann.possession().await;
    for (what, parts) in [
        ("out_of_range", ["Crate", "`position` is 900, which is outside its range -500 to 500"]),
        ("not_finite", ["Crate", "`position` must be a finite number"]),
        ("wrong_type", ["Crate", "`weight` must be"]),
        ("fraction", ["Crate", "`weight`"]),
        ("too_long", ["Crate", "`label` has length 17, above its limit of 16"]),
        ("unknown_field", ["Crate", "colour"]),
        ("unknown_component", ["world_get", "no component `Ship`; the schema has Cart, Crate, Sign"]),
        ("unknown_event", ["world_broadcast", "no event `Sunk`; the schema has Do, Done, Honk"]),
        ("unknown_choice", ["Cart", "`mode` has no variant `flying`; use one of idle, moving"]),
        ("bad_entity", ["argument 1 of `world_get`", "the id of an entity"]),
        ("possess_nothing", ["world_possess", "an entity that exists"]),
        ("short_column", ["Crate.position", "expected 2 for each of 4 entities, 8 in all, got 3"]),
        ("full", ["entities_max", "limit of entities is reached"]),
    ] {
        let told = ask(&mut ann, what).await;
        assert!(told.starts_with("error: tests:"), "{what} names the line: {told}");
        assert!(parts.iter().all(|part| told.contains(part)), "{what}: {told}");
    }
    ask(&mut ann, "clear_many").await;
    assert_eq!(ask(&mut ann, "no_entity").await, "true");
    assert_eq!(ask(&mut ann, "private").await, "secret! moving");
    assert_eq!(ask(&mut ann, "read").await, "no position 1,2,3 4 true");
    assert_eq!(ask(&mut ann, "nearby").await, "near 1 true");
    assert_eq!(ask(&mut ann, "columns").await, "4 12 3 near,far,team,purse");
    ann.command("talk", "do", json!({ "what": "nothing" })).await;
    ann.until("a refusal", |ann| ann.refused.iter().any(|text| text.contains("unknown: nothing")).then_some(())).await;
    ann.command("talk", "honk", json!({})).await;
    ann.until("a refusal", |ann| ann.refused.iter().any(|text| text.contains("only Do")).then_some(())).await;
    scripts.stop().await;
}

/// Loads a module and returns the error of the load.
async fn load_error(text: &str) -> String {
    let scripts = ScriptServer::start(&[]).await;
    scripts.write("wrong", text);
    let running = scripts.server.running();
    let loaded = running.scripts().expect("the server has scripts").load(running.services()).await;
    let error = loaded.err().expect("the module does not load").to_string();
    scripts.stop().await;
    error
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_schema_is_an_error_of_its_module_with_component_and_field() {
    let declare = |fields: &str| {
        format!(
            "aether.register_match(\"m\", {{ schema = {{ components = {{ Ship = {{ {fields} }} }} }}, match_init = function() end }})"
        )
    };
    for (text, told) in [
        (declare("hue = 5"), "`Ship.hue`: expected a table that begins with the field's type"),
        (declare("hue = { \"colour\" }"), "`Ship.hue`: unknown type `colour`"),
        (declare("at = { \"vec2\" }"), "`Ship.at`: this type needs a range"),
        (declare("at = { \"vec2\", range = { 5 } }"), "`Ship.at`: range: expected two numbers"),
        (declare("at = { \"vec2\", range = { 5, 1 } }"), "`Ship.at` cannot be declared"),
        (declare("name = { \"text\", max = 999 }"), "`Ship.name` cannot be declared: the text's length is 999"),
        (declare("mode = { \"choice\" }"), "`Ship.mode`: a choice needs its names"),
        (declare("hue = { \"u8\", default = 300 }"), "`Ship.hue` cannot be declared: the initial value does not fit"),
        (declare("plan = { \"private\" }"), "`Ship.plan`: a private field needs a `default`"),
        ("aether.register_match(\"m\", { schema = { parts = {} } })".to_owned(), "schema: unknown entry `parts`"),
        ("aether.register_match(\"m\", { schema = 5 })".to_owned(), "schema: expected a table"),
        ("aether.register_match(\"m\", { interest = \"near\" })".to_owned(), "interest: expected a radius"),
        ("aether.register_match(\"m\", { snapshot_hz = 7 })".to_owned(), "snapshot_hz must divide tick_hz"),
        (
            "aether.register_match(\"m\", { entities_max = 1e9 })".to_owned(),
            "entities_max is 1000000000; use a whole number",
        ),
    ] {
        let error = load_error(&text).await;
        assert!(error.contains("match handler `m`") && error.contains(told), "{text}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_game_of_the_how_to_is_played() {
    let page = include_str!("../../../../docs/how-to/lua-games.md");
    let (_, after) = page.split_once("<!-- module: carts -->\n```lua\n").expect("the page has the module");
    let (carts, _) = after.split_once("```").expect("the code ends");
    let scripts = ScriptServer::start(&[("carts", carts)]).await;
    let mut ann = Viewer::join(scripts.server.http, "carts").await;
    let cart = ann.possession().await;
    ann.input(json!({ "push": [1.0, -0.5], "horn": true })).await;
    let honk = ann.event("honk").await;
    assert_eq!(honk["cart"], json!(cart.to_bits()));
    let moved = ann.until("movement", |ann| ann.field("movement", cart, "position").filter(|at| at[0] != 0.0).cloned());
    let moved = moved.await;
    let is_near = |axis: usize, expected: f64| moved[axis].as_f64().is_some_and(|at| (at - expected).abs() < 0.001);
    assert!(is_near(0, 0.6) && is_near(1, -0.3), "{moved}");
    scripts.stop().await;
}
