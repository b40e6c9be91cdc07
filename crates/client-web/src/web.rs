//! What scripts call. Names are in the manner of scripts; the SDK for TypeScript stands around it.

use crate::{PredictionRules, VisibleRows, description};
use aether_client::{ClientPhase, JoinOptions};
use aether_replication::DeliveryOrder;
use aether_wire::{
    ClientMessage, CommandSeq, EntityId, GameBody, GameMessage, InputSeq, MovementDelta, PlaygroundClear,
    PlaygroundSpawn, PlaygroundStress, RoomId, RoomSelector, SpawnRequest, Token, Vector2,
};
use js_sys::{Array, Function};
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::{JsValue, wasm_bindgen};

mod events;

/// Numbers that a state may become longer by in one step, beside what it has already. The SDK has the same.
const MARGIN: usize = 64;

/// Rules that are a function of the script: `(pointer, stateLength, inputLength, seconds) => newStateLength`. At the pointer,
/// in the module's memory, lie the numbers of the state and after them those of the input; the function leaves the new state
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
        // The new state may be longer than the old one, where it has texts or lists.
        let len = (state.len() + input.len()) * 2 + MARGIN;
        memory.resize(len, 0.0);
        let arguments = Array::of4(
            &JsValue::from_f64(memory.as_ptr() as usize as f64),
            &JsValue::from_f64(state.len() as f64),
            &JsValue::from_f64(input.len() as f64),
            &JsValue::from_f64(f64::from(seconds)),
        );
        let stepped = self.step.apply(&JsValue::NULL, &arguments).ok().and_then(|len| len.as_f64());
        if let Some(row) = stepped.and_then(|len| memory.get(..len as usize)) {
            state.clear();
            state.extend_from_slice(row);
        }
    }
}

/// What stands around the own entity. Rules may look at it while they step.
#[wasm_bindgen]
pub struct Surroundings {
    view: Rc<RefCell<VisibleRows>>,
}

#[wasm_bindgen]
impl Surroundings {
    /// How often something of a component entered, left or changed.
    #[must_use]
    pub fn version(&self, component: usize) -> u32 {
        self.view.borrow().version(component)
    }

    /// The newest rows of some components, in the form of `draw`.
    #[must_use]
    pub fn draw(&self, components: &[usize]) -> Vec<f64> {
        let mut out = Vec::new();
        self.view.borrow().draw(components, &mut out);
        out
    }
}

/// The core.
#[wasm_bindgen]
pub struct Core {
    core: crate::ClientCore<Script>,
    frame: Vec<u8>,
}

#[wasm_bindgen]
impl Core {
    /// A core for a room: by `kind` "id", "code", "type", or "" for the only type of the server.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(kind: &str, name: String, label: Option<String>, seed: f64, rules: Option<ScriptRules>) -> Core {
        let room = match kind {
            "id" => Some(RoomSelector::Id(RoomId(name))),
            "code" => Some(RoomSelector::Code(name)),
            "type" => Some(RoomSelector::Type { name, label }),
            _ => None,
        };
        let rules = rules.map(|rules| rules.script);
        Core {
            core: crate::ClientCore::new(rules, JoinOptions { token: None, room }, seed.to_bits()),
            frame: Vec::new(),
        }
    }

    /// What stands around the own entity.
    #[must_use]
    pub fn surroundings(&self) -> Surroundings {
        Surroundings { view: Rc::clone(self.core.client.game().view()) }
    }

    /// "connecting", "joined", "resuming" or "ended", by number.
    #[must_use]
    pub fn phase(&self) -> u8 {
        match self.core.client.phase() {
            ClientPhase::Connecting => 0,
            ClientPhase::Joined => 1,
            ClientPhase::Resuming => 2,
            ClientPhase::Closed(_) => 3,
        }
    }

    /// When to open a connection.
    #[wasm_bindgen(js_name = retryAtMs)]
    #[must_use]
    pub fn retry_at_ms(&self) -> Option<f64> {
        self.core.client.retry_at().map(|at| at.as_secs_f64() * 1e3)
    }

    /// The entity that the player steers.
    #[wasm_bindgen(js_name = ownEntity)]
    #[must_use]
    pub fn own_entity(&self) -> Option<f64> {
        self.core.client.own_entity().map(number)
    }

    /// The newest tick whose state has arrived.
    #[must_use]
    pub fn tick(&self) -> u32 {
        self.core.client.mirror().map_or(0, |mirror| mirror.tick().0)
    }

    /// There is a connection.
    pub fn connected(&mut self, is_ordered: bool, now_ms: f64) {
        let link = if is_ordered { DeliveryOrder::Ordered } else { DeliveryOrder::Unordered };
        self.core.client.connected(link, time(now_ms));
    }

    /// The connection is gone.
    pub fn disconnected(&mut self, now_ms: f64) {
        self.core.client.disconnected(time(now_ms));
    }

    /// Takes in a message; true if the schema is another one now.
    pub fn receive(&mut self, bytes: &[u8], now_ms: f64) -> bool {
        self.core.receive(bytes, time(now_ms))
    }

    /// Goes on to now. Returns what is to be sent, message by message: a byte (1 reliable, 2 a part of a longer one, 4 a
    /// hello), the length in four bytes, the message.
    pub fn advance(&mut self, now_ms: f64) -> Vec<u8> {
        let mut out = Vec::new();
        for outgoing in self.core.client.advance(time(now_ms)) {
            self.frame.clear();
            // What could not be written was refused when it was said.
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

    /// What happened since the last time.
    #[wasm_bindgen(js_name = takeEvents)]
    #[must_use]
    pub fn take_events(&mut self) -> Array {
        let events = Array::new();
        while let Some(event) = self.core.next_event() {
            events.push(&events::of(&event, self.core.client.game()));
        }
        while let Some(seen) = self.core.client.game_mut().next_seen() {
            events.push(&events::of_seen(&seen));
        }
        events
    }

    /// The schema as JSON; empty before it is known.
    #[must_use]
    pub fn schema(&self) -> String {
        self.core.client.game().schema().map(description).unwrap_or_default().0
    }

    /// What the fields of the schema hold unless it is said, in the order in which the JSON names them.
    #[must_use]
    pub fn initials(&self) -> Vec<f64> {
        self.core.client.game().schema().map(description).unwrap_or_default().1
    }

    /// The access token of the next hello.
    #[wasm_bindgen(js_name = setToken)]
    pub fn set_token(&mut self, token: Option<String>) {
        self.core.client.set_token(token.map(Token::new));
    }

    /// What the player does from now on, as a row.
    #[wasm_bindgen(js_name = setInput)]
    pub fn set_input(&mut self, row: &[f64]) -> bool {
        self.core.set_input(row)
    }

    /// What to show: prediction, its correction, and others between two states.
    pub fn set(&mut self, prediction: bool, reconciliation: bool, interpolation: bool) {
        let settings = self.core.client.settings_mut();
        (settings.prediction, settings.reconciliation) = (prediction, reconciliation);
        settings.interpolation = interpolation;
    }

    /// Says something of the game's own, as a row; its number, or 0.
    pub fn say(&mut self, code: u16, row: &[f64]) -> u32 {
        self.core.send_message(code, row).map_or(0, |seq| seq.0)
    }

    /// Says bytes by a code; the number of the message, or 0.
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

    /// Movement: asks to enter the world, at a place if both numbers are given.
    #[wasm_bindgen(js_name = requestSpawn)]
    pub fn request_spawn(&mut self, x: Option<f32>, y: Option<f32>) -> u32 {
        let position = x.zip(y).map(|(x, y)| Vector2 { x, y });
        self.command(|seq| ClientMessage::SpawnRequest(SpawnRequest { seq, position }))
    }

    /// Movement: a wish to move an entity.
    #[wasm_bindgen(js_name = moveBy)]
    pub fn move_by(&mut self, entity: f64, dx: f32, dy: f32) -> u32 {
        let Some(entity) = entity_of(entity) else { return 0 };
        self.command(|seq| {
            let client_time = Default::default();
            ClientMessage::MovementDelta(MovementDelta { entity, seq: InputSeq(seq.0), dx, dy, client_time })
        })
    }

    /// Asks for the manifest.
    #[wasm_bindgen(js_name = requestManifest)]
    pub fn request_manifest(&mut self) -> u32 {
        self.command(|_| ClientMessage::ManifestRequest)
    }

    /// Leaves for good.
    pub fn leave(&mut self) {
        self.core.client.leave();
    }

    /// The entities of a channel as they are to be drawn: for each its id, which of the channel's components it has as bits,
    /// and their rows. Channels are numbered as the schema names them first.
    #[must_use]
    pub fn draw(&self, channel: usize) -> Vec<f64> {
        let mut out = Vec::new();
        self.core.draw(channel, &mut out);
        out
    }

    /// One entity of a channel, or nothing.
    #[wasm_bindgen(js_name = drawOne)]
    #[must_use]
    pub fn draw_one(&self, channel: usize, entity: f64) -> Vec<f64> {
        let mut out = Vec::new();
        if let Some(entity) = entity_of(entity) {
            self.core.draw_one(channel, entity, &mut out);
        }
        out
    }

    /// Round trip (not a number before the first), jitter and delay in milliseconds, newest input, newest input that the
    /// server has, faults, corrections, the size of the last and of the largest, how far the own entity is shown from where
    /// it is, inputs that are not acknowledged, packets, late ones, missing ones, ticks ahead.
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
        ]
    }

    fn command(&mut self, command: impl FnOnce(CommandSeq) -> ClientMessage) -> u32 {
        self.core.client.send_command(command).map_or(0, |seq| seq.0)
    }
}

/// Rules on their way into a core.
#[wasm_bindgen]
pub struct ScriptRules {
    script: Script,
}

#[wasm_bindgen]
impl ScriptRules {
    /// Rules that predict a channel by a function: `(pointer, stateLength, inputLength, seconds) => newStateLength`.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new(channel: String, ignored: Vec<String>, step: Function) -> ScriptRules {
        ScriptRules { script: Script { channel, ignored, step, memory: RefCell::new(Vec::new()) } }
    }
}

/// An entity's id as a script has it.
fn number(entity: EntityId) -> f64 {
    entity.to_bits() as f64
}

fn entity_of(number: f64) -> Option<EntityId> {
    EntityId::from_bits(number as u64)
}

/// Milliseconds of the script's clock as a time; what is none is the beginning.
fn time(ms: f64) -> Duration {
    Duration::try_from_secs_f64(ms / 1e3).unwrap_or(Duration::ZERO)
}
