//! Games of the benchmarks.

use crate::lua::{self, Duel};
use aether_bits::Replicate;
use aether_engine::{Context, Game, GameSchemaBuilder, RoomSettings};
use aether_server::Server;
use aether_server::commands::Command;
use aether_server::commands::serve::ServeArguments;
use aether_wire::PlayerId;
use std::process::ExitCode;

/// Largest number of players in a crowd room.
pub const CROWD_MAX: usize = 500;
/// Number of visible players in the `crowd-nearest` type.
pub const NEAREST_MAX: usize = 40;
pub const CROWD_HZ: u32 = 20;
/// Room type with full visibility.
pub const CROWD: &str = "crowd";
/// Room type in which players see only the nearest ones.
pub const CROWD_NEAREST: &str = "crowd-nearest";

/// Speed in units per second.
const SPEED: f32 = 10.0;
/// Turn rate in radians per tick.
const TURN: f32 = 0.15;
/// Half the side of the crowd's square. Players at the border turn back.
const EDGE: f32 = 200.0;

/// Player of the crowd.
#[derive(Clone, Debug, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Walker {
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    #[replicate(range = -50.0..=50.0, step = 0.01)]
    pub velocity: [f32; 2],
    #[replicate(angle = 8)]
    pub heading: f32,
}

/// Input of a player of the crowd.
#[derive(Clone, Debug, Replicate)]
pub struct Steps {
    #[replicate(range = -1..=1)]
    pub turn: i32,
}

/// Game in which all players walk all the time.
struct Crowd;

impl Game for Crowd {
    type Input = Steps;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        declaration.component::<Walker>()
    }

    fn init(&mut self, _room: &mut Context<'_>) {}

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let position = [room.random.between(-EDGE, EDGE), room.random.between(-EDGE, EDGE)];
        let heading = room.random.between(-3.1, 3.1);
        // Cannot fail: a full room rejects the player before.
        if let Ok(walker) = room.world.spawn(Walker { position, velocity: [0.0; 2], heading }) {
            room.possess(player, walker);
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: aether_wire::CloseReason) {
        if let Some(walker) = room.possession(player) {
            room.world.despawn(walker);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Steps) {
        let walker = room.possession(player);
        if let Some(walker) = walker.and_then(|walker| room.world.get_mut::<Walker>(walker)) {
            walker.heading += input.turn as f32 * TURN;
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        room.world.each_mut(|_, walker: &mut Walker| {
            if walker.position.iter().any(|coordinate| coordinate.abs() > EDGE) {
                walker.heading = (-walker.position[1]).atan2(-walker.position[0]);
            }
            walker.velocity = [walker.heading.cos() * SPEED, walker.heading.sin() * SPEED];
            for axis in 0..2 {
                walker.position[axis] += walker.velocity[axis] * seconds;
            }
        });
    }
}

/// Starts a server with these games.
pub fn serve(arguments: ServeArguments) -> ExitCode {
    let settings = RoomSettings {
        tick_hz: CROWD_HZ,
        snapshot_hz: CROWD_HZ,
        entities_max: CROWD_MAX,
        players_max: CROWD_MAX,
        interest: None,
        snapshot_bytes_max: 20_000,
        rings: Vec::new(),
        ..RoomSettings::default()
    };
    let interest = aether_space::InterestSettings {
        radius: 4.0 * EDGE,
        nearest_max: Some(NEAREST_MAX),
        ..aether_space::InterestSettings::default()
    };
    let duel = RoomSettings { tick_hz: 20, snapshot_hz: 20, resume_ticks: 0, ..RoomSettings::default() };
    let nearest = RoomSettings { interest: Some(interest), ..settings.clone() };
    Server::new("aether-bench", env!("CARGO_PKG_VERSION"))
        .game(CROWD, settings, || Crowd)
        .game(CROWD_NEAREST, nearest, || Crowd)
        .game(lua::RUST_TYPE, duel, Duel::default)
        .rpc(
            lua::CREATE,
            |services, _, match_type| async move { Ok(services.matches()?.create(&match_type, "").await?.id) },
        )
        .run(Command::Serve(arguments))
}
