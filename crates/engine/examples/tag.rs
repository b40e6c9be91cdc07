//! Tag: all players chase the hare. A player who touches it scores, and the hare moves to a random position.

use aether_bits::{BitReader, BitWriter, Replicate};
use aether_engine::{Context, Game, GameSchemaBuilder, JoinRequest, NoObserver, Room, RoomSettings};
use aether_replication::{DeliveryOrder, Mirror};
use aether_wire::{
    ClientMessage, EntityId, Event, GameBody, InputBytes, InputPayload, InputSeq, Inputs, PlayerId, ServerMessage,
    StateAck, ViewTick,
};
use std::error::Error;

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

/// Runs a room with one player in memory for half a minute. The player chases the hare by its mirror.
fn main() -> Result<(), Box<dyn Error>> {
    let mut room = Room::builder(Tag::default(), RoomSettings::default()).seed(1).build()?;
    let ann = JoinRequest { name: "Ann".to_owned(), ..JoinRequest::default() };
    let endpoint = room.handle().join(ann, DeliveryOrder::Ordered).expect("the mailbox is empty");
    let mut mirror =
        Mirror::builder().component::<Runner>().build(DeliveryOrder::Ordered, room.settings().seconds_per_tick());
    let mut own = EntityId::default();
    for number in 1..=1_200 {
        room.tick(&mut NoObserver);
        while let Some(message) = endpoint.next_reliable() {
            match &*message {
                ServerMessage::Possession(possession) => own = possession.entity,
                ServerMessage::Event(Event { tick, body: GameBody::Packed { payload, .. }, .. }) => {
                    let Tagged { player } = Tagged::read_full(&mut BitReader::new(payload))?;
                    println!("tick {tick}: player {player} touched the hare");
                }
                _ => {}
            }
        }
        while let Some(packet) = endpoint.next_state() {
            mirror.apply(&packet)?;
        }
        if let Some(steer) = towards_the_hare(&mirror, own) {
            let mut writer = BitWriter::new();
            steer.write_full(&mut writer);
            let payloads = InputBytes::new(&writer.to_bytes()).map(InputPayload::Packed).into_iter().collect();
            let (first_seq, ack, view) = (InputSeq(number), StateAck::NONE, ViewTick::default());
            let _ = endpoint.push(ClientMessage::Inputs(Inputs { first_seq, payloads, ack, view }));
        }
    }
    println!("{} ticks, {} inputs, state {:016x}", room.now(), room.totals().inputs, room.hash());
    Ok(())
}

fn towards_the_hare(mirror: &Mirror, own: EntityId) -> Option<Steer> {
    let hare = mirror.entities().find(|&entity| entity != own)?;
    let (from, to) = (mirror.get::<Runner>(own)?.position, mirror.get::<Runner>(hare)?.position);
    let far = distance(from, to).max(1.0);
    Some(Steer { push: [(to[0] - from[0]) / far, (to[1] - from[1]) / far] })
}
