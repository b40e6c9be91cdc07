//! Room types of match handlers.

use super::game::{GameParts, ScriptGame};
use super::handler::HandlerInfo;
use super::service::caller;
use super::setup::MatchSetup;
use crate::error::ScriptError;
use crate::program::{MatchLimits, Program};
use crate::scripts::Scripts;
use crate::value::{Key, Value};
use aether_engine::{RoomSettings, RuntimeGame};
use aether_rooms::{GameSetup, RoomDefinition, RoomType};
use aether_services::Services;
use std::sync::{Arc, Weak};

/// Returns the room type of a handler.
pub(crate) fn room_type(
    handler: &HandlerInfo,
    program: &Arc<Program>,
    scripts: &Arc<Scripts>,
    services: &Arc<Services>,
) -> RoomType {
    let maker = Maker {
        handler: handler.clone(),
        program: Arc::clone(program),
        scripts: Arc::downgrade(scripts),
        services: Arc::downgrade(services),
    };
    let definition = RoomDefinition::runtime(handler.settings.clone(), move |setup| {
        maker.make(setup).map_err(|error| error.to_string())
    });
    RoomType::new(&handler.name, definition, &scripts.settings().registry)
}

/// Definition of a room type that only replays recordings.
pub type RecordedMatches = RoomDefinition;

/// Returns the definition by which recordings of Lua matches are replayed. A recording has the sources of its match, so the
/// modules of the server are not needed.
#[must_use]
pub fn recorded_matches() -> RecordedMatches {
    let settings = RoomSettings { interest: None, rings: Vec::new(), ..RoomSettings::default() };
    RoomDefinition::runtime(settings, |setup| {
        let recorded = setup.recorded.unwrap_or_default();
        replay(recorded, setup.seed, MatchLimits::default()).map_err(|error| error.to_string())
    })
}

/// Makes the games of a handler.
struct Maker {
    handler: HandlerInfo,
    program: Arc<Program>,
    scripts: Weak<Scripts>,
    services: Weak<Services>,
}

impl Maker {
    fn make(&self, setup: &GameSetup<'_>) -> Result<Box<dyn RuntimeGame>, ScriptError> {
        let (Some(scripts), Some(services)) = (self.scripts.upgrade(), self.services.upgrade()) else {
            return Err(ScriptError::invalid("the server is shutting down"));
        };
        let settings = scripts.settings();
        if let Some(recorded) = setup.recorded {
            return replay(recorded, setup.seed, settings.match_limits);
        }
        let environment = settings.environment.iter();
        let environment = environment.map(|(key, text)| (Key::from(key.as_str()), Value::from(text.as_str())));
        let match_setup = MatchSetup {
            handler: self.handler.name.clone(),
            module: self.handler.module.clone(),
            form: self.handler.form,
            match_id: setup.room.to_owned(),
            params: Value::from_json(setup.params),
            environment: Value::Map(environment.collect()),
            version: settings.version.clone(),
            sources: Arc::clone(self.program.sources()),
            answers: Vec::new(),
        };
        let services = caller(&services, &scripts);
        let parts = GameParts { setup: match_setup, limits: settings.match_limits, seed: setup.seed, services };
        Ok(Box::new(ScriptGame::new(parts)?))
    }
}

fn replay(recorded: &[u8], seed: u64, limits: MatchLimits) -> Result<Box<dyn RuntimeGame>, ScriptError> {
    let setup = MatchSetup::from_bytes(recorded)?;
    Ok(Box::new(ScriptGame::new(GameParts { setup, limits, seed, services: None })?))
}
