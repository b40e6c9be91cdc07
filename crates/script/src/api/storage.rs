//! Stored objects.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Modules, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::session::tokens::Role;
use aether_services::storage::{
    Ack, Condition, Delete, IndexQuery, LIST_MAX, Object, ObjectId, Page, Permission, Write,
};
use aether_services::{Caller, UserIdentity};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// Entries of an index per page if the script sets no limit.
const INDEX_LIST_DEFAULT: i32 = 10;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type StorageId = { collection: string, key: string, user_id: string? }
type StorageDelete = { collection: string, key: string, user_id: string?, version: string? }
type StorageWrite = {
    collection: string,
    key: string,
    user_id: string?,
    value: {[string]: any},
    version: string?,
    permission_read: number?,
    permission_write: number?,
}
type StorageAck = {
    collection: string,
    key: string,
    user_id: string,
    version: string,
    create_time: number,
    update_time: number,
}
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

const USER: Parameter = required("user", "string?", "Owner; nil for an object of the server.");
const COLLECTION: Parameter = required("collection", "string", "Collection of the object.");
const KEY: Parameter = required("key", "string", "Key in the collection.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("storage_read", |used, args| Box::pin(read(used, args)))
        .about("Reads objects. Those that do not exist are left out.")
        .parameters(&[required("keys", "{StorageId}", "Ids of the objects.")])
        .returns("{StorageObject}"),
    Function::service("storage_write", |used, args| Box::pin(write(used, args)))
        .about("Writes objects, all or none. Owners may read and write them unless the permissions say otherwise.")
        .parameters(&[required("keys", "{StorageWrite}", "Objects; the version `*` means that it must not exist.")])
        .returns("{StorageAck}"),
    Function::luau("storage_write_retry", include_str!("storage_write_retry.luau"))
        .about(
            "Reads objects, calls a function with them, and writes the objects that it returns, unless one of them has \
             changed meanwhile: then it does so again.",
        )
        .parameters(&[
            required("objectIDs", "{StorageId}", "Ids of the objects to read."),
            required("updateFn", "(objects: {StorageObject}) -> {StorageWrite}", "Returns the objects to write."),
            optional("maxRetries", "number", "Further attempts after the first, up to 10; default 3."),
        ])
        .returns("{StorageAck}"),
    Function::service("storage_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes objects, all or none. An object that does not exist is no error, unless a version is given.")
        .parameters(&[required("keys", "{StorageDelete}", "Ids of the objects.")])
        .only_in(Modules::Nk),
    Function::service("storage_list", |used, args| Box::pin(list(used, args)))
        .about("Lists the objects of a collection. Returns them and the cursor of the next page, or nil.")
        .parameters(&[
            optional("userID", "string", "Owner; nil for the objects of all owners."),
            required("collection", "string", "Collection."),
            optional("limit", "number", "Objects per page, 1 to 100; default 100."),
            optional("cursor", "string", "Cursor of the former page."),
            optional("callerID", "string", "User whose permissions apply; nil for the server, which sees all."),
        ])
        .returns("({StorageObject}, string?)")
        .only_in(Modules::Nk),
    Function::service("storage_index_list", |used, args| Box::pin(list_index(used, args)))
        .about("Finds objects in a storage index. Returns them and the cursor of the next page, or nil.")
        .parameters(&[
            required("index", "string", "Name of the index."),
            optional("query", "string", "Query over the indexed fields, such as `+value.level:>5`; empty for all."),
            optional("limit", "number", "Objects per page, 1 to 100; default 10."),
            optional("orderTable", "{string}", "Fields to sort by, with a leading `-` for the highest first."),
            optional("callerID", "string", "User whose permissions apply; nil for the server, which sees all."),
            optional("cursor", "string", "Cursor of the former page."),
        ])
        .returns("({StorageObject}, string?)"),
    Function::service("storage_get", |used, args| Box::pin(get(used, args)))
        .about("Returns the value of an object, or nil.")
        .parameters(&[USER, COLLECTION, KEY])
        .returns("{[string]: any}?")
        .only_in(Modules::Aether),
    Function::service("storage_set", |used, args| Box::pin(set(used, args)))
        .about("Writes an object that its owner may read and only the server may change. Returns its version.")
        .parameters(&[USER, COLLECTION, KEY, required("value", "{[string]: any}", "New value.")])
        .returns("string")
        .only_in(Modules::Aether),
    Function::service("storage_delete", |used, args| Box::pin(remove(used, args)))
        .about("Deletes an object, if it exists.")
        .parameters(&[USER, COLLECTION, KEY])
        .only_in(Modules::Aether),
    Function::service("storage_list", |used, args| Box::pin(list_of(used, args)))
        .about("Returns the first objects of an owner in a collection, sorted by key.")
        .parameters(&[USER, COLLECTION, optional("limit", "number", "Most objects, 1 to 100; default 100.")])
        .returns("{StorageObject}")
        .only_in(Modules::Aether),
];

async fn read(used: ScriptServices, args: Arguments) -> Outcome {
    let ids = args.list(0)?.iter().map(|value| object_id(&args, 0, value)).collect::<Result<_, _>>()?;
    let objects = used.services.storage.read(&Caller::Server, ids).await?;
    Ok(vec![Value::list(objects.iter().map(object))])
}

async fn write(used: ScriptServices, args: Arguments) -> Outcome {
    let acks = used.services.storage.write(&Caller::Server, writes(&args, 0)?).await?;
    Ok(vec![Value::list(acks.iter().map(ack))])
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.storage.delete(&Caller::Server, deletes(&args, 0)?).await?;
    Ok(Vec::new())
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let caller = caller(args.optional_id(4)?);
    let (limit, cursor) = (args.limit(2, LIST_MAX)?, args.optional_text(3)?.unwrap_or_default());
    let listed = used.services.storage.list(&caller, args.text(1)?, args.optional_id(0)?, limit, cursor);
    Ok(page(&listed.await?))
}

async fn list_index(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = if args.is_nil(2) { INDEX_LIST_DEFAULT } else { args.limit(2, LIST_MAX)? };
    let query = IndexQuery {
        index: args.text(0)?.to_owned(),
        query: args.optional_text(1)?.unwrap_or_default().to_owned(),
        order: args.texts(3)?,
        limit,
        cursor: args.optional_text(5)?.unwrap_or_default().to_owned(),
    };
    Ok(page(&used.services.storage.list_index(&caller(args.optional_id(4)?), &query).await?))
}

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let objects = used.services.storage.read(&Caller::Server, vec![own_id(&args)?]).await?;
    Ok(vec![objects.first().map_or(Value::Nil, |object| Value::from_json_text(&object.value))])
}

async fn set(used: ScriptServices, args: Arguments) -> Outcome {
    let value = args.value(3).object_text().ok_or_else(|| args.expected(3, "a table with keys"))?;
    let write = Write::new(own_id(&args)?, value).permit(Permission::Owner, Permission::Nobody);
    let acks = used.services.storage.write(&Caller::Server, vec![write]).await?;
    Ok(vec![acks.into_iter().next().map(|ack| ack.version).into()])
}

async fn remove(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.storage.delete(&Caller::Server, vec![Delete::new(own_id(&args)?)]).await?;
    Ok(Vec::new())
}

async fn list_of(used: ScriptServices, args: Arguments) -> Outcome {
    let (owner, limit) = (args.optional_id(0)?.unwrap_or_default(), args.limit(2, LIST_MAX)?);
    let page = used.services.storage.list(&Caller::Server, args.text(1)?, Some(owner), limit, "").await?;
    Ok(vec![Value::list(page.objects.iter().map(object))])
}

/// Reads a list of writes.
pub(super) fn writes(args: &Arguments, index: usize) -> Result<Vec<Write>, ScriptError> {
    args.list(index)?.iter().map(|value| write_of(args, index, value)).collect()
}

/// Reads a list of deletions.
pub(super) fn deletes(args: &Arguments, index: usize) -> Result<Vec<Delete>, ScriptError> {
    let delete = |value: &Value| {
        let version = optional_field(args, index, value, "version")?;
        Ok(Delete { id: object_id(args, index, value)?, version: version.map(str::to_owned) })
    };
    args.list(index)?.iter().map(delete).collect()
}

/// Returns the acknowledgement of a write.
pub(super) fn ack(ack: &Ack) -> Value {
    Value::table([
        ("collection", Value::from(ack.id.collection.as_str())),
        ("key", Value::from(ack.id.key.as_str())),
        ("user_id", Value::from(ack.id.owner.to_string())),
        ("version", Value::from(ack.version.as_str())),
        ("create_time", Value::seconds(ack.created_at)),
        ("update_time", Value::seconds(ack.updated_at)),
    ])
}

/// Returns the caller whose permissions apply: a user, or the server.
fn caller(user: Option<Uuid>) -> Caller {
    let Some(user) = user.filter(|user| !user.is_nil()) else { return Caller::Server };
    Caller::User(Arc::new(UserIdentity {
        user,
        username: String::new(),
        session: Uuid::nil(),
        variables: BTreeMap::new(),
        role: Role::Player,
        issued_at: 0,
        expires_at: 0,
    }))
}

/// Reads the arguments `user`, `collection` and `key`.
fn own_id(args: &Arguments) -> Result<ObjectId, ScriptError> {
    Ok(ObjectId::new(args.text(1)?, args.text(2)?, args.optional_id(0)?.unwrap_or_default()))
}

fn object_id(args: &Arguments, index: usize, value: &Value) -> Result<ObjectId, ScriptError> {
    let (collection, key) = (value.get("collection").as_str(), value.get("key").as_str());
    let (Some(collection), Some(key)) = (collection, key) else {
        return Err(args.expected(index, "a list of tables with collection and key"));
    };
    let owner = match value.get("user_id") {
        Value::Nil => Uuid::nil(),
        Value::Text(text) if text.is_empty() => Uuid::nil(),
        given => given.as_id().ok_or_else(|| args.expected(index, "user_id to be an id (UUID)"))?,
    };
    Ok(ObjectId::new(collection, key, owner))
}

fn write_of(args: &Arguments, index: usize, value: &Value) -> Result<Write, ScriptError> {
    let id = object_id(args, index, value)?;
    let text = value.get("value").object_text().ok_or_else(|| args.expected(index, "value to be a table with keys"))?;
    let version = optional_field(args, index, value, "version")?.unwrap_or_default();
    let permission = |name: &str| match value.get(name) {
        Value::Nil => Ok(Permission::Owner),
        given => {
            let number = given.as_integer().ok_or_else(|| args.expected(index, "permissions to be 0, 1 or 2"))?;
            Ok::<_, ScriptError>(Permission::from_number(number)?)
        }
    };
    let (read, write) = (permission("permission_read")?, permission("permission_write")?);
    Ok(Write::new(id, text).when(Condition::from_text(version)).permit(read, write))
}

/// Returns a text of a table, or none if it is nil.
fn optional_field<'a>(
    args: &Arguments,
    index: usize,
    value: &'a Value,
    name: &str,
) -> Result<Option<&'a str>, ScriptError> {
    match value.get(name) {
        Value::Nil => Ok(None),
        given => given.as_str().map(Some).ok_or_else(|| args.expected(index, &format!("{name} to be a string"))),
    }
}

fn page(page: &Page) -> Vec<Value> {
    vec![Value::list(page.objects.iter().map(object)), Value::cursor(&page.cursor)]
}

fn object(object: &Object) -> Value {
    Value::table([
        ("collection", Value::from(object.id.collection.as_str())),
        ("key", Value::from(object.id.key.as_str())),
        ("user_id", Value::from(object.id.owner.to_string())),
        ("value", Value::from_json_text(&object.value)),
        ("version", Value::from(object.version.as_str())),
        ("permission_read", Value::from(object.read.number())),
        ("permission_write", Value::from(object.write.number())),
        ("create_time", Value::seconds(object.created_at)),
        ("update_time", Value::seconds(object.updated_at)),
    ])
}
