//! Reads broadcasts of scripts.

use super::members::Members;
use super::room_call::Broadcast;
use crate::error::ScriptError;
use crate::value::Value;
use crate::vm::from_lua;
use aether_engine::Context;
use aether_wire::PlayerId;
use aether_wire::limits::GAME_PAYLOAD_BYTES_MAX;
use mlua::Table;

/// Reads a broadcast: op code, data, receivers and sender. Returns none if the receivers are an empty list.
pub(crate) fn read(
    members: &Members,
    [op_code, data, presences, sender]: [&mlua::Value; 4],
) -> Result<Option<Broadcast>, ScriptError> {
    let op_code = op_code
        .as_u32()
        .and_then(|code| u16::try_from(code).ok())
        .ok_or_else(|| ScriptError::invalid("the op code of match data must be a whole number from 0 to 65535"))?;
    let data = read_data(data)?;
    let receivers = match presences {
        mlua::Value::Nil => None,
        mlua::Value::Table(list) => Some(read_players(members, list)?),
        other => {
            let sentence = format!("the presences of match data must be a list, got {}", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    };
    if receivers.as_ref().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    let sender = match sender {
        mlua::Value::Table(sender) => find(members, sender)?,
        _ => None,
    };
    Ok(Some(Broadcast { op_code, data, receivers, sender }))
}

/// Returns the players of a list of presences. Those who have left are left out.
pub(crate) fn read_players(members: &Members, list: &Table) -> Result<Vec<PlayerId>, ScriptError> {
    let mut players = Vec::with_capacity(list.raw_len());
    for presence in list.sequence_values::<Table>() {
        let presence = presence.map_err(|_| ScriptError::invalid("a presence must be a table with a session_id"))?;
        players.extend(find(members, &presence)?);
    }
    Ok(players)
}

/// Sends the broadcasts that `match_loop` returned: a list of tables with `op_code`, `data`, `presences` and `sender`.
pub(crate) fn send_all(members: &Members, room: &mut Context<'_>, list: &Table) -> Result<(), ScriptError> {
    for broadcast in list.sequence_values::<Table>() {
        let table = broadcast.map_err(|_| {
            ScriptError::invalid("the broadcasts of match_loop must be a list of tables with op_code and data")
        })?;
        let field = |name: &str| table.get::<mlua::Value>(name).unwrap_or(mlua::Value::Nil);
        let fields = [field("op_code"), field("data"), field("presences"), field("sender")];
        if let Some(broadcast) = read(members, fields.each_ref())? {
            broadcast.send(room);
        }
    }
    Ok(())
}

fn find(members: &Members, presence: &Table) -> Result<Option<PlayerId>, ScriptError> {
    members.find(presence).map_err(|error| ScriptError::invalid(error.to_string()))
}

/// Reads data: a string, or a table that becomes JSON.
fn read_data(data: &mlua::Value) -> Result<Vec<u8>, ScriptError> {
    let bytes = match data {
        mlua::Value::Nil => Vec::new(),
        mlua::Value::String(text) => text.as_bytes().to_vec(),
        mlua::Value::Table(_) => match from_lua(data)? {
            Value::Text(bytes) => bytes,
            value => value.to_json().to_string().into_bytes(),
        },
        other => {
            let sentence = format!("match data must be a string or a table, got {}", other.type_name());
            return Err(ScriptError::invalid(sentence));
        }
    };
    if bytes.len() > GAME_PAYLOAD_BYTES_MAX {
        let sentence = format!("match data must have at most {GAME_PAYLOAD_BYTES_MAX} bytes, got {}", bytes.len());
        return Err(ScriptError::invalid(sentence));
    }
    Ok(bytes)
}
