//! Client of a scripted game.

use crate::visible_rows::append_rows;
use crate::{ComponentRow, PredictionRules, SchemaGame, VisibleRows};
use aether_client::{Client, ClientEvent, ClientPhase, ClientSettings, JoinOptions};
use aether_wire::{ClientMessage, CommandSeq, EntityId, GameBody, GameMessage};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Duration;

/// Largest number of events stored until the schema is known, which is needed to decode them. As many as the client
/// stores.
const EVENTS_MAX: usize = 32_768;

/// Client whose world is read as rows, channel by channel.
pub struct ClientCore<R: PredictionRules> {
    /// Client.
    pub client: Client<SchemaGame<R>>,
    queued_events: VecDeque<ClientEvent>,
    schema_version: u32,
    /// Components of each channel. Channels are in the order of their first component in the schema.
    channels: Vec<Vec<usize>>,
}

impl<R: PredictionRules> ClientCore<R> {
    /// Creates a core that is not connected yet.
    #[must_use]
    pub fn new(rules: Option<R>, join_options: JoinOptions, seed: u64) -> Self {
        let game = SchemaGame::new(rules, Rc::new(RefCell::new(VisibleRows::default())));
        let settings = ClientSettings { seed, ..ClientSettings::default() };
        let client = Client::new(game, settings, join_options);
        ClientCore { client, queued_events: VecDeque::new(), schema_version: 0, channels: Vec::new() }
    }

    /// Handles a frame from the server. Returns true if the schema has changed.
    pub fn receive(&mut self, frame: &[u8], now: Duration) -> bool {
        self.client.receive_frame(frame, now);
        let schema_version = self.client.game().schema_version();
        let is_new = schema_version != self.schema_version;
        if is_new {
            self.schema_version = schema_version;
            self.channels = channels(self.client.game());
        }
        is_new
    }

    /// Sets the input of the player as a row. Returns false if the row does not fit the layout, or the schema is
    /// unknown.
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

    /// Sends a message to the game as a row. Returns its number, or `None` if it cannot be sent.
    pub fn send_message(&mut self, code: u16, row: &[f64]) -> Option<CommandSeq> {
        let layout = self.client.game().events().get(usize::from(code))?;
        let mut writer = aether_bits::BitWriter::new();
        if !layout.pack(row, &mut writer) {
            return None;
        }
        let body = GameBody::Packed { code, payload: writer.to_bytes() };
        self.client.send_command(|seq| ClientMessage::Game(GameMessage { seq, body }))
    }

    /// Next event. Events are withheld until the schema is known, so that a joined script can decode and send
    /// everything.
    pub fn next_event(&mut self) -> Option<ClientEvent> {
        self.queued_events.extend(self.client.events());
        while self.queued_events.len() > EVENTS_MAX {
            self.queued_events.pop_front();
        }
        let ticks = self.client.welcome().is_some_and(|welcome| welcome.tick_hz > 0);
        let is_early = *self.client.phase() == ClientPhase::Joined && ticks && self.client.mirror().is_none();
        if is_early { None } else { self.queued_events.pop_front() }
    }

    /// Components of each channel.
    #[must_use]
    pub fn channels(&self) -> &[Vec<usize>] {
        &self.channels
    }

    /// Appends every entity of a channel to draw: its id, a bit mask of the channel's components that it has, and their
    /// rows.
    pub fn draw(&self, channel: usize, out: &mut Vec<f64>) {
        let Some(components) = self.channels.get(channel) else { return };
        let own = self.own_rows();
        for (entity, state) in self.client.entities() {
            if own.as_ref().is_none_or(|(own, _)| *own != entity) {
                append_rows(entity, components, &state.rows, out);
            }
        }
        if let Some((entity, rows)) = own {
            append_rows(entity, components, &rows, out);
        }
    }

    /// Like [`ClientCore::draw`], for one entity.
    pub fn draw_one(&self, channel: usize, entity: EntityId, out: &mut Vec<f64>) {
        let Some(components) = self.channels.get(channel) else { return };
        if let Some((own, rows)) = self.own_rows()
            && own == entity
        {
            append_rows(entity, components, &rows, out);
        } else if let Some(state) = self.client.entity(entity) {
            append_rows(entity, components, &state.rows, out);
        }
    }

    /// Rows of the own entity: the predicted component, and the latest known state of the others. `None` without
    /// prediction.
    fn own_rows(&self) -> Option<(EntityId, Vec<Option<ComponentRow>>)> {
        let game = self.client.game();
        let (entity, component) = (self.client.own_entity()?, game.predicted()?);
        let state = self.client.own_state()?;
        let mut rows = game.visible_rows().borrow().rows(entity)?.to_vec();
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
