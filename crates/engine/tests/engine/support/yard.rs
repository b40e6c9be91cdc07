//! The game of these tests: players push crates around a yard.

use aether_bits::{Replicate, StateHasher};
use aether_engine::{
    Answer, Context, Game, GameSchemaBuilder, JoinRequest, PlayerMessage, PlaygroundCommand, Rejection, Request,
};
use aether_wire::{CloseReason, EntityId, ErrorCode, PlayerId, RequestId, SpawnRequest};
use aether_world::{Visibility, World};
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// A crate with a position. Every player possesses one.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Crate {
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    pub velocity: [f32; 2],
}

/// A secret without position that only its owner may see.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Secret {
    pub code: u32,
}

/// A scoreboard without position that everyone sees.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Scoreboard {
    pub round: u16,
}

/// Input of a player.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Push {
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    pub by: [f32; 2],
}

/// Chat text, in both directions.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Chat {
    #[replicate(text = 64)]
    pub text: String,
}

/// Message: pokes an entity, which must be the player's own.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Poke {
    pub slot: u32,
    pub generation: u16,
}

/// Calls of the engine to the game.
#[derive(Clone, Debug, PartialEq)]
pub enum Call {
    Join(PlayerId),
    Leave(PlayerId, CloseReason),
    Input(PlayerId, [f32; 2]),
    Answer(RequestId, Answer),
    Signal(Vec<u8>),
    Terminate,
}

type Task = Box<dyn FnOnce(&mut Context<'_>) + Send>;

/// The game. Tests put work for the next tick into `tasks`.
#[derive(Default)]
pub struct Yard {
    /// Calls, in order.
    pub calls: Vec<Call>,
    /// Players and the entities with [`Visibility::Game`] that they may see.
    pub revealed: Arc<Mutex<BTreeSet<(PlayerId, EntityId)>>>,
    /// Tasks of the next tick, after its inputs.
    pub tasks: Arc<Mutex<Vec<Task>>>,
    /// State that is not replicated but decides future ticks.
    pub pushes: u64,
}

/// Start position of a player's crate: ten units further right for each player.
pub fn home(player: PlayerId) -> [f32; 2] {
    [player.0 as f32 * 10.0, 0.0]
}

impl Yard {
    fn enter(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Ok(body) = room.world.spawn(Crate { position: home(player), velocity: [0.0; 2] }) {
            room.possess(player, body);
        }
        let code = room.random.below(1 << 20);
        if let Ok(secret) = room.world.spawn(Secret { code }) {
            room.world.set_owner(secret, Some(player));
            room.world.set_visibility(secret, Visibility::Owner);
        }
    }

    fn scoreboard(room: &Context<'_>) -> Option<EntityId> {
        room.world.each::<Scoreboard>().map(|(id, _)| id).next()
    }
}

impl Game for Yard {
    type Input = Push;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        let components = schema.component::<Crate>().component::<Secret>().component::<Scoreboard>();
        components.event::<Chat>().event::<Poke>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.world.spawn(Scoreboard { round: 1 }).unwrap();
        room.set_label("round 1");
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        match request.name.as_str() {
            "stranger" => Err(Rejection::new(ErrorCode::JoinRefused, "no strangers in this yard")),
            _ => Ok(()),
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        self.calls.push(Call::Join(player));
        self.enter(room, player);
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, reason: CloseReason) {
        self.calls.push(Call::Leave(player, reason));
        let owned = room.world.each::<Secret>().map(|(id, _)| id).filter(|&id| room.world.owner(id) == Some(player));
        for secret in owned.collect::<Vec<_>>() {
            room.world.despawn(secret);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, push: &Push) {
        self.calls.push(Call::Input(player, push.by));
        self.pushes += 1;
        let body = room.possession(player).and_then(|entity| room.world.get_mut::<Crate>(entity));
        if let Some(body) = body {
            body.position = [body.position[0] + push.by[0], body.position[1] + push.by[1]];
        }
    }

    fn message(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        message: &PlayerMessage<'_>,
    ) -> Result<(), Rejection> {
        if let Some(chat) = message.read::<Chat>() {
            let chat = chat.map_err(|_| Rejection::new(ErrorCode::BadMessage, "that cannot be read"))?;
            if let Some(key) = chat.text.strip_prefix("ask ") {
                room.request(Request::Read {
                    owner: String::new(),
                    collection: "yard".to_owned(),
                    key: key.to_owned(),
                });
            }
            room.broadcast(&chat);
            return Ok(());
        }
        if let Some(poke) = message.read::<Poke>() {
            let Poke { slot, generation } =
                poke.map_err(|_| Rejection::new(ErrorCode::BadMessage, "that cannot be read"))?;
            let entity = EntityId { slot, generation };
            if room.world.owner(entity) != Some(player) {
                return Err(Rejection::new(ErrorCode::NotFound, "you have no such entity"));
            }
            return Ok(());
        }
        Err(Rejection::new(ErrorCode::UnknownCommand, "this game does not know that message"))
    }

    fn spawn_request(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        request: &SpawnRequest,
    ) -> Result<(), Rejection> {
        let body = room.possession(player).and_then(|entity| room.world.get_mut::<Crate>(entity));
        let (Some(body), Some(place)) = (body, request.position) else {
            return Err(Rejection::new(ErrorCode::Refused, "there is nothing to place"));
        };
        body.position = [place.x, place.y];
        Ok(())
    }

    fn playground(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        let full = |_| Rejection::new(ErrorCode::LimitReached, "the yard is full");
        match command {
            PlaygroundCommand::Spawn(spawn) => {
                let body = Crate { position: [spawn.x, spawn.y], velocity: [0.0; 2] };
                let id = room.world.spawn(body).map_err(full)?;
                room.world.set_owner(id, Some(player));
            }
            PlaygroundCommand::Stress { count, .. } => {
                for _ in 0..*count {
                    let position = [room.random.between(-900.0, 900.0), room.random.between(-900.0, 900.0)];
                    room.world.spawn(Crate { position, velocity: [1.0, 0.0] }).map_err(full)?;
                }
            }
            PlaygroundCommand::Clear => {}
        }
        Ok(())
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let tasks = std::mem::take(&mut *self.tasks.lock().unwrap());
        for task in tasks {
            task(room);
        }
        let seconds = room.seconds_per_tick();
        room.world.each_mut::<Crate>(|_, body| {
            for axis in 0..2 {
                body.position[axis] = (body.position[axis] + body.velocity[axis] * seconds).clamp(-1000.0, 1000.0);
            }
        });
    }

    fn answer(&mut self, room: &mut Context<'_>, id: RequestId, answer: &Answer) {
        self.calls.push(Call::Answer(id, answer.clone()));
        if let (Answer::Value(Some(value)), Some(board)) = (answer, Self::scoreboard(room))
            && let Some(board) = room.world.get_mut::<Scoreboard>(board)
        {
            board.round = value.len() as u16;
        }
    }

    fn signal(&mut self, room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        self.calls.push(Call::Signal(data.to_vec()));
        if let Some(board) = Self::scoreboard(room)
            && let Some(board) = room.world.get_mut::<Scoreboard>(board)
        {
            board.round += 1;
            let label = format!("round {}", board.round);
            room.set_label(label);
        }
        data.iter().rev().copied().collect()
    }

    fn can_see(&self, _world: &World, viewer: PlayerId, entity: EntityId) -> bool {
        self.revealed.lock().unwrap().contains(&(viewer, entity))
    }

    fn terminate(&mut self, room: &mut Context<'_>) {
        self.calls.push(Call::Terminate);
        room.broadcast(&Chat { text: "good night".to_owned() });
    }

    fn checkpoint(&self, world: &World) -> Option<Vec<u8>> {
        let round = world.each::<Scoreboard>().map(|(_, board)| board.round).next()?;
        Some(round.to_le_bytes().to_vec())
    }

    fn restore(&mut self, room: &mut Context<'_>, checkpoint: &[u8]) -> Result<(), Rejection> {
        let bytes = checkpoint.try_into().map_err(|_| Rejection::new(ErrorCode::Internal, "two bytes are expected"))?;
        let round = u16::from_le_bytes(bytes);
        room.world.spawn(Scoreboard { round }).unwrap();
        room.set_label(format!("round {round}"));
        Ok(())
    }

    fn hash(&self, hasher: &mut StateHasher) {
        hasher.word(self.pushes);
    }
}
