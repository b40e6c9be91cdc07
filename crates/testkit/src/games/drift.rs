//! [`Drift`]: drifting bodies of every kind that replication must handle: with and without a position, and visible to
//! everyone, an owner, a team or by the game's decision. They are spawned and despawned, and change their components
//! and visibility.

use aether_bits::Replicate;
use aether_engine::{
    Context, Game, GameSchemaBuilder, JoinRequest, PlaygroundCommand, Rejection, RoomSettings, Viewpoint,
};
use aether_wire::{CloseReason, EntityId, ErrorCode, PlayerId};
use aether_world::{Visibility, World};
use std::collections::BTreeMap;

/// Edge of the world on every side.
const EDGE: f32 = 400.0;
/// Bodies without an owner at the start. A despawned one is replaced by another, usually in the same slot.
const LOOSE: usize = 40;
/// One of this many slots blinks: its body changes its visibility faster than a bad network delivers.
const BLINKING: u32 = 4;
/// Number of teams.
const TEAMS: u32 = 3;

/// A body with a position.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "movement", position = position)]
pub struct Body {
    /// Position.
    #[replicate(range = -400.0..=400.0, step = 0.02, moves_by = velocity)]
    pub position: [f32; 2],
    /// Velocity, in units per second.
    #[replicate(range = -64.0..=64.0, step = 0.02)]
    pub velocity: [f32; 2],
    /// Direction.
    #[replicate(angle = 8)]
    pub heading: f32,
}

/// A pennant of some bodies.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "looks")]
pub struct Pennant {
    /// Text.
    #[replicate(text = 12)]
    pub words: String,
    /// Colour.
    pub colour: u8,
}

/// A count without a position.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "presence")]
pub struct Tally {
    /// The count.
    pub count: u32,
    /// Id of the player; zero for everyone's.
    pub player: u32,
}

/// Input of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Replicate)]
pub struct Steering {
    /// Push along both axes, from -1 to 1.
    #[replicate(range = -1.0..=1.0, step = 0.1)]
    pub push: [f32; 2],
}

/// A numbered event. Every player gets its own sequence without a gap.
#[derive(Clone, Debug, PartialEq, Eq, Replicate)]
#[replicate(channel = "presence")]
pub struct Chime {
    /// Counts from 1 for each player.
    pub number: u32,
}

/// The game.
#[derive(Default)]
pub struct Drift {
    sailors: BTreeMap<PlayerId, Sailor>,
    tally: Option<EntityId>,
    /// Bodies despawned in the last tick. Their slots are free from the next tick on.
    to_respawn: u32,
    resting: bool,
}

#[derive(Default)]
struct Sailor {
    steering: Steering,
    /// Body that the player steers.
    body: Option<EntityId>,
    /// Entity that only this player sees.
    private_tally: Option<EntityId>,
    team: Option<u8>,
    viewpoint: Viewpoint,
    chimes: u32,
}

impl Drift {
    /// Returns the number of chimes that a player was sent.
    #[must_use]
    pub fn chimes(&self, player: PlayerId) -> Option<u32> {
        Some(self.sailors.get(&player)?.chimes)
    }

    /// Returns true if a player may see an entity, derived from the rules and not from what the engine shows.
    #[must_use]
    pub fn is_allowed_to_see(
        &self,
        world: &World,
        settings: &RoomSettings,
        player: PlayerId,
        entity: EntityId,
    ) -> bool {
        let Some(sailor) = self.sailors.get(&player) else { return false };
        let allowed = match world.visibility_at(entity.slot) {
            Visibility::Everyone => true,
            Visibility::Owner => world.owner(entity) == Some(player),
            Visibility::Team(team) => sailor.team == Some(team),
            Visibility::Game => is_shown(player, entity),
        };
        let (Some(interest), Some(place)) = (settings.interest, world.position(entity)) else { return allowed };
        let center = match sailor.viewpoint {
            Viewpoint::Everything => return allowed,
            Viewpoint::At(center) => Some(center),
            Viewpoint::Possession => sailor.body.and_then(|body| world.position(body)),
        };
        let Some([x, y]) = center else { return false };
        let distance = (place[0] - x).hypot(place[1] - y);
        // The engine compares squares; the tolerance covers rounding of the root.
        allowed && distance <= interest.outer_radius() * 1.000_1
    }

    fn steer(&mut self, room: &mut Context<'_>) {
        let seconds = room.seconds_per_tick();
        for sailor in self.sailors.values() {
            if let Some(body) = sailor.body.and_then(|body| room.world.get_mut::<Body>(body)) {
                for axis in 0..2 {
                    body.velocity[axis] += sailor.steering.push[axis] * 60.0 * seconds;
                }
            }
        }
        room.world.each_mut(|_, body: &mut Body| {
            for axis in 0..2 {
                body.velocity[axis] = (body.velocity[axis] * 0.99).clamp(-60.0, 60.0);
                body.position[axis] += body.velocity[axis] * seconds;
                if body.position[axis].abs() > EDGE {
                    body.position[axis] = body.position[axis].clamp(-EDGE, EDGE);
                    body.velocity[axis] = -body.velocity[axis];
                }
            }
        });
    }

    /// Spawns, despawns, changes and blinks bodies without an owner.
    fn change_bodies(&mut self, room: &mut Context<'_>) {
        for _ in 0..std::mem::take(&mut self.to_respawn) {
            let body = random_body(room);
            self.launch(room, body);
        }
        let bodies: Vec<EntityId> = room.world.each::<Body>().map(|(id, _)| id).collect();
        for id in bodies {
            if room.world.owner(id).is_some() {
                continue;
            }
            if id.slot.is_multiple_of(BLINKING) && room.random.chance(25) {
                let hidden = room.world.visibility_at(id.slot) == Visibility::Owner;
                room.world.set_visibility(id, if hidden { Visibility::Everyone } else { Visibility::Owner });
            }
            match room.random.below(400) {
                0..6 => {
                    room.world.despawn(id);
                    self.to_respawn += 1;
                }
                6..9 => {
                    let visibility = any_visibility(room);
                    room.world.set_visibility(id, visibility);
                }
                9..12 => {
                    let colour = room.random.below(256) as u8;
                    let _ = room.world.insert(id, Pennant { words: format!("flag {colour}"), colour });
                }
                12..15 => {
                    room.world.remove::<Pennant>(id);
                }
                15..17 => {
                    if let Some(body) = room.world.get_mut::<Body>(id) {
                        body.velocity = [0.0; 2];
                    }
                }
                _ => {}
            }
        }
    }

    /// Sends events and changes the teams and viewpoints of some players.
    fn change_players(&mut self, room: &mut Context<'_>) {
        let players: Vec<PlayerId> = self.sailors.keys().copied().collect();
        for player in players {
            let Some(sailor) = self.sailors.get_mut(&player) else { continue };
            if room.random.chance(30) {
                sailor.chimes += 1;
                room.send(player, &Chime { number: sailor.chimes });
            }
            if room.random.chance(20)
                && let Some(tally) =
                    sailor.private_tally.and_then(|private_tally| room.world.get_mut::<Tally>(private_tally))
            {
                tally.count += 1;
            }
            match room.random.below(300) {
                0 => {
                    sailor.team = Some(room.random.below(TEAMS) as u8);
                    room.set_team(player, sailor.team);
                }
                1 => {
                    sailor.viewpoint = match room.random.below(4) {
                        0 => Viewpoint::Everything,
                        1 => Viewpoint::At([room.random.between(-EDGE, EDGE), room.random.between(-EDGE, EDGE)]),
                        _ => Viewpoint::Possession,
                    };
                    room.set_viewpoint(player, sailor.viewpoint);
                }
                _ => {}
            }
        }
        if room.random.chance(5)
            && let Some(tally) = self.tally.and_then(|tally| room.world.get_mut::<Tally>(tally))
        {
            tally.count += 1;
        }
    }

    fn launch(&self, room: &mut Context<'_>, body: Body) -> Option<EntityId> {
        let id = room.world.spawn(body).ok()?;
        let visibility = any_visibility(room);
        room.world.set_visibility(id, visibility);
        Some(id)
    }
}

impl Game for Drift {
    type Input = Steering;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema.component::<Body>().component::<Pennant>().component::<Tally>().event::<Chime>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        for _ in 0..LOOSE {
            let body = random_body(room);
            self.launch(room, body);
        }
    }

    fn join_attempt(&mut self, _room: &mut Context<'_>, request: &JoinRequest) -> Result<(), Rejection> {
        match request.name.is_empty() {
            true => Err(Rejection::new(ErrorCode::JoinRefused, "the name is empty: give a name")),
            false => Ok(()),
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let body = random_body(room);
        let sailor = self.sailors.entry(player).or_default();
        sailor.body = room.world.spawn(body).ok();
        if let Some(body) = sailor.body {
            let _ = room.world.insert(body, Pennant { words: format!("own {player}"), colour: player.0 as u8 });
            room.possess(player, body);
        }
        sailor.team = Some(room.random.below(TEAMS) as u8);
        room.set_team(player, sailor.team);
        sailor.private_tally = room.world.spawn(Tally { count: 0, player: player.0 }).ok();
        if let Some(private_tally) = sailor.private_tally {
            room.world.set_owner(private_tally, Some(player));
            room.world.set_visibility(private_tally, Visibility::Owner);
        }
        if self.tally.is_none_or(|tally| !room.world.contains(tally)) {
            self.tally = room.world.spawn(Tally { count: 0, player: 0 }).ok();
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, _reason: CloseReason) {
        if let Some(private_tally) = self.sailors.remove(&player).and_then(|sailor| sailor.private_tally) {
            room.world.despawn(private_tally);
        }
    }

    fn input(&mut self, _room: &mut Context<'_>, player: PlayerId, input: &Steering) {
        if let Some(sailor) = self.sailors.get_mut(&player) {
            sailor.steering = *input;
        }
    }

    fn playground(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        let full = || Rejection::new(ErrorCode::LimitReached, "the room has its maximum number of entities");
        match command {
            PlaygroundCommand::Spawn(spawn) => {
                let body = Body { position: [spawn.x, spawn.y], velocity: [0.0; 2], heading: spawn.rotation };
                let body = self.launch(room, body).ok_or_else(full)?;
                room.world.set_owner(body, Some(player));
            }
            PlaygroundCommand::Stress { count, .. } => {
                for _ in 0..*count {
                    let body = random_body(room);
                    self.launch(room, body).ok_or_else(full)?;
                }
            }
            PlaygroundCommand::Clear => {}
        }
        Ok(())
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        if !self.resting {
            self.steer(room);
            self.change_bodies(room);
            self.change_players(room);
        }
    }

    /// `rest` stops everything, so that clients can be compared; anything else continues.
    fn signal(&mut self, _room: &mut Context<'_>, data: &[u8]) -> Vec<u8> {
        self.resting = data == b"rest";
        Vec::new()
    }

    fn can_see(&self, _world: &World, viewer: PlayerId, entity: EntityId) -> bool {
        is_shown(viewer, entity)
    }
}

/// Decides about entities with game visibility.
fn is_shown(viewer: PlayerId, entity: EntityId) -> bool {
    (viewer.0 + entity.slot).is_multiple_of(2)
}

fn random_body(room: &mut Context<'_>) -> Body {
    let mut within = |end: f32| [room.random.between(-end, end), room.random.between(-end, end)];
    let (position, velocity) = (within(EDGE), within(30.0));
    Body { position, velocity, heading: room.random.between(0.0, 6.0) }
}

fn any_visibility(room: &mut Context<'_>) -> Visibility {
    match room.random.below(10) {
        0 => Visibility::Team(room.random.below(TEAMS) as u8),
        1 => Visibility::Game,
        2 => Visibility::Owner,
        _ => Visibility::Everyone,
    }
}
