//! `aether load`: bots that play on a running server.

use super::fail;
use crate::server::Server;
use aether_load::{BotBehavior, LoadArguments};
use aether_rooms::RoomDefinition;
use std::process::ExitCode;

/// Runs the bots. Fails if one could not join or was disconnected, so that scripts notice.
pub(crate) fn run(server: &Server, arguments: LoadArguments) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("Cannot start the async runtime: {error}")),
    };
    let arguments = with_defaults(server, arguments);
    let json = arguments.json;
    match runtime.block_on(aether_load::run(arguments)) {
        Ok(report) => {
            print!("{}", report.render(json));
            if report.all_stayed() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => fail(&error),
    }
}

/// Completes the arguments with what the program knows about its room types.
fn with_defaults(server: &Server, mut arguments: LoadArguments) -> LoadArguments {
    let first = || server.declared_room_types().first().map(|(name, _)| (*name).to_owned());
    arguments.room_type = arguments.room_type.or_else(first);
    let definition = arguments.room_type.as_deref().and_then(|name| server.find_definition(name));
    if let Some(RoomDefinition::Relay(_)) = definition {
        arguments.play.get_or_insert(BotBehavior::Messages);
    }
    arguments
}
