//! Scheduled functions: each runs once for every time of its schedule, over all servers of a database.
//!
//! The last time of a schedule is an object in the storage. Whoever replaces it, under the condition that it still has the
//! version that was read, runs the function. Times at which no server ran are not made up for, but for the last one.

use crate::context::context_table;
use crate::error::ScriptError;
use crate::program::Program;
use crate::registrations::RegistrationKind;
use crate::scripts::{ScriptServices, Scripts, table};
use crate::vm::Vm;
use aether_services::storage::{Condition, ObjectId, Permission, Write};
use aether_services::{Caller, GrpcCode, ServiceError, Services};
use mlua::MultiValue;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use uuid::Uuid;

/// Collection of the last times.
pub const SCHEDULES_COLLECTION: &str = "script_schedules";

/// Last times of schedules that are known, in seconds since 1970.
#[derive(Default)]
pub(crate) struct ScheduleTimes {
    by_name: Mutex<BTreeMap<String, i64>>,
}

/// Run of a scheduled function that this server has claimed.
pub struct DueRun {
    program: Arc<Program>,
    used: ScriptServices,
    name: String,
    time: i64,
}

impl ScheduleTimes {
    fn by_name(&self) -> MutexGuard<'_, BTreeMap<String, i64>> {
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scripts {
    /// Claims the scheduled functions that are due at `now`, in seconds since 1970, and returns their runs. Call it every
    /// second.
    pub async fn claim_due(self: &Arc<Self>, services: &Arc<Services>, now: i64) -> Result<Vec<DueRun>, ServiceError> {
        let Some(program) = self.program() else { return Ok(Vec::new()) };
        let mut runs = Vec::new();
        for (name, schedule) in program.schedules() {
            let Some(time) = schedule.last_until(now) else { continue };
            if self.schedule_times.by_name().get(name).is_some_and(|last| *last >= time) {
                continue;
            }
            let is_claimed = claim(services, name, time).await?;
            self.schedule_times.by_name().insert(name.clone(), time);
            if is_claimed {
                let used = ScriptServices { services: Arc::clone(services), scripts: Arc::clone(self) };
                runs.push(DueRun { program: Arc::clone(&program), used, name: name.clone(), time });
            }
        }
        Ok(runs)
    }
}

impl DueRun {
    /// Name of the schedule.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Runs the function. Its error is logged.
    pub async fn run(self) {
        let DueRun { program, used, name, time } = self;
        let arguments = |vm: &Vm| {
            let context = table(context_table(vm, "schedule", None)?);
            Ok(MultiValue::from_iter([context, mlua::Value::Number(time as f64)]))
        };
        let called: Result<(), ScriptError> =
            program.call(&used, (RegistrationKind::Schedule, &name), arguments, |_| Ok(())).await;
        if let Err(error) = called {
            let _ = used.scripts.failures.report(&name, error);
        }
    }
}

/// Notes the time as the last one of a schedule. Returns true if the function has to run: another server has not noted it,
/// and the schedule is not new.
async fn claim(services: &Services, name: &str, time: i64) -> Result<bool, ServiceError> {
    let id = ObjectId::new(SCHEDULES_COLLECTION, name, Uuid::nil());
    let noted = services.storage.read(&Caller::Server, vec![id.clone()]).await?.pop();
    let last = noted.as_ref().and_then(|object| serde_json::from_str::<Value>(&object.value).ok());
    if last.is_some_and(|last| last["time"].as_i64().is_some_and(|last| last >= time)) {
        return Ok(false);
    }
    let is_new = noted.is_none();
    let condition = noted.map_or(Condition::Absent, |object| Condition::Version(object.version));
    let write = Write::new(id, json!({ "time": time }).to_string()).when(condition);
    let write = write.permit(Permission::Nobody, Permission::Nobody);
    match services.storage.write(&Caller::Server, vec![write]).await {
        Ok(_) => Ok(!is_new),
        // Another server was faster.
        Err(error) if error.code == GrpcCode::InvalidArgument => Ok(false),
        Err(error) => Err(error),
    }
}
