//! The depot with a schema that is built at run time, as a script would do it.

use super::{CHARGE_FULL, EDGE, POINTS_MAX, READINGS_MAX, SCORES_MAX, SPEED, arm_at, gaze_at, moved};
use aether_bits::runtime::{
    ComponentHandle, EventHandle, FieldBuilder, FieldHandle, Record, RecordBuilder, RuntimeSchema, SchemaBuilder,
    SchemaError, ValueError,
};
use aether_bits::{BitReader, BitWriter, ReadError, SchemaValue, StateHasher};
use aether_engine::{Answer, Context, JoinRequest, Rejection, Request, RuntimeGame};
use aether_wire::{CloseReason, EntityId, ErrorCode, PlayerId, RequestId};
use aether_world::{Visibility, World};

const MODES: [&str; 3] = ["Idle", "Lifting", "Broken"];
const IDLE: u32 = 0;
const LIFTING: u32 = 1;
const BROKEN: u32 = 2;

/// The game.
pub struct RuntimeDepot {
    schema: RuntimeSchema,
    handles: Handles,
    crane: EntityId,
    board: EntityId,
    horns: u64,
    asked: Option<RequestId>,
}

/// Handles of everything that has a name, looked up once.
#[derive(Clone, Copy)]
struct Handles {
    cart: ComponentHandle,
    crane: ComponentHandle,
    board: ComponentHandle,
    chat: EventHandle,
    lift: EventHandle,
    scored: EventHandle,
    position: FieldHandle,
    velocity: FieldHandle,
    heading: FieldHandle,
    load: FieldHandle,
    charge: FieldHandle,
    x: FieldHandle,
    arm: FieldHandle,
    gaze: FieldHandle,
    mode: FieldHandle,
    hook: FieldHandle,
    title: FieldHandle,
    scores: FieldHandle,
    readings: FieldHandle,
    round: FieldHandle,
    degrees: FieldHandle,
    push: FieldHandle,
    horn: FieldHandle,
    text: FieldHandle,
    lift_mode: FieldHandle,
    lift_by: FieldHandle,
    score: FieldHandle,
}

fn cart() -> RecordBuilder {
    RecordBuilder::new("Cart")
        .channel("movement")
        .position("position")
        .field("position", FieldBuilder::numbers(2, -500.0..=500.0, 0.01).moves_by("velocity"))
        .field("velocity", FieldBuilder::numbers(2, -40.0..=40.0, 0.01))
        .field("heading", FieldBuilder::angle(8))
        .field("load", FieldBuilder::number(0.0..=100.0, 0.5).initial(10.0))
        .private("charge", 0.0)
}

fn crane() -> RecordBuilder {
    let hook = RecordBuilder::new("Hook")
        .field("depth", FieldBuilder::whole(0..=20).initial(3))
        .field("open", FieldBuilder::flag());
    RecordBuilder::new("Crane")
        .channel("crane")
        .position_fields("x", "y")
        .field("x", FieldBuilder::number(-500.0..=500.0, 0.25))
        .field("y", FieldBuilder::number(-500.0..=500.0, 0.25))
        .field("arm", FieldBuilder::rotation(9))
        .field("gaze", FieldBuilder::unit_vector(10))
        .field("mode", FieldBuilder::choice(MODES))
        .field("hook", FieldBuilder::record(hook))
}

fn score() -> RecordBuilder {
    RecordBuilder::new("Score")
        .field("player", FieldBuilder::whole(0..=i64::from(u32::MAX)))
        .field("points", FieldBuilder::whole(0..=1000))
}

fn board() -> RecordBuilder {
    RecordBuilder::new("Board")
        .channel("board")
        .field("title", FieldBuilder::text(16))
        .field("scores", FieldBuilder::list(4, FieldBuilder::record(score())))
        .field("readings", FieldBuilder::list(6, FieldBuilder::number(0.0..=100.0, 0.5)))
        .field("round", FieldBuilder::whole(0..=65_535))
        .field("degrees", FieldBuilder::whole(-40..=60).initial(-5))
}

/// The schema, with the handles of what it declares.
struct Declared {
    schema: RuntimeSchema,
    components: [ComponentHandle; 3],
    events: [EventHandle; 3],
}

fn declare() -> Result<Declared, SchemaError> {
    let mut schema = SchemaBuilder::default();
    let components = [schema.component(cart())?, schema.component(crane())?, schema.component(board())?];
    let drive = RecordBuilder::new("Drive")
        .field("push", FieldBuilder::numbers(2, -1.0..=1.0, 0.01))
        .field("horn", FieldBuilder::flag());
    schema.input(drive)?;
    let chat = RecordBuilder::new("Chat").channel("chat").field("text", FieldBuilder::text(32));
    let lift = RecordBuilder::new("Lift")
        .channel("crane")
        .field("mode", FieldBuilder::choice(MODES))
        .field("by", FieldBuilder::whole(-5..=5));
    let scored = RecordBuilder::new("Scored").channel("board").field("score", FieldBuilder::record(score()));
    let events = [schema.event(chat)?, schema.event(lift)?, schema.event(scored)?];
    Ok(Declared { schema: schema.build(), components, events })
}

impl Handles {
    fn resolve(
        schema: &RuntimeSchema,
        [cart, crane, board]: [ComponentHandle; 3],
        [chat, lift, scored]: [EventHandle; 3],
    ) -> Result<Handles, ValueError> {
        let component = |handle, name: &str| schema.component(handle).expect("it is of this schema").field(name);
        let event = |handle, name: &str| schema.event(handle).expect("it is of this schema").field(name);
        let input = |name: &str| schema.input().expect("it is of this schema").field(name);
        Ok(Handles {
            position: component(cart, "position")?,
            velocity: component(cart, "velocity")?,
            heading: component(cart, "heading")?,
            load: component(cart, "load")?,
            charge: component(cart, "charge")?,
            x: component(crane, "x")?,
            arm: component(crane, "arm")?,
            gaze: component(crane, "gaze")?,
            mode: component(crane, "mode")?,
            hook: component(crane, "hook")?,
            title: component(board, "title")?,
            scores: component(board, "scores")?,
            readings: component(board, "readings")?,
            round: component(board, "round")?,
            degrees: component(board, "degrees")?,
            push: input("push")?,
            horn: input("horn")?,
            text: event(chat, "text")?,
            lift_mode: event(lift, "mode")?,
            lift_by: event(lift, "by")?,
            score: event(scored, "score")?,
            cart,
            crane,
            board,
            chat,
            lift,
            scored,
        })
    }
}

impl Default for RuntimeDepot {
    fn default() -> Self {
        let Declared { schema, components, events } = declare().expect("every declaration is within the limits");
        let handles = Handles::resolve(&schema, components, events).expect("every field was just declared");
        let nowhere = EntityId::default();
        RuntimeDepot { schema, handles, crane: nowhere, board: nowhere, horns: 0, asked: None }
    }
}

impl RuntimeDepot {
    /// Returns the game as rooms and servers accept it.
    #[must_use]
    pub fn boxed() -> Box<dyn RuntimeGame> {
        Box::new(RuntimeDepot::default())
    }

    fn fresh(&self, component: ComponentHandle) -> Record {
        self.schema.component(component).map(|known| known.initial()).unwrap_or_default()
    }

    /// Returns an initial record with one field set.
    fn fresh_with(
        &self,
        component: ComponentHandle,
        set: impl FnOnce(&mut aether_bits::runtime::RecordMut<'_>) -> Result<(), ValueError>,
    ) -> Record {
        let known = self.schema.component(component).expect("it is of this schema");
        let mut record = known.initial();
        set(&mut known.edit(&mut record)).expect("the value fits");
        record
    }

    fn begin(&mut self, room: &mut Context<'_>, board: Record, crane: Record) -> Option<()> {
        let h = self.handles;
        self.board = room.world.spawn_record(h.board, board).ok()?;
        self.crane = room.world.spawn_record(h.crane, crane).ok()?;
        let hidden = self.fresh_with(h.board, |board| board.set_text(h.title, "hidden"));
        let hidden = room.world.spawn_record(h.board, hidden).ok()?;
        room.world.set_visibility(hidden, Visibility::Game);
        Some(())
    }

    fn say(&self, room: &mut Context<'_>, text: &str) {
        let chat = self.schema.event(self.handles.chat).expect("it is of this schema");
        let mut record = chat.initial();
        chat.edit(&mut record).set_text(self.handles.text, text).expect("it is short");
        room.broadcast_record(self.handles.chat, &record).expect("the event is a chat");
    }

    fn chat(&mut self, room: &mut Context<'_>, chat: &Record) -> Result<(), Rejection> {
        match chat.text(self.handles.text).unwrap_or_default().split_once(' ') {
            Some(("ask", key)) => {
                let (owner, collection) = (String::new(), "depot".to_owned());
                self.asked = Some(room.request(Request::Read { owner, collection, key: key.to_owned() }));
            }
            Some(("save", title)) => room.commit(title.as_bytes().to_vec())?,
            Some(("refuse", why)) => return Err(Rejection::new(ErrorCode::BadValue, why)),
            _ => room.broadcast_record(self.handles.chat, chat).expect("the event is a chat"),
        }
        Ok(())
    }

    fn lift(&mut self, room: &mut Context<'_>, lift: &Record) -> Result<(), Rejection> {
        let h = self.handles;
        let Some(mut crane) = room.world.record_mut(self.crane, h.crane) else {
            return Err(Rejection::new(ErrorCode::NotFound, "there is no crane"));
        };
        let mode = lift.choice(h.lift_mode).unwrap_or(IDLE);
        if crane.choice(h.mode) == Some(BROKEN) && mode != IDLE {
            return Err(Rejection::new(ErrorCode::Refused, "the crane is broken"));
        }
        let Some([SchemaValue::Whole(depth), SchemaValue::Flag(open)]) = crane.list(h.hook) else {
            return Err(Rejection::new(ErrorCode::Internal, "the crane has no hook"));
        };
        let depth = (depth + lift.whole(h.lift_by).unwrap_or(0)).clamp(0, 20);
        let hook = SchemaValue::List(vec![SchemaValue::Whole(depth), SchemaValue::Flag(!open)]);
        let changed = crane.set_choice(h.mode, mode).and_then(|()| crane.set_value(h.hook, hook));
        changed.map_err(|error| Rejection::new(ErrorCode::Internal, error.to_string()))
    }

    fn score(&mut self, room: &mut Context<'_>, player: PlayerId, load: f32) -> Option<()> {
        let h = self.handles;
        let mut board = room.world.record_mut(self.board, h.board)?;
        let own = SchemaValue::Whole(i64::from(player.0));
        let is_own = |score: &SchemaValue| matches!(score, SchemaValue::List(fields) if fields.first() == Some(&own));
        let mut scores = board.list(h.scores)?.to_vec();
        let points = scores.iter().find(|score| is_own(score)).and_then(|score| match score {
            SchemaValue::List(fields) => {
                if let Some(SchemaValue::Whole(points)) = fields.get(1) {
                    Some(*points)
                } else {
                    None
                }
            }
            _ => None,
        });
        let points = (points.unwrap_or(0) + 7).min(POINTS_MAX);
        scores.retain(|score| !is_own(score));
        scores.truncate(SCORES_MAX - 1);
        let score = SchemaValue::List(vec![own.clone(), SchemaValue::Whole(points)]);
        scores.insert(0, score.clone());
        let mut readings = board.list(h.readings)?.to_vec();
        readings.truncate(READINGS_MAX - 1);
        readings.insert(0, SchemaValue::Numbers(vec![load]));
        board.set_value(h.scores, SchemaValue::List(scores)).ok()?;
        board.set_value(h.readings, SchemaValue::List(readings)).ok()?;
        let scored = self.schema.event(h.scored)?;
        let mut event = scored.initial();
        scored.edit(&mut event).set_value(h.score, score).ok()?;
        room.send_record(&[player], h.scored, &event).ok()
    }

    fn move_carts(&self, room: &mut Context<'_>) {
        let h = self.handles;
        let seconds = room.seconds_per_tick();
        let random = &mut *room.random;
        room.world.each_record_mut(h.cart, |_, mut cart| {
            let number = |field| cart.number(field).unwrap_or_default() as f32;
            let (heading, load, charge) = (number(h.heading), number(h.load), number(h.charge));
            let position = cart.vector(h.position).unwrap_or_default();
            let velocity: [f32; 2] = cart.vector(h.velocity).unwrap_or_default();
            let load = (load + random.between(-1.0, 1.0)).clamp(0.0, 100.0);
            let charge = charge + (velocity[0].abs() + velocity[1].abs()) * seconds;
            let set = cart.set_numbers(h.position, &moved(position, velocity, seconds));
            let set = set.and_then(|()| cart.set_numbers(h.heading, &[heading + 0.05]));
            let set = set.and_then(|()| cart.set_numbers(h.load, &[load]));
            set.and_then(|()| cart.set_number(h.charge, f64::from(charge))).expect("all of it is in range");
        });
    }
}

impl RuntimeGame for RuntimeDepot {
    fn schema(&self) -> &RuntimeSchema {
        &self.schema
    }

    fn init(&mut self, room: &mut Context<'_>) {
        let h = self.handles;
        let crane = self.fresh_with(h.crane, |crane| crane.set_number(h.x, 20.0));
        let started = self.begin(room, self.fresh(h.board), crane);
        started.expect("an empty room has a place for it");
        room.set_label("round 0");
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        match (request.name.as_str(), request.metadata.get("guild")) {
            ("stranger", _) => Err(Rejection::new(ErrorCode::JoinRefused, "the depot is closed to strangers")),
            (_, Some(guild @ "rivals")) => {
                Err(Rejection::new(ErrorCode::JoinRefused, format!("the depot is closed to {guild}")))
            }
            _ => Ok(()),
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let h = self.handles;
        let position = [room.random.between(-90.0, 90.0), room.random.between(-90.0, 90.0)];
        let cart = self.fresh_with(h.cart, |cart| cart.set_numbers(h.position, &position));
        if let Ok(cart) = room.world.spawn_record(h.cart, cart) {
            room.possess(player, cart);
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        self.say(room, &format!("{} left", player.0));
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, drive: &Record) {
        let h = self.handles;
        let push: [f32; 2] = drive.vector(h.push).unwrap_or_default();
        let cart = room.possession(player).and_then(|cart| room.world.record_mut(cart, h.cart));
        if let Some(mut cart) = cart {
            cart.set_numbers(h.velocity, &push.map(|push| push * SPEED)).expect("the value is in range");
        }
        if drive.flag(h.horn) == Some(true) {
            self.horns += 1;
            self.say(room, &format!("{} honks", player.0));
        }
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        _player: PlayerId,
        message: EventHandle,
        record: &Record,
    ) -> Result<(), Rejection> {
        if message == self.handles.chat {
            self.chat(room, record)
        } else if message == self.handles.lift {
            self.lift(room, record)
        } else {
            Err(Rejection::new(ErrorCode::Forbidden, "only the depot gives scores"))
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let h = self.handles;
        self.move_carts(room);
        let tick = room.tick().0;
        for player in room.players().collect::<Vec<_>>() {
            let Some(entity) = room.possession(player) else { continue };
            let Some(mut cart) = room.world.record_mut(entity, h.cart) else { continue };
            if cart.number(h.charge).unwrap_or_default() as f32 <= CHARGE_FULL {
                continue;
            }
            cart.set_number(h.charge, 0.0).expect("it is a number");
            let load = cart.number(h.load).unwrap_or_default() as f32;
            self.score(room, player, load).expect("the board is there");
            if room.world.record(entity, h.board).is_some() {
                room.world.remove_record(entity, h.board);
            } else {
                let board = self.fresh_with(h.board, |board| board.set_whole(h.round, i64::from(tick as u16)));
                let _ = room.world.insert_record(entity, h.board, board);
            }
        }
        if let Some(mut crane) = room.world.record_mut(self.crane, h.crane)
            && crane.choice(h.mode) == Some(LIFTING)
        {
            let x = (crane.number(h.x).unwrap_or_default() as f32 + 0.6).min(EDGE);
            let set = crane.set_numbers(h.x, &[x]).and_then(|()| crane.set_numbers(h.arm, &arm_at(tick)));
            set.and_then(|()| crane.set_numbers(h.gaze, &gaze_at(tick))).expect("all of it is in range");
        }
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        let board = room.world.record_mut(self.board, self.handles.board);
        if let (Some(mut board), Answer::Value(Some(value)), true) = (board, answer, self.asked == Some(id)) {
            let degrees = i64::from(value.len() as i8).clamp(-40, 60);
            board.set_whole(self.handles.degrees, degrees).expect("the value is in range");
        }
    }

    fn committed(&mut self, room: &mut Context<'_>, entry: &[u8]) {
        let board = room.world.record_mut(self.board, self.handles.board);
        if let (Some(mut board), Ok(title)) = (board, std::str::from_utf8(entry)) {
            board.set_text(self.handles.title, &title[..title.floor_char_boundary(16)]).expect("it is short enough");
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        let h = self.handles;
        let Some(mut board) = room.world.record_mut(self.board, h.board) else { return Vec::new() };
        let round = (board.whole(h.round).unwrap_or(0) as u16).wrapping_add(data.len() as u16);
        board.set_whole(h.round, i64::from(round)).expect("the value is in range");
        let label = format!("round {round}");
        room.set_label(label.clone());
        label.into_bytes()
    }

    fn can_see(&self, _world: &World, viewer: PlayerId, _entity: EntityId) -> bool {
        viewer.0.is_multiple_of(2)
    }

    fn terminate(&mut self, room: &mut Context<'_>) {
        self.say(room, "closed");
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        let h = self.handles;
        let mut writer = BitWriter::new();
        writer.write(self.horns, 64);
        self.schema.component(h.board)?.write_full(world.record(self.board, h.board)?, &mut writer);
        self.schema.component(h.crane)?.write_full(world.record(self.crane, h.crane)?, &mut writer);
        Some(writer.to_bytes())
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        let h = self.handles;
        let damaged = |_: ReadError| Rejection::new(ErrorCode::Internal, "the checkpoint is damaged");
        let mut reader = BitReader::new(checkpoint);
        self.horns = reader.read(64).map_err(damaged)?;
        let mut read = |component| self.schema.component(component).expect("it is declared").read_full(&mut reader);
        let board = read(h.board).map_err(damaged)?;
        let crane = read(h.crane).map_err(damaged)?;
        room.set_label(format!("round {}", board.whole(h.round).unwrap_or_default()));
        self.begin(room, board, crane).ok_or_else(|| Rejection::new(ErrorCode::Internal, "the room is too small"))
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(self.horns);
    }
}
