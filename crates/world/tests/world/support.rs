//! Components of the tests, and a world with them.

use aether_bits::Replicate;
use aether_world::{World, WorldBuilder};

#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Body {
    #[replicate(range = -100.0..=100.0, step = 0.5, moves_by = velocity)]
    pub position: [f32; 2],
    #[replicate(range = -10.0..=10.0, step = 0.25)]
    pub velocity: [f32; 2],
}

#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Label {
    #[replicate(text = 8)]
    pub name: String,
    pub score: u16,
    /// Known to the server only.
    #[replicate(skip)]
    pub secret: u32,
}

/// A second component with a position.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(position = position)]
pub struct Anchor {
    #[replicate(range = -100.0..=100.0, step = 0.5)]
    pub position: [f32; 2],
}

/// Four texts that do not fit one packet.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Scroll {
    #[replicate(text = 255)]
    pub first: String,
    #[replicate(text = 255)]
    pub second: String,
    #[replicate(text = 255)]
    pub third: String,
    #[replicate(text = 255)]
    pub fourth: String,
}

/// Two texts: with a second component like it, too large.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Page {
    #[replicate(text = 255)]
    pub first: String,
    #[replicate(text = 255)]
    pub second: String,
}

/// The second of the two.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct BackPage {
    #[replicate(text = 255)]
    pub first: String,
    #[replicate(text = 255)]
    pub second: String,
}

pub fn builder() -> WorldBuilder {
    World::builder().component::<Body>().component::<Label>()
}

/// A world in its first tick.
pub fn world() -> World {
    begun(builder())
}

pub fn begun(builder: WorldBuilder) -> World {
    let mut world = builder.build();
    world.advance();
    world
}

/// Ends the tick and begins the next one.
pub fn step(world: &mut World) {
    world.settle();
    world.advance();
}

pub fn body(x: f32, y: f32) -> Body {
    Body { position: [x, y], velocity: [0.0, 0.0] }
}

pub fn label(name: &str, score: u16) -> Label {
    Label { name: name.to_owned(), score, secret: 0 }
}

/// Slots that the last `settle` found changed.
pub fn changed(world: &World) -> Vec<u32> {
    world.changed().iter().collect()
}
