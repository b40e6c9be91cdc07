//! Who plays, and what is kept of those who are away.

use aether_bits::Replicate;
use aether_outpost_rules::{Body, HEALTH_MAX, MATERIAL_MAX, Player, Presence};
use aether_wire::{EntityId, Tick};
use aether_world::World;

/// A player who is in the room.
#[derive(Clone, Debug)]
pub struct Settler {
    /// The account, by which its structures and its character are found again.
    pub account: String,
    /// What it steers.
    pub body: EntityId,
    /// Its line in the list of those who are in.
    pub presence: EntityId,
    /// Nothing hurts it until then.
    pub protected_until: Tick,
    pub hits: u16,
    pub falls: u16,
    /// How many structures of its account stand.
    pub structures: u32,
}

/// What is kept of a player: it goes on from here when it comes back.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Character {
    /// The account.
    #[replicate(text = 128)]
    pub account: String,
    /// Where it is, and how it moves.
    pub player: Player,
    #[replicate(range = 0..=100, default = 100)]
    pub health: i32,
    #[replicate(range = 0..=100, default = 100)]
    pub material: i32,
    #[replicate(range = 0..=7)]
    pub appearance: u8,
    pub hits: u16,
    pub falls: u16,
    /// Whether it was in the room when this was kept.
    pub is_present: bool,
    /// Who left earlier is forgotten earlier.
    pub left: u32,
    /// The number it had while it was in the room.
    pub number: u32,
}

impl Character {
    /// Someone who was never here.
    pub fn fresh(account: &str, place: [f32; 2], appearance: u8) -> Character {
        Character {
            account: account.to_owned(),
            player: Player::at(place),
            health: HEALTH_MAX,
            material: MATERIAL_MAX,
            appearance,
            hits: 0,
            falls: 0,
            is_present: false,
            left: 0,
            number: 0,
        }
    }

    /// What there is to keep of someone who is in.
    pub fn of(settler: &Settler, number: u32, world: &World) -> Option<Character> {
        let player = world.get::<Player>(settler.body)?.clone();
        let Body { health, material, appearance, .. } = *world.get::<Body>(settler.body)?;
        let (account, hits, falls) = (settler.account.clone(), settler.hits, settler.falls);
        let (is_present, left) = (true, 0);
        Some(Character { account, player, health, material, appearance, hits, falls, is_present, left, number })
    }

    /// Its body, once it is a player again.
    pub fn body(&self, player: u32) -> Body {
        Body { health: self.health, material: self.material, ..Body::of(player, self.appearance) }
    }

    /// Its line in the list of those who are in.
    pub fn presence(&self, player: u32, name: &str, structures: u32) -> Presence {
        let (appearance, hits, falls) = (self.appearance, self.hits, self.falls);
        Presence { player, name: name.to_owned(), appearance, hits, falls, structures: structures as u16 }
    }
}
