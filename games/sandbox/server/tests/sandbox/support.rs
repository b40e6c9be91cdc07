//! The sandbox in a room, with in-memory clients.

use aether::engine::{ConnectionEndpoint, RoomHandle};
use aether::prelude::*;
use aether::replication::Mirror;
use aether::wire::{ClientMessage, InputBytes, InputPayload, InputSeq, Inputs, PlaygroundStress, StateAck, ViewTick};
use aether_sandbox_rules::{Controls, Scoreboard, Ship, Shot, Thing};
use aether_sandbox_server::Sandbox;

/// A player with this name sees everything and has no ship.
pub const SPECTATOR: &str = "spectator";

/// The sandbox with spectators, and optionally with a nondeterministic tick.
#[derive(Default)]
pub struct SandboxVariant {
    pub sandbox: Sandbox,
    /// Tick at which it does something that no input caused.
    pub diverges_at: Option<Tick>,
}

impl Game for SandboxVariant {
    type Input = Controls;

    fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder {
        Sandbox::declare(declaration)
    }

    fn init(&mut self, room: &mut Context<'_>) {
        self.sandbox.init(room);
    }

    fn join(&mut self, room: &mut Context<'_>, player: PlayerId) {
        match room.name(player) {
            Some(SPECTATOR) => room.set_viewpoint(player, Viewpoint::Everything),
            _ => self.sandbox.join(room, player),
        }
    }

    fn leave(&mut self, room: &mut Context<'_>, player: PlayerId, reason: CloseReason) {
        self.sandbox.leave(room, player, reason);
    }

    fn input(&mut self, room: &mut Context<'_>, player: PlayerId, input: &Controls) {
        self.sandbox.input(room, player, input);
    }

    fn playground(
        &mut self,
        room: &mut Context<'_>,
        player: PlayerId,
        command: &PlaygroundCommand,
    ) -> Result<(), Rejection> {
        self.sandbox.playground(room, player, command)
    }

    fn answer(&mut self, room: &mut Context<'_>, id: aether::wire::RequestId, answer: &aether::engine::Answer) {
        self.sandbox.answer(room, id, answer);
    }

    fn tick(&mut self, room: &mut Context<'_>) {
        if self.diverges_at == Some(room.tick()) {
            room.random.bits();
        }
        self.sandbox.tick(room);
    }

    fn hash(&self, hasher: &mut StateHasher) {
        self.sandbox.hash(hasher);
    }
}

/// Client without a network in between.
pub struct Pilot {
    pub endpoint: ConnectionEndpoint,
    pub order: DeliveryOrder,
    pub mirror: Mirror,
    last_input: InputSeq,
}

impl Pilot {
    /// Requests to join at the room's next tick.
    pub fn join(handle: &RoomHandle, name: &str, order: DeliveryOrder) -> Pilot {
        let permissions = Permissions { playground: true, ..Permissions::default() };
        let request =
            JoinRequest { user: name.to_owned(), name: name.to_owned(), permissions, ..JoinRequest::default() };
        let endpoint = handle.join(request, order).expect("the mailbox has room");
        let mirror = Mirror::builder().component::<Ship>().component::<Thing>().component::<Shot>();
        let mirror =
            mirror.component::<Scoreboard>().build(order, aether_sandbox_server::settings().seconds_per_tick());
        Pilot { endpoint, order, mirror, last_input: InputSeq(0) }
    }

    /// Returns its player.
    pub fn player(&self) -> PlayerId {
        *self.endpoint.admission().expect("a tick has passed").as_ref().expect("it was admitted")
    }

    /// Sends an input with the acknowledgement of received state.
    pub fn steer(&mut self, controls: Controls) {
        let mut writer = BitWriter::new();
        controls.write_full(&mut writer);
        self.last_input.0 += 1;
        let inputs = Inputs {
            first_seq: self.last_input,
            payloads: vec![InputPayload::Packed(InputBytes::new(&writer.to_bytes()).expect("controls are small"))]
                .into(),
            ack: if self.order == DeliveryOrder::Ordered { StateAck::NONE } else { self.mirror.acknowledgement() },
            view: ViewTick { tick: self.mirror.tick(), fraction: 0 },
        };
        self.endpoint.push(ClientMessage::Inputs(inputs)).expect("the inbox has room");
    }

    /// Spawns many rotating objects.
    pub fn stress(&self, count: u32) {
        let stress = PlaygroundStress { seq: CommandSeq(1), count, rotate: true };
        self.endpoint.push(ClientMessage::PlaygroundStress(stress)).expect("the inbox has room");
    }

    /// Receives everything that the room has sent, and recycles the buffers.
    pub fn receive(&mut self) {
        while self.endpoint.next_reliable().is_some() {}
        while let Some(packet) = self.endpoint.next_state() {
            self.mirror.apply(&packet).expect("the room's packets can be read");
            self.endpoint.recycle(packet);
        }
    }

    /// Returns whether its state equals what the room shows it.
    pub fn agrees<G: Game>(&self, room: &Room<G>) -> bool {
        room.hash_seen_by(self.player()) == Some(self.mirror.hash())
    }
}

/// Returns controls that differ from player to player and change a few times a second.
pub fn controls(tick: u32, player: u32) -> Controls {
    let mut hasher = StateHasher::new(u64::from(tick / 12));
    hasher.word(u64::from(player));
    let bits = hasher.finish();
    let is_set = |bit: u64| bits >> bit & 1 == 1;
    Controls { thrust: is_set(0) || is_set(1), left: is_set(2), right: is_set(3), fire: is_set(4) }
}
