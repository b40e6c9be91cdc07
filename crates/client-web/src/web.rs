//! JavaScript interface, exported by wasm-bindgen. The TypeScript SDK wraps it.

use crate::{PredictionRules, VisibleRows, description};
use aether_client::{ClientPhase, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, CommandSeq, EntityId, GameBody, GameMessage, PlaygroundClear, PlaygroundSpawn, PlaygroundStress,
    RoomId, RoomSelector, SpawnRequest, Token, Vector2,
};
use js_sys::{Array, Function};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

mod events;

/// Numbers reserved for the growth of a state in one step, besides twice its length. The SDK has the same constant.
const MARGIN: usize = 64;

/// Rules in a script function: `(pointer, stateLength, inputLength, seconds) => newStateLength`. The pointer leads to
/// the numbers of the state, followed by those of the input, in the module's memory. The function writes the new state
/// there.
struct Script {
    channel: String,
    ignored: Vec<String>,
    step: Function,
    memory: RefCell<Vec<f64>>,
}

impl PredictionRules for Script {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn ignored(&self) -> &[String] {
        &self.ignored
    }

    fn step(&self, state: &mut Vec<f64>, input: &[f64], seconds: f32) {
        let mut memory = self.memory.borrow_mut();
        memory.clear();
        memory.extend_from_slice(state);
        memory.extend_from_slice(input);
        // A new state with texts or lists may be longer than the old one.
        let len = (state.len() + input.len()) * 2 + MARGIN;
        memory.resize(len, 0.0);
        let arguments = Array::of4(
            &JsValue::from_f64(memory.as_ptr() as usize as f64),
            &JsValue::from_f64(state.len() as f64),
            &JsValue::from_f64(input.len() as f64),
            &JsValue::from_f64(f64::from(seconds)),
        );
        let new_len = self.step.apply(&JsValue::NULL, &arguments).ok().and_then(|len| len.as_f64());
        if let Some(row) = new_len.and_then(|len| memory.get(..len as usize)) {
            state.clear();
            state.extend_from_slice(row);
        }
    }
}

/// Visible entities around the own one. Rules may read them while they step.
#[wasm_bindgen]
pub struct Surroundings {
    visible_rows: Rc<RefCell<VisibleRows>>,
}

#[wasm_bindgen]
impl Surroundings {
    /// Number of times that a row of a component entered, left or changed.
    #[must_use]
    pub fn version(&self, component: usize) -> u32 {
        self.visible_rows.borrow().version(component)
    }

    /// Latest rows of some components, in the form of `draw`.
    #[must_use]
    pub fn draw(&self, components: &[usize]) -> Vec<f64> {
        let mut out = Vec::new();
        self.visible_rows.borrow().draw(components, &mut out);
        out
    }
}

/// Client core.
#[wasm_bindgen]
pub struct Core {
    core: crate::ClientCore<Script>,
    frame: Vec<u8>,
}

#[wasm_bindgen]
impl Core {
    /// Creates a core for a room, selected by `kind`: "id", "code", "type", "newPrivate", or "" for the only type of the
    /// server. `metadata` has keys and texts by turns.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(
        kind: &str,
        name: String,
        label: Option<String>,
        metadata: Vec<String>,
        seed: f64,
        rules: Option<ScriptRules>,
    ) -> Core {
        let room = match kind {
            "id" => Some(RoomSelector::Id(RoomId(name))),
            "code" => Some(RoomSelector::Code(name)),
            "type" => Some(RoomSelector::Type { name, label }),
            "newPrivate" => Some(RoomSelector::NewPrivate { name, label }),
            _ => None,
        };
        let rules = rules.map(|rules| rules.script);
        let metadata = metadata.chunks_exact(2).map(|entry| (entry[0].as_str(), entry[1].as_str())).collect();
        let join_options = JoinOptions { token: None, room, metadata };
        Core { core: crate::ClientCore::new(rules, join_options, seed.to_bits()), frame: Vec::new() }
    }

    /// Visible entities around the own one.
    #[must_use]
    pub fn surroundings(&self) -> Surroundings {
        Surroundings { visible_rows: Rc::clone(self.core.client.game().visible_rows()) }
    }

    /// Phase by number: 0 connecting, 1 joined, 2 resuming, 3 ended.
    #[must_use]
    pub fn phase(&self) -> u8 {
        match self.core.client.phase() {
            ClientPhase::Connecting => 0,
            ClientPhase::Joined => 1,
            ClientPhase::Resuming => 2,
            ClientPhase::Closed(_) => 3,
        }
    }

    /// Time at which to open a connection.
    #[wasm_bindgen(js_name = retryAtMs)]
    #[must_use]
    pub fn retry_at_ms(&self) -> Option<f64> {
        self.core.client.retry_at().map(|at| at.as_secs_f64() * 1e3)
    }

    /// Entity that the player possesses.
    #[wasm_bindgen(js_name = ownEntity)]
    #[must_use]
    pub fn own_entity(&self) -> Option<f64> {
        self.core.client.own_entity().map(number)
    }

    /// Newest tick whose state has arrived.
    #[must_use]
    pub fn tick(&self) -> u32 {
        self.core.client.mirror().map_or(0, |mirror| mirror.tick().0)
    }

    /// Handles an opened connection.
    pub fn connected(&mut self, is_ordered: bool, now_ms: f64) {
        let delivery_order = if is_ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
        self.core.client.connected(delivery_order, time(now_ms));
    }

    /// Handles a lost connection.
    pub fn disconnected(&mut self, now_ms: f64) {
        self.core.client.disconnected(time(now_ms));
    }

    /// Handles a message. Returns true if the schema has changed.
    pub fn receive(&mut self, bytes: &[u8], now_ms: f64) -> bool {
        self.core.receive(bytes, time(now_ms))
    }

    /// Advances to `now_ms` and returns the messages to send. Each is a byte of flags (1 reliable, 2 fragment, 4
    /// hello), the length in four bytes, and the message.
    pub fn advance(&mut self, now_ms: f64) -> Vec<u8> {
        let mut out = Vec::new();
        for outgoing in self.core.client.advance(time(now_ms)) {
            self.frame.clear();
            // Cannot fail: messages that cannot be encoded are rejected when they are queued.
            if outgoing.message.encode(&mut self.frame).is_err() {
                continue;
            }
            let is_part = matches!(outgoing.message, ClientMessage::Fragment(_));
            let is_hello = matches!(outgoing.message, ClientMessage::Hello(_));
            out.push(u8::from(outgoing.reliable) | u8::from(is_part) << 1 | u8::from(is_hello) << 2);
            out.extend_from_slice(&(self.frame.len() as u32).to_le_bytes());
            out.extend_from_slice(&self.frame);
        }
        out
    }

    /// Removes and returns the events since the last call.
    #[wasm_bindgen(js_name = takeEvents)]
    #[must_use]
    pub fn take_events(&mut self) -> Array {
        let events = Array::new();
        while let Some(event) = self.core.next_event() {
            events.push(&events::of(&event, self.core.client.game()));
        }
        while let Some(changes) = self.core.client.game_mut().next_changes() {
            events.push(&events::of_changes(&changes));
        }
        events
    }

    /// Schema as JSON. Empty before it is known.
    #[must_use]
    pub fn schema(&self) -> String {
        self.core.client.game().schema().map(description).unwrap_or_default().0
    }

    /// Initial values of the fields of the schema, in the order of the JSON.
    #[must_use]
    pub fn initials(&self) -> Vec<f64> {
        self.core.client.game().schema().map(description).unwrap_or_default().1
    }

    /// Sets the access token of the next hello.
    #[wasm_bindgen(js_name = setToken)]
    pub fn set_token(&mut self, token: Option<String>) {
        self.core.client.set_token(token.map(Token::new));
    }

    /// Sets the input of the player as a row.
    #[wasm_bindgen(js_name = setInput)]
    pub fn set_input(&mut self, row: &[f64]) -> bool {
        self.core.set_input(row)
    }

    /// Switches prediction, reconciliation and interpolation on or off.
    pub fn set(&mut self, prediction: bool, reconciliation: bool, interpolation: bool) {
        let settings = self.core.client.settings_mut();
        (settings.prediction, settings.reconciliation) = (prediction, reconciliation);
        settings.interpolation = interpolation;
    }

    /// Sends a game message as a row. Returns its number, or 0.
    pub fn say(&mut self, code: u16, row: &[f64]) -> u32 {
        self.core.send_message(code, row).map_or(0, |seq| seq.0)
    }

    /// Sends a game message as bytes with a code. Returns its number, or 0.
    #[wasm_bindgen(js_name = sayBytes)]
    pub fn say_bytes(&mut self, code: u16, bytes: Vec<u8>) -> u32 {
        let body = GameBody::Packed { code, payload: bytes };
        self.command(|seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// Playground: spawns one entity.
    #[wasm_bindgen(js_name = playgroundSpawn)]
    pub fn playground_spawn(&mut self, kind: String, x: f32, y: f32, rotation: f32) -> u32 {
        self.command(|seq| ClientMessage::PlaygroundSpawn(PlaygroundSpawn { seq, kind, x, y, rotation }))
    }

    /// Playground: clears the world.
    #[wasm_bindgen(js_name = playgroundClear)]
    pub fn playground_clear(&mut self) -> u32 {
        self.command(|seq| ClientMessage::PlaygroundClear(PlaygroundClear { seq }))
    }

    /// Playground: spawns many entities.
    #[wasm_bindgen(js_name = playgroundStress)]
    pub fn playground_stress(&mut self, count: u32, rotate: bool) -> u32 {
        self.command(|seq| ClientMessage::PlaygroundStress(PlaygroundStress { seq, count, rotate }))
    }

    /// Movement: requests a spawn, at a position if both coordinates are given.
    #[wasm_bindgen(js_name = requestSpawn)]
    pub fn request_spawn(&mut self, x: Option<f32>, y: Option<f32>) -> u32 {
        let position = x.zip(y).map(|(x, y)| Vector2 { x, y });
        self.command(|seq| ClientMessage::SpawnRequest(SpawnRequest { seq, position }))
    }

    /// Movement: proposes to move the own entity by a distance. Returns the number of the movement, or 0.
    #[wasm_bindgen(js_name = moveBy)]
    pub fn move_by(&mut self, dx: f32, dy: f32, now_ms: f64) -> u32 {
        self.core.client.move_by([dx, dy], time(now_ms)).map_or(0, |seq| seq.0)
    }

    /// Requests the manifest.
    #[wasm_bindgen(js_name = requestManifest)]
    pub fn request_manifest(&mut self) -> u32 {
        self.command(|_| ClientMessage::ManifestRequest)
    }

    /// Leaves the room and closes the client.
    pub fn leave(&mut self) {
        self.core.client.leave();
    }

    /// Entities of a channel to draw: for each its id, a bit mask of the channel's components that it has, and their
    /// rows. Channels are numbered in the order of their first component in the schema.
    #[must_use]
    pub fn draw(&self, channel: usize) -> Vec<f64> {
        let mut out = Vec::new();
        self.core.draw(channel, &mut out);
        out
    }

    /// One entity of a channel, in the form of `draw`. Empty if it is not visible.
    #[wasm_bindgen(js_name = drawOne)]
    #[must_use]
    pub fn draw_one(&self, channel: usize, entity: f64) -> Vec<f64> {
        let mut out = Vec::new();
        if let Some(entity) = entity_of(entity) {
            self.core.draw_one(channel, entity, &mut out);
        }
        out
    }

    /// Statistics in this order: round trip (NaN before the first), jitter and interpolation delay in milliseconds,
    /// newest input, newest acknowledged input, faults, corrections, size of the last and of the largest correction,
    /// displayed error, unacknowledged inputs, packets, late packets, missing packets, lead in ticks, clock offset in
    /// milliseconds, loss, packets that waited for events.
    #[must_use]
    pub fn statistics(&self) -> Vec<f64> {
        let client = &self.core.client;
        let stats = client.stats();
        let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
        vec![
            stats.round_trip.map_or(f64::NAN, ms),
            ms(stats.jitter),
            ms(stats.delay),
            f64::from(client.last_input().0),
            client.mirror().map_or(0.0, |mirror| f64::from(mirror.input_ack().0)),
            stats.faults as f64,
            stats.corrections as f64,
            f64::from(stats.correction_size),
            f64::from(stats.correction_size_max),
            f64::from(stats.displayed_error),
            stats.inputs_unacknowledged as f64,
            stats.packets as f64,
            stats.packets_late as f64,
            f64::from(stats.packets_missing),
            stats.lead_ticks,
            stats.clock_offset_seconds.map_or(f64::NAN, |seconds| seconds * 1e3),
            f64::from(stats.loss),
            stats.packets_held as f64,
        ]
    }

    fn command(&mut self, command: impl FnOnce(CommandSeq) -> ClientMessage) -> u32 {
        self.core.client.send_command(command).map_or(0, |seq| seq.0)
    }
}

/// Rules to pass to a core.
#[wasm_bindgen]
pub struct ScriptRules {
    script: Script,
}

#[wasm_bindgen]
impl ScriptRules {
    /// Creates rules that predict a channel by a function: `(pointer, stateLength, inputLength, seconds) =>
    /// newStateLength`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(channel: String, ignored: Vec<String>, step: Function) -> ScriptRules {
        ScriptRules { script: Script { channel, ignored, step, memory: RefCell::new(Vec::new()) } }
    }
}

/// Converts an entity id to a number.
fn number(entity: EntityId) -> f64 {
    entity.to_bits() as f64
}

fn entity_of(number: f64) -> Option<EntityId> {
    EntityId::from_bits(number as u64)
}

/// Converts milliseconds of the script's clock. Invalid numbers become zero.
fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::ZERO)
}
