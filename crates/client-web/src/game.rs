//! Any game, by its schema, with the rules of a script.

use crate::{DisplayedRows, PredictedRow, RowLayout, VisibleRows};
use aether_bits::{BitWriter, Schema, SchemaValue};
use aether_client::{ClientGame, ClientSchemaBuilder, Predict};
use aether_replication::Mirror;
use aether_wire::{EntityId, InputSeq, Tick};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Packets that are told of and wait to be taken. A script that does not take them loses the oldest.
const SEEN_MAX: usize = 1_024;

/// How the own entity moves. Rules see the world through the [`VisibleRows`] that the core shares.
pub trait PredictionRules {
    /// The channel whose component is predicted.
    fn channel(&self) -> &str;

    /// Fields that only the server decides.
    fn ignored(&self) -> &[String];

    /// Changes the state by one input that lasts so many seconds. Both are rows; what is no row of its layout afterwards
    /// is dropped.
    fn step(&self, state: &mut Vec<f64>, input: &[f64], seconds: f32);
}

/// What a packet brought into view and out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibilityChanges {
    /// The newest tick.
    pub tick: Tick,
    /// The last input that the state includes.
    pub input_ack: InputSeq,
    /// What came into view.
    pub entered: Vec<EntityId>,
    /// What is out of it.
    pub left: Vec<EntityId>,
}

/// A game that is known by its schema alone.
pub struct SchemaGame<R> {
    rules: Option<R>,
    schema: Option<Schema>,
    components: Rc<[RowLayout]>,
    input: Option<RowLayout>,
    events: Vec<RowLayout>,
    predicted: Option<PredictedChannel>,
    view: Rc<RefCell<VisibleRows>>,
    seen: VecDeque<VisibilityChanges>,
    learned: u32,
}

struct PredictedChannel {
    component: usize,
    layout: Rc<RowLayout>,
    /// The numbers of the fields that only the server decides.
    ignored: Vec<usize>,
}

impl<R: PredictionRules> SchemaGame<R> {
    /// A game of which nothing is known yet. Without rules nothing is predicted.
    #[must_use]
    pub fn new(rules: Option<R>, view: Rc<RefCell<VisibleRows>>) -> Self {
        SchemaGame {
            rules,
            schema: None,
            components: Rc::new([]),
            input: None,
            events: Vec::new(),
            predicted: None,
            view,
            seen: VecDeque::new(),
            learned: 0,
        }
    }

    /// The schema, once it is known.
    #[must_use]
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// How often a schema was learned: whoever keeps what follows from it knows by this when it is another one.
    #[must_use]
    pub fn learned(&self) -> u32 {
        self.learned
    }

    /// The layouts of the components.
    #[must_use]
    pub fn components(&self) -> &[RowLayout] {
        &self.components
    }

    /// The layout of inputs, if the game takes any.
    #[must_use]
    pub fn input(&self) -> Option<&RowLayout> {
        self.input.as_ref()
    }

    /// The layouts of events and messages, by code.
    #[must_use]
    pub fn events(&self) -> &[RowLayout] {
        &self.events
    }

    /// The component that is predicted, if the rules' channel has one.
    #[must_use]
    pub fn predicted(&self) -> Option<usize> {
        self.predicted.as_ref().map(|predicted| predicted.component)
    }

    /// The newest state of everything in view.
    #[must_use]
    pub fn view(&self) -> &Rc<RefCell<VisibleRows>> {
        &self.view
    }

    /// The oldest packet that was not told of yet.
    pub fn next_seen(&mut self) -> Option<VisibilityChanges> {
        self.seen.pop_front()
    }
}

impl<R: PredictionRules> Predict for SchemaGame<R> {
    type State = PredictedRow;
    type Input = Rc<[f64]>;

    fn step(&self, state: &mut PredictedRow, input: &Rc<[f64]>, seconds: f32) {
        if let Some(rules) = &self.rules {
            rules.step(&mut state.row, input, seconds);
        }
    }

    fn snap(&self, state: &mut PredictedRow) {
        state.layout.snap(&mut state.row);
    }

    fn is_same(&self, a: &PredictedRow, b: &PredictedRow) -> bool {
        let Some(PredictedChannel { layout, ignored, .. }) = &self.predicted else { return true };
        if a.row == b.row {
            return true;
        }
        let (Some(a), Some(b)) = (layout.value(&a.row), layout.value(&b.row)) else { return false };
        let (SchemaValue::List(a), SchemaValue::List(b)) = (a, b) else { return false };
        a.iter().zip(&b).enumerate().all(|(field, (a, b))| a == b || ignored.contains(&field))
    }
}

impl<R: PredictionRules> ClientGame for SchemaGame<R> {
    type Remote = DisplayedRows;

    fn declare(&self, declaration: ClientSchemaBuilder) -> ClientSchemaBuilder {
        match &self.schema {
            Some(schema) => declaration.described(schema),
            None => declaration,
        }
    }

    fn learn_schema(&mut self, schema: &Schema) {
        self.components = schema.components.iter().map(|record| RowLayout::new(&record.kind)).collect();
        self.input = schema.inputs.first().map(|record| RowLayout::new(&record.kind));
        self.events = schema.events.iter().map(|record| RowLayout::new(&record.kind)).collect();
        self.predicted = self.rules.as_ref().and_then(|rules| {
            let component = schema.components.iter().position(|record| record.channel == rules.channel())?;
            let layout = Rc::new(self.components[component].clone());
            let ignored = rules.ignored().iter().filter_map(|name| layout.field(name)).collect();
            Some(PredictedChannel { component, layout, ignored })
        });
        self.schema = Some(schema.clone());
        self.learned += 1;
        self.view.borrow_mut().clear(self.components.len());
    }

    fn reset(&mut self) {
        self.seen.clear();
        self.view.borrow_mut().clear(self.components.len());
    }

    fn observe(&mut self, mirror: &Mirror) {
        self.view.borrow_mut().look(mirror, &self.components);
        if self.seen.len() == SEEN_MAX {
            self.seen.pop_front();
        }
        self.seen.push_back(VisibilityChanges {
            tick: mirror.tick(),
            input_ack: mirror.input_ack(),
            entered: mirror.entered().to_vec(),
            left: mirror.left().to_vec(),
        });
    }

    fn pack_input(&self, input: &Rc<[f64]>, writer: &mut BitWriter) {
        // An input was packed once when it was set, so it can be.
        let _ = self.input.as_ref().is_some_and(|layout| layout.pack(input, writer));
    }

    fn own_state(&self, _mirror: &Mirror, entity: EntityId) -> Option<PredictedRow> {
        let PredictedChannel { component, layout, .. } = self.predicted.as_ref()?;
        let view = self.view.borrow();
        let row = view.rows(entity)?.get(*component)?.as_ref()?;
        Some(PredictedRow { row: row.to_vec(), layout: Rc::clone(layout) })
    }

    fn remote_state(&self, _mirror: &Mirror, entity: EntityId) -> Option<DisplayedRows> {
        let rows = Rc::clone(self.view.borrow().rows(entity)?);
        Some(DisplayedRows { rows, layouts: Rc::clone(&self.components) })
    }
}
