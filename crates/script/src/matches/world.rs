//! Operations on the entities and players of a room, for matches that declare a schema.

use super::fields::{Field, refused, set_fields, to_record, to_table};
use super::room_call::RoomCall;
use aether_bits::runtime::{ComponentHandle, EventHandle, RecordType, RuntimeSchema};
use aether_engine::Viewpoint;
use aether_wire::{EntityId, PlayerId};
use aether_world::{FoundEntity, Visibility};
use mlua::{Lua, MultiValue, Table, Value};
use std::sync::Arc;

/// Most entities that one query returns.
const FOUND_MAX: usize = 1_000;

/// Arguments of an operation, read with errors that name the parameter.
pub(crate) struct Call<'a> {
    pub name: &'static str,
    pub arguments: &'a MultiValue,
}

impl Call<'_> {
    pub fn at(&self, index: usize) -> &Value {
        self.arguments.get(index).unwrap_or(&Value::Nil)
    }

    pub fn number(&self, index: usize) -> mlua::Result<f64> {
        match self.at(index) {
            Value::Number(number) => Ok(*number),
            Value::Integer(number) => Ok(*number as f64),
            _ => Err(self.expected(index, "a number")),
        }
    }

    pub fn table(&self, index: usize) -> mlua::Result<&Table> {
        self.at(index).as_table().ok_or_else(|| self.expected(index, "a table"))
    }

    pub fn entity(&self, index: usize) -> mlua::Result<EntityId> {
        let number = self.number(index)?;
        let bits = if number >= 0.0 && number.fract() == 0.0 { Some(number as u64) } else { None };
        bits.and_then(EntityId::from_bits).ok_or_else(|| self.expected(index, "the id of an entity"))
    }

    pub fn player(&self, index: usize) -> mlua::Result<PlayerId> {
        let number = self.number(index)?;
        let is_valid = number >= 0.0 && number.fract() == 0.0 && number <= f64::from(u32::MAX);
        if is_valid { Ok(PlayerId(number as u32)) } else { Err(self.expected(index, "the number of a player")) }
    }

    /// Finds a component by its name.
    pub fn component<'s>(
        &self,
        schema: &'s RuntimeSchema,
        index: usize,
    ) -> mlua::Result<(ComponentHandle, &'s Arc<RecordType>)> {
        let Value::String(name) = self.at(index) else { return Err(self.expected(index, "the name of a component")) };
        let name = name.to_str()?;
        let handle =
            schema.find_component(&name).ok_or_else(|| self.unknown("component", &name, schema.components()))?;
        schema.component(handle).map(|record| (handle, record)).ok_or_else(|| self.expected(index, "a component"))
    }

    /// Finds an event by its name.
    pub fn event<'s>(
        &self,
        schema: &'s RuntimeSchema,
        index: usize,
    ) -> mlua::Result<(EventHandle, &'s Arc<RecordType>)> {
        let Value::String(name) = self.at(index) else { return Err(self.expected(index, "the name of an event")) };
        let name = name.to_str()?;
        let handle = schema.find_event(&name).ok_or_else(|| self.unknown("event", &name, schema.events()))?;
        schema.event(handle).map(|record| (handle, record)).ok_or_else(|| self.expected(index, "an event"))
    }

    /// Finds a field of a component by its name.
    pub(super) fn field<'s>(&self, record: &'s RecordType, index: usize) -> mlua::Result<Field<'s>> {
        let Value::String(name) = self.at(index) else { return Err(self.expected(index, "the name of a field")) };
        Field::find(record, &name.to_str()?)
    }

    pub fn expected(&self, index: usize, expected: &str) -> mlua::Error {
        let (name, found) = (self.name, self.at(index).type_name());
        mlua::Error::runtime(format!("argument {} of `{name}`: expected {expected}, got a {found}", index + 1))
    }

    fn unknown(&self, what: &str, name: &str, known: &[Arc<RecordType>]) -> mlua::Error {
        let known: Vec<&str> = known.iter().map(|record| record.name()).collect();
        let sentence = format!("`{}`: there is no {what} `{name:.63}`; the schema has {}", self.name, known.join(", "));
        mlua::Error::runtime(sentence)
    }
}

/// Spawns an entity with components by name. Returns its id.
pub(crate) fn spawn(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let mut made = Vec::new();
    for pair in call.table(0)?.pairs::<Value, Value>() {
        let (name, fields) = pair?;
        let part = MultiValue::from_iter([name, fields]);
        let part = Call { name: call.name, arguments: &part };
        let (handle, record) = part.component(&scope.parts.schema, 0)?;
        made.push((handle, to_record(record, part.table(1)?)?));
    }
    // Tables have no order; the world must be the same in a replay.
    made.sort_by_key(|(handle, _)| handle.index());
    let mut made = made.into_iter();
    let (first, record) = made.next().ok_or_else(|| call.expected(0, "at least one component"))?;
    let world = &mut scope.room.world;
    let id = world.spawn_record(first, record).map_err(mlua::Error::external)?;
    for (component, record) in made {
        if let Err(error) = world.insert_record(id, component, record) {
            world.despawn(id);
            return Err(mlua::Error::external(error));
        }
    }
    Ok(one(number_of(id)))
}

/// Despawns an entity. Returns false if it does not exist.
pub(crate) fn despawn(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    Ok(one(Value::Boolean(scope.room.world.despawn(call.entity(0)?))))
}

/// Returns a component as a table, or one of its fields; nil if the entity does not have it.
pub(crate) fn get(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, record_type) = call.component(&scope.parts.schema, 1)?;
    let Some(record) = scope.room.world.record(call.entity(0)?, component) else { return Ok(one(Value::Nil)) };
    if call.at(2).is_nil() {
        return Ok(one(Value::Table(to_table(lua, record_type, record)?)));
    }
    let field = call.field(record_type, 2)?;
    match record.numbers(field.handle) {
        // The numbers of a vector are several results: no table is created.
        Some(numbers) => Ok(numbers.iter().map(|number| Value::Number(f64::from(*number))).collect()),
        None => Ok(one(field.get(lua, record)?)),
    }
}

/// Sets fields of a component: a table of fields, or one field. Returns false if the entity does not have the component.
pub(crate) fn set(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, record_type) = call.component(&scope.parts.schema, 1)?;
    let Some(mut record) = scope.room.world.record_mut(call.entity(0)?, component) else {
        return Ok(one(Value::Boolean(false)));
    };
    match call.at(2) {
        Value::Table(table) => set_fields(&mut record, record_type, table)?,
        _ => {
            let field = call.field(record_type, 2)?;
            match call.at(3) {
                Value::Number(_) | Value::Integer(_) if field.width() > 1 => {
                    let mut numbers = [0.0; 4];
                    let width = field.width();
                    for (axis, number) in numbers.iter_mut().enumerate().take(width) {
                        *number = call.number(3 + axis)? as f32;
                    }
                    field.set_numbers(&mut record, &numbers[..width])?;
                }
                value => field.set(&mut record, value)?,
            }
        }
    }
    Ok(one(Value::Boolean(true)))
}

/// Adds a component to an entity, or replaces it.
pub(crate) fn insert(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, record_type) = call.component(&scope.parts.schema, 1)?;
    let record = to_record(record_type, call.table(2)?)?;
    scope.room.world.insert_record(call.entity(0)?, component, record).map_err(mlua::Error::external)?;
    Ok(MultiValue::new())
}

/// Removes a component from an entity.
pub(crate) fn remove(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (component, _) = call.component(&scope.parts.schema, 1)?;
    Ok(one(Value::Boolean(scope.room.world.remove_record(call.entity(0)?, component))))
}

/// Returns the ids of the entities around a point, nearest first, and their distances.
pub(crate) fn nearby(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let center = [call.number(0)? as f32, call.number(1)? as f32];
    let radius = call.number(2)? as f32;
    let mut query = scope.room.world.query();
    if !call.at(3).is_nil() {
        query = query.with_record(call.component(&scope.parts.schema, 3)?.0);
    }
    let mut found: Vec<FoundEntity> = Vec::new();
    query.nearest(center, radius, FOUND_MAX, &mut found);
    let ids = lua.create_sequence_from(found.iter().map(|found| number_of(found.entity)))?;
    let distances = lua.create_sequence_from(found.iter().map(|found| f64::from(found.distance)))?;
    Ok(MultiValue::from_iter([Value::Table(ids), Value::Table(distances)]))
}

/// Gives a player control of an entity.
pub(crate) fn possess(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (player, entity) = (call.player(0)?, call.entity(1)?);
    if !scope.room.world.contains(entity) {
        return Err(call.expected(1, "an entity that exists"));
    }
    scope.room.possess(player, entity);
    scope.parts.possessions.insert(player, entity);
    Ok(MultiValue::new())
}

/// Returns the entity that a player possesses, or nil.
pub(crate) fn possession(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let entity = scope.room.possession(call.player(0)?);
    Ok(one(entity.map_or(Value::Nil, number_of)))
}

/// Sets the point from which a player sees: two coordinates, `"everything"`, or nothing for its entity.
pub(crate) fn set_viewpoint(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let viewpoint = match call.at(1) {
        Value::Nil => Viewpoint::Possession,
        Value::String(name) if *name == "everything" => Viewpoint::Everything,
        Value::String(_) => return Err(call.expected(1, "two coordinates, \"everything\", or nil")),
        _ => {
            let at = [call.number(1)? as f32, call.number(2)? as f32];
            if !at.iter().all(|number| number.is_finite()) {
                return Err(call.expected(1, "finite coordinates"));
            }
            Viewpoint::At(at)
        }
    };
    scope.room.set_viewpoint(call.player(0)?, viewpoint);
    Ok(MultiValue::new())
}

/// Sets the team of a player, or removes it.
pub(crate) fn set_team(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let team = if call.at(1).is_nil() { None } else { Some(team(call, 1)?) };
    scope.room.set_team(call.player(0)?, team);
    Ok(MultiValue::new())
}

/// Sets who sees an entity: `"everyone"`, `"owner"`, or a team.
pub(crate) fn set_visibility(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let visibility = match call.at(1) {
        Value::String(name) if *name == "everyone" => Visibility::Everyone,
        Value::String(name) if *name == "owner" => Visibility::Owner,
        Value::Number(_) | Value::Integer(_) => Visibility::Team(team(call, 1)?),
        _ => return Err(call.expected(1, "\"everyone\", \"owner\" or the number of a team")),
    };
    scope.room.world.set_visibility(call.entity(0)?, visibility);
    Ok(MultiValue::new())
}

/// Sets the owner of an entity without possession, or removes it.
pub(crate) fn set_owner(_: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let owner = if call.at(1).is_nil() { None } else { Some(call.player(1)?) };
    scope.room.world.set_owner(call.entity(0)?, owner);
    Ok(MultiValue::new())
}

/// Sends an event to all players.
pub(crate) fn broadcast(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let (event, record_type) = call.event(&scope.parts.schema, 0)?;
    let record = to_record(record_type, &table_or_empty(lua, call, 1)?)?;
    scope.room.broadcast_record(event, &record).map_err(|error| refused(record_type, &error))?;
    Ok(MultiValue::new())
}

/// Sends an event to one player or to a list of players.
pub(crate) fn send(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    let players = match call.at(0) {
        Value::Table(list) => {
            let numbers = list.sequence_values::<u32>().collect::<mlua::Result<Vec<u32>>>();
            numbers.map_err(|_| call.expected(0, "a list of player numbers"))?.into_iter().map(PlayerId).collect()
        }
        _ => vec![call.player(0)?],
    };
    let (event, record_type) = call.event(&scope.parts.schema, 1)?;
    let record = to_record(record_type, &table_or_empty(lua, call, 2)?)?;
    scope.room.send_record(&players, event, &record).map_err(|error| refused(record_type, &error))?;
    Ok(MultiValue::new())
}

/// Returns the players of the room, in the order in which they joined.
pub(crate) fn players(lua: &Lua, scope: &mut RoomCall<'_, '_>, _: &Call<'_>) -> mlua::Result<MultiValue> {
    let players = lua.create_sequence_from(scope.room.players().map(|player| player.0))?;
    Ok(one(Value::Table(players)))
}

/// Returns the display name of a player, or nil.
pub(crate) fn player_name(lua: &Lua, scope: &mut RoomCall<'_, '_>, call: &Call<'_>) -> mlua::Result<MultiValue> {
    match scope.room.name(call.player(0)?) {
        Some(name) => Ok(one(Value::String(lua.create_string(name)?))),
        None => Ok(one(Value::Nil)),
    }
}

/// Returns one value.
pub(super) fn one(value: Value) -> MultiValue {
    MultiValue::from_iter([value])
}

/// Returns the id of an entity as a number.
pub(super) fn number_of(id: EntityId) -> Value {
    Value::Number(id.to_bits() as f64)
}

fn team(call: &Call<'_>, index: usize) -> mlua::Result<u8> {
    let number = call.number(index)?;
    let is_valid = number.fract() == 0.0 && (0.0..=255.0).contains(&number);
    if is_valid { Ok(number as u8) } else { Err(call.expected(index, "a team from 0 to 255")) }
}

fn table_or_empty(lua: &Lua, call: &Call<'_>, index: usize) -> mlua::Result<Table> {
    if call.at(index).is_nil() { lua.create_table() } else { call.table(index).cloned() }
}
