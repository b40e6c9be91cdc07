//! The depot with derived types.

use super::{CHARGE_FULL, EDGE, POINTS_MAX, READINGS_MAX, SCORES_MAX, SPEED, arm_at, gaze_at, moved};
use aether_bits::{BitReader, BitWriter, ReadError, Replicate, StateHasher};
use aether_engine::{Answer, Context, Game, GameSchemaBuilder, JoinRequest, PlayerMessage, Rejection, Request};
use aether_wire::{CloseReason, EntityId, ErrorCode, PlayerId, RequestId};
use aether_world::{Visibility, World};

/// A cart that a player drives.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Cart {
    /// Position.
    #[replicate(range = -500.0..=500.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    /// Velocity, in units per second.
    #[replicate(range = -40.0..=40.0, step = 0.01)]
    pub velocity: [f32; 2],
    /// Direction, in radians.
    #[replicate(angle = 8)]
    pub heading: f32,
    /// Load.
    #[replicate(range = 0.0..=100.0, step = 0.5, default = 10.0)]
    pub load: f32,
    /// Charge gained by driving. Not replicated.
    #[replicate(skip)]
    pub charge: f32,
}

/// Activity of the crane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Replicate)]
pub enum Mode {
    /// Idle.
    Idle,
    /// Lifting.
    Lifting,
    /// Broken.
    Broken,
}

/// The end of the crane's rope.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Hook {
    /// Length of the rope.
    #[replicate(range = 0..=20, default = 3)]
    pub depth: i32,
    /// True if it is open.
    pub open: bool,
}

/// The crane.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "crane", position(x, y))]
pub struct Crane {
    /// Horizontal position.
    #[replicate(range = -500.0..=500.0, step = 0.25)]
    pub x: f32,
    /// Vertical position.
    #[replicate(range = -500.0..=500.0, step = 0.25)]
    pub y: f32,
    /// Rotation of the arm.
    #[replicate(rotation = 9)]
    pub arm: [f32; 4],
    /// Direction of the gaze.
    #[replicate(unit_vector = 10)]
    pub gaze: [f32; 3],
    /// Activity.
    pub mode: Mode,
    /// End of the rope.
    pub hook: Hook,
}

/// A line of the board.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Score {
    /// The player.
    pub player: u32,
    /// The points.
    #[replicate(range = 0..=1000)]
    pub points: u16,
}

/// A board that everyone sees.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "board")]
pub struct Board {
    /// The heading.
    #[replicate(text = 16)]
    pub title: String,
    /// The last scores.
    #[replicate(list = 4)]
    pub scores: Vec<Score>,
    /// The last loads.
    #[replicate(list = 6, range = 0.0..=100.0, step = 0.5)]
    pub readings: Vec<f32>,
    /// Counts up.
    pub round: u16,
    /// The temperature, which falls below zero.
    #[replicate(range = -40..=60, default = -5)]
    pub degrees: i8,
}

/// Input of a player for a tick.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Drive {
    /// Along both axes.
    #[replicate(range = -1.0..=1.0, step = 0.01)]
    pub push: [f32; 2],
    /// True to sound the horn.
    pub horn: bool,
}

/// Chat text, in both directions.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "chat")]
pub struct Chat {
    /// Text.
    #[replicate(text = 32)]
    pub text: String,
}

/// An order to the crane.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "crane")]
pub struct Lift {
    /// The activity to begin.
    pub mode: Mode,
    /// The change of the rope's length.
    #[replicate(range = -5..=5)]
    pub by: i32,
}

/// Event: a player scored. Sent only to that player.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "board")]
pub struct Scored {
    /// The line of the board.
    pub score: Score,
}

/// The game.
#[derive(Default)]
pub struct Depot {
    crane: EntityId,
    board: EntityId,
    horns: u64,
    asked: Option<RequestId>,
}

impl Depot {
    fn begin(&mut self, room: &mut Context<'_>, board: Board, crane: Crane) -> Option<()> {
        self.board = room.world.spawn(board).ok()?;
        self.crane = room.world.spawn(crane).ok()?;
        let hidden = room.world.spawn(Board { title: "hidden".to_owned(), ..Board::initial() }).ok()?;
        room.world.set_visibility(hidden, Visibility::Game);
        Some(())
    }

    fn chat(&mut self, room: &mut Context<'_>, chat: &Chat) -> Result<(), Rejection> {
        match chat.text.split_once(' ') {
            Some(("ask", key)) => {
                let (owner, collection) = (String::new(), "depot".to_owned());
                self.asked = Some(room.request(Request::Read { owner, collection, key: key.to_owned() }));
            }
            Some(("save", title)) => room.commit(title.as_bytes().to_vec())?,
            Some(("refuse", why)) => return Err(Rejection::new(ErrorCode::BadValue, why)),
            _ => room.broadcast(chat),
        }
        Ok(())
    }

    fn lift(&mut self, room: &mut Context<'_>, lift: &Lift) -> Result<(), Rejection> {
        let Some(crane) = room.world.get_mut::<Crane>(self.crane) else {
            return Err(Rejection::new(ErrorCode::NotFound, "there is no crane"));
        };
        if crane.mode == Mode::Broken && lift.mode != Mode::Idle {
            return Err(Rejection::new(ErrorCode::Refused, "the crane is broken"));
        }
        crane.mode = lift.mode;
        crane.hook.depth = (crane.hook.depth + lift.by).clamp(0, 20);
        crane.hook.open = !crane.hook.open;
        Ok(())
    }

    fn score(&mut self, room: &mut Context<'_>, player: PlayerId, load: f32) {
        let Some(board) = room.world.get_mut::<Board>(self.board) else { return };
        let points = board.scores.iter().find(|score| score.player == player.0).map_or(0, |score| score.points);
        let points = (i64::from(points) + 7).min(POINTS_MAX) as u16;
        board.scores.retain(|score| score.player != player.0);
        board.scores.truncate(SCORES_MAX - 1);
        let score = Score { player: player.0, points };
        board.scores.insert(0, score.clone());
        board.readings.truncate(READINGS_MAX - 1);
        board.readings.insert(0, load);
        room.send(player, &Scored { score });
    }
}

impl Game for Depot {
    type Input = Drive;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        let components = schema.component::<Cart>().component::<Crane>().component::<Board>();
        components.event::<Chat>().event::<Lift>().event::<Scored>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        let started = self.begin(room, Board::initial(), Crane { x: 20.0, ..Crane::initial() });
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
        let position = [room.random.between(-90.0, 90.0), room.random.between(-90.0, 90.0)];
        if let Ok(cart) = room.world.spawn(Cart { position, ..Cart::initial() }) {
            room.possess(player, cart);
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        room.broadcast(&Chat { text: format!("{} left", player.0) });
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, drive: &Drive) {
        let cart = room.possession(player).and_then(|cart| room.world.get_mut::<Cart>(cart));
        if let Some(cart) = cart {
            cart.velocity = drive.push.map(|push| push * SPEED);
        }
        if drive.horn {
            self.horns += 1;
            room.broadcast(&Chat { text: format!("{} honks", player.0) });
        }
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        _player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        if let Some(chat) = message.read::<Chat>() {
            return self.chat(room, &chat.map_err(|_| unreadable("Chat"))?);
        }
        if let Some(lift) = message.read::<Lift>() {
            return self.lift(room, &lift.map_err(|_| unreadable("Lift"))?);
        }
        if let Some(scored) = message.read::<Scored>() {
            scored.map_err(|_| unreadable("Scored"))?;
            return Err(Rejection::new(ErrorCode::Forbidden, "only the depot gives scores"));
        }
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game does not know that message"))
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let (tick, seconds) = (room.tick().0, room.seconds_per_tick());
        let random = &mut *room.random;
        room.world.each_mut(|_, cart: &mut Cart| {
            cart.position = moved(cart.position, cart.velocity, seconds);
            cart.heading += 0.05;
            cart.load = (cart.load + random.between(-1.0, 1.0)).clamp(0.0, 100.0);
            cart.charge += (cart.velocity[0].abs() + cart.velocity[1].abs()) * seconds;
        });
        for player in room.players().collect::<Vec<_>>() {
            let Some(entity) = room.possession(player) else { continue };
            let Some(cart) = room.world.get_mut::<Cart>(entity).filter(|cart| cart.charge > CHARGE_FULL) else {
                continue;
            };
            cart.charge = 0.0;
            let load = cart.load;
            self.score(room, player, load);
            // A cart that scores carries the board for a while.
            if room.world.get::<Board>(entity).is_some() {
                room.world.remove::<Board>(entity);
            } else {
                let _ = room.world.insert(entity, Board { round: tick as u16, ..Board::initial() });
            }
        }
        if let Some(crane) = room.world.get_mut::<Crane>(self.crane).filter(|crane| crane.mode == Mode::Lifting) {
            crane.x = (crane.x + 0.6).min(EDGE);
            crane.arm = arm_at(tick);
            crane.gaze = gaze_at(tick);
        }
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        let board = room.world.get_mut::<Board>(self.board);
        if let (Some(board), Answer::Value(Some(value)), true) = (board, answer, self.asked == Some(id)) {
            board.degrees = (value.len() as i8).clamp(-40, 60);
        }
    }

    fn committed(&mut self, room: &mut Context<'_>, entry: &[u8]) {
        if let (Some(board), Ok(title)) = (room.world.get_mut::<Board>(self.board), std::str::from_utf8(entry)) {
            board.title = title[..title.floor_char_boundary(16)].to_owned();
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        let Some(board) = room.world.get_mut::<Board>(self.board) else { return Vec::new() };
        board.round = board.round.wrapping_add(data.len() as u16);
        let label = format!("round {}", board.round);
        room.set_label(label.clone());
        label.into_bytes()
    }

    fn can_see(&self, _world: &World, viewer: PlayerId, _entity: EntityId) -> bool {
        viewer.0.is_multiple_of(2)
    }

    fn terminate(&mut self, room: &mut Context<'_>) {
        room.broadcast(&Chat { text: "closed".to_owned() });
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        let mut writer = BitWriter::new();
        writer.write(self.horns, 64);
        world.get::<Board>(self.board)?.write_full(&mut writer);
        world.get::<Crane>(self.crane)?.write_full(&mut writer);
        Some(writer.to_bytes())
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        let damaged = |_: ReadError| Rejection::new(ErrorCode::Internal, "the checkpoint is damaged");
        let mut reader = BitReader::new(checkpoint);
        self.horns = reader.read(64).map_err(damaged)?;
        let board = Board::read_full(&mut reader).map_err(damaged)?;
        let crane = Crane::read_full(&mut reader).map_err(damaged)?;
        room.set_label(format!("round {}", board.round));
        self.begin(room, board, crane).ok_or_else(|| Rejection::new(ErrorCode::Internal, "the room is too small"))
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(self.horns);
    }
}

fn unreadable(name: &str) -> Rejection {
    Rejection::new(ErrorCode::BadMessage, format!("the message `{name}` cannot be read"))
}
