//! Users, and changes of several things at once.

use super::account::account_update;
use super::{storage, table, wallet};
use crate::arguments::{Arguments, IDS_MAX};
use crate::error::ScriptError;
use crate::function::{Function, Outcome, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::account::{RANDOM_USERS_MAX, USERS_MAX, User};
use aether_services::multi_update::Changes;
use std::collections::BTreeMap;
use uuid::Uuid;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type User = {
    user_id: string,
    username: string,
    display_name: string,
    avatar_url: string,
    lang_tag: string,
    location: string,
    timezone: string,
    metadata: {[string]: any},
    online: boolean,
    edge_count: number,
    create_time: number,
    update_time: number,
    apple_id: string?,
    facebook_id: string?,
    facebook_instant_game_id: string?,
    google_id: string?,
    gamecenter_id: string?,
    steam_id: string?,
}
type UserFriendStatus = { user: User, state: number, metadata: {[string]: any}, update_time: number }
";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("users_get_id", |used, args| Box::pin(by_id(used, args)))
        .about("Returns users by id and by Facebook id. Missing users are left out.")
        .parameters(&[
            optional("userIDs", "{string}", "Ids, at most 1,000."),
            optional("facebookIDs", "{string}", "Ids at Facebook, at most 1,000."),
        ])
        .returns("{User}"),
    Function::service("users_get_username", |used, args| Box::pin(by_username(used, args)))
        .about("Returns users by username. Missing users are left out.")
        .parameters(&[required("usernames", "{string}", "Usernames, at most 1,000.")])
        .returns("{User}"),
    Function::service("users_get_friend_status", |used, args| Box::pin(friend_status(used, args)))
        .about("Returns the relations of a user to others: friends (0), invites sent (1) and received (2), blocks (3).")
        .parameters(&[
            required("userID", "string", "User whose relations are read."),
            required("userIDs", "{string}", "Others; those without a relation are left out."),
        ])
        .returns("{UserFriendStatus}"),
    Function::service("users_get_random", |used, args| Box::pin(random(used, args)))
        .about("Returns users at random, each once.")
        .parameters(&[required("count", "number", "Number of users, 0 to 1,000.")])
        .returns("{User}"),
    Function::service("users_ban_id", |used, args| Box::pin(ban(used, args)))
        .about("Bans users: their sessions end, and they cannot sign in.")
        .parameters(&[required("userIDs", "{string}", "Ids of the users.")]),
    Function::service("users_unban_id", |used, args| Box::pin(unban(used, args)))
        .about("Lifts the bans of users.")
        .parameters(&[required("userIDs", "{string}", "Ids of the users.")]),
    Function::service("multi_update", |used, args| Box::pin(multi_update(used, args)))
        .about(
            "Changes accounts, objects and wallets, all or nothing. Returns the acknowledgements of the written objects and \
             the results of the wallets, each nil if there are none.",
        )
        .parameters(&[
            optional("accountUpdates", "{AccountUpdate}", "Changes of accounts."),
            optional("storageWrites", "{StorageWrite}", "Objects to write."),
            optional("storageDeletes", "{StorageDelete}", "Objects to delete, after the writes."),
            optional("walletUpdates", "{WalletChange}", "Changes of wallets."),
            optional("updateLedger", "boolean", "True to record the changes of wallets; default false."),
        ])
        .returns("({StorageAck}?, {WalletResult}?)"),
];

async fn by_id(used: ScriptServices, args: Arguments) -> Outcome {
    let (ids, facebook_ids) = (args.ids(0)?, texts(&args, 1)?);
    let mut users = BTreeMap::new();
    for ids in ids.chunks(USERS_MAX) {
        let found = used.services.accounts.users(ids.to_vec(), Vec::new(), Vec::new()).await?;
        users.extend(found.into_iter().map(|user| (user.id, user)));
    }
    for ids in facebook_ids.chunks(USERS_MAX) {
        let found = used.services.accounts.users(Vec::new(), Vec::new(), ids.to_vec()).await?;
        users.extend(found.into_iter().map(|user| (user.id, user)));
    }
    // In the order in which they were asked for; those found by another id come last.
    let mut found: Vec<User> = ids.iter().filter_map(|id| users.remove(id)).collect();
    found.extend(users.into_values());
    Ok(vec![list(&used, &found)])
}

async fn by_username(used: ScriptServices, args: Arguments) -> Outcome {
    let mut found = Vec::new();
    for usernames in texts(&args, 0)?.chunks(USERS_MAX) {
        found.extend(used.services.accounts.users(Vec::new(), usernames.to_vec(), Vec::new()).await?);
    }
    Ok(vec![list(&used, &found)])
}

async fn friend_status(used: ScriptServices, args: Arguments) -> Outcome {
    let friends = used.services.friends.among(args.id(0)?, args.ids(1)?).await?;
    let friend = |friend: &aether_services::friend::Friend| {
        Value::table([
            ("user", table::user(&used.services, &friend.user)),
            ("state", Value::from(i64::from(friend.state.number()))),
            ("metadata", Value::from_json_text(&friend.metadata)),
            ("update_time", Value::seconds(friend.updated_at_ms)),
        ])
    };
    Ok(vec![Value::list(friends.iter().map(friend))])
}

async fn random(used: ScriptServices, args: Arguments) -> Outcome {
    let count = usize::try_from(args.optional_integer(0)?.unwrap_or(0)).ok().filter(|count| *count <= RANDOM_USERS_MAX);
    let count = count.ok_or_else(|| args.expected(0, &format!("a number from 0 to {RANDOM_USERS_MAX}")))?;
    Ok(vec![list(&used, &used.services.accounts.random_users(count).await?)])
}

async fn ban(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.accounts.ban(args.ids(0)?).await?;
    Ok(Vec::new())
}

async fn unban(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.accounts.unban(args.ids(0)?).await?;
    Ok(Vec::new())
}

async fn multi_update(used: ScriptServices, args: Arguments) -> Outcome {
    let accounts = args.list(0)?.iter().map(|value| account_update(&args, 0, value)).collect::<Result<_, _>>()?;
    let changes = Changes {
        accounts,
        writes: storage::writes(&args, 1)?,
        deletes: storage::deletes(&args, 2)?,
        wallets: wallet::changes(&args, 3)?,
        ledger: args.boolean_or(4, false)?,
    };
    let changed = used.services.multi_updates.apply(changes).await?;
    let present = |values: Vec<Value>| if values.is_empty() { Value::Nil } else { Value::List(values) };
    let acks = changed.acks.iter().map(storage::ack).collect();
    Ok(vec![present(acks), present(changed.wallets.iter().map(wallet::result).collect())])
}

fn list(used: &ScriptServices, users: &[User]) -> Value {
    Value::list(users.iter().map(|user| table::user(&used.services, user)))
}

/// Returns a list of texts of bounded length.
fn texts(args: &Arguments, index: usize) -> Result<Vec<String>, ScriptError> {
    let texts = args.texts(index)?;
    if texts.len() > IDS_MAX {
        return Err(args.expected(index, &format!("at most {IDS_MAX} entries")));
    }
    Ok(texts)
}

/// Returns the error for a user that does not exist.
pub(super) fn missing(user: Uuid) -> ScriptError {
    ScriptError::invalid(format!("user `{user}` was not found; the account may have been deleted"))
        .with_code(aether_services::GrpcCode::NotFound)
}
