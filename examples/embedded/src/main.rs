//! Coins: walk over a coin to collect it, and another one appears.

use aether::prelude::*;
use std::process::ExitCode;

#[derive(Clone, Replicate)]
#[replicate(channel = "walkers", position = position)]
struct Walker {
    #[replicate(range = -100.0..=100.0, step = 0.01, moves_by = velocity)]
    position: [f32; 2],
    #[replicate(range = -10.0..=10.0, step = 0.01)]
    velocity: [f32; 2],
    coins: u16,
}

#[derive(Clone, Replicate)]
#[replicate(channel = "coins", position = position)]
struct Coin {
    #[replicate(range = -100.0..=100.0, step = 0.01)]
    position: [f32; 2],
}

#[derive(Clone, Replicate)]
struct Steer {
    #[replicate(range = -1.0..=1.0, step = 0.01)]
    direction: [f32; 2],
}

struct Coins;

impl Game for Coins {
    type Input = Steer;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Walker>().component::<Coin>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        (0..20).for_each(|_| spawn_coin(room));
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Ok(walker) = room.world.spawn(Walker::initial()) {
            room.possess(player, walker);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, steer: &Steer) {
        if let Some(walker) = room.possession(player).and_then(|walker| room.world.get_mut::<Walker>(walker)) {
            walker.velocity = steer.direction.map(|axis| axis * 8.0);
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        room.world.each_mut(|_, walker: &mut Walker| {
            let step = |axis: usize| walker.position[axis] + walker.velocity[axis] * seconds;
            walker.position = [step(0), step(1)];
        });
        let coins: Vec<_> = room.world.each::<Coin>().map(|(coin, Coin { position })| (coin, *position)).collect();
        for (coin, at) in coins {
            let near = |[x, y]: [f32; 2]| (x - at[0]).abs() < 1.0 && (y - at[1]).abs() < 1.0;
            let finder = room.world.each::<Walker>().find(|(_, walker)| near(walker.position)).map(|(id, _)| id);
            if let Some(walker) = finder.and_then(|id| room.world.get_mut::<Walker>(id)) {
                walker.coins += 1;
                room.world.despawn(coin);
                spawn_coin(room);
            }
        }
    }
}

fn spawn_coin(room: &mut Context<'_>) {
    let position = [room.random.between(-30.0, 30.0), room.random.between(-30.0, 30.0)];
    // A full world has fewer coins.
    let _ = room.world.spawn(Coin { position });
}

fn main() -> ExitCode {
    let settings = RoomSettings { tick_hz: 20, snapshot_hz: 20, resume_ticks: 200, ..RoomSettings::default() };
    Server::new("coins", env!("CARGO_PKG_VERSION")).game("coins", settings, || Coins).main()
}
