//! Handlers of the storage operations.
//!
//! A client writes and deletes objects of its user, and server code those of the account that it names. An object without a user id in a read request belongs to the
//! server.

use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve};
use crate::storage::read::OBJECTS_UNCHECKED_MAX;
use crate::storage::{Ack, Condition, Delete, Object, ObjectId, Permission, Write};
use aether_messages::api::{
    DeleteStorageObjectId, DeleteStorageObjectsRequest, ListStorageObjectsRequest, ReadStorageObjectId,
    ReadStorageObjectsRequest, StorageObject, StorageObjectAck, StorageObjectAcks, StorageObjectList, StorageObjects,
    WriteStorageObject, WriteStorageObjectsRequest,
};
use aether_messages::operation::{DeleteStorageObjects, ListStorageObjects, ReadStorageObjects, WriteStorageObjects};
use aether_messages::{Empty, timestamp};
use uuid::Uuid;

/// Entries per page if the request sets no limit.
const LIST_DEFAULT: i32 = 1;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ReadStorageObjects>()
        .with::<WriteStorageObjects>()
        .with::<DeleteStorageObjects>()
        .with::<ListStorageObjects>()
}

impl Serve for WriteStorageObjects {
    async fn serve(call: &Call<'_>, request: WriteStorageObjectsRequest) -> Result<StorageObjectAcks, ServiceError> {
        let user = call.owner()?;
        let writes = request.objects.into_iter().map(|object| write(user, object)).collect::<Result<_, _>>()?;
        let acks = call.services.storage.write(call.caller(), writes).await?;
        Ok(StorageObjectAcks { acks: acks.into_iter().map(ack).collect() })
    }
}

impl Serve for ReadStorageObjects {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ReadStorageObjectsRequest) -> u32 {
        blocks(request.object_ids.len())
    }

    async fn serve(call: &Call<'_>, request: ReadStorageObjectsRequest) -> Result<StorageObjects, ServiceError> {
        let ids = request.object_ids.into_iter().map(|ReadStorageObjectId { collection, key, user_id }| {
            Ok(ObjectId { collection, owner: owner(&user_id)?.unwrap_or_default(), key })
        });
        let ids = ids.collect::<Result<_, ServiceError>>()?;
        let objects = call.services.storage.read(call.caller(), ids).await?;
        Ok(StorageObjects { objects: objects.into_iter().map(object).collect() })
    }
}

impl Serve for DeleteStorageObjects {
    async fn serve(call: &Call<'_>, request: DeleteStorageObjectsRequest) -> Result<Empty, ServiceError> {
        let owner = call.owner()?;
        let deletes = request.object_ids.into_iter().map(|DeleteStorageObjectId { collection, key, version }| Delete {
            id: ObjectId { collection, owner, key },
            version: Some(version).filter(|version| !version.is_empty()),
        });
        call.services.storage.delete(call.caller(), deletes.collect()).await?;
        Ok(Empty::default())
    }
}

impl Serve for ListStorageObjects {
    const PRESET: RatePreset = RatePreset::Read;

    fn answer_blocks(request: &ListStorageObjectsRequest) -> u32 {
        blocks(usize::try_from(request.limit.unwrap_or(LIST_DEFAULT)).unwrap_or(0))
    }

    async fn serve(call: &Call<'_>, request: ListStorageObjectsRequest) -> Result<StorageObjectList, ServiceError> {
        let ListStorageObjectsRequest { user_id, collection, limit, cursor } = request;
        let (owner, limit) = (owner(&user_id)?, limit.unwrap_or(LIST_DEFAULT));
        let page = call.services.storage.list(call.caller(), &collection, owner, limit, &cursor).await?;
        Ok(StorageObjectList { objects: page.objects.into_iter().map(object).collect(), cursor: page.cursor })
    }
}

/// Returns the blocks that the values of a number of objects may need.
pub(crate) fn blocks(objects: usize) -> u32 {
    objects.min(OBJECTS_UNCHECKED_MAX) as u32
}

fn write(owner: Uuid, object: WriteStorageObject) -> Result<Write, ServiceError> {
    let permission =
        |number: Option<i32>| number.map_or(Ok(Permission::Owner), |number| Permission::from_number(number.into()));
    let WriteStorageObject { collection, key, value, version, permission_read, permission_write } = object;
    Ok(Write {
        id: ObjectId { collection, owner, key },
        value,
        condition: Condition::from_text(&version),
        read: permission(permission_read)?,
        write: permission(permission_write)?,
    })
}

fn ack(ack: Ack) -> StorageObjectAck {
    StorageObjectAck {
        collection: ack.id.collection,
        key: ack.id.key,
        version: ack.version,
        user_id: ack.id.owner.to_string(),
        create_time: Some(timestamp(ack.created_at)),
        update_time: Some(timestamp(ack.updated_at)),
    }
}

pub(crate) fn object(object: Object) -> StorageObject {
    StorageObject {
        collection: object.id.collection,
        key: object.id.key,
        user_id: object.id.owner.to_string(),
        value: object.value,
        version: object.version,
        permission_read: object.read as i32,
        permission_write: object.write as i32,
        create_time: Some(timestamp(object.created_at)),
        update_time: Some(timestamp(object.updated_at)),
    }
}

/// Parses the owner, if there is one.
fn owner(user_id: &str) -> Result<Option<Uuid>, ServiceError> {
    match user_id {
        "" => Ok(None),
        text => text.parse().map(Some).map_err(|_| ServiceError::invalid("User ID must be a UUID.")),
    }
}
