//! Accounts.

use super::table;
use crate::arguments::{Arguments, IDS_MAX};
use crate::error::ScriptError;
use crate::function::{Function, Outcome, optional, required};
use crate::scripts::ScriptServices;
use crate::value::{Key, VALUE_BYTES_MAX, Value};
use aether_services::account::{Account, USERS_MAX, Update};
use uuid::Uuid;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Account = User & {
    user: User,
    wallet: {[string]: number},
    email: string?,
    devices: {{ id: string }}?,
    custom_id: string?,
    verify_time: number?,
    disable_time: number?,
}
type AccountUpdate = {
    user_id: string,
    metadata: {[string]: any}?,
    username: string?,
    display_name: string?,
    timezone: string?,
    location: string?,
    lang_tag: string?,
    avatar_url: string?,
}
";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("account_get_id", |used, args| Box::pin(get(used, args)))
        .about("Returns an account, with its wallet and its login identities. Fails if it does not exist.")
        .parameters(&[required("userID", "string", "Id of the user.")])
        .returns("Account"),
    Function::service("accounts_get_id", |used, args| Box::pin(get_all(used, args)))
        .about("Returns accounts by user and by device. Missing ones are left out.")
        .parameters(&[
            required("userIDs", "{string}", "Ids of users, at most 1,000."),
            optional("deviceIDs", "{string}", "Ids of devices, at most 1,000."),
        ])
        .returns("{Account}"),
    Function::service("account_update_id", |used, args| Box::pin(update(used, args)))
        .about("Changes the public data of an account. A value that is nil stays as it is.")
        .parameters(&[
            required("userID", "string", "Id of the user."),
            optional("metadata", "{[string]: any}", "Metadata, which replaces the present one."),
            optional("username", "string", "Username, which must be free."),
            optional("displayName", "string", "Display name."),
            optional("timezone", "string", "Timezone."),
            optional("location", "string", "Location."),
            optional("langTag", "string", "Language tag, such as `en`."),
            optional("avatarURL", "string", "URL of a picture."),
        ]),
    Function::service("account_delete_id", |used, args| Box::pin(delete(used, args)))
        .about("Erases an account with all its data. That it was erased is always recorded.")
        .parameters(&[
            required("userID", "string", "Id of the user."),
            optional("recorded", "boolean", "Accepted for existing modules; has no effect."),
        ]),
    Function::service("account_export_id", |used, args| Box::pin(export(used, args)))
        .about("Returns all stored data of a user as a JSON text.")
        .parameters(&[required("userID", "string", "Id of the user.")])
        .returns("string"),
    Function::service("account_import_id", |used, args| Box::pin(import(used, args)))
        .about(
            "Imports an exported account: its public data, its wallet and its objects. The account must exist; its username \
             and its login identities stay as they are.",
        )
        .parameters(&[
            required("data", "string", "Text of account_export_id."),
            optional("userID", "string", "User that gets the data; default the exported one."),
        ])
        .returns("string"),
];

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let found = used.services.accounts.account(args.id(0)?).await?;
    Ok(vec![account(&used, &found)])
}

async fn get_all(used: ScriptServices, args: Arguments) -> Outcome {
    let (users, devices) = (args.ids(0)?, args.texts(1)?);
    if devices.len() > IDS_MAX {
        return Err(args.expected(1, &format!("at most {IDS_MAX} ids")));
    }
    let mut found: Vec<Account> = Vec::new();
    for users in users.chunks(USERS_MAX) {
        found.extend(used.services.accounts.accounts_with(users.to_vec(), Vec::new()).await?);
    }
    for devices in devices.chunks(USERS_MAX) {
        for account in used.services.accounts.accounts_with(Vec::new(), devices.to_vec()).await? {
            if !found.iter().any(|known| known.user.id == account.user.id) {
                found.push(account);
            }
        }
    }
    Ok(vec![Value::list(found.iter().map(|found| account(&used, found)))])
}

async fn update(used: ScriptServices, args: Arguments) -> Outcome {
    let text = |index: usize| -> Result<Option<String>, ScriptError> {
        if args.is_nil(index) { Ok(None) } else { args.text(index).map(|text| Some(text.to_owned())) }
    };
    let update = Update {
        metadata: args.optional_object_text(1)?,
        username: args.optional_text(2)?.map(str::to_owned),
        display_name: text(3)?,
        timezone: text(4)?,
        location: text(5)?,
        language: text(6)?,
        avatar_url: text(7)?,
    };
    used.services.accounts.update(args.id(0)?, update).await?;
    Ok(Vec::new())
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    args.boolean_or(1, false)?;
    used.services.accounts.delete(args.id(0)?).await?;
    Ok(Vec::new())
}

async fn export(used: ScriptServices, args: Arguments) -> Outcome {
    let mut exporter = used.services.accounts.export(args.id(0)?);
    let mut document = String::new();
    while let Some(page) = exporter.next_page().await? {
        document.push_str(&page);
        if document.len() > VALUE_BYTES_MAX {
            let sentence = format!(
                "the export has more than {VALUE_BYTES_MAX} bytes, which a script cannot hold; export the account over \
                 HTTP instead"
            );
            return Err(ScriptError::invalid(sentence));
        }
    }
    Ok(vec![Value::from(document)])
}

async fn import(used: ScriptServices, args: Arguments) -> Outcome {
    let user = used.services.import_account(args.optional_id(1)?, args.text(0)?).await?;
    Ok(vec![Value::from(user.to_string())])
}

/// Reads a change of an account within [`multi_update`](super::user).
pub(super) fn account_update(args: &Arguments, index: usize, value: &Value) -> Result<(Uuid, Update), ScriptError> {
    let user = value.get("user_id").as_id();
    let user = user.ok_or_else(|| args.expected(index, "tables with user_id (UUID)"))?;
    let text = |name: &str| match value.get(name) {
        Value::Nil => Ok(None),
        given => {
            let expected = || args.expected(index, &format!("{name} to be a string"));
            given.as_str().map(|text| Some(text.to_owned())).ok_or_else(expected)
        }
    };
    let metadata = match value.get("metadata") {
        Value::Nil => None,
        given => Some(given.object_text().ok_or_else(|| args.expected(index, "metadata to be a table"))?),
    };
    let update = Update {
        username: text("username")?.filter(|username| !username.is_empty()),
        display_name: text("display_name")?,
        avatar_url: text("avatar_url")?,
        language: text("lang_tag")?,
        location: text("location")?,
        timezone: text("timezone")?,
        metadata,
    };
    Ok((user, update))
}

/// Returns an account as a table: the fields of the user, and the user again as `user`.
fn account(used: &ScriptServices, account: &Account) -> Value {
    let user = table::user(&used.services, &account.user);
    let mut map = match &user {
        Value::Map(map) => map.clone(),
        _ => Default::default(),
    };
    let devices = account.devices.iter().map(|id| Value::table([("id", Value::from(id.as_str()))]));
    let fields = [
        ("user", user),
        ("wallet", Value::from_json_text(&account.wallet)),
        ("email", account.email.clone().into()),
        ("devices", if account.devices.is_empty() { Value::Nil } else { Value::list(devices) }),
        ("custom_id", account.custom_id.clone().into()),
        ("verify_time", account.verified_at.map_or(Value::Nil, Value::seconds)),
        ("disable_time", account.disabled_at.map_or(Value::Nil, Value::seconds)),
    ];
    let present = fields.into_iter().filter(|(_, value)| *value != Value::Nil);
    map.extend(present.map(|(name, value)| (Key::from(name), value)));
    Value::Map(map)
}
