//! Handler of the operation on storage indexes.

use super::serve::limit;
use super::storage_index::{ListStorageIndex, ListStorageIndexRequest};
use crate::ServiceError;
use crate::caller::Caller;
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::storage::IndexQuery;
use crate::storage::serve::{blocks, object};
use aether_messages::api::StorageObjectList;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<ListStorageIndex>()
}

impl Serve for ListStorageIndex {
    const ACCESS: Access = Access::Inspect;
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListStorageIndexRequest) -> u32 {
        blocks(usize::try_from(request.limit.unwrap_or(0)).unwrap_or(0))
    }

    async fn serve(call: &Call<'_>, request: ListStorageIndexRequest) -> Result<StorageObjectList, ServiceError> {
        let ListStorageIndexRequest { index, query, order, cursor, limit: listed } = request;
        let limit = i32::try_from(limit(listed)?).unwrap_or(i32::MAX);
        let query = IndexQuery { index, query, order, limit, cursor };
        // Whoever may inspect the server sees all objects.
        let page = call.services.storage.list_index(&Caller::Server, &query).await?;
        Ok(StorageObjectList { objects: page.objects.into_iter().map(object).collect(), cursor: page.cursor })
    }
}
