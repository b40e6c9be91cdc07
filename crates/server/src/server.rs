//! Builder of a server: room types, hooks, functions, pages and the command line.

use crate::commands::Command;
use crate::config::Config;
use crate::data;
use crate::running::{RunningServer, StartError};
use aether_api::Pages;
use aether_engine::{Game, RoomSettings, RuntimeGame};
use aether_metrics::Registry;
use aether_net::relay::RelaySettings;
use aether_rooms::{GameSetup, RoomDefinition, RoomType};
use aether_services::event::Event;
use aether_services::leaderboard::{Reset, TournamentEnd, TournamentReset};
use aether_services::matchmaker::{Candidate, MatchedAnswer, MatchedHook};
use aether_services::storage::IndexDefinition;
use aether_services::{CallContext, Operation, ServiceError, Services, ServicesExtensions};
use aether_wire::{Encodings, MessageEncoding};
use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use std::pin::Pin;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// A server and the games that it hosts, before it starts.
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
    /// Lua modules that are part of the program: names and texts.
    pub(crate) modules: Vec<(&'static str, &'static str)>,
    pub(crate) pages: Pages,
    pub(crate) encodings: Encodings,
}

/// Code of a game that runs after the services are open and before clients can connect.
type SetUp = Box<dyn FnOnce(Arc<Services>) -> Pin<Box<dyn Future<Output = Result<(), ServiceError>> + Send>> + Send>;

/// Command line of a server program.
#[derive(Parser)]
#[command(about = "A multiplayer game server in one program.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

impl Server {
    /// Creates a server without room types. Name and version are those of the program.
    #[must_use]
    pub fn new(name: &'static str, version: &'static str) -> Server {
        Server {
            name,
            version,
            room_types: Vec::new(),
            extensions: ServicesExtensions::default(),
            set_up: Vec::new(),
            modules: Vec::new(),
            pages: Pages::none(),
            encodings: Encodings::default(),
        }
    }

    /// Adds a room type that runs a game. The configuration can override its settings (`[room.<type>]`).
    ///
    /// # Panics
    /// Panics if a room type of that name exists.
    #[must_use]
    pub fn game<G: Game>(
        self,
        name: impl Into<String>,
        settings: RoomSettings,
        make: impl Fn() -> G + Send + Sync + 'static,
    ) -> Server {
        self.add(name.into(), RoomDefinition::game(settings, make))
    }

    /// Adds a room type whose games are made at run time, from the parameters of each room; see [`RoomDefinition::runtime`].
    ///
    /// # Panics
    /// Panics if a room type of that name exists.
    #[must_use]
    pub fn runtime_game(
        self,
        name: impl Into<String>,
        settings: RoomSettings,
        make: impl Fn(&GameSetup<'_>) -> Result<Box<dyn RuntimeGame>, String> + Send + Sync + 'static,
    ) -> Server {
        self.add(name.into(), RoomDefinition::runtime(settings, make))
    }

    /// Adds a room type that only passes messages on between its members.
    ///
    /// # Panics
    /// Panics if a room type of that name exists.
    #[must_use]
    pub fn relay(self, name: impl Into<String>, settings: RelaySettings) -> Server {
        self.add(name.into(), RoomDefinition::Relay(settings))
    }

    /// Adds a Lua module that is part of the program, such as `("shop.items", include_str!("shop/items.lua"))`. A file of the
    /// same name in the folder of the modules replaces it. `script.built_in` disables all of them.
    #[must_use]
    pub fn module(mut self, name: &'static str, text: &'static str) -> Server {
        self.modules.push((name, text));
        self
    }

    /// Adds a message encoding of realtime connections, besides protobuf and JSON. A client selects it by its name: as the
    /// WebSocket subprotocol, or by `encoding=<name>` in the path of a WebTransport session.
    ///
    /// # Panics
    /// Panics if its name is invalid or taken.
    #[must_use]
    pub fn encoding(mut self, encoding: &'static dyn MessageEncoding) -> Server {
        let added = self.encodings.register(encoding);
        assert!(added.is_ok(), "cannot add an encoding: {added:?}");
        self
    }

    /// Adds a hook that runs before an operation of the client API. It can change the request, reject it with an error,
    /// or drop it by returning `None`.
    #[must_use]
    pub fn before<O: Operation, F>(
        mut self,
        hook: impl Fn(Arc<CallContext>, O::Request) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = Result<Option<O::Request>, ServiceError>> + Send + 'static,
    {
        self.extensions.hooks.before::<O, F>(hook);
        self
    }

    /// Adds a hook that runs after a successful operation of the client API.
    #[must_use]
    pub fn after<O: Operation, F>(
        mut self,
        hook: impl Fn(Arc<CallContext>, Arc<O::Request>, Arc<O::Answer>) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.extensions.hooks.after::<O, F>(hook);
        self
    }

    /// Adds a function that clients call by name: `POST /v2/rpc/{name}`. It takes the payload and returns the answer.
    ///
    /// # Panics
    /// Panics if the name is invalid or a function of that name exists.
    #[must_use]
    pub fn rpc<F>(
        mut self,
        name: &str,
        function: impl Fn(Arc<Services>, Arc<CallContext>, String) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = Result<String, ServiceError>> + Send + 'static,
    {
        let added = self.extensions.functions.register_rpc(name, function);
        assert!(added.is_ok(), "cannot add function `{name}`: {added:?}");
        self
    }

    /// Reserves a storage collection for server code and games. Clients may read the objects of their accounts in it, but
    /// neither write nor delete any. A collection with results of a game belongs here.
    #[must_use]
    pub fn reserve_collection(mut self, collection: impl Into<String>) -> Server {
        self.extensions.reserved_collections.insert(collection.into());
        self
    }

    /// Adds an index of the objects of a storage collection. It is in memory, filled at the start, and follows all changes;
    /// `services.storage.list_index` finds objects in it by the query language.
    ///
    /// ```
    /// use aether_services::storage::IndexDefinition;
    ///
    /// let index = IndexDefinition::new("guilds", "guild", ["name", "region", "members"]).sortable(["members"]);
    /// let server = aether_server::Server::new("coins", "1.0.0").storage_index(index);
    /// ```
    #[must_use]
    pub fn storage_index(mut self, index: IndexDefinition) -> Server {
        self.extensions.storage_indexes.push(index);
        self
    }

    /// Adds a handler for events that clients and server code report. It must be fast: the reporter waits for it.
    #[must_use]
    pub fn on_event(mut self, handler: impl Fn(&CallContext, &Event) + Send + Sync + 'static) -> Server {
        self.extensions.event_handlers.push(Box::new(handler));
        self
    }

    /// Sets the hook `matchmaker_matched`: it gets each candidate of the matchmaker, with its players, their properties and
    /// parties, and decides on the match. Without a hook the candidate becomes a room of `matchmaker.room_type`, or a relayed
    /// match. An error lets the tickets search again in the next interval, and so does a hook that takes ten seconds.
    ///
    /// ```
    /// use aether_services::matches::NewMatch;
    /// use aether_services::matchmaker::{MatchPlan, MatchedAnswer};
    ///
    /// let server = aether_server::Server::new("duels", "1.0.0").matchmaker_matched(|_, candidate| async move {
    ///     let players = candidate.tickets.iter().flat_map(|ticket| &ticket.users).count();
    ///     let match_type = if players == 2 { "duel" } else { "arena" };
    ///     let new = NewMatch { match_type: match_type.to_owned(), private: true, ..NewMatch::default() };
    ///     Ok(MatchedAnswer::Accept(MatchPlan::Create(new)))
    /// });
    /// ```
    #[must_use]
    pub fn matchmaker_matched<F>(
        mut self,
        hook: impl Fn(Arc<Services>, Arc<Candidate>) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = Result<MatchedAnswer, ServiceError>> + Send + 'static,
    {
        self.extensions.matchmaker_matched = Some(MatchedHook::new(hook));
        self
    }

    /// Adds a hook that runs when a period of a leaderboard has ended. See [`PeriodHooks`](aether_services::leaderboard::PeriodHooks).
    #[must_use]
    pub fn leaderboard_reset<F>(mut self, hook: impl Fn(Arc<Services>, Reset) -> F + Send + Sync + 'static) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.extensions.period_hooks.on_leaderboard_reset(hook);
        self
    }

    /// Adds a hook that runs when the active time of a tournament has ended: to give prizes, for example. After a crash it
    /// may run again for the same end, so give each prize under a key of tournament and expiry.
    ///
    /// ```
    /// use aether_services::leaderboard::RecordQuery;
    ///
    /// let server = aether_server::Server::new("dash", "1.0.0").tournament_end(|services, end| async move {
    ///     let query = RecordQuery { limit: Some(3), expiry: end.expiry, ..RecordQuery::default() };
    ///     if let Ok(best) = services.tournaments.records(&end.tournament.definition.id, &[], &query).await {
    ///         for record in best.records {
    ///             println!("{} wins prize {}", record.username, record.rank);
    ///         }
    ///     }
    /// });
    /// ```
    #[must_use]
    pub fn tournament_end<F>(
        mut self,
        hook: impl Fn(Arc<Services>, TournamentEnd) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.extensions.period_hooks.on_tournament_end(hook);
        self
    }

    /// Adds a hook that runs when a tournament was reset, and its next period has begun.
    #[must_use]
    pub fn tournament_reset<F>(
        mut self,
        hook: impl Fn(Arc<Services>, TournamentReset) -> F + Send + Sync + 'static,
    ) -> Server
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.extensions.period_hooks.on_tournament_reset(hook);
        self
    }

    /// Adds code that runs at the start, after the services are open and before clients can connect: to create
    /// leaderboards, for example. An error stops the start.
    #[must_use]
    pub fn on_start<F>(mut self, set_up: impl FnOnce(Arc<Services>) -> F + Send + 'static) -> Server
    where
        F: Future<Output = Result<(), ServiceError>> + Send + 'static,
    {
        self.set_up.push(Box::new(move |services| Box::pin(set_up(services))));
        self
    }

    /// Adds a function that rooms call by [`aether_engine::Request::Call`]. It takes the payload and returns the answer.
    /// `leaderboard_top` is built in: its payload is the name of a leaderboard, and its answer has one line for each of the
    /// ten best records, with the score, a space and the name.
    ///
    /// # Panics
    /// Panics if the name is invalid or a function of that name exists.
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
        assert!(added.is_ok(), "cannot add function `{name}`: {added:?}");
        self
    }

    /// Serves pages at every path that the server's own routes do not use: a folder, or [`Pages::embedded`] files.
    /// Without pages, the root is a start page that shows the program and its room types. The setting `http.pages`
    /// replaces them.
    ///
    /// ```
    /// let server = aether_server::Server::new("coins", "1.0.0").pages("web");
    /// ```
    #[must_use]
    pub fn pages(self, pages: impl Into<Pages>) -> Server {
        Server { pages: pages.into(), ..self }
    }

    /// Runs the code added by [`Server::on_start`], then creates the leaderboards and tournaments of the configuration.
    pub(crate) async fn set_up(&mut self, config: &Config, services: &Arc<Services>) -> Result<(), StartError> {
        for set_up in std::mem::take(&mut self.set_up) {
            set_up(Arc::clone(services)).await.map_err(|error| StartError::Game(error.to_string()))?;
        }
        data::open_leaderboards(config, services).await?;
        data::open_tournaments(config, services).await
    }

    fn add(mut self, name: String, definition: RoomDefinition) -> Server {
        assert!(self.room_types.iter().all(|(known, _)| *known != name), "room type `{name}` is added twice");
        self.room_types.push((name, definition));
        self
    }

    /// Parses the command line and runs its command. `main` returns the exit code.
    pub fn main(self) -> ExitCode {
        let program = Arguments::command().name(self.name).version(self.version);
        match Arguments::from_arg_matches(&program.get_matches()) {
            Ok(Arguments { command }) => self.run(command),
            Err(error) => error.exit(),
        }
    }

    /// Runs a command.
    pub fn run(self, command: Command) -> ExitCode {
        command.run(self)
    }

    /// Starts the server in the current Tokio runtime. Returns when its listeners are open.
    pub async fn start(self, config: Config) -> Result<RunningServer, StartError> {
        RunningServer::start(self, config, None).await
    }

    /// Returns the room types with the settings that their games declare. A relay has the default settings.
    pub(crate) fn declared_room_types(&self) -> Vec<(&str, RoomSettings)> {
        let settings = |definition: &RoomDefinition| definition.game_settings().cloned().unwrap_or_default();
        let relayed = (RELAYED_MATCHES, RoomSettings::default());
        let declared = self.room_types.iter().map(|(name, definition)| (name.as_str(), settings(definition)));
        declared.chain([relayed]).collect()
    }

    /// Returns the definition of a room type.
    pub(crate) fn find_definition(&self, name: &str) -> Option<&RoomDefinition> {
        self.room_types.iter().find(|(known, _)| known == name).map(|(_, definition)| definition)
    }

    /// Registers the room types, with the settings of the configuration, in the table of calls.
    pub(crate) fn register_room_types(&mut self, config: &Config, registry: &Registry) -> Result<(), StartError> {
        if let Some(problem) = config.unknown_encodings(&self.encodings).first() {
            return Err(StartError::Config(problem.to_string()));
        }
        for (name, definition) in std::mem::take(&mut self.room_types) {
            let definition = configure(config, &name, definition)?;
            if let Some(unknown) = definition.encodings().iter().find(|name| self.encodings.named(name).is_none()) {
                let known = self.encodings.names().collect::<Vec<_>>().join(", ");
                let sentence = format!("room type {name}: unknown encoding {unknown:?}; this server has {known}.");
                return Err(StartError::Config(sentence));
            }
            let registered = self.extensions.match_types.register(Arc::new(RoomType::new(name, definition, registry)));
            registered.map_err(|error| StartError::Config(error.to_string()))?;
        }
        Ok(())
    }
}

/// Name of the type of relayed matches, which clients of the services socket create.
pub(crate) const RELAYED_MATCHES: &str = "match";

/// Returns the type of relayed matches, with the settings of the configuration.
pub(crate) fn relayed_matches(config: &Config, registry: &Registry) -> Result<Arc<RoomType>, StartError> {
    let definition = configure(config, RELAYED_MATCHES, RoomDefinition::Relay(RelaySettings::default()))?;
    Ok(Arc::new(RoomType::new(RELAYED_MATCHES, definition, registry)))
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
                let sentence = format!("room.{name}.durable: a relay room has no state to store; remove the setting.");
                return Err(StartError::Config(sentence));
            }
            let flush = overrides.flush_ms.map_or(settings.flush, |ms| Duration::from_millis(ms.into()));
            let members_max = overrides.players_max.unwrap_or(settings.members_max);
            Ok(RoomDefinition::Relay(RelaySettings {
                members_max,
                flush,
                private: overrides.private.unwrap_or(settings.private),
                encodings: overrides.encodings.unwrap_or(settings.encodings),
                network_members_max: overrides.network_players_max.unwrap_or(settings.network_members_max),
                fan_out_bytes_per_second: overrides
                    .fan_out_bytes_per_second
                    .unwrap_or(settings.fan_out_bytes_per_second),
            }))
        }
    }
}
