//! Handlers of the operations on remote values for operators.

use super::remote_value::{
    AllRemoteValueList, DeleteRemoteValue, GetRemoteValue, ListAllRemoteValues, ListAllRemoteValuesRequest,
    RemoteValueRequest, SetRemoteValue, SetRemoteValueRequest, ShownRemoteValue,
};
use super::serve::{limit, time};
use crate::calls::{Access, Call, Operations, RatePreset, Serve, answer_blocks};
use crate::cursor;
use crate::error::{GrpcCode, ServiceError};
use crate::remote_value::{NewRemoteValue, RemoteValue, TOTAL_BYTES_MAX};
use aether_messages::Operation;
use uuid::Uuid;

const VALUE_NOT_FOUND: ServiceError =
    ServiceError::new(GrpcCode::NotFound, "The remote value was not found; list the values to see their keys.");
const VALUE_MISSING: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "Send the value as JSON in `value`, for example {\"value\": 5}.");

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListAllRemoteValues>()
        .with::<GetRemoteValue>()
        .with::<SetRemoteValue>()
        .with::<DeleteRemoteValue>()
}

impl Serve for ListAllRemoteValues {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(_: &ListAllRemoteValuesRequest) -> u32 {
        answer_blocks(1, TOTAL_BYTES_MAX)
    }

    async fn serve(call: &Call<'_>, request: ListAllRemoteValuesRequest) -> Result<AllRemoteValueList, ServiceError> {
        let after: String = cursor::decode(&request.cursor)?.unwrap_or_default();
        let limit = limit(request.limit)?;
        let values = call.services.remote_values.list(&after, limit);
        let last = values.last().filter(|_| values.len() >= limit as usize);
        let cursor = last.map_or_else(String::new, |last| cursor::encode(&last.key));
        Ok(AllRemoteValueList { values: values.iter().map(|value| shown(value)).collect(), cursor })
    }
}

impl Serve for GetRemoteValue {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: RemoteValueRequest) -> Result<ShownRemoteValue, ServiceError> {
        Ok(shown(&*call.services.remote_values.find(&request.key).ok_or(VALUE_NOT_FOUND)?))
    }
}

impl Serve for SetRemoteValue {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: SetRemoteValueRequest) -> Result<ShownRemoteValue, ServiceError> {
        let contents = request.contents.unwrap_or_default();
        let rules = contents.rules.as_deref().unwrap_or("[]");
        let rules = serde_json::from_str(rules)
            .map_err(|error| ServiceError::invalid(format!("The rules are not valid: {error}.")))?;
        let new = NewRemoteValue { key: request.key, value: contents.value.ok_or(VALUE_MISSING)?, rules };
        new.check()?;
        call.services.audit.write(call.caller(), Uuid::nil(), SetRemoteValue::NAME, &new.key).await?;
        Ok(shown(&*call.services.remote_values.set(new).await?))
    }
}

impl Serve for DeleteRemoteValue {
    const ACCESS: Access = Access::Manage;

    async fn serve(call: &Call<'_>, request: RemoteValueRequest) -> Result<RemoteValueRequest, ServiceError> {
        call.services.remote_values.find(&request.key).ok_or(VALUE_NOT_FOUND)?;
        call.services.audit.write(call.caller(), Uuid::nil(), DeleteRemoteValue::NAME, &request.key).await?;
        match call.services.remote_values.delete(&request.key).await? {
            true => Ok(request),
            false => Err(VALUE_NOT_FOUND),
        }
    }
}

fn shown(value: &RemoteValue) -> ShownRemoteValue {
    ShownRemoteValue {
        key: value.key.clone(),
        value: value.value.as_ref().to_owned(),
        rules: value.rules_text.clone(),
        version: i32::try_from(value.version).unwrap_or(i32::MAX),
        create_time: time(Some(value.created_at)),
        update_time: time(Some(value.updated_at)),
    }
}
