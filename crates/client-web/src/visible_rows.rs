//! Latest known rows of visible entities.

use crate::RowLayout;
use aether_replication::Mirror;
use aether_wire::EntityId;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Values of a component.
pub type ComponentRow = Rc<[f64]>;

/// Latest known rows of all visible entities. Shared with the rules, which read it while they step.
#[derive(Debug, Default)]
pub struct VisibleRows {
    entities: BTreeMap<EntityId, Rc<[Option<ComponentRow>]>>,
    /// Number of changes per component.
    versions: Vec<u32>,
}

impl VisibleRows {
    /// Number of times that a row of a component entered, left or changed.
    #[must_use]
    pub fn version(&self, component: usize) -> u32 {
        self.versions.get(component).copied().unwrap_or(0)
    }

    /// Rows of an entity, by component.
    #[must_use]
    pub fn rows(&self, entity: EntityId) -> Option<&Rc<[Option<ComponentRow>]>> {
        self.entities.get(&entity)
    }

    /// Appends every entity that has any of the components: its id, a bit mask of those that it has, and their rows.
    pub fn draw(&self, components: &[usize], out: &mut Vec<f64>) {
        for (entity, rows) in &self.entities {
            append_rows(*entity, components, rows, out);
        }
    }

    /// Removes all rows. Versions keep increasing, so that cached results are invalidated.
    pub fn clear(&mut self, components: usize) {
        self.entities.clear();
        self.versions.resize(components.max(self.versions.len()), 0);
        self.versions.iter_mut().for_each(|version| *version = version.wrapping_add(1));
    }

    /// Applies the changes of a packet.
    pub fn update(&mut self, mirror: &Mirror, layouts: &[RowLayout]) {
        for entity in mirror.left() {
            if let Some(rows) = self.entities.remove(entity) {
                self.bump_versions((0..rows.len()).filter(|component| rows[*component].is_some()));
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
                    // An unchanged row stays shared, so that interpolation can skip it.
                    Some(known(component).filter(|known| known[..] == row[..]).unwrap_or_else(|| row.into()))
                })
                .collect();
            let is_same = |component: &usize| match (&rows[*component], known(*component)) {
                (Some(row), Some(known)) => Rc::ptr_eq(row, &known),
                (None, None) => true,
                _ => false,
            };
            self.bump_versions((0..rows.len()).filter(|component| !is_same(component)));
            self.entities.insert(entity, rows);
        }
    }

    fn bump_versions(&mut self, components: impl Iterator<Item = usize>) {
        for component in components {
            if let Some(version) = self.versions.get_mut(component) {
                *version = version.wrapping_add(1);
            }
        }
    }
}

/// Appends an entity if it has any of the components.
pub(crate) fn append_rows(entity: EntityId, components: &[usize], rows: &[Option<ComponentRow>], out: &mut Vec<f64>) {
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
