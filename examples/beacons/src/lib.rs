//! Beacons: two teams walk on a small map and capture three beacons. A team that stands alone at a beacon for two
//! seconds captures it. A held beacon scores a point per second. The first team with 100 points wins, and the room
//! starts over.
//!
//! All state is in components, so clients see it, and a replay compares it.

use aether::prelude::*;

/// Points that win a round.
pub const GOAL: u32 = 100;
/// Positions of the beacons.
pub const BEACONS: [[f32; 2]; 3] = [[0.0, -18.0], [0.0, 0.0], [0.0, 18.0]];

const CAPTURE_RADIUS: f32 = 3.0;
const CAPTURE_SECONDS: u32 = 2;
/// Units per second.
const SPEED: f32 = 6.0;
/// Distance from the centre of the map to each edge.
const EDGE: f32 = 30.0;

/// A team, or none: records have no `Option`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Replicate)]
pub enum Team {
    /// No team.
    Nobody,
    /// Starts in the west.
    Red,
    /// Starts in the east.
    Blue,
}

impl Team {
    /// Returns the position at which players of the team start.
    fn base(self) -> [f32; 2] {
        match self {
            Team::Nobody => [0.0, 0.0],
            Team::Red => [-24.0, 0.0],
            Team::Blue => [24.0, 0.0],
        }
    }
}

/// Movement of an avatar.
#[derive(Clone, Debug, Replicate)]
#[replicate(channel = "walkers", position = position)]
pub struct Walker {
    /// Position on the map.
    #[replicate(range = -30.0..=30.0, step = 0.01, moves_by = velocity)]
    pub position: [f32; 2],
    /// Units per second.
    #[replicate(range = -6.0..=6.0, step = 0.01)]
    pub velocity: [f32; 2],
}

/// Player of an avatar, as others see it.
#[derive(Clone, Debug, Replicate)]
#[replicate(channel = "badges")]
pub struct Badge {
    /// Display name, cut to 24 bytes.
    #[replicate(text = 24)]
    pub name: String,
    /// Team of the player.
    pub team: Team,
}

/// A beacon that teams capture.
#[derive(Clone, Debug, Replicate)]
#[replicate(channel = "beacons", position = position)]
pub struct Beacon {
    /// Position on the map.
    #[replicate(range = -30.0..=30.0, step = 0.01)]
    pub position: [f32; 2],
    /// Index in [`BEACONS`].
    pub number: u8,
    /// Team that holds the beacon.
    pub owner: Team,
    /// Team that is capturing the beacon.
    pub claimant: Team,
    /// Ticks for which the claimant has stood here alone.
    pub progress: u32,
}

impl Beacon {
    /// Returns the beacon of a new round.
    fn new(number: u8, position: [f32; 2]) -> Self {
        Beacon { position, number, ..Beacon::initial() }
    }

    /// Advances by one tick, in which only `present` stands at the beacon. Returns true if that captured it.
    fn advance(&mut self, present: Team, capture_ticks: u32) -> bool {
        let claimant = if present == self.owner { Team::Nobody } else { present };
        self.progress = match claimant {
            Team::Nobody => 0,
            same if same == self.claimant => self.progress + 1,
            _ => 1,
        };
        self.claimant = claimant;
        let is_captured = self.progress >= capture_ticks;
        if is_captured {
            *self = Beacon { owner: claimant, ..Beacon::new(self.number, self.position) };
        }
        is_captured
    }
}

/// Points of both teams. Its entity has no position, so that all players see it.
#[derive(Clone, Debug, PartialEq, Replicate)]
#[replicate(channel = "score")]
pub struct Score {
    /// Points of the red team.
    #[replicate(range = 0..=100)]
    pub red: u32,
    /// Points of the blue team.
    #[replicate(range = 0..=100)]
    pub blue: u32,
}

impl Score {
    /// Adds a point to a team.
    fn add(&mut self, team: Team) {
        match team {
            Team::Nobody => {}
            Team::Red => self.red = (self.red + 1).min(GOAL),
            Team::Blue => self.blue = (self.blue + 1).min(GOAL),
        }
    }

    /// Returns the winner once the round is over, or nobody if both teams reached the goal in the same second.
    fn winner(&self) -> Option<Team> {
        match (self.red >= GOAL, self.blue >= GOAL) {
            (false, false) => None,
            (true, false) => Some(Team::Red),
            (false, true) => Some(Team::Blue),
            (true, true) => Some(Team::Nobody),
        }
    }
}

/// Input of a player: the direction in which to walk.
#[derive(Clone, Debug, Replicate)]
pub struct Steer {
    /// Direction; a shorter one walks more slowly.
    #[replicate(range = -1.0..=1.0, step = 0.01)]
    pub direction: [f32; 2],
}

/// Event: a team captured a beacon.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Captured {
    /// Index in [`BEACONS`].
    pub beacon: u8,
    /// Team that holds it now.
    pub team: Team,
}

/// Event: a round is over, and the next begins.
#[derive(Clone, Debug, PartialEq, Replicate)]
pub struct Won {
    /// The winner, or nobody after a draw.
    pub team: Team,
}

/// Returns the settings of a room. Everyone sees the whole map.
#[must_use]
pub fn settings() -> RoomSettings {
    RoomSettings {
        tick_hz: 20,
        snapshot_hz: 20,
        players_max: 16,
        entities_max: 32,
        interest: None,
        rings: Vec::new(),
        resume_ticks: 200,
        ..RoomSettings::default()
    }
}

/// The game.
#[derive(Clone, Copy, Debug, Default)]
pub struct Beacons;

impl Game for Beacons {
    type Input = Steer;

    fn declare(schema: GameSchemaBuilder) -> GameSchemaBuilder {
        schema
            .component::<Walker>()
            .component::<Badge>()
            .component::<Beacon>()
            .component::<Score>()
            .event::<Captured>()
            .event::<Won>()
    }

    fn init(&mut self, room: &mut Context<'_>) {
        room.world.spawn(Score::initial()).expect("an empty room has a free slot");
        for (number, position) in (0..).zip(BEACONS) {
            room.world.spawn(Beacon::new(number, position)).expect("an empty room has four free slots");
        }
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        let team = smaller_team(room.world);
        let name = room.name(player).unwrap_or("nobody").to_owned();
        if let Ok(avatar) = room.world.spawn(Walker { position: team.base(), velocity: [0.0; 2] }) {
            let _ = room.world.insert(avatar, Badge { name, team });
            room.possess(player, avatar);
        }
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Steer) {
        if let Some(walker) = room.possession(player).and_then(|avatar| room.world.get_mut::<Walker>(avatar)) {
            let length = distance([0.0; 2], input.direction).max(1.0);
            walker.velocity = input.direction.map(|along| along / length * SPEED);
        }
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        walk(room);
        capture(room);
        if room.tick().0.is_multiple_of(room.settings().tick_hz) {
            score(room);
        }
    }
}

/// Moves all walkers and stops them at the edges of the map.
fn walk(room: &mut Context<'_>) {
    let seconds = room.seconds_per_tick();
    room.world.each_mut(|_, walker: &mut Walker| {
        walker.position =
            std::array::from_fn(|axis| (walker.position[axis] + walker.velocity[axis] * seconds).clamp(-EDGE, EDGE));
    });
}

/// Advances the capture of all beacons and announces those that were captured.
fn capture(room: &mut Context<'_>) {
    let capture_ticks = CAPTURE_SECONDS * room.settings().tick_hz;
    let players: Vec<(Team, [f32; 2])> = room
        .world
        .each::<Badge>()
        .filter_map(|(avatar, badge)| Some((badge.team, room.world.position(avatar)?)))
        .collect();
    let mut captured = Vec::new();
    room.world.each_mut(|_, beacon: &mut Beacon| {
        let present = team_alone_at(beacon.position, &players);
        if beacon.advance(present, capture_ticks) {
            captured.push(Captured { beacon: beacon.number, team: present });
        }
    });
    for event in &captured {
        room.broadcast(event);
    }
}

/// Adds a point for each held beacon, and ends the round if a team reached the goal.
fn score(room: &mut Context<'_>) {
    let owners: Vec<Team> = room.world.each::<Beacon>().map(|(_, beacon)| beacon.owner).collect();
    let mut winner = None;
    room.world.each_mut(|_, score: &mut Score| {
        owners.iter().for_each(|&owner| score.add(owner));
        winner = score.winner();
    });
    if let Some(team) = winner {
        room.broadcast(&Won { team });
        start_over(room.world);
    }
}

/// Starts a new round: no points, free beacons, all players at their bases.
fn start_over(world: &mut World) {
    world.each_mut(|_, score: &mut Score| *score = Score::initial());
    world.each_mut(|_, beacon: &mut Beacon| *beacon = Beacon::new(beacon.number, beacon.position));
    world.each_with(|_, walker: &mut Walker, badge: &Badge| walker.position = badge.team.base());
}

/// Returns the team with fewer avatars, red if both have the same number.
fn smaller_team(world: &World) -> Team {
    let size = |team| world.each::<Badge>().filter(|(_, badge)| badge.team == team).count();
    if size(Team::Blue) < size(Team::Red) { Team::Blue } else { Team::Red }
}

/// Returns the only team with players near a position, or nobody.
fn team_alone_at(position: [f32; 2], players: &[(Team, [f32; 2])]) -> Team {
    let mut near = players.iter().filter(|(_, at)| distance(*at, position) <= CAPTURE_RADIUS).map(|(team, _)| *team);
    let first = near.next().unwrap_or(Team::Nobody);
    if near.all(|team| team == first) { first } else { Team::Nobody }
}

fn distance(a: [f32; 2], b: [f32; 2]) -> f32 {
    let [x, y] = [b[0] - a[0], b[1] - a[1]];
    (x * x + y * y).sqrt()
}
