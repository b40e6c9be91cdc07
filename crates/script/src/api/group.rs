//! Groups of players.

use super::table::{cursor_argument, non_empty, optional_boolean, optional_number, optional_object, user};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::group::{Group, GroupFilter, GroupRole, GroupUpdate, NewGroup, RoleChange};
use std::collections::HashMap;
use uuid::Uuid;

/// Groups of a page without a limit.
const LISTED_DEFAULT: i64 = 100;
const COUNT: &str = "a number from 1";

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Group = {
    id: string,
    creator_id: string,
    name: string,
    description: string,
    avatar_url: string,
    lang_tag: string,
    metadata: {[string]: any},
    open: boolean,
    edge_count: number,
    max_count: number,
    create_time: number,
    update_time: number,
    tags: {string},
}
type GroupUser = { user: FriendUser, state: number }
type GroupOfUser = { group: Group, state: number }
";

const GROUP: Parameter = required("groupID", "string", "Group.");
const USER: Parameter = required("userID", "string", "User.");
const USERNAME: Parameter = optional("username", "string", "Username of the user; not needed.");
const USERS: Parameter = required("userIDs", "{string}", "Users.");
const CALLER: Parameter =
    optional("callerID", "string", "User whose rights are checked; nil for the server, which may all.");
const LIMIT: Parameter = optional("limit", "number", "Entries per page, up to 100, which is the default.");
const STATE: Parameter = optional(
    "state",
    "number",
    "0 superadmins, 1 admins, 2 members, 3 join requests, 4 banned users; nil for all but banned ones.",
);
const CURSOR: Parameter = optional("cursor", "string", "Cursor of the page.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("groups_get_id", |used, args| Box::pin(get(used, args)))
        .about("Returns groups by id. Those that do not exist are left out.")
        .parameters(&[required("groupIDs", "{string}", "Ids, at most 100.")])
        .returns("{Group}"),
    Function::service("group_create", |used, args| Box::pin(create(used, args)))
        .about("Creates a group with a user as its superadmin.")
        .parameters(&[
            required("userID", "string", "User who becomes the superadmin."),
            required("name", "string", "Name, unique."),
            optional("creatorID", "string", "User who counts as the creator; nil for the server."),
            optional("langTag", "string", "Language tag."),
            optional("description", "string", "Description."),
            optional("avatarURL", "string", "URL of a picture."),
            optional("open", "boolean", "True if users join without a request; false by default."),
            optional("metadata", "{[string]: any}", "Metadata."),
            optional("maxCount", "number", "Maximum number of members; 100 by default."),
        ])
        .returns("Group"),
    Function::service("group_update", |used, args| Box::pin(update(used, args)))
        .about("Changes a group. What is nil or empty stays.")
        .parameters(&[
            GROUP,
            optional("userID", "string", "User whose rights are checked; nil for the server, which may all."),
            optional("name", "string", "Name."),
            optional("creatorID", "string", "User who counts as the creator. Server only."),
            optional("langTag", "string", "Language tag."),
            optional("description", "string", "Description."),
            optional("avatarURL", "string", "URL of a picture."),
            optional("open", "boolean", "True if users join without a request."),
            optional("metadataTable", "{[string]: any}", "Metadata. Server only."),
            optional("maxCount", "number", "Maximum number of members; 0 to keep it. Server only."),
        ]),
    Function::service("group_delete", |used, args| Box::pin(delete(used, args)))
        .about("Deletes a group with its members and its chat.")
        .parameters(&[GROUP]),
    Function::service("group_user_join", |used, args| Box::pin(join(used, args)))
        .about("Lets a user join an open group, or asks a closed one for entry.")
        .parameters(&[GROUP, USER, USERNAME]),
    Function::service("group_user_leave", |used, args| Box::pin(leave(used, args)))
        .about("Lets a user leave a group, or takes a join request back.")
        .parameters(&[GROUP, USER, USERNAME]),
    Function::service("group_users_add", |used, args| Box::pin(add(used, args)))
        .about("Adds users to a group, or accepts their join requests.")
        .parameters(&[GROUP, USERS, CALLER]),
    Function::service("group_users_ban", |used, args| Box::pin(change_roles(used, args, RoleChange::Ban)))
        .about("Removes users from a group, and keeps them out.")
        .parameters(&[GROUP, USERS, CALLER]),
    Function::service("group_users_promote", |used, args| Box::pin(change_roles(used, args, RoleChange::Promote)))
        .about("Raises members of a group by one role.")
        .parameters(&[GROUP, USERS, CALLER]),
    Function::service("group_users_demote", |used, args| Box::pin(change_roles(used, args, RoleChange::Demote)))
        .about("Lowers members of a group by one role.")
        .parameters(&[GROUP, USERS, CALLER]),
    Function::service("group_users_kick", |used, args| Box::pin(change_roles(used, args, RoleChange::Kick)))
        .about("Removes users from a group, refuses join requests, and lifts bans.")
        .parameters(&[GROUP, USERS, CALLER]),
    Function::service("groups_list", |used, args| Box::pin(list(used, args)))
        .about("Lists groups that match all given filters. Returns them with the cursor of the next page.")
        .parameters(&[
            optional("name", "string", "Name, or its beginning and `%`."),
            optional("langTag", "string", "Language tag."),
            optional("open", "boolean", "True for open groups, false for closed ones."),
            optional("edgeCount", "number", "Maximum number of members that a group has; negative for any."),
            LIMIT,
            CURSOR,
        ])
        .returns("({Group}, string?)"),
    Function::service("groups_get_random", |used, args| Box::pin(random(used, args)))
        .about("Returns some groups in a random order.")
        .parameters(&[required("count", "number", "Maximum number of groups, up to 100.")])
        .returns("{Group}"),
    Function::service("group_users_list", |used, args| Box::pin(list_users(used, args)))
        .about("Lists the users of a group. Returns them with the cursor of the next page.")
        .parameters(&[GROUP, LIMIT, STATE, CURSOR])
        .returns("({GroupUser}, string?)"),
    Function::service("user_groups_list", |used, args| Box::pin(list_groups(used, args)))
        .about("Lists the groups of a user. Returns them with the cursor of the next page.")
        .parameters(&[USER, LIMIT, STATE, CURSOR])
        .returns("({GroupOfUser}, string?)"),
];

async fn get(used: ScriptServices, args: Arguments) -> Outcome {
    let groups = used.services.groups.by_ids(args.ids(0)?).await?;
    Ok(vec![Value::list(groups.iter().map(group))])
}

async fn create(used: ScriptServices, args: Arguments) -> Outcome {
    let new = NewGroup {
        name: args.text(1)?.to_owned(),
        language: text(&args, 3)?.unwrap_or_default(),
        description: text(&args, 4)?.unwrap_or_default(),
        avatar_url: text(&args, 5)?.unwrap_or_default(),
        is_open: args.boolean_or(6, false)?,
        metadata: optional_object(&args, 7)?,
        max_count: optional_number(&args, 8, COUNT)?,
        tags: Vec::new(),
    };
    let creator = args.optional_id(2)?.unwrap_or_default();
    let created = used.services.groups.create_for(args.id(0)?, creator, new).await?;
    Ok(vec![group(&created)])
}

async fn update(used: ScriptServices, args: Arguments) -> Outcome {
    let update = GroupUpdate {
        name: text(&args, 2)?,
        creator: args.optional_id(3)?,
        language: text(&args, 4)?,
        description: text(&args, 5)?,
        avatar_url: text(&args, 6)?,
        is_open: optional_boolean(&args, 7)?,
        metadata: optional_object(&args, 8)?,
        max_count: optional_number(&args, 9, COUNT)?.filter(|count| *count > 0),
        tags: None,
    };
    used.services.groups.update(caller(&args, 1)?, args.id(0)?, update).await?;
    Ok(Vec::new())
}

async fn delete(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.groups.delete(None, args.id(0)?).await?;
    Ok(Vec::new())
}

async fn join(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.groups.join(args.id(0)?, args.id(1)?).await?;
    Ok(Vec::new())
}

async fn leave(used: ScriptServices, args: Arguments) -> Outcome {
    used.services.groups.leave(args.id(0)?, args.id(1)?).await?;
    Ok(Vec::new())
}

async fn add(used: ScriptServices, args: Arguments) -> Outcome {
    let (group, users, caller) = (args.id(0)?, args.ids(1)?, caller(&args, 2)?);
    if !users.is_empty() {
        used.services.groups.add(caller, group, users).await?;
    }
    Ok(Vec::new())
}

async fn change_roles(used: ScriptServices, args: Arguments, change: RoleChange) -> Outcome {
    let (group, users, caller) = (args.id(0)?, args.ids(1)?, caller(&args, 2)?);
    if !users.is_empty() {
        used.services.groups.change_roles(caller, group, change, users).await?;
    }
    Ok(Vec::new())
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let filter = GroupFilter {
        name: text(&args, 0)?.unwrap_or_default(),
        language: text(&args, 1)?.unwrap_or_default(),
        is_open: optional_boolean(&args, 2)?,
        members: args.optional_integer(3)?.filter(|members| *members >= 0),
        tags: Vec::new(),
        limit: Some(args.optional_integer(4)?.unwrap_or(LISTED_DEFAULT)),
        cursor: cursor_argument(&args, 5)?,
    };
    let page = used.services.groups.list(&filter).await?;
    Ok(vec![Value::list(page.groups.iter().map(group)), non_empty(page.cursor)])
}

async fn random(used: ScriptServices, args: Arguments) -> Outcome {
    let count = usize::try_from(args.integer(0)?).map_err(|_| args.expected(0, "0 or more"))?;
    let groups = used.services.groups.random(count).await?;
    Ok(vec![Value::list(groups.iter().map(group))])
}

async fn list_users(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = Some(args.optional_integer(1)?.unwrap_or(LISTED_DEFAULT));
    let (group, state, after) = (args.id(0)?, state(&args, 2)?, cursor_argument(&args, 3)?);
    let page = used.services.groups.members(None, group, state, limit, &after).await?;
    let ids = page.members.iter().map(|(user, _)| *user).collect();
    let found = used.services.accounts.users(ids, Vec::new(), Vec::new()).await?;
    let found: HashMap<Uuid, Value> = found.iter().map(|it| (it.id, user(&used.services, it))).collect();
    let members = page.members.iter().filter_map(|(id, role)| {
        Some(Value::table([("user", found.get(id)?.clone()), ("state", Value::from(role.number()))]))
    });
    Ok(vec![Value::list(members), non_empty(page.cursor)])
}

async fn list_groups(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = Some(args.optional_integer(1)?.unwrap_or(LISTED_DEFAULT));
    let (user, state, after) = (args.id(0)?, state(&args, 2)?, cursor_argument(&args, 3)?);
    let page = used.services.groups.memberships(None, user, state, limit, &after).await?;
    let groups = page.memberships.iter().map(|membership| {
        Value::table([("group", group(&membership.group)), ("state", Value::from(membership.role.number()))])
    });
    Ok(vec![Value::list(groups), non_empty(page.cursor)])
}

/// Returns the user whose rights are checked; none for the server.
fn caller(args: &Arguments, index: usize) -> Result<Option<Uuid>, ScriptError> {
    Ok(args.optional_id(index)?.filter(|caller| !caller.is_nil()))
}

fn state(args: &Arguments, index: usize) -> Result<Option<GroupRole>, ScriptError> {
    match args.optional_integer(index)? {
        // Modules of Nakama may pass -1 for all.
        None | Some(-1) => Ok(None),
        Some(number) => {
            GroupRole::from_number(number).map(Some).ok_or_else(|| args.expected(index, "a state from 0 to 4"))
        }
    }
}

fn text(args: &Arguments, index: usize) -> Result<Option<String>, ScriptError> {
    Ok(args.optional_text(index)?.map(str::to_owned))
}

fn group(group: &Group) -> Value {
    Value::table([
        ("id", Value::from(group.id.to_string())),
        ("creator_id", Value::from(group.creator.to_string())),
        ("name", Value::from(group.name.as_str())),
        ("description", Value::from(group.description.as_str())),
        ("avatar_url", Value::from(group.avatar_url.as_str())),
        ("lang_tag", Value::from(group.language.as_str())),
        ("metadata", Value::from_json_text(&group.metadata)),
        ("open", Value::from(group.is_open)),
        ("edge_count", Value::from(group.edge_count)),
        ("max_count", Value::from(group.max_count)),
        ("create_time", Value::seconds(group.created_at_ms)),
        ("update_time", Value::seconds(group.updated_at_ms)),
        ("tags", Value::list(group.tags.iter().map(|tag| Value::from(tag.as_str())))),
    ])
}
