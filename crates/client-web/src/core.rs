//! A client of a scripted game, as a script uses it.

use crate::view::put_rows;
use crate::{ComponentRow, PredictionRules, SchemaGame, VisibleRows};
use aether_client::{Client, ClientEvent, ClientPhase, ClientSettings, JoinOptions};
use aether_wire::{ClientMessage, CommandSeq, EntityId, GameBody, GameMessage};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// Events that wait for the schema, by which they are read.
const WAITING_MAX: usize = 1_024;

/// A client whose world is read channel by channel, as rows.
pub struct ClientCore<R: PredictionRules> {
    /// The client itself.
    pub client: Client<SchemaGame<R>>,
    waiting: VecDeque<ClientEvent>,
    learned: u32,
    /// The components of each channel, in the order in which the schema names the channels first.
    channels: Vec<Vec<usize>>,
}

impl<R: PredictionRules> ClientCore<R> {
    /// A core that is not connected yet.
    #[must_use]
    pub fn new(rules: Option<R>, login: JoinOptions, seed: u64) -> Self {
        let game = SchemaGame::new(rules, Rc::new(RefCell::new(VisibleRows::default())));
        let settings = ClientSettings { seed, ..ClientSettings::default() };
        let client = Client::new(game, settings, login);
        ClientCore { client, waiting: VecDeque::new(), learned: 0, channels: Vec::new() }
    }

    /// Takes in a frame from the server; true if the schema is another one now.
    pub fn receive(&mut self, frame: &[u8], now: Duration) -> bool {
        self.client.receive_frame(frame, now);
        let learned = self.client.game().learned();
        let is_new = learned != self.learned;
        if is_new {
            self.learned = learned;
            self.channels = channels(self.client.game());
        }
        is_new
    }

    /// Sets what the player does, as a row. False if it is none of the game's input, or not known yet what that is.
    pub fn set_input(&mut self, row: &[f64]) -> bool {
        let Some(layout) = self.client.game().input() else { return false };
        if layout.value(row).is_none() {
            return false;
        }
        let mut row = row.to_vec();
        layout.snap(&mut row);
        self.client.set_input(row.into());
        true
    }

    /// Says something to the game, as a row. Its number; nothing if it cannot be said.
    pub fn send_message(&mut self, code: u16, row: &[f64]) -> Option<CommandSeq> {
        let layout = self.client.game().events().get(usize::from(code))?;
        let mut writer = aether_bits::BitWriter::new();
        if !layout.pack(row, &mut writer) {
            return None;
        }
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        self.client.send_command(|seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// The next event. In a room whose schema is not known yet nothing has happened: one is in only when everything can be
    /// said and understood.
    pub fn next_event(&mut self) -> Option<ClientEvent> {
        self.waiting.extend(self.client.events());
        while self.waiting.len() > WAITING_MAX {
            self.waiting.pop_front();
        }
        let ticks = self.client.welcome().is_some_and(|welcome| welcome.tick_hz > 0);
        let is_early = *self.client.phase() == ClientPhase::Joined && ticks && self.client.mirror().is_none();
        if is_early { None } else { self.waiting.pop_front() }
    }

    /// The components of each channel.
    #[must_use]
    pub fn channels(&self) -> &[Vec<usize>] {
        &self.channels
    }

    /// Appends every entity of a channel as it is to be drawn: its id, which of the channel's components it has as bits, and
    /// the rows of those.
    pub fn draw(&self, channel: usize, out: &mut Vec<f64>) {
        let Some(components) = self.channels.get(channel) else { return };
        let own = self.own_rows();
        for (entity, shown) in self.client.entities() {
            if own.as_ref().is_none_or(|(own, _)| *own != entity) {
                put_rows(entity, components, &shown.rows, out);
            }
        }
        if let Some((entity, rows)) = own {
            put_rows(entity, components, &rows, out);
        }
    }

    /// As [`ClientCore::draw`], for one entity.
    pub fn draw_one(&self, channel: usize, entity: EntityId, out: &mut Vec<f64>) {
        let Some(components) = self.channels.get(channel) else { return };
        if let Some((own, rows)) = self.own_rows()
            && own == entity
        {
            put_rows(entity, components, &rows, out);
        } else if let Some(shown) = self.client.entity(entity) {
            put_rows(entity, components, &shown.rows, out);
        }
    }

    /// The own entity: as it is predicted, and the rest of it as new as it is. Nothing where nothing is predicted.
    fn own_rows(&self) -> Option<(EntityId, Vec<Option<ComponentRow>>)> {
        let game = self.client.game();
        let (entity, component) = (self.client.own_entity()?, game.predicted()?);
        let state = self.client.own_state()?;
        let mut rows = game.view().borrow().rows(entity)?.to_vec();
        *rows.get_mut(component)? = Some(state.row.into());
        Some((entity, rows))
    }
}

fn channels<R: PredictionRules>(game: &SchemaGame<R>) -> Vec<Vec<usize>> {
    let mut names: Vec<&str> = Vec::new();
    let mut channels: Vec<Vec<usize>> = Vec::new();
    for (component, record) in game.schema().iter().flat_map(|schema| &schema.components).enumerate() {
        match names.iter().position(|name| *name == record.channel) {
            Some(channel) => channels[channel].push(component),
            None => {
                names.push(&record.channel);
                channels.push(vec![component]);
            }
        }
    }
    channels
}
