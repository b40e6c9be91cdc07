//! State of present players, and stored characters of absent ones.

use aether::prelude::*;
use aether_outpost_rules::{Body, HEALTH_MAX, MATERIAL_MAX, Player, Presence};

/// Id of the first profile of every account.
pub const PROFILE_DEFAULT: &str = "default";

/// State of a player in the room.
#[derive(Clone, Debug)]
pub struct PlayerState {
    /// Account, which identifies its structures and its characters.
    pub account: String,
    /// Profile of the account that its character is. Empty until the services have confirmed it.
    pub profile: String,
    /// Possessed entity.
    pub body: EntityId,
    /// Entity of its presence.
    pub presence: EntityId,
    /// Tick at which its protection ends.
    pub protected_until: Tick,
    pub hits: u16,
    pub falls: u16,
    /// Number of structures of its account.
    pub structures: u32,
}

/// Stored character of a player, from which it continues after a rejoin.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Character {
    /// The account.
    #[replicate(text = 128)]
    pub account: String,
    /// The profile of the account. Empty until the services have confirmed it.
    #[replicate(text = 64)]
    pub profile: String,
    /// Position and movement.
    pub player: Player,
    #[replicate(range = 0..=100, default = 100)]
    pub health: i32,
    #[replicate(range = 0..=100, default = 100)]
    pub material: i32,
    #[replicate(range = 0..=7)]
    pub appearance: u8,
    pub hits: u16,
    pub falls: u16,
    /// True if it was present at the checkpoint.
    pub is_present: bool,
    /// Order of leaving: lower values are dropped first.
    pub left: u32,
    /// Number of the player while it was present.
    pub number: u32,
}

/// Stored character of a checkpoint of format 2, when an account had one character.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct AccountCharacter {
    #[replicate(text = 128)]
    account: String,
    player: Player,
    #[replicate(range = 0..=100, default = 100)]
    health: i32,
    #[replicate(range = 0..=100, default = 100)]
    material: i32,
    #[replicate(range = 0..=7)]
    appearance: u8,
    hits: u16,
    falls: u16,
    is_present: bool,
    left: u32,
    number: u32,
}

impl From<AccountCharacter> for Character {
    /// The first profile of every account continues its only character.
    fn from(old: AccountCharacter) -> Character {
        let AccountCharacter { account, player, health, material, appearance, .. } = old;
        let AccountCharacter { hits, falls, is_present, left, number, .. } = old;
        let profile = PROFILE_DEFAULT.to_owned();
        Character { account, profile, player, health, material, appearance, hits, falls, is_present, left, number }
    }
}

impl Character {
    /// Creates a character that has not played before.
    pub fn fresh(account: &str, profile: &str, position: [f32; 2], appearance: u8) -> Character {
        Character {
            account: account.to_owned(),
            profile: profile.to_owned(),
            player: Player::at(position),
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

    /// Creates the character of a present player.
    pub fn of(player_state: &PlayerState, number: u32, world: &World) -> Option<Character> {
        let player = world.get::<Player>(player_state.body)?.clone();
        let Body { health, material, appearance, .. } = *world.get::<Body>(player_state.body)?;
        let PlayerState { account, profile, hits, falls, .. } = player_state.clone();
        let (is_present, left) = (true, 0);
        Some(Character {
            account,
            profile,
            player,
            health,
            material,
            appearance,
            hits,
            falls,
            is_present,
            left,
            number,
        })
    }

    /// Returns the body for a player number.
    pub fn body(&self, player: u32) -> Body {
        Body { health: self.health, material: self.material, ..Body::of(player, self.appearance) }
    }

    /// Returns the presence for a player number.
    pub fn presence(&self, player: u32, name: &str, structures: u32) -> Presence {
        let (appearance, hits, falls) = (self.appearance, self.hits, self.falls);
        Presence { player, name: name.to_owned(), appearance, hits, falls, structures: structures as u16 }
    }
}
