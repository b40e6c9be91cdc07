//! [`Members`]: the players of a match as its script sees them.

use aether_wire::PlayerId;
use mlua::{Lua, Table};
use std::sync::Arc;

/// A player, as data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Presence {
    pub player: PlayerId,
    pub user: String,
    pub session: String,
    pub username: String,
}

/// Players of a match, in the order of their ids, with the tables that scripts get.
#[derive(Default)]
pub(crate) struct Members {
    node: String,
    list: Vec<Member>,
}

struct Member {
    presence: Arc<Presence>,
    table: Table,
}

impl Members {
    pub fn new(node: &str) -> Members {
        Members { node: node.to_owned(), list: Vec::new() }
    }

    /// Adds a player. Ids only grow, so the list stays ordered.
    pub fn add(&mut self, lua: &Lua, presence: &Arc<Presence>) -> mlua::Result<()> {
        let table = self.create_table(lua, presence)?;
        match self.list.binary_search_by_key(&presence.player, |member| member.presence.player) {
            Ok(at) => self.list[at] = Member { presence: Arc::clone(presence), table },
            Err(at) => self.list.insert(at, Member { presence: Arc::clone(presence), table }),
        }
        Ok(())
    }

    /// Removes a player and returns it.
    pub fn remove(&mut self, player: PlayerId) -> Option<Arc<Presence>> {
        let at = self.list.binary_search_by_key(&player, |member| member.presence.player).ok()?;
        Some(self.list.remove(at).presence)
    }

    /// Returns a player.
    pub fn get(&self, player: PlayerId) -> Option<&Arc<Presence>> {
        self.member(player).map(|member| &member.presence)
    }

    /// Returns all players, in the order of their ids.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Presence>> {
        self.list.iter().map(|member| &member.presence)
    }

    /// Returns the table of a player: that of a member, or a new one for a player who left.
    pub fn table(&self, lua: &Lua, presence: &Presence) -> mlua::Result<Table> {
        match self.member(presence.player).filter(|member| *member.presence == *presence) {
            Some(member) => Ok(member.table.clone()),
            None => self.create_table(lua, presence),
        }
    }

    /// Returns the player whom a script means: by `player`, or by `session_id` if the player has joined again.
    pub fn find(&self, table: &Table) -> mlua::Result<Option<PlayerId>> {
        if let Some(player) = table.raw_get::<Option<u32>>("player")?
            && self.member(PlayerId(player)).is_some()
        {
            return Ok(Some(PlayerId(player)));
        }
        let Some(session) = table.raw_get::<Option<mlua::LuaString>>("session_id")? else { return Ok(None) };
        let session = session.as_bytes();
        let found = self.list.iter().find(|member| member.presence.session.as_bytes() == &*session);
        Ok(found.map(|member| member.presence.player))
    }

    fn member(&self, player: PlayerId) -> Option<&Member> {
        let at = self.list.binary_search_by_key(&player, |member| member.presence.player).ok()?;
        self.list.get(at)
    }

    fn create_table(&self, lua: &Lua, presence: &Presence) -> mlua::Result<Table> {
        let table = lua.create_table_with_capacity(0, 5)?;
        table.raw_set("user_id", presence.user.as_str())?;
        table.raw_set("session_id", presence.session.as_str())?;
        table.raw_set("username", presence.username.as_str())?;
        table.raw_set("node", self.node.as_str())?;
        if presence.player.0 > 0 {
            table.raw_set("player", presence.player.0)?;
        }
        Ok(table)
    }
}
