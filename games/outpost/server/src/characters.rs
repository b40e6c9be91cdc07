//! Characters of players: the profiles of their accounts.
//!
//! A player joins as the profile that its join metadata names, or as the active one. The room spawns the player at once
//! and requests the profile. The account may write its profiles, so the room takes only a name and an appearance from
//! them. Everything else about a character is in the room and its checkpoints.

use crate::game::{NAME_BYTES_MAX, Outpost};
use crate::player_state::{Character, PROFILE_DEFAULT, PlayerState};
use crate::save::{CHARACTERS_MAX, CHARACTERS_PER_ACCOUNT_MAX};
use aether::names::{cleaned, shortened};
use aether::prelude::*;
use aether_outpost_rules::{APPEARANCES, Body, PROFILE_BYTES_MAX, Play, Player, Presence, is_free, spawn_point};
use serde::Deserialize;

/// Key of the profile's id in the join metadata.
const PROFILE_KEY: &str = "profile";

/// Profile in an answer of the services.
#[derive(Deserialize)]
struct Profile {
    id: String,
    name: String,
    /// Anything that the account wrote.
    data: serde_json::Value,
}

impl Profile {
    /// Appearance of the character, if the account chose one.
    fn appearance(&self) -> Option<u8> {
        let appearance = u8::try_from(self.data.get("appearance")?.as_u64()?).ok()?;
        (appearance < APPEARANCES).then_some(appearance)
    }

    /// Name of the character, if the account chose one.
    fn name(&self) -> Option<String> {
        let is_unnamed = self.id == PROFILE_DEFAULT && self.name == PROFILE_DEFAULT;
        (!is_unnamed).then(|| shortened(&cleaned(&self.name), NAME_BYTES_MAX).into_owned())
    }
}

/// Rejects join metadata that cannot name a profile.
pub(crate) fn check_metadata(metadata: &JoinMetadata) -> Result<(), Rejection> {
    match metadata.get(PROFILE_KEY) {
        Some(id) if id.len() > PROFILE_BYTES_MAX => Err(Rejection::new(
            ErrorCode::BadValue,
            format!(
                "`{PROFILE_KEY}` in the join metadata is longer than {PROFILE_BYTES_MAX} bytes; send a profile's id"
            ),
        )),
        _ => Ok(()),
    }
}

impl Outpost {
    /// Spawns a joining player with the stored character of its profile, or a new one.
    pub(crate) fn enter(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let account = room.user(player).unwrap_or_default().to_owned();
        let wanted = room.join_metadata(player).and_then(|metadata| metadata.get(PROFILE_KEY)).map(str::to_owned);
        let known = match &wanted {
            Some(profile) => self.away.remove(&(account.clone(), profile.clone())),
            None => self.take_latest(&account),
        };
        let appearance = (player.0 % u32::from(APPEARANCES)) as u8;
        let character = known.unwrap_or_else(|| Character::fresh(&account, "", spawn_point(player.0), appearance));
        self.spawn_character(room, player, character);
        self.request_profile(room, player, wanted);
    }

    /// Spawns a character.
    pub(crate) fn spawn_character(&mut self, room: &mut Context<'_>, player: PlayerId, mut character: Character) {
        let account = character.account.clone();
        if !is_free(character.player.position, &self.grid) {
            character.player = Player::at(spawn_point(player.0));
        }
        let structures = self.structures.values().filter(|built| built.is_of(&account)).count() as u32;
        if !self.has_capacity(room, 2) {
            return;
        }
        let name = account_name(room, player);
        let Ok(body) = room.world.spawn(character.player.clone()) else { return };
        let has_body = room.world.insert(body, character.body(player.0)).is_ok();
        let presence = room.world.spawn(character.presence(player.0, &name, structures));
        let (true, Ok(presence)) = (has_body, presence) else {
            room.world.despawn(body);
            return;
        };
        room.possess(player, body);
        let Character { profile, hits, falls, .. } = character;
        let protected_until = Tick(room.tick().0 + Self::PROTECTED_TICKS);
        let player_state = PlayerState { account, profile, body, presence, protected_until, hits, falls, structures };
        self.players.insert(player, player_state);
        self.claim_structures(room, player);
    }

    /// Requests a profile of a player's account: the named or the active one. A player without an account has none.
    pub(crate) fn request_profile(&mut self, room: &mut Context<'_>, player: PlayerId, profile: Option<String>) {
        let Some(player_state) = self.players.get(&player) else { return };
        if player_state.account.is_empty() {
            return;
        }
        let request = room.request(Request::Profile { user: player_state.account.clone(), profile });
        self.pending_profiles.insert(request, player);
    }

    /// Handles a player's request to play another character, or to show changes of this one.
    pub(crate) fn play(&mut self, room: &mut Context<'_>, player: PlayerId, play: Play) -> Result<(), Rejection> {
        if self.pending_profiles.values().any(|waiting| *waiting == player) {
            let sentence = "the last choice of a character is still being loaded; try again in a moment";
            return Err(Rejection::new(ErrorCode::RateLimited, sentence));
        }
        self.request_profile(room, player, Some(play.profile).filter(|profile| !profile.is_empty()));
        Ok(())
    }

    /// Applies a profile to the player that requested it. Without one, the player continues as it is.
    pub(crate) fn apply_profile(&mut self, room: &mut Context<'_>, player: PlayerId, answer: &Answer) {
        let Answer::Value(Some(bytes)) = answer else { return };
        let Ok(profile) = serde_json::from_slice::<Profile>(bytes) else { return };
        if profile.id.len() > PROFILE_BYTES_MAX {
            return;
        }
        self.change_character(room, player, &profile.id);
        let name = profile.name().unwrap_or_else(|| account_name(room, player));
        let Some(player_state) = self.players.get(&player) else { return };
        if let (Some(appearance), Some(body)) = (profile.appearance(), room.world.get_mut::<Body>(player_state.body)) {
            body.appearance = appearance;
        }
        if let Some(presence) = room.world.get_mut::<Presence>(player_state.presence) {
            presence.name = name;
        }
    }

    /// Continues with the character of a profile. A new character of an unconfirmed profile becomes its character.
    fn change_character(&mut self, room: &mut Context<'_>, player: PlayerId, profile: &str) {
        let Some(player_state) = self.players.get_mut(&player) else { return };
        if player_state.profile == profile {
            return;
        }
        let stored = self.away.remove(&(player_state.account.clone(), profile.to_owned()));
        if player_state.profile.is_empty() && stored.is_none() {
            player_state.profile = profile.to_owned();
            return;
        }
        let before = Character::of(player_state, player.0, room.world);
        let (account, body) = (player_state.account.clone(), player_state.body);
        let appearance = (player.0 % u32::from(APPEARANCES)) as u8;
        let mut character =
            stored.unwrap_or_else(|| Character::fresh(&account, profile, spawn_point(player.0), appearance));
        if !is_free(character.player.position, &self.grid) {
            character.player = Player::at(spawn_point(player.0));
        }
        if let Some(state) = room.world.get_mut::<Body>(body) {
            *state = character.body(player.0);
        }
        if let Some(state) = room.world.get_mut::<Player>(body) {
            *state = character.player;
        }
        (player_state.hits, player_state.falls) = (character.hits, character.falls);
        player_state.profile = profile.to_owned();
        player_state.protected_until = Tick(room.tick().0 + Self::PROTECTED_TICKS);
        if let Some(before) = before.filter(|before| !before.profile.is_empty()) {
            self.retire(before);
        }
    }

    /// Returns the character of an absent player. Structures belong to the account, so its latest character pays.
    pub(crate) fn character_of(&mut self, player: PlayerId, account: &str) -> Option<&mut Character> {
        let returning = self.returning.get_mut(&player).filter(|character| character.account == account);
        let of_account = self.away.values_mut().filter(|character| character.account == account);
        returning.or_else(|| of_account.max_by_key(|character| character.left))
    }

    /// Stores the character of a player who leaves it.
    pub(crate) fn retire(&mut self, character: Character) {
        self.left = self.left.wrapping_add(1);
        self.store_character(Character { is_present: false, left: self.left, number: 0, ..character });
    }

    /// Stores a character. Players without an account cannot be recognized again.
    pub(crate) fn store_character(&mut self, mut character: Character) {
        if character.account.is_empty() {
            return;
        }
        let account = character.account.clone();
        if character.profile.is_empty() {
            // The services did not answer. The character must not replace another one.
            if self.away.values().any(|known| known.account == account) {
                return;
            }
            character.profile = PROFILE_DEFAULT.to_owned();
        }
        self.away.insert((account.clone(), character.profile.clone()), character);
        if self.away.values().filter(|known| known.account == account).count() > CHARACTERS_PER_ACCOUNT_MAX {
            self.drop_first(|known| known.account == account);
        }
        if self.away.len() > CHARACTERS_MAX {
            self.drop_first(|_| true);
        }
    }

    /// Takes the character that an account left last.
    fn take_latest(&mut self, account: &str) -> Option<Character> {
        let of_account = self.away.values().filter(|character| character.account == account);
        let profile = of_account.max_by_key(|character| character.left)?.profile.clone();
        self.away.remove(&(account.to_owned(), profile))
    }

    /// Drops the stored character that was left first.
    fn drop_first(&mut self, is_meant: impl Fn(&Character) -> bool) {
        let first = self.away.iter().filter(|(_, character)| is_meant(character)).min_by_key(|(_, it)| it.left);
        if let Some(key) = first.map(|(key, _)| key.clone()) {
            self.away.remove(&key);
        }
    }
}

/// Returns the account's name as the game shows it.
fn account_name(room: &Context<'_>, player: PlayerId) -> String {
    shortened(room.name(player).unwrap_or_default(), NAME_BYTES_MAX).into_owned()
}
