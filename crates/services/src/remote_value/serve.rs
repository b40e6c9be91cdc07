//! Handler of the operation with which clients read remote values.

use super::operation::{ListRemoteValues, ListRemoteValuesRequest, RemoteValueList};
use super::{TOTAL_BYTES_MAX, VALUE_BYTES_MAX};
use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve, answer_blocks};

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<ListRemoteValues>()
}

impl Serve for ListRemoteValues {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListRemoteValuesRequest) -> u32 {
        match request.keys.len() {
            0 => answer_blocks(1, TOTAL_BYTES_MAX),
            keys => answer_blocks(keys, VALUE_BYTES_MAX).min(answer_blocks(1, TOTAL_BYTES_MAX)),
        }
    }

    async fn serve(call: &Call<'_>, request: ListRemoteValuesRequest) -> Result<RemoteValueList, ServiceError> {
        let remote = &call.services.remote_values;
        let variables = call.caller().user().map(|identity| identity.variables.clone()).unwrap_or_default();
        let context = remote.context_of(call.owner()?, variables).await?;
        let found = remote.for_player(&context, &request.keys)?;
        let unchanged = found.hash == request.hash;
        let values = found.values.into_iter().filter(|_| !unchanged);
        let values = values.map(|(key, text)| (key, text.as_ref().to_owned())).collect();
        Ok(RemoteValueList { values, hash: found.hash, unchanged })
    }
}
