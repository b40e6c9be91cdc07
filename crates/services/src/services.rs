//! Container of all services of a server.

use crate::account::provider::ProviderSettings;
use crate::account::{self, Accounts};
use crate::admin::{RoomOperator, ScriptOperator};
use crate::audit::Audit;
use crate::bracket::{self, Brackets};
use crate::calls::{CallTable, Functions, MatchTypes};
use crate::chat::{Chat, ChatParts};
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::event::{Events, Handler};
use crate::friend::Friends;
use crate::game_metrics::GameMetrics;
use crate::group::Groups;
use crate::hooks::Hooks;
use crate::http_client::{self, HttpClient};
use crate::leaderboard::{Leaderboards, PeriodHooks};
use crate::matches::{Matches, NOT_HOSTED};
use crate::matchmaker::{self, MatchedHook, MatchmakerService, ServiceParts};
use crate::moderation::Moderation;
use crate::multi_update::MultiUpdates;
use crate::notification::Notifications;
use crate::party::PartyService;
use crate::profile::Profiles;
use crate::purchase::{self, Purchases};
use crate::remote_value::RemoteValues;
use crate::room::Rooms;
use crate::router::Router;
use crate::session::tokens::Tokens;
use crate::session::{self, MatchTokens, SessionHandlers, Sessions};
use crate::storage::{IndexDefinition, Quota, Storage, StorageIndexes};
use crate::tournament::Tournaments;
use crate::wallet::Wallets;
use crate::webhook::{self, Webhooks};
use aether_metrics::Registry;
use aether_store::Store;
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock, Weak};
use uuid::Uuid;

/// Dependencies of the services.
pub struct ServicesParts<'a> {
    /// Database.
    pub store: Store,
    /// Source of the time.
    pub clock: Arc<dyn WallClock>,
    /// Issues and verifies tokens.
    pub tokens: Arc<Tokens>,
    /// Receives the metrics.
    pub registry: &'a Registry,
}

/// Settings of the services.
#[derive(Clone, Debug)]
pub struct ServicesSettings {
    /// Session settings.
    pub sessions: session::Settings,
    /// Account settings. `announce` is overwritten: it is set if a webhook is configured.
    pub accounts: account::Settings,
    /// Settings of the HTTP client.
    pub http_client: http_client::Settings,
    /// Webhook that receives events, if any.
    pub webhook: Option<webhook::Settings>,
    /// Identity providers that players may sign in with.
    pub providers: ProviderSettings,
    /// Shops that sell the game.
    pub purchases: purchase::Settings,
    /// Storage quota of one user.
    pub storage: Quota,
    /// Storage collections that only server code may change, in addition to those of the program.
    pub reserved_collections: BTreeSet<String>,
    /// Settings of the matchmaker.
    pub matchmaker: matchmaker::ServiceSettings,
}

/// Extensions that the program adds to the services.
#[derive(Default)]
pub struct ServicesExtensions {
    /// Hooks that run before and after operations.
    pub hooks: Hooks,
    /// Functions that clients call by name.
    pub functions: Functions,
    /// Types of matches.
    pub match_types: MatchTypes,
    /// Handlers that receive reported events.
    pub event_handlers: Vec<Handler>,
    /// Storage collections that only server code may change.
    pub reserved_collections: BTreeSet<String>,
    /// Storage indexes, which are filled at the start.
    pub storage_indexes: Vec<IndexDefinition>,
    /// Hook `matchmaker_matched`, which decides on match candidates.
    pub matchmaker_matched: Option<MatchedHook>,
    /// Hooks that run at resets of leaderboards, and at ends and resets of tournaments.
    pub period_hooks: PeriodHooks,
    /// Functions that are called when sessions of the socket start and end.
    pub session_handlers: SessionHandlers,
}

/// All services of a server. Server code calls them as well.
pub struct Services {
    /// Database.
    pub store: Store,
    /// Source of the time.
    pub clock: Arc<dyn WallClock>,
    /// Hooks of the program, which run before hooks of modules.
    pub hooks: Hooks,
    /// Operations, functions and match types by name, and loaded modules.
    pub calls: CallTable,
    /// Issues, refreshes and revokes tokens.
    pub sessions: Arc<Sessions>,
    /// User accounts.
    pub accounts: Accounts,
    /// Refused and used permissions.
    pub audit: Arc<Audit>,
    /// Stored objects of players and games.
    pub storage: Storage,
    /// Wallets of players.
    pub wallets: Wallets,
    /// Atomic changes to accounts, wallets and objects.
    pub multi_updates: MultiUpdates,
    /// Validated purchases and subscriptions.
    pub purchases: Purchases,
    /// Leaderboards.
    pub leaderboards: Arc<Leaderboards>,
    /// Groups of players.
    pub groups: Arc<Groups>,
    /// Tournaments.
    pub tournaments: Arc<Tournaments>,
    /// Brackets: eliminations, round robins and Swiss brackets.
    pub brackets: Arc<Brackets>,
    /// Profiles (characters) of players.
    pub profiles: Profiles,
    /// Stored state of durable rooms, and the history of room visits.
    pub rooms: Rooms,
    /// Sockets, presences and streams.
    pub router: Arc<Router>,
    /// Tickets of players who look for a match, and seats of matches.
    pub matchmaker: Arc<MatchmakerService>,
    /// Signs and verifies tokens with which matched players join a relayed match.
    pub match_tokens: MatchTokens,
    /// Chat rooms, chats of groups and chats of two users.
    pub chat: Arc<Chat>,
    /// Live and stored notifications of users.
    pub notifications: Arc<Notifications>,
    /// Friends, invites and blocks of users.
    pub friends: Arc<Friends>,
    /// Parties of players.
    pub parties: Arc<PartyService>,
    /// Reports of players, and mutes.
    pub moderation: Arc<Moderation>,
    /// Values by key for clients, with rules.
    pub remote_values: Arc<RemoteValues>,
    /// Reported events.
    pub events: Events,
    /// Metrics that games and scripts record by name.
    pub game_metrics: Arc<GameMetrics>,
    /// Delivers webhooks, if one is configured.
    pub webhooks: Option<Webhooks>,
    /// Client for outgoing HTTP requests.
    pub http_client: HttpClient,
    /// Functions that are called when sessions of the socket start and end.
    pub session_handlers: Arc<SessionHandlers>,
    /// Hooks at the ends of periods.
    period_hooks: PeriodHooks,
    /// Host of the rooms. Weak, because the host itself owns the services.
    matches: OnceLock<Weak<dyn RoomOperator>>,
    /// Scripts of the server. Weak, because they use the services.
    scripts: OnceLock<Weak<dyn ScriptOperator>>,
    is_online: OnceLock<IsOnline>,
}

/// Dependencies that most services share.
struct Base {
    store: Store,
    clock: Arc<dyn WallClock>,
    router: Arc<Router>,
}

/// Services between users.
struct Social {
    notifications: Arc<Notifications>,
    friends: Arc<Friends>,
    chat: Arc<Chat>,
    groups: Arc<Groups>,
}

/// Services with ranks.
struct Competitions {
    leaderboards: Arc<Leaderboards>,
    tournaments: Arc<Tournaments>,
    brackets: Arc<Brackets>,
}

impl Base {
    fn parts(&self) -> (Store, Arc<dyn WallClock>, Arc<Router>) {
        (self.store.clone(), Arc::clone(&self.clock), Arc::clone(&self.router))
    }

    fn social(&self, moderation: &Arc<Moderation>, announce: bool) -> Social {
        let (store, clock, router) = self.parts();
        let notifications = Arc::new(Notifications::new(store, clock, router, announce));
        let (store, clock, router) = self.parts();
        let friends = Arc::new(Friends::new(store, clock, router, Arc::clone(&notifications)));
        let (store, clock, router) = self.parts();
        let groups = Arc::new(Groups::new(store, clock, router, Arc::clone(&notifications)));
        let (store, clock, router) = self.parts();
        let chat = Chat::start(ChatParts {
            store,
            clock,
            router,
            notifications: Arc::clone(&notifications),
            friends: Arc::clone(&friends),
            moderation: Arc::clone(moderation),
        });
        Social { notifications, friends, chat, groups }
    }

    async fn competitions(&self, notifications: &Arc<Notifications>) -> Result<Competitions, ServiceError> {
        let (store, clock, router) = self.parts();
        let leaderboards = Arc::new(Leaderboards::open(store.clone(), Arc::clone(&clock)).await?);
        let tournaments = Tournaments::new(store.clone(), Arc::clone(&clock), Arc::clone(&leaderboards));
        let (boards, notifications) = (Arc::clone(&leaderboards), Arc::clone(notifications));
        let brackets = Brackets::new(bracket::Parts { store, clock, boards, notifications, router });
        Ok(Competitions { leaderboards, tournaments: Arc::new(tournaments), brackets: Arc::new(brackets) })
    }
}

/// Lets an erasure reach what services hold in memory.
fn with_erasers(
    accounts: Accounts,
    Competitions { leaderboards, tournaments, brackets }: &Competitions,
    (moderation, indexes): (&Arc<Moderation>, &Arc<StorageIndexes>),
) -> Accounts {
    let (boards, entrants, brackets) = (Arc::clone(leaderboards), Arc::clone(tournaments), Arc::clone(brackets));
    let (mutes, indexes) = (Arc::clone(moderation), Arc::clone(indexes));
    accounts
        .with_eraser(Box::new(move |transaction, user| boards.forget_within(transaction, user)))
        .with_eraser(Box::new(move |transaction, user| entrants.forget_within(transaction, user)))
        .with_eraser(Box::new(move |transaction, user| brackets.forget_within(transaction, user)))
        .with_eraser(Box::new(move |transaction, user| {
            mutes.forget_within(transaction, user);
            indexes.forget_within(transaction, user);
            Ok(())
        }))
}

/// Returns true if the user is connected.
type IsOnline = Box<dyn Fn(Uuid) -> bool + Send + Sync>;

impl Services {
    /// Opens the services over a store. [`GrpcCode::InvalidArgument`] means that a
    /// setting is invalid.
    pub async fn open(
        parts: ServicesParts<'_>,
        settings: ServicesSettings,
        extensions: ServicesExtensions,
    ) -> Result<Services, ServiceError> {
        let ServicesParts { store, clock, tokens, registry } = parts;
        let router = Arc::new(Router::new(registry));
        let base = Base { store: store.clone(), clock: Arc::clone(&clock), router: Arc::clone(&router) };
        let match_tokens = MatchTokens::new(Arc::clone(&tokens));
        let sessions = Sessions::open(store.clone(), tokens, Arc::clone(&clock), settings.sessions).await?;
        let http_client = HttpClient::new(&settings.http_client);
        let announce = settings.webhook.is_some();
        let webhooks = settings
            .webhook
            .map(|settings| Webhooks::new(store.clone(), Arc::clone(&clock), http_client.clone(), settings, registry));
        let purchases = Purchases::open(store.clone(), Arc::clone(&clock), &http_client, settings.purchases)?;
        let moderation = Arc::new(Moderation::open(store.clone(), Arc::clone(&clock), registry).await?);
        let Social { notifications, friends, chat, groups } = base.social(&moderation, announce);
        let competitions = base.competitions(&notifications).await?;
        let indexes = Arc::new(StorageIndexes::open(extensions.storage_indexes, &store, registry).await?);
        let accounts = account::Settings { announce, ..settings.accounts };
        let accounts = Accounts::new(store.clone(), Arc::clone(&clock), Arc::clone(sessions.revocations()), accounts)
            .with_roles(Arc::clone(sessions.roles()))
            .with_providers(settings.providers, &http_client);
        let accounts = with_erasers(accounts, &competitions, (&moderation, &indexes));
        let Competitions { leaderboards, tournaments, brackets } = competitions;
        let wallets = Wallets::new(store.clone(), Arc::clone(&clock));
        let reserved = &settings.reserved_collections | &extensions.reserved_collections;
        let storage = Storage::new(store.clone(), Arc::clone(&clock)).with_quota(settings.storage);
        let (tokens, hook) = (match_tokens.clone(), extensions.matchmaker_matched);
        let matchmaker =
            ServiceParts { router: Arc::clone(&router), clock: Arc::clone(&clock), tokens, hook, registry };
        let matchmaker = Arc::new(MatchmakerService::new(matchmaker, settings.matchmaker));
        let parties = PartyService::start(Arc::clone(&router), Arc::clone(&matchmaker), Arc::clone(&clock), registry);
        let remote_values =
            RemoteValues::open(store.clone(), Arc::clone(&clock), Arc::clone(&router), registry).await?;
        Ok(Services {
            accounts,
            storage: storage.with_reserved(reserved).with_indexes(Arc::clone(&indexes)),
            multi_updates: MultiUpdates::new(store.clone(), Arc::clone(&clock), wallets.clone()).with_indexes(indexes),
            wallets,
            purchases,
            audit: Arc::new(Audit::new(store.clone(), Arc::clone(&clock), registry)),
            rooms: Rooms::new(store.clone(), Arc::clone(&clock)),
            router,
            matchmaker,
            match_tokens,
            chat,
            groups,
            notifications,
            friends,
            parties,
            moderation,
            remote_values: Arc::new(remote_values),
            profiles: Profiles::new(store.clone(), Arc::clone(&clock)),
            events: Events::new(store.clone(), Arc::clone(&clock), extensions.event_handlers, announce),
            game_metrics: Arc::new(GameMetrics::new(registry)),
            hooks: extensions.hooks,
            calls: CallTable::new(extensions.functions, extensions.match_types, registry)?,
            sessions: Arc::new(sessions),
            leaderboards,
            tournaments,
            brackets,
            period_hooks: extensions.period_hooks,
            session_handlers: Arc::new(extensions.session_handlers),
            webhooks,
            http_client,
            is_online: OnceLock::new(),
            store,
            clock,
            matches: OnceLock::new(),
            scripts: OnceLock::new(),
        })
    }

    /// Reports resets of leaderboards, and ends and resets of tournaments, that are due at `now`, in seconds since 1970. Call
    /// it every second.
    pub async fn report_periods(self: &Arc<Self>, now: i64) -> Result<(), ServiceError> {
        self.leaderboards.tick_with(now, |report| self.period_hooks.start(self, report)).await
    }

    /// Sets the host of the matches. Later calls have no effect.
    pub fn host_matches(&self, matches: Weak<dyn RoomOperator>) {
        let _ = self.matches.set(matches);
    }

    /// Returns the host of the running matches.
    pub fn matches(&self) -> Result<Arc<dyn Matches>, ServiceError> {
        Ok(self.room_operator()? as Arc<dyn Matches>)
    }

    /// Returns the operator's access to the rooms.
    pub(crate) fn room_operator(&self) -> Result<Arc<dyn RoomOperator>, ServiceError> {
        self.matches.get().and_then(Weak::upgrade).ok_or(NOT_HOSTED)
    }

    /// Sets the scripts of the server. Later calls have no effect.
    pub fn host_scripts(&self, scripts: Weak<dyn ScriptOperator>) {
        let _ = self.scripts.set(scripts);
    }

    /// Returns the operator's access to the scripts.
    pub(crate) fn script_operator(&self) -> Result<Arc<dyn ScriptOperator>, ServiceError> {
        const NO_SCRIPTS: ServiceError =
            ServiceError::new(GrpcCode::FailedPrecondition, "This server has no scripts. Set script.folder.");
        self.scripts.get().and_then(Weak::upgrade).ok_or(NO_SCRIPTS)
    }

    /// Sets the function that tells if a user is connected. Until then all users count as offline.
    ///
    /// # Panics
    /// If it is already set.
    pub fn set_presence(&self, is_online: impl Fn(Uuid) -> bool + Send + Sync + 'static) {
        let is_first = self.is_online.set(Box::new(is_online)).is_ok();
        assert!(is_first, "the presence function is set once");
    }

    /// Returns true if the user is connected.
    #[must_use]
    pub fn is_online(&self, user: Uuid) -> bool {
        self.is_online.get().is_some_and(|is_online| is_online(user))
    }
}
