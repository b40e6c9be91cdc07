//! Entities of a match on the realtime path: components by name, in the schema of the match handler.

use crate::function::{Function, Modules, optional, required};
use crate::matches::RoomCall;
use crate::matches::columns::{column, ids, set_column};
use crate::matches::world::{self, Call};
use mlua::{Lua, MultiValue};

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type WorldFieldDeclaration = {
    [number]: string,
    range: {number}?,
    step: number?,
    bits: number?,
    max: number?,
    of: any?,
    default: any?,
    moves_by: string?,
    position: boolean?,
}
type WorldRecord = {[string]: WorldFieldDeclaration | string}
type WorldSchema = {
    components: {[string]: WorldRecord}?,
    input: WorldRecord?,
    events: {[string]: WorldRecord}?,
}
type WorldFields = {[string]: any}
type WorldEntity = number
type WorldPlayer = number
";

/// Implementation of a function of this noun.
type Operation = fn(&Lua, &mut RoomCall<'_, '_>, &Call<'_>) -> mlua::Result<MultiValue>;

/// Declares a function of a match with a schema.
macro_rules! operation {
    ($name:literal, $run:path) => {
        Function::room($name, |lua, call, arguments| run(lua, call, $name, &arguments, $run)).only_in(Modules::Aether)
    };
}

pub(crate) const FUNCTIONS: &[Function] = &[
    operation!("world_spawn", world::spawn)
        .about("Spawns an entity and returns its id.")
        .parameters(&[required("components", "{[string]: WorldFields}", "Fields of each component, by its name.")])
        .returns("WorldEntity"),
    operation!("world_despawn", world::despawn)
        .about("Despawns an entity. Returns false if it does not exist.")
        .parameters(&[required("entity", "WorldEntity", "Id of the entity.")])
        .returns("boolean"),
    operation!("world_insert", world::insert)
        .about("Adds a component to an entity, or replaces it.")
        .parameters(&[
            required("entity", "WorldEntity", "Id of the entity."),
            required("component", "string", "Name of the component."),
            required("fields", "WorldFields", "Its fields; the others have their default."),
        ]),
    operation!("world_remove", world::remove)
        .about("Removes a component from an entity. Returns false if the entity does not have it.")
        .parameters(&[
            required("entity", "WorldEntity", "Id of the entity."),
            required("component", "string", "Name of the component."),
        ])
        .returns("boolean"),
    operation!("world_get", world::get)
        .about(
            "Returns a component as a table, or one field of it; nil if the entity does not have it. The numbers of a vector \
             are several results.",
        )
        .parameters(&[
            required("entity", "WorldEntity", "Id of the entity."),
            required("component", "string", "Name of the component."),
            optional("field", "string", "Name of a field. Default: all fields, as a table."),
        ])
        .returns("...any"),
    operation!("world_set", world::set)
        .about("Sets fields of a component. Returns false if the entity does not have it.")
        .parameters(&[
            required("entity", "WorldEntity", "Id of the entity."),
            required("component", "string", "Name of the component."),
            required("fields", "WorldFields | string", "Fields by name, or the name of one field."),
            optional("...", "any", "Value of the one field; the numbers of a vector are several arguments, or a list."),
        ])
        .returns("boolean"),
    operation!("world_ids", ids)
        .about("Returns the ids of all entities with a component, in the order of its columns.")
        .parameters(&[required("component", "string", "Name of the component.")])
        .returns("{WorldEntity}"),
    operation!("world_column", column)
        .about(
            "Returns a field of all entities with a component, in the order of world_ids. A vector takes as many places as it \
             has numbers.",
        )
        .parameters(&[
            required("component", "string", "Name of the component."),
            required("field", "string", "Name of the field."),
            optional("asBuffer", "boolean", "True for a buffer of 32-bit numbers (buffer.readf32). Default: a list."),
        ])
        .returns("any"),
    operation!("world_set_column", set_column)
        .about("Sets a field of all entities with a component, from a list or a buffer in the form of world_column.")
        .parameters(&[
            required("component", "string", "Name of the component."),
            required("field", "string", "Name of the field."),
            required("values", "any", "As many values as world_column returns."),
        ]),
    operation!("world_nearby", world::nearby)
        .about("Returns the entities around a point at the end of the last tick, nearest first, and their distances.")
        .parameters(&[
            required("x", "number", "First coordinate."),
            required("y", "number", "Second coordinate."),
            required("radius", "number", "Largest distance."),
            optional("component", "string", "Only entities with this component."),
        ])
        .returns("({WorldEntity}, {number})"),
    operation!("world_possess", world::possess)
        .about("Gives a player control of an entity: its client predicts it, and sees from there.")
        .parameters(&[
            required("player", "WorldPlayer", "Number of the player: `presence.player`."),
            required("entity", "WorldEntity", "Id of the entity."),
        ]),
    operation!("world_possession", world::possession)
        .about("Returns the entity that a player controls, or nil.")
        .parameters(&[required("player", "WorldPlayer", "Number of the player.")])
        .returns("WorldEntity?"),
    operation!("world_set_viewpoint", world::set_viewpoint)
        .about("Sets from where a player sees: a point, \"everything\", or the entity that it controls.")
        .parameters(&[
            required("player", "WorldPlayer", "Number of the player."),
            optional("x", "number | string", "First coordinate, or \"everything\". Default: its entity."),
            optional("y", "number", "Second coordinate."),
        ]),
    operation!("world_set_team", world::set_team).about("Sets the team of a player, or removes it.").parameters(&[
        required("player", "WorldPlayer", "Number of the player."),
        optional("team", "number", "Team from 0 to 255. Default: none."),
    ]),
    operation!("world_set_visibility", world::set_visibility).about("Sets who sees an entity.").parameters(&[
        required("entity", "WorldEntity", "Id of the entity."),
        required("visibility", "string | number", "\"everyone\", \"owner\", or the number of a team."),
    ]),
    operation!("world_set_owner", world::set_owner)
        .about("Sets the player for whom the visibility \"owner\" holds, or removes it.")
        .parameters(&[
            required("entity", "WorldEntity", "Id of the entity."),
            optional("player", "WorldPlayer", "Number of the player. Default: none."),
        ]),
    operation!("world_broadcast", world::broadcast).about("Sends an event to all players.").parameters(&[
        required("event", "string", "Name of the event in the schema."),
        optional("fields", "WorldFields", "Its fields; the others have their default."),
    ]),
    operation!("world_send", world::send).about("Sends an event to one player or several.").parameters(&[
        required("players", "WorldPlayer | {WorldPlayer}", "Number of a player, or a list."),
        required("event", "string", "Name of the event in the schema."),
        optional("fields", "WorldFields", "Its fields; the others have their default."),
    ]),
    operation!("world_players", world::players)
        .about("Returns the numbers of all players, in the order in which they joined.")
        .returns("{WorldPlayer}"),
    operation!("world_player_name", world::player_name)
        .about("Returns the display name of a player, or nil.")
        .parameters(&[required("player", "WorldPlayer", "Number of the player.")])
        .returns("string?"),
];

fn run(
    lua: &Lua,
    room: &mut RoomCall<'_, '_>,
    name: &'static str,
    arguments: &MultiValue,
    operation: Operation,
) -> mlua::Result<MultiValue> {
    operation(lua, room, &Call { name, arguments })
}
