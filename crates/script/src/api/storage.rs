//! Stored objects.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Modules, Outcome, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::Caller;
use aether_services::storage::{Object, ObjectId};
use uuid::Uuid;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type StorageId = { collection: string, key: string, user_id: string? }
type StorageObject = {
    collection: string,
    key: string,
    user_id: string,
    value: {[string]: any},
    version: string,
    permission_read: number,
    permission_write: number,
    create_time: number,
    update_time: number,
}
";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("storage_read", |used, args| Box::pin(read(used, args)))
        .about("Reads objects. Those that do not exist are left out.")
        .parameters(&[required("keys", "{StorageId}", "Ids of the objects.")])
        .returns("{StorageObject}"),
    Function::service("storage_get", |used, args| Box::pin(get(used, args)))
        .about("Returns the value of an object, or nil.")
        .parameters(&[
            required("user", "string?", "Owner; nil for an object of the server."),
            required("collection", "string", "Collection of the object."),
            required("key", "string", "Key in the collection."),
        ])
        .returns("{[string]: any}?")
        .only_in(Modules::Aether),
];

async fn read(used: ScriptServices, args: Arguments) -> Outcome {
    let ids = args.list(0)?.iter().map(|value| object_id(&args, value)).collect::<Result<_, _>>()?;
    let objects = used.services.storage.read(&Caller::Server, ids).await?;
    Ok(vec![Value::list(objects.iter().map(object))])
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let owner = args.optional_id(0)?.unwrap_or_default();
    let id = ObjectId::new(args.text(1)?, args.text(2)?, owner);
    let objects = used.services.storage.read(&Caller::Server, vec![id]).await?;
    Ok(vec![objects.first().map_or(Value::Nil, |object| json_text(&object.value))])
}

fn object_id(args: &Arguments, value: &Value) -> Result<ObjectId, ScriptError> {
    let (collection, key) = (value.get("collection").as_str(), value.get("key").as_str());
    let (Some(collection), Some(key)) = (collection, key) else {
        return Err(args.expected(0, "a list of tables with collection and key"));
    };
    let owner = match value.get("user_id").as_str() {
        None | Some("") => Uuid::nil(),
        Some(text) => Uuid::try_parse(text).map_err(|_| args.expected(0, "user_id to be an id (UUID)"))?,
    };
    Ok(ObjectId::new(collection, key, owner))
}

fn object(object: &Object) -> Value {
    Value::table([
        ("collection", Value::from(object.id.collection.as_str())),
        ("key", Value::from(object.id.key.as_str())),
        ("user_id", Value::from(object.id.owner.to_string())),
        ("value", json_text(&object.value)),
        ("version", Value::from(object.version.as_str())),
        ("permission_read", Value::from(object.read as i64)),
        ("permission_write", Value::from(object.write as i64)),
        ("create_time", Value::from(object.created_at / 1_000)),
        ("update_time", Value::from(object.updated_at / 1_000)),
    ])
}

fn json_text(text: &str) -> Value {
    serde_json::from_str(text).map_or(Value::Nil, |json| Value::from_json(&json))
}
