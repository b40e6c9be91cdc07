//! Handlers of the operations on scripts.

use super::room::NoRequest;
use super::script::{ListScripts, ReloadScripts, ScriptList, ScriptReload};
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::error::ServiceError;
use aether_messages::Operation;
use uuid::Uuid;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<ListScripts>().with::<ReloadScripts>()
}

impl Serve for ListScripts {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, _: NoRequest) -> Result<ScriptList, ServiceError> {
        Ok(call.services.script_operator()?.list())
    }
}

impl Serve for ReloadScripts {
    const ACCESS: Access = Access::Manage;
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, _: NoRequest) -> Result<ScriptReload, ServiceError> {
        let scripts = call.services.script_operator()?;
        call.services.audit.write(call.caller(), Uuid::nil(), ReloadScripts::NAME, "").await?;
        scripts.reload().await
    }
}
