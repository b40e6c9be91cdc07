//! What is known of everything in view, as new as it is.

use crate::RowLayout;
use aether_replication::Mirror;
use aether_wire::EntityId;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A component's values.
pub type ComponentRow = Rc<[f64]>;

/// The newest rows of all entities in view. It stands beside the game, because rules look at it while they step.
#[derive(Debug, Default)]
pub struct VisibleRows {
    entities: BTreeMap<EntityId, Rc<[Option<ComponentRow>]>>,
    /// Per component: how often something of it entered, left or changed.
    versions: Vec<u32>,
}

impl VisibleRows {
    /// How often something of a component entered, left or changed.
    #[must_use]
    pub fn version(&self, component: usize) -> u32 {
        self.versions.get(component).copied().unwrap_or(0)
    }

    /// An entity's rows, by component.
    #[must_use]
    pub fn rows(&self, entity: EntityId) -> Option<&Rc<[Option<ComponentRow>]>> {
        self.entities.get(&entity)
    }

    /// Appends every entity that has one of some components: its id, which of them it has as bits, and the rows of those.
    pub fn draw(&self, components: &[usize], out: &mut Vec<f64>) {
        for (entity, rows) in &self.entities {
            put_rows(*entity, components, rows, out);
        }
    }

    /// Forgets everything. Versions go on, so that nobody takes what comes for what was.
    pub fn clear(&mut self, components: usize) {
        self.entities.clear();
        self.versions.resize(components.max(self.versions.len()), 0);
        self.versions.iter_mut().for_each(|version| *version = version.wrapping_add(1));
    }

    /// Takes in what a packet changed.
    pub fn look(&mut self, mirror: &Mirror, layouts: &[RowLayout]) {
        for entity in mirror.left() {
            if let Some(rows) = self.entities.remove(entity) {
                self.count((0..rows.len()).filter(|component| rows[*component].is_some()));
            }
        }
        for &entity in mirror.entered().iter().chain(mirror.updated()) {
            let before = self.entities.get(&entity).cloned();
            let known = |component: usize| before.as_ref().and_then(|rows| rows.get(component)?.clone());
            let rows: Rc<[Option<ComponentRow>]> = layouts
                .iter()
                .enumerate()
                .map(|(component, layout)| {
                    let (_, value) = mirror.value(entity, component)?;
                    let mut row = Vec::new();
                    layout.flatten(value, &mut row);
                    // What did not change stays the same row, which whoever looks between two states can tell.
                    Some(known(component).filter(|known| known[..] == row[..]).unwrap_or_else(|| row.into()))
                })
                .collect();
            let is_same = |component: &usize| match (&rows[*component], known(*component)) {
                (Some(row), Some(known)) => Rc::ptr_eq(row, &known),
                (None, None) => true,
                _ => false,
            };
            self.count((0..rows.len()).filter(|component| !is_same(component)));
            self.entities.insert(entity, rows);
        }
    }

    fn count(&mut self, components: impl Iterator<Item = usize>) {
        for component in components {
            if let Some(version) = self.versions.get_mut(component) {
                *version = version.wrapping_add(1);
            }
        }
    }
}

/// Appends an entity, if it has one of some components.
pub(crate) fn put_rows(entity: EntityId, components: &[usize], rows: &[Option<ComponentRow>], out: &mut Vec<f64>) {
    let row = |component: &usize| rows.get(*component).and_then(Option::as_ref);
    let present = components.iter().enumerate().filter(|(_, component)| row(component).is_some());
    let mask = present.fold(0_u32, |mask, (index, _)| mask | 1 << index);
    if mask == 0 {
        return;
    }
    out.push(entity.to_bits() as f64);
    out.push(f64::from(mask));
    components.iter().filter_map(row).for_each(|row| out.extend_from_slice(row));
}
