//! Replayed brackets in memory.

use super::definition::Bracket;
use super::limits::CACHED_BRACKETS_MAX;
use std::collections::HashMap;
use std::sync::Arc;

/// Replayed brackets. An entry is used only if its version is that of the database.
#[derive(Default)]
pub(super) struct Cache {
    brackets: HashMap<String, (u64, Arc<Bracket>)>,
    uses: u64,
}

impl Cache {
    /// Returns a bracket of this version.
    pub fn find(&mut self, id: &str, version: i64) -> Option<Arc<Bracket>> {
        self.uses += 1;
        let (last_use, bracket) = self.brackets.get_mut(id)?;
        *last_use = self.uses;
        (bracket.version == version).then(|| Arc::clone(bracket))
    }

    /// Adds a bracket. The one that was not used for the longest time makes room.
    pub fn put(&mut self, bracket: &Arc<Bracket>) {
        self.uses += 1;
        self.brackets.insert(bracket.definition.id.clone(), (self.uses, Arc::clone(bracket)));
        if self.brackets.len() > CACHED_BRACKETS_MAX {
            let oldest = self.brackets.iter().min_by_key(|(_, (last_use, _))| *last_use);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                self.brackets.remove(&id);
            }
        }
    }
}
