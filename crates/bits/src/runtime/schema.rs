//! Schema of a game that is declared at run time.

use super::{RecordBuilder, RecordType, SchemaError, SchemaProblem};
use crate::Schema;
use crate::schema::{COMPONENTS_MAX, EVENTS_MAX};
use std::sync::Arc;

/// A component of a [`RuntimeSchema`], by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComponentHandle(u8);

/// An event or message of a [`RuntimeSchema`], by its code on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventHandle(u16);

/// Components, input and events of a game, declared at run time.
#[derive(Clone, Debug, Default)]
pub struct RuntimeSchema {
    components: Vec<Arc<RecordType>>,
    input: Option<Arc<RecordType>>,
    events: Vec<Arc<RecordType>>,
}

/// Collects declarations. Their order determines the numbers on the wire.
#[derive(Debug, Default)]
pub struct SchemaBuilder {
    schema: RuntimeSchema,
    /// The number of the next record type.
    next: u16,
}

impl ComponentHandle {
    /// The number of the component.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl EventHandle {
    /// The event's code on the wire.
    #[must_use]
    pub fn code(self) -> u16 {
        self.0
    }
}

impl SchemaBuilder {
    /// Adds a component.
    pub fn component(&mut self, record: RecordBuilder) -> Result<ComponentHandle, SchemaError> {
        let at = self.schema.components.len();
        let (known, limit) = (&self.schema.components, ("components", COMPONENTS_MAX));
        let record = Self::check(record, known, limit, &mut self.next)?;
        self.schema.components.push(record);
        Ok(ComponentHandle(at as u8))
    }

    /// Sets the input of a player. A game without it takes no inputs.
    pub fn input(&mut self, record: RecordBuilder) -> Result<(), SchemaError> {
        reject_private(&record)?;
        let known = self.schema.input.as_slice();
        self.schema.input = Some(Self::check(record, known, ("inputs", 1), &mut self.next)?);
        Ok(())
    }

    /// Adds an event or message. Both sides may send it.
    pub fn event(&mut self, record: RecordBuilder) -> Result<EventHandle, SchemaError> {
        let code = self.schema.events.len();
        reject_private(&record)?;
        let record = Self::check(record, &self.schema.events, ("events", EVENTS_MAX), &mut self.next)?;
        self.schema.events.push(record);
        Ok(EventHandle(code as u16))
    }

    /// Returns the schema.
    #[must_use]
    pub fn build(self) -> RuntimeSchema {
        self.schema
    }

    /// Checks a record against the others of the same list.
    fn check(
        record: RecordBuilder,
        known: &[Arc<RecordType>],
        (what, max): (&'static str, usize),
        number: &mut u16,
    ) -> Result<Arc<RecordType>, SchemaError> {
        let to_error = |problem| SchemaError { at: record.name().to_owned(), problem };
        if known.len() >= max {
            return Err(to_error(SchemaProblem::TooMany { what, max }));
        }
        if known.iter().any(|known| known.name() == record.name()) {
            return Err(to_error(SchemaProblem::NameTaken { name: record.name().to_owned() }));
        }
        let record = record.build(*number)?;
        *number += 1;
        Ok(Arc::new(record))
    }
}

impl RuntimeSchema {
    /// The types of the components, by number.
    #[must_use]
    pub fn components(&self) -> &[Arc<RecordType>] {
        &self.components
    }

    /// Type of a component, or `None` if the handle is of a larger schema.
    #[must_use]
    pub fn component(&self, handle: ComponentHandle) -> Option<&Arc<RecordType>> {
        self.components.get(handle.index())
    }

    /// Finds a component by name.
    #[must_use]
    pub fn find_component(&self, name: &str) -> Option<ComponentHandle> {
        self.components.iter().position(|known| known.name() == name).map(|index| ComponentHandle(index as u8))
    }

    /// The type of the input, if the game takes any.
    #[must_use]
    pub fn input(&self) -> Option<&Arc<RecordType>> {
        self.input.as_ref()
    }

    /// The types of events and messages, by code.
    #[must_use]
    pub fn events(&self) -> &[Arc<RecordType>] {
        &self.events
    }

    /// Type of an event or message, or `None` if the handle is of a larger schema.
    #[must_use]
    pub fn event(&self, handle: EventHandle) -> Option<&Arc<RecordType>> {
        self.events.get(usize::from(handle.0))
    }

    /// Finds an event or message by name.
    #[must_use]
    pub fn find_event(&self, name: &str) -> Option<EventHandle> {
        self.events.iter().position(|known| known.name() == name).map(|code| EventHandle(code as u16))
    }

    /// Finds an event or message by code.
    #[must_use]
    pub fn event_of(&self, code: u16) -> Option<EventHandle> {
        (usize::from(code) < self.events.len()).then_some(EventHandle(code))
    }

    /// Returns the descriptor for clients.
    #[must_use]
    pub fn schema(&self) -> Schema {
        let of = |types: &[Arc<RecordType>]| types.iter().map(|known| known.schema().clone()).collect();
        Schema {
            components: of(&self.components),
            inputs: self.input.iter().map(|input| input.schema().clone()).collect(),
            events: of(&self.events),
        }
    }
}

fn reject_private(record: &RecordBuilder) -> Result<(), SchemaError> {
    match record.private.is_empty() {
        true => Ok(()),
        false => Err(SchemaError { at: record.name().to_owned(), problem: SchemaProblem::Private }),
    }
}
