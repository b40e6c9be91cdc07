//! The server as a Rust game sees it: register games, run.

use crate::commands::Command;
use crate::config::Config;
use crate::running::{RunningServer, StartError};
use aether_api::Pages;
use aether_engine::{Game, RoomSettings};
use aether_metrics::Registry;
use aether_net::relay::RelaySettings;
use aether_rooms::{RoomDefinition, RoomType};
use aether_services::event::Event;
use aether_services::{CallContext as Circumstances, Operation, ServiceError, Services, ServicesExtensions};
use clap::Parser;
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// A server with its games.
///
/// ```no_run
/// # use aether_engine::*; use aether_wire::PlayerId; use aether_engine::bits::Replicate;
/// # #[derive(Clone, Replicate)] struct Nothing {}
/// # struct Tag;
/// # impl Game for Tag {
/// #     type Input = Nothing;
/// #     fn declare(declaration: GameSchemaBuilder) -> GameSchemaBuilder { declaration }
/// #     fn init(&mut self, _: &mut Context<'_>) {}
/// #     fn join(&mut self, _: &mut Context<'_>, _: PlayerId) {}
/// #     fn input(&mut self, _: &mut Context<'_>, _: PlayerId, _: &Nothing) {}
/// #     fn tick(&mut self, _: &mut Context<'_>) {}
/// # }
/// fn main() -> std::process::ExitCode {
///     aether_server::Server::new("tag", env!("CARGO_PKG_VERSION"))
///         .game("tag", RoomSettings::default(), || Tag)
///         .main()
/// }
/// ```
pub struct Server {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    room_types: Vec<(String, RoomDefinition)>,
    pub(crate) extensions: ServicesExtensions,
    set_up: Vec<SetUp>,
    pub(crate) pages: Pages,
}

/// What a game does with the services before anyone comes in.
type SetUp = Box<dyn FnOnce(Arc<Services>) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>> + Send>;

/// The command line of a server.
#[derive(Parser)]
#[command(about = "A multiplayer game server.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

impl Server {
    /// A server without games. Name and version are those of the program.
    #[must_use]
    pub fn new(name: &'static str, version: &'static str) -> Server {
        Server {
            name,
            version,
            room_types: Vec::new(),
            extensions: ServicesExtensions::default(),
            set_up: Vec::new(),
            pages: Pages::none(),
        }
    }

    /// Adds a game as a type of room. The configuration may change its settings.
    ///
    /// # Panics
    /// If there is one of that name already: that is an error in the program.
    #[must_use]
    pub fn game<G: Game>(
        self,
        name: impl Into<String>,
        settings: RoomSettings,
        make: impl Fn() -> G + Send + Sync + 'static,
    ) -> Server {
        self.add(name.into(), RoomDefinition::game(settings, make))
    }

    /// Adds a type of room that only passes messages on between its members.
    ///
    /// # Panics
    /// If there is one of that name already: that is an error in the program.
    #[must_use]
    pub fn relay(self, name: impl Into<String>, settings: RelaySettings) -> Server {
        self.add(name.into(), RoomDefinition::Relay(settings))
    }

    /// Has something done before an operation of the client API: it may change the request, reject it, or take it away.
    #[must_use]
    pub fn before<O: Operation, F>(
        mut self,
        hook: impl Fn(Arc<Circumstances>, O::Request) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = Result<Option<O::Request>, ServiceError>> + Send + 'static,
    {
        self.extensions.hooks.before::<O, F>(hook);
        self
    }

    /// Has something done after an operation of the client API that succeeded.
    #[must_use]
    pub fn after<O: Operation, F>(
        mut self,
        hook: impl Fn(Arc<Circumstances>, Arc<O::Request>, Arc<O::Answer>) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.extensions.hooks.after::<O, F>(hook);
        self
    }

    /// Adds a function that clients call by its name: `POST /v2/rpc/{name}`. It gets the payload, and what it returns is
    /// the answer.
    ///
    /// # Panics
    /// If the name cannot be one, or there is a function of that name already: that is an error in the program.
    #[must_use]
    pub fn rpc<F>(
        mut self,
        name: &str,
        function: impl Fn(Arc<Services>, Arc<Circumstances>, String) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = Result<String, ServiceError>> + Send + 'static,
    {
        let added = self.extensions.functions.register_rpc(name, function);
        assert!(added.is_ok(), "the function {name} cannot be added: {added:?}");
        self
    }

    /// Is told of events that clients and the program's own code report. It should be quick: the reporter waits.
    #[must_use]
    pub fn on_event(mut self, handler: impl Fn(&Circumstances, &Event) + Send + Sync + 'static) -> Server {
        self.extensions.event_handlers.push(Box::new(handler));
        self
    }

    /// Has something done with the services at the start, before anyone comes in: to make leaderboards, for example.
    #[must_use]
    pub fn on_start<F>(mut self, set_up: impl FnOnce(Arc<Services>) -> F + Send + 'static) -> Server
    where
        F: Future<Output = Result<(), ServiceError>> + Send + 'static,
    {
        self.set_up.push(Box::new(move |services| Box::pin(set_up(services))));
        self
    }

    /// Adds something that games can ask for from their rooms by [`aether_engine::Request::Call`]: it gets the payload, and
    /// what it returns is the answer. There is `leaderboard_top` already, whose payload is the name of a leaderboard, and
    /// which answers with a line for each of the ten best: the score, a space and the name.
    ///
    /// # Panics
    /// If the name cannot be one, or there is a function of that name already: that is an error in the program.
    #[must_use]
    pub fn call<F>(
        mut self,
        name: impl Into<String>,
        call: impl Fn(Arc<Services>, Vec<u8>) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = Result<Option<Vec<u8>>, ServiceError>> + Send + 'static,
    {
        let name = name.into();
        let added = self.extensions.functions.register_call(&name, call);
        assert!(added.is_ok(), "the call {name} cannot be added: {added:?}");
        self
    }

    /// Shows pages at all addresses that are not the server's own. Without them the root is a plain page, which says that
    /// the server is running.
    ///
    /// ```
    /// use aether_server::{Pages, Server};
    ///
    /// let server = Server::new("coins", "1.0.0").pages(Pages::folder("web".into()));
    /// ```
    #[must_use]
    pub fn pages(self, pages: Pages) -> Server {
        Server { pages, ..self }
    }

    /// Does what was registered for the start.
    pub(crate) async fn set_up(&mut self, services: &Arc<Services>) -> Result<(), StartError> {
        for set_up in std::mem::take(&mut self.set_up) {
            set_up(Arc::clone(services)).await.map_err(|refusal| StartError::Game(refusal.to_string()))?;
        }
        Ok(())
    }

    fn add(mut self, name: String, definition: RoomDefinition) -> Server {
        assert!(self.room_types.iter().all(|(known, _)| *known != name), "there are two room types of the name {name}");
        self.room_types.push((name, definition));
        self
    }

    /// Does what the command line says; the result is for `main` to return.
    pub fn main(self) -> ExitCode {
        let Arguments { command } = Arguments::parse();
        self.run(command)
    }

    /// Does what a command says.
    pub fn run(self, command: Command) -> ExitCode {
        command.run(self)
    }

    /// Starts the server within a tokio runtime and returns at once.
    pub async fn start(self, config: Config) -> Result<RunningServer, StartError> {
        RunningServer::start(self, config, None).await
    }

    /// The room types with their settings; those of relays are the defaults.
    pub(crate) fn declared(&self) -> Vec<(&str, RoomSettings)> {
        let settings = |definition: &RoomDefinition| definition.game_settings().cloned().unwrap_or_default();
        self.room_types.iter().map(|(name, definition)| (name.as_str(), settings(definition))).collect()
    }

    /// Returns the definition of a room type.
    pub(crate) fn find_definition(&self, name: &str) -> Option<&RoomDefinition> {
        self.room_types.iter().find(|(known, _)| known == name).map(|(_, definition)| definition)
    }

    /// Returns the room types with the settings of the configuration.
    pub(crate) fn configured(self, config: &Config, registry: &Registry) -> Result<Vec<RoomType>, StartError> {
        let configure = |(name, definition): (String, RoomDefinition)| {
            let definition = configure(config, &name, definition)?;
            Ok(RoomType::new(name, definition, registry))
        };
        self.room_types.into_iter().map(configure).collect()
    }
}

/// Applies the configuration to a room type.
fn configure(config: &Config, name: &str, definition: RoomDefinition) -> Result<RoomDefinition, StartError> {
    match definition {
        RoomDefinition::Game { settings, factory } => {
            let settings = config.room_settings(name, settings);
            let settings = settings.map_err(|problem| StartError::Config(problem.to_string()))?;
            Ok(RoomDefinition::Game { settings, factory })
        }
        RoomDefinition::Relay(settings) => {
            let overrides = config.room(name);
            if overrides.durable == Some(true) {
                let sentence = format!("room.{name}.durable: a relay has no state to keep; take it out.");
                return Err(StartError::Config(sentence));
            }
            let flush = overrides.flush_ms.map_or(settings.flush, |ms| Duration::from_millis(ms.into()));
            let members_max = overrides.players_max.unwrap_or(settings.members_max);
            Ok(RoomDefinition::Relay(RelaySettings { members_max, flush }))
        }
    }
}
