//! Tag: all players chase the hare. A player who touches it scores, and the hare moves to a random position.

use aether::prelude::*;

#[derive(Clone, Replicate)]
#[replicate(channel = "movement", position = position)]
struct Runner {
    #[replicate(range = -1000.0..=1000.0, step = 0.01, moves_by = velocity)]
    position: [f32; 2],
    #[replicate(range = -20.0..=20.0, step = 0.01)]
    velocity: [f32; 2],
}

/// Input of a player, sent every tick.
#[derive(Clone, Replicate)]
struct Steer {
    #[replicate(range = -1.0..=1.0, step = 0.01)]
    push: [f32; 2],
}

/// Event: a player touched the hare.
#[derive(Clone, Replicate)]
struct Tagged {
    player: u32,
}

#[derive(Default)]
struct Tag {
    hare: EntityId,
}

impl Game for Tag {
    type Input = Steer;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Runner>().event::<Tagged>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        let hare = Runner { position: [30.0, 40.0], velocity: [0.0; 2] };
        self.hare = room.world.spawn(hare).expect("an empty room has a free slot");
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Ok(runner) = room.world.spawn(Runner::initial()) {
            room.possess(player, runner);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Steer) {
        if let Some(runner) = room.possession(player).and_then(|runner| room.world.get_mut::<Runner>(runner)) {
            runner.velocity = input.push.map(|push| push * 12.0);
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        room.world.each_mut(|_, runner: &mut Runner| {
            runner.position = std::array::from_fn(|axis| runner.position[axis] + runner.velocity[axis] * seconds);
        });
        let touches =
            |runner: EntityId| Some(distance(room.world.position(runner)?, room.world.position(self.hare)?) < 1.0);
        let caught_by = room.players().find(|&player| room.possession(player).and_then(touches) == Some(true));
        if let Some(PlayerId(player)) = caught_by {
            let position = [room.random.between(-90.0, 90.0), room.random.between(-90.0, 90.0)];
            let _ = room.world.insert(self.hare, Runner { position, velocity: [0.0; 2] });
            room.broadcast(&Tagged { player });
        }
    }
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    let [x, y] = [b[0] - a[0], b[1] - a[1]];
    (x * x + y * y).sqrt()
}

/// Runs a room with one player in memory for half a minute. The player chases the hare.
fn main() -> Result<(), BuildError> {
    let room = Room::builder(Tag::default(), RoomSettings::default()).seed(1).build()?;
    let mut harness = Harness::new(room, 1);
    let ann = harness.join("Ann", DeliveryOrder::Ordered, Conditions::PERFECT);
    for _ in 0..1_200 {
        harness.tick(1);
        let steer = steer_to_the_hare(harness.room().world());
        harness.set_input(ann, steer.as_ref());
    }
    for Tagged { player } in harness.events(ann) {
        println!("player {player} touched the hare");
    }
    let room = harness.room();
    println!("{} ticks, {} inputs, state {:016x}", room.now(), room.totals().inputs, room.hash());
    Ok(())
}

fn steer_to_the_hare(world: &World) -> Option<Steer> {
    let mut runners = world.each::<Runner>().map(|(_, runner)| runner.position);
    let (hare, own) = (runners.next()?, runners.next()?);
    let far = distance(own, hare).max(1.0);
    Some(Steer { push: [(hare[0] - own[0]) / far, (hare[1] - own[1]) / far] })
}
