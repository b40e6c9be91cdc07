//! Room types of match handlers.

use super::game::{GameParts, Origin, ScriptGame};
use super::handler::{Form, HandlerInfo};
use super::service::origin;
use super::setup::{MatchSetup, sources_bytes};
use crate::error::ScriptError;
use crate::program::{MatchLimits, Program};
use crate::scripts::Scripts;
use crate::source::Sources;
use crate::value::{Key, Value};
use aether_engine::{RoomSettings, RuntimeGame};
use aether_rooms::{GameSetup, RoomDefinition, RoomType};
use aether_services::Services;
use std::sync::{Arc, Weak};

/// Returns the room type of a handler.
pub(crate) fn room_type(
    handler: &HandlerInfo,
    program: &Program,
    scripts: &Arc<Scripts>,
    services: &Arc<Services>,
) -> RoomType {
    let maker = Maker {
        handler: handler.clone(),
        sources: Arc::clone(program.sources()),
        scripts: Arc::downgrade(scripts),
        services: Arc::downgrade(services),
    };
    let definition = RoomDefinition::runtime(handler.settings.clone(), move |setup| {
        maker.make(setup).map_err(|error| error.to_string())
    });
    RoomType::new(&handler.name, definition, &scripts.settings().registry)
}

/// Returns the definition by which recordings of Lua matches are replayed. A recording has the sources of its match, so the
/// modules of the server are not needed.
#[must_use]
pub fn recorded_matches() -> RoomDefinition {
    let settings = RoomSettings { interest: None, rings: Vec::new(), ..RoomSettings::default() };
    RoomDefinition::runtime(settings, |setup| {
        let recorded = setup.recorded.unwrap_or_default();
        replay(recorded, setup, MatchLimits::default()).map_err(|error| error.to_string())
    })
}

/// Makes the games of a handler.
struct Maker {
    handler: HandlerInfo,
    /// Without the program: a match that keeps its type must not keep the VMs of an old program.
    sources: Arc<Sources>,
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
            return replay(recorded, setup, settings.match_limits);
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
            sources: Arc::clone(&self.sources),
            answers: Vec::new(),
            metrics: Some(Arc::clone(&services.game_metrics)),
        };
        Ok(Box::new(ScriptGame::new(GameParts {
            setup: match_setup,
            limits: settings.match_limits,
            seed: setup.seed,
            started_ms: setup.started_ms,
            origin: origin(&services, &scripts),
        })?))
    }
}

fn replay(
    recorded: &[u8],
    &GameSetup { seed, started_ms, .. }: &GameSetup<'_>,
    limits: MatchLimits,
) -> Result<Box<dyn RuntimeGame>, ScriptError> {
    let setup = MatchSetup::from_bytes(recorded)?;
    let origin = Origin::Recording;
    Ok(Box::new(ScriptGame::new(GameParts { setup, limits, seed, started_ms, origin })?))
}

/// A match without a server: for tests of a handler, and for benchmarks.
pub struct LocalMatch {
    /// Modules.
    pub sources: Arc<Sources>,
    /// Name of the handler.
    pub handler: String,
    /// True if the handler is a module with all seven functions, false for one of `aether.register_match`.
    pub is_module: bool,
    /// Module that has the handler.
    pub module: String,
    /// Parameters of `match_init`.
    pub params: Value,
    /// Limits.
    pub limits: MatchLimits,
    /// Seed of the random numbers that modules use while they load.
    pub seed: u64,
}

impl LocalMatch {
    /// Makes the game. It has no services but those that the caller gives it by answers to the requests of its room.
    pub fn make(self) -> Result<Box<dyn RuntimeGame>, ScriptError> {
        let setup = MatchSetup {
            handler: self.handler,
            module: self.module,
            form: if self.is_module { Form::Nk } else { Form::Aether },
            match_id: "00000000-0000-0000-0000-000000000000.local".to_owned(),
            params: self.params,
            environment: Value::table([]),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            sources: self.sources,
            answers: Vec::new(),
            metrics: None,
        };
        let (limits, seed, origin) = (self.limits, self.seed, Origin::Local);
        Ok(Box::new(ScriptGame::new(GameParts { setup, limits, seed, started_ms: 0, origin })?))
    }
}

/// Returns the code of a reload, from sources.
#[must_use]
pub fn reload_code(sources: &Sources) -> Arc<[u8]> {
    sources_bytes(sources).into()
}
