//! Game that is defined by its schema, with rules of a script.

use crate::{DisplayedRows, PredictedRow, RowLayout, VisibleRows};
use aether_bits::{BitWriter, Schema, SchemaValue};
use aether_client::{ClientGame, ClientSchemaBuilder, Predict};
use aether_replication::Mirror;
use aether_wire::{EntityId, InputSeq, Tick};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

/// Largest number of queued packets. If the script does not read them, the oldest are dropped.
const CHANGES_MAX: usize = 1_024;

/// Rules that move the own entity. They read the world from the [`VisibleRows`] that the core shares.
pub trait PredictionRules {
    /// Channel whose component is predicted.
    fn channel(&self) -> &str;

    /// Fields that only the server decides. They are ignored when predictions are compared.
    fn ignored(&self) -> &[String];

    /// Advances the state by one input that lasts `seconds`. Both are rows. A result that does not fit the layout is
    /// not snapped.
    fn step(&self, state: &mut Vec<f64>, input: &[f64], seconds: f32);
}

/// Entities that a packet brought into view and out of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibilityChanges {
    /// Newest tick.
    pub tick: Tick,
    /// Last input that the state includes.
    pub input_ack: InputSeq,
    /// Entities that entered the view.
    pub entered: Vec<EntityId>,
    /// Entities that left the view.
    pub left: Vec<EntityId>,
}

/// Game that is known only by its schema.
pub struct SchemaGame<R> {
    rules: Option<R>,
    schema: Option<Schema>,
    components: Rc<[RowLayout]>,
    input: Option<RowLayout>,
    events: Vec<RowLayout>,
    predicted: Option<PredictedChannel>,
    visible_rows: Rc<RefCell<VisibleRows>>,
    changes: VecDeque<VisibilityChanges>,
    schema_version: u32,
}

struct PredictedChannel {
    component: usize,
    layout: Rc<RowLayout>,
    /// Indices of the fields that only the server decides.
    ignored: Vec<usize>,
}

impl<R: PredictionRules> SchemaGame<R> {
    /// Creates a game without a schema. Without rules nothing is predicted.
    #[must_use]
    pub fn new(rules: Option<R>, visible_rows: Rc<RefCell<VisibleRows>>) -> Self {
        SchemaGame {
            rules,
            schema: None,
            components: Rc::new([]),
            input: None,
            events: Vec::new(),
            predicted: None,
            visible_rows,
            changes: VecDeque::new(),
            schema_version: 0,
        }
    }

    /// Schema, once it is known.
    #[must_use]
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_ref()
    }

    /// Number of schemas received. It changes with the schema, so that derived data can be invalidated.
    #[must_use]
    pub fn schema_version(&self) -> u32 {
        self.schema_version
    }

    /// Layouts of the components.
    #[must_use]
    pub fn components(&self) -> &[RowLayout] {
        &self.components
    }

    /// Layout of inputs, if the game takes any.
    #[must_use]
    pub fn input(&self) -> Option<&RowLayout> {
        self.input.as_ref()
    }

    /// Layouts of events and messages, by code.
    #[must_use]
    pub fn events(&self) -> &[RowLayout] {
        &self.events
    }

    /// Predicted component, if the rules' channel has one.
    #[must_use]
    pub fn predicted(&self) -> Option<usize> {
        self.predicted.as_ref().map(|predicted| predicted.component)
    }

    /// Latest known rows of visible entities.
    #[must_use]
    pub fn visible_rows(&self) -> &Rc<RefCell<VisibleRows>> {
        &self.visible_rows
    }

    /// Removes and returns the changes of the oldest queued packet.
    pub fn next_changes(&mut self) -> Option<VisibilityChanges> {
        self.changes.pop_front()
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

    fn declare(&self, builder: ClientSchemaBuilder) -> ClientSchemaBuilder {
        match &self.schema {
            Some(schema) => builder.described(schema),
            None => builder,
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
        self.schema_version += 1;
        self.visible_rows.borrow_mut().clear(self.components.len());
    }

    fn reset(&mut self) {
        self.changes.clear();
        self.visible_rows.borrow_mut().clear(self.components.len());
    }

    fn observe(&mut self, mirror: &Mirror) {
        self.visible_rows.borrow_mut().update(mirror, &self.components);
        if self.changes.len() == CHANGES_MAX {
            self.changes.pop_front();
        }
        self.changes.push_back(VisibilityChanges {
            tick: mirror.tick(),
            input_ack: mirror.input_ack(),
            entered: mirror.entered().to_vec(),
            left: mirror.left().to_vec(),
        });
    }

    fn pack_input(&self, input: &Rc<[f64]>, writer: &mut BitWriter) {
        // Cannot fail: `set_input` accepts only rows of the input layout.
        let _ = self.input.as_ref().is_some_and(|layout| layout.pack(input, writer));
    }

    fn own_state(&self, _mirror: &Mirror, entity: EntityId) -> Option<PredictedRow> {
        let PredictedChannel { component, layout, .. } = self.predicted.as_ref()?;
        let visible_rows = self.visible_rows.borrow();
        let row = visible_rows.rows(entity)?.get(*component)?.as_ref()?;
        Some(PredictedRow { row: row.to_vec(), layout: Rc::clone(layout) })
    }

    fn remote_state(&self, _mirror: &Mirror, entity: EntityId) -> Option<DisplayedRows> {
        let rows = Rc::clone(self.visible_rows.borrow().rows(entity)?);
        Some(DisplayedRows { rows, layouts: Rc::clone(&self.components) })
    }
}
