//! All services of a server, together.

use crate::account::provider::ProviderSettings;
use crate::account::{self, Accounts};
use crate::calls::{CallTable, Functions};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::event::{Events, Handler};
use crate::hooks::Hooks;
use crate::http_client::{self, HttpClient};
use crate::leaderboard::Leaderboards;
use crate::matches::{Matches, NOT_HOSTED};
use crate::multi_update::MultiUpdates;
use crate::profile::Profiles;
use crate::purchase::{self, Purchases};
use crate::room::Rooms;
use crate::session::tokens::Tokens;
use crate::session::{self, Sessions};
use crate::storage::{Quota, Storage};
use crate::wallet::Wallets;
use crate::webhook::{self, Webhooks};
use aether_metrics::Registry;
use aether_store::Store;
use std::sync::{Arc, OnceLock, Weak};
use uuid::Uuid;

/// Parts that services are built on.
pub struct ServicesParts<'a> {
    /// The database.
    pub store: Store,
    /// Source of the time.
    pub clock: Arc<dyn WallClock>,
    /// Issues and verifies tokens.
    pub tokens: Arc<Tokens>,
    /// Receives the metrics.
    pub registry: &'a Registry,
}

/// How the services are to be.
#[derive(Clone, Debug)]
pub struct ServicesSettings {
    /// Sessions.
    pub sessions: session::Settings,
    /// Accounts. Whether they are announced follows from there being a webhook.
    pub accounts: account::Settings,
    /// Requests to the outside.
    pub http_client: http_client::Settings,
    /// Where news go, if anywhere.
    pub webhook: Option<webhook::Settings>,
    /// By whom players may sign in.
    pub providers: ProviderSettings,
    /// In which shops the game is sold.
    pub purchases: purchase::Settings,
    /// How much one user may keep in storage.
    pub storage: Quota,
}

/// What the program adds to the services.
#[derive(Default)]
pub struct ServicesExtensions {
    /// What runs before and after operations.
    pub hooks: Hooks,
    /// Functions that are called by name.
    pub functions: Functions,
    /// What is told of events.
    pub event_handlers: Vec<Handler>,
}

/// All services of a server. The server's own code calls them too.
pub struct Services {
    /// The data layer.
    pub store: Store,
    /// The time.
    pub clock: Arc<dyn WallClock>,
    /// Hooks of the program itself, which run before those of modules.
    pub hooks: Hooks,
    /// Operations and functions by name, and the modules.
    pub calls: CallTable,
    /// Tokens, their renewal and their end.
    pub sessions: Arc<Sessions>,
    /// Who plays.
    pub accounts: Accounts,
    /// Objects that players and games keep.
    pub storage: Storage,
    /// What players own.
    pub wallets: Wallets,
    /// Changes to several of these at once.
    pub multi_updates: MultiUpdates,
    /// What was bought in shops.
    pub purchases: Purchases,
    /// Who is best.
    pub leaderboards: Arc<Leaderboards>,
    /// The characters of players.
    pub profiles: Profiles,
    /// Rooms that outlast the server, and who was in which room.
    pub rooms: Rooms,
    /// What happened.
    pub events: Events,
    /// Delivers news to the outside, if there is somewhere to.
    pub webhooks: Option<Webhooks>,
    /// Makes requests to the outside.
    pub http_client: HttpClient,
    /// The host of the rooms, which itself holds the services.
    matches: OnceLock<Weak<dyn Matches>>,
    is_online: OnceLock<IsOnline>,
}

/// Tells if a user is connected.
type IsOnline = Box<dyn Fn(Uuid) -> bool + Send + Sync>;

impl Services {
    /// Opens them over a store; an invalid argument is one of the settings.
    pub async fn open(
        parts: ServicesParts<'_>,
        settings: ServicesSettings,
        extensions: ServicesExtensions,
    ) -> Result<Services, ServiceError> {
        let ServicesParts { store, clock, tokens, registry } = parts;
        let sessions = Sessions::open(store.clone(), tokens, Arc::clone(&clock), settings.sessions).await?;
        let leaderboards = Arc::new(Leaderboards::open(store.clone(), Arc::clone(&clock)).await?);
        let http_client = HttpClient::new(&settings.http_client);
        let announce = settings.webhook.is_some();
        let webhooks = settings
            .webhook
            .map(|settings| Webhooks::new(store.clone(), Arc::clone(&clock), http_client.clone(), settings, registry));
        let accounts = account::Settings { announce, ..settings.accounts };
        let revocations = Arc::clone(sessions.revocations());
        let accounts = Accounts::new(store.clone(), Arc::clone(&clock), revocations, accounts);
        let accounts = accounts.with_providers(settings.providers, &http_client);
        let purchases = Purchases::open(store.clone(), Arc::clone(&clock), &http_client, settings.purchases)?;
        let boards = Arc::clone(&leaderboards);
        let wallets = Wallets::new(store.clone(), Arc::clone(&clock));
        Ok(Services {
            accounts: accounts.with_eraser(Box::new(move |transaction, user| boards.forget_within(transaction, user))),
            storage: Storage::new(store.clone(), Arc::clone(&clock)).with_quota(settings.storage),
            multi_updates: MultiUpdates::new(store.clone(), Arc::clone(&clock), wallets.clone()),
            wallets,
            purchases,
            rooms: Rooms::new(store.clone(), Arc::clone(&clock)),
            profiles: Profiles::new(store.clone(), Arc::clone(&clock)),
            events: Events::new(store.clone(), Arc::clone(&clock), extensions.event_handlers, announce),
            hooks: extensions.hooks,
            calls: CallTable::new(extensions.functions, registry)?,
            sessions: Arc::new(sessions),
            leaderboards,
            webhooks,
            http_client,
            is_online: OnceLock::new(),
            store,
            clock,
            matches: OnceLock::new(),
        })
    }

    /// Sets the host of the matches. Only the first call counts.
    pub fn host_matches(&self, matches: Weak<dyn Matches>) {
        let _ = self.matches.set(matches);
    }

    /// Returns the running matches: to create, find, list, signal and end them.
    pub fn matches(&self) -> Result<Arc<dyn Matches>, ServiceError> {
        self.matches.get().and_then(Weak::upgrade).ok_or(NOT_HOSTED)
    }

    /// Sets the function that knows which users are connected. Before, nobody is.
    ///
    /// # Panics
    /// If it was set before.
    pub fn set_presence(&self, is_online: impl Fn(Uuid) -> bool + Send + Sync + 'static) {
        let is_first = self.is_online.set(Box::new(is_online)).is_ok();
        assert!(is_first, "who is connected is known from one place");
    }

    /// Tells if a user is connected.
    #[must_use]
    pub fn is_online(&self, user: Uuid) -> bool {
        self.is_online.get().is_some_and(|is_online| is_online(user))
    }
}
