//! Storage indexes that scripts registered.

use crate::context::context_table;
use crate::error::ScriptError;
use crate::json::json_to_lua;
use crate::program::Program;
use crate::registrations::RegistrationKind;
use crate::scripts::{Scripts, table};
use crate::vm::Vm;
use aether_services::Services;
use aether_services::storage::Object;
use mlua::MultiValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use tracing::warn;

/// Indexes that scripts have added, with their definitions as text.
#[derive(Default)]
pub(crate) struct AddedIndexes {
    by_name: Mutex<BTreeMap<String, String>>,
}

impl AddedIndexes {
    /// Adds the indexes of a program that the server does not have. `is_running` says that objects may change meanwhile. An
    /// index that exists keeps its definition until the server is restarted.
    pub async fn add(
        &self,
        scripts: &Arc<Scripts>,
        program: &Arc<Program>,
        (services, is_running): (&Arc<Services>, bool),
    ) -> Result<(), ScriptError> {
        for definition in program.indexes() {
            let (name, text) = (definition.name.clone(), format!("{definition:?}"));
            let added = self.by_name().get(&name).cloned();
            match added {
                Some(added) if added == text => continue,
                Some(_) => {
                    warn!(index = name, "storage index of a script has changed; restart the server to apply it");
                    continue;
                }
                None => {}
            }
            let mut definition = definition.clone();
            if program.has(RegistrationKind::IndexFilter, &name) {
                let (scripts, loading, index) = (Arc::downgrade(scripts), Arc::downgrade(program), name.clone());
                definition = definition.filter(move |object| is_indexed(&scripts, &loading, &index, object));
            }
            services.storage.add_index(definition, &scripts.settings().registry, is_running).await?;
            self.by_name().insert(name, text);
        }
        Ok(())
    }

    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, String>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Asks the filter of the current program, or of the one that is being loaded. An object whose filter fails is not indexed.
fn is_indexed(scripts: &Weak<Scripts>, loading: &Weak<Program>, index: &str, object: &Object) -> bool {
    let Some(scripts) = scripts.upgrade() else { return false };
    let Some(program) = scripts.program().or_else(|| loading.upgrade()) else { return false };
    let outcome = program.filter(index, |vm| arguments(vm, object));
    outcome.unwrap_or_else(|error| {
        let _ = scripts.failures.report(index, error);
        false
    })
}

fn arguments(vm: &Vm, object: &Object) -> mlua::Result<MultiValue> {
    let value: Value = serde_json::from_str(&object.value).unwrap_or_default();
    let shown = json!({
        "collection": object.id.collection,
        "key": object.id.key,
        "user_id": object.id.owner,
        "value": value,
        "version": object.version,
        "permission_read": object.read as u8,
        "permission_write": object.write as u8,
    });
    let context = table(context_table(vm, "storage_index_filter", None)?);
    Ok(MultiValue::from_iter([context, json_to_lua(vm.lua(), &shown)?]))
}
