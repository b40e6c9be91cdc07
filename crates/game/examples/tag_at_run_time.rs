//! Tag again, with a schema that is built at run time, as a script would do it.

use aether::bits::runtime::{
    ComponentHandle, EventHandle, FieldBuilder, FieldHandle, Record, RecordBuilder, RuntimeSchema, SchemaBuilder,
};
use aether::prelude::*;
use std::error::Error;

/// The game. Names are looked up once, when the game is created.
struct Tag {
    schema: RuntimeSchema,
    runner: ComponentHandle,
    position: FieldHandle,
    velocity: FieldHandle,
    push: FieldHandle,
    tagged: EventHandle,
    tagger: FieldHandle,
    hare: EntityId,
}

impl Tag {
    fn new() -> Result<Tag, Box<dyn Error>> {
        let mut schema = SchemaBuilder::default();
        let runner = schema.component(
            RecordBuilder::new("Runner")
                .channel("movement")
                .position("position")
                .field("position", FieldBuilder::numbers(2, -1000.0..=1000.0, 0.01).moves_by("velocity"))
                .field("velocity", FieldBuilder::numbers(2, -20.0..=20.0, 0.01)),
        )?;
        schema.input(RecordBuilder::new("Steer").field("push", FieldBuilder::numbers(2, -1.0..=1.0, 0.01)))?;
        let player = FieldBuilder::whole(0..=i64::from(u32::MAX));
        let tagged = schema.event(RecordBuilder::new("Tagged").field("player", player))?;
        let schema = schema.build();
        let of_runner = schema.component(runner).ok_or("the record was added above")?;
        let (position, velocity) = (of_runner.field("position")?, of_runner.field("velocity")?);
        let push = schema.input().ok_or("the record was added above")?.field("push")?;
        let tagger = schema.event(tagged).ok_or("the record was added above")?.field("player")?;
        Ok(Tag { runner, position, velocity, push, tagged, tagger, hare: EntityId::default(), schema })
    }

    fn spawn(&self, room: &mut Context<'_>, position: [f32; 2]) -> Option<EntityId> {
        let runner = self.schema.component(self.runner)?;
        let mut record = runner.initial();
        runner.edit(&mut record).set_numbers(self.position, &position).ok()?;
        room.world.spawn_record(self.runner, record).ok()
    }

    /// Notifies all players who touched the hare, and moves it.
    fn catch(&self, room: &mut Context<'_>, by: PlayerId) -> Option<()> {
        let position = [room.random.between(-90.0, 90.0), room.random.between(-90.0, 90.0)];
        room.world.record_mut(self.hare, self.runner)?.set_numbers(self.position, &position).ok()?;
        let tagged = self.schema.event(self.tagged)?;
        let mut event = tagged.initial();
        tagged.edit(&mut event).set_whole(self.tagger, i64::from(by.0)).ok()?;
        room.broadcast_record(self.tagged, &event).ok()
    }
}

impl RuntimeGame for Tag {
    fn schema(&self) -> &RuntimeSchema {
        &self.schema
    }

    fn init(&mut self, room: &mut Context<'_>) {
        self.hare = self.spawn(room, [30.0, 40.0]).expect("an empty room has a free slot");
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        if let Some(runner) = self.spawn(room, [0.0, 0.0]) {
            room.possess(player, runner);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Record) {
        let push: [f32; 2] = input.vector(self.push).unwrap_or_default();
        let runner = room.possession(player).and_then(|runner| room.world.record_mut(runner, self.runner));
        if let Some(mut runner) = runner {
            // A value out of range is rejected and changes nothing.
            let _ = runner.set_numbers(self.velocity, &push.map(|push| push * 12.0));
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        room.world.each_record_mut(self.runner, |_, mut runner| {
            let position: [f32; 2] = runner.vector(self.position).unwrap_or_default();
            let velocity: [f32; 2] = runner.vector(self.velocity).unwrap_or_default();
            let moved = [0, 1].map(|axis| (position[axis] + velocity[axis] * seconds).clamp(-1000.0, 1000.0));
            let _ = runner.set_numbers(self.position, &moved);
        });
        let touches =
            |runner: EntityId| Some(distance(room.world.position(runner)?, room.world.position(self.hare)?) < 1.0);
        let caught_by = room.players().find(|&player| room.possession(player).and_then(touches) == Some(true));
        if let Some(player) = caught_by {
            let _ = self.catch(room, player);
        }
    }
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    let [x, y] = [b[0] - a[0], b[1] - a[1]];
    (x * x + y * y).sqrt()
}

/// Runs a room with one player in memory for one second.
fn main() -> Result<(), Box<dyn Error>> {
    let game: Box<dyn RuntimeGame> = Box::new(Tag::new()?);
    let mut room = Room::builder(game, RoomSettings::default()).seed(1).build()?;
    let ann = JoinRequest { name: "Ann".to_owned(), ..JoinRequest::default() };
    let endpoint = room.handle().join(ann, DeliveryOrder::Ordered).expect("the mailbox is empty");
    let mut bytes = 0;
    for _ in 0..40 {
        room.tick(&mut NoObserver);
        while let Some(packet) = endpoint.next_state() {
            bytes += packet.len();
        }
    }
    println!("{} ticks, {} entities, {bytes} bytes, state {:016x}", room.now(), room.world().len(), room.hash());
    Ok(())
}
