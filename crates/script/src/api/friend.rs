//! Friends, invites and blocks.

use super::table::{cursor_argument, non_empty, object, optional_number, optional_object, user};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::friend::{FriendState, NamedUsers};
use uuid::Uuid;

/// Friends of a page without a limit.
const LISTED_DEFAULT: i32 = 100;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type FriendUser = {
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
    gamecenter_id: string?,
    google_id: string?,
    steam_id: string?,
}
type Friend = { user: FriendUser, state: number, update_time: number, metadata: {[string]: any} }
type FriendOfFriend = { referrer: string, user: FriendUser }
";

const USER: Parameter = required("userID", "string", "User who acts, or whose friends are listed.");
const USERNAME: Parameter = optional("username", "string", "Username of the user; not needed.");
const IDS: Parameter = optional("userIDs", "{string}", "Ids of the other users.");
const NAMES: Parameter = optional("usernames", "{string}", "Usernames of the other users.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("friends_list", |used, args| Box::pin(list(used, args)))
        .about("Lists friends, invites and blocked users of a user. Returns them with the cursor of the next page.")
        .parameters(&[
            USER,
            optional("limit", "number", "Friends per page, up to 1000; 100 by default."),
            optional("state", "number", "0 friends, 1 sent invites, 2 received invites, 3 blocked users; nil for all."),
            optional("cursor", "string", "Cursor of the page."),
        ])
        .returns("({Friend}, string?)"),
    Function::service("friends_of_friends_list", |used, args| Box::pin(list_of_friends(used, args)))
        .about("Lists friends of a user's friends. Returns them with the cursor of the next page.")
        .parameters(&[
            USER,
            optional("limit", "number", "Users per page, up to 100; 10 by default."),
            optional("cursor", "string", "Cursor of the page."),
        ])
        .returns("({FriendOfFriend}, string?)"),
    Function::service("friends_add", |used, args| Box::pin(add(used, args)))
        .about("Invites users for a user, and accepts their invites.")
        .parameters(&[
            USER,
            USERNAME,
            IDS,
            NAMES,
            optional("metadataTable", "{[string]: any}", "Metadata of the user about these friends."),
        ]),
    Function::service("friends_delete", |used, args| Box::pin(delete(used, args)))
        .about("Ends friendships and blocks of a user, takes invites back and rejects them.")
        .parameters(&[USER, USERNAME, IDS, NAMES]),
    Function::service("friends_block", |used, args| Box::pin(block(used, args)))
        .about("Blocks users for a user.")
        .parameters(&[USER, USERNAME, IDS, NAMES]),
    Function::service("friend_metadata_update", |used, args| Box::pin(update_metadata(used, args)))
        .about("Changes the metadata of a user about a friend.")
        .parameters(&[
            USER,
            required("friendUserID", "string", "Friend."),
            required("metadata", "{[string]: any}", "New metadata."),
        ]),
];

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = optional_number(&args, 1, "a limit")?.unwrap_or(LISTED_DEFAULT);
    let state = match args.optional_integer(2)? {
        // Modules of Nakama may pass -1 for all.
        None | Some(-1) => None,
        Some(number) => Some(FriendState::from_number(number).ok_or_else(|| args.expected(2, "a state from 0 to 3"))?),
    };
    let page = used.services.friends.list(args.id(0)?, state, Some(limit), &cursor_argument(&args, 3)?).await?;
    let friend = |friend: &aether_services::friend::Friend| {
        Value::table([
            ("user", user(&used.services, &friend.user)),
            ("state", Value::from(i64::from(friend.state.number()))),
            ("update_time", Value::seconds(friend.updated_at_ms)),
            ("metadata", Value::from_json_text(&friend.metadata)),
        ])
    };
    Ok(vec![Value::list(page.friends.iter().map(friend)), non_empty(page.cursor)])
}

async fn list_of_friends(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = optional_number(&args, 1, "a limit")?;
    let page = used.services.friends.list_of_friends(args.id(0)?, limit, &cursor_argument(&args, 2)?).await?;
    let found = page.friends_of_friends.iter().map(|found| {
        Value::table([
            ("referrer", Value::from(found.referrer.to_string())),
            ("user", user(&used.services, &found.user)),
        ])
    });
    Ok(vec![Value::list(found), non_empty(page.cursor)])
}

async fn add(used: ScriptServices, args: Arguments) -> Outcome {
    let metadata = optional_object(&args, 4)?.unwrap_or_default();
    if let Some((user, others)) = named(&args)? {
        used.services.friends.add(user, others, &metadata).await?;
    }
    Ok(Vec::new())
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    if let Some((user, others)) = named(&args)? {
        used.services.friends.delete(user, others).await?;
    }
    Ok(Vec::new())
}

async fn block(used: ScriptServices, args: Arguments) -> Outcome {
    if let Some((user, others)) = named(&args)? {
        used.services.friends.block(user, others).await?;
    }
    Ok(Vec::new())
}

async fn update_metadata(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.friends.update_metadata(args.id(0)?, args.id(1)?, &object(&args, 2)?).await?;
    Ok(Vec::new())
}

/// Returns the user who acts and the others; none if there are no others.
fn named(args: &Arguments) -> Result<Option<(Uuid, NamedUsers)>, ScriptError> {
    let (user, _) = (args.id(0)?, args.optional_text(1)?);
    let others = NamedUsers { ids: args.ids(2)?, usernames: args.texts(3)? };
    let is_empty = others.ids.is_empty() && others.usernames.is_empty();
    Ok((!is_empty).then_some((user, others)))
}
