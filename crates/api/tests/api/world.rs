//! The client API with services over an in-memory database, and signed-in users.

use aether_api::TrustedProxies;
use aether_api::client::{ApiKeys, ClientApi, RateSettings, RequestRates, router};
use aether_metrics::Registry;
use aether_services::clock::ManualClock;
use aether_services::session::keys::KeyRing;
use aether_services::session::tokens::Tokens;
use aether_services::session::{self, NewSession};
use aether_services::{
    CallContext, Caller, Services, ServicesExtensions, ServicesParts, ServicesSettings, account, http_client, purchase,
    storage,
};
use aether_store::{Database, Store, StoreSettings, values};
use axum::Router;
use axum::body::{Body, to_bytes};
use axum::response::Response;
use http::request::Builder;
use http::{Method, Request, header};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use tower::ServiceExt as _;
use uuid::Uuid;

/// Time of the tests: 14 November 2023, 22:13:20.
pub const NOW: i64 = 1_700_000_000_000;
/// HTTP key of a world.
pub const HTTP_KEY: &str = "a key of other servers";

/// Router and services under test.
pub struct World {
    router: Router,
    services: Arc<Services>,
    folder: PathBuf,
}

/// Parts of the client API that tests replace.
pub struct ApiParts {
    pub rates: RequestRates,
    pub registry: Registry,
    pub is_online: fn(Uuid) -> bool,
    pub http_key: Option<&'static str>,
}

impl Default for ApiParts {
    fn default() -> ApiParts {
        let rates = RequestRates::new(RateSettings::default());
        ApiParts { rates, registry: Registry::new(), is_online: |_| false, http_key: Some(HTTP_KEY) }
    }
}

/// A signed-in user.
#[derive(Clone)]
pub struct Player {
    pub id: Uuid,
    token: String,
}

impl Player {
    /// Access token.
    pub fn token(&self) -> &str {
        &self.token
    }
}

impl World {
    /// Creates a world. `prepare` changes the services before they are used.
    pub async fn new(prepare: impl FnOnce(&mut Services)) -> World {
        World::with_parts(prepare, ApiParts::default()).await
    }

    /// Creates a world with other parts of the client API.
    pub async fn with_parts(prepare: impl FnOnce(&mut Services), api_parts: ApiParts) -> World {
        let ApiParts { rates, registry, is_online, http_key } = api_parts;
        let store =
            Store::open(&StoreSettings::new(Database::Memory), &registry).await.expect("an in-memory database opens");
        let folder = std::env::temp_dir().join(format!("aether-api-{}", Uuid::new_v4()));
        let ring = KeyRing::open(&folder, (NOW / 1_000) as u64).expect("the folder can be created");
        let settings = ServicesSettings {
            sessions: session::Settings {
                access_seconds: 900,
                refresh_seconds: 604_800,
                refresh_again_seconds: 10,
                single: false,
            },
            accounts: account::Settings::default(),
            http_client: http_client::Settings::default(),
            webhook: None,
            providers: account::provider::ProviderSettings::default(),
            purchases: purchase::Settings::default(),
            storage: storage::Quota::default(),
            reserved_collections: std::collections::BTreeSet::new(),
            matchmaker: Default::default(),
        };
        let clock = Arc::new(ManualClock::at(NOW));
        let parts = ServicesParts { store, clock, tokens: Arc::new(Tokens::new(ring, "aether")), registry: &registry };
        let services = Services::open(parts, settings, ServicesExtensions::default()).await;
        let mut services = services.expect("the services open");
        prepare(&mut services);
        let services = Arc::new(services);
        let keys = ApiKeys::new("defaultkey", http_key);
        let api = ClientApi::new(Arc::clone(&services), keys, rates, Arc::new(TrustedProxies::default()), &registry);
        World { router: router(api.with_presence(is_online)), services, folder }
    }

    pub async fn player(&self) -> Player {
        let id = Uuid::new_v4();
        let name = id.to_string();
        let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)";
        let inserted = self
            .services
            .store
            .write(move |transaction| transaction.execute(insert, values![id, &id.to_string(), NOW]));
        inserted.await.expect("the name is free");
        let session =
            NewSession { user: id, username: &name, variables: BTreeMap::new(), address: None, method: "device" };
        let pair = self.services.sessions.start(session).await.expect("the session starts");
        Player { id, token: pair.access }
    }

    /// Services of the API.
    pub fn services(&self) -> &Arc<Services> {
        &self.services
    }

    /// Returns the context of a call by a player.
    pub fn context(&self, player: &Player) -> Arc<CallContext> {
        let identity = self.services.sessions.check(&player.token).expect("the player is signed in");
        Arc::new(CallContext::from_address(Caller::User(Arc::new(identity)), [127, 0, 0, 1].into()))
    }

    /// Sends a request. Returns the status and the body of the answer.
    pub async fn ask(&self, player: Option<&Player>, method: Method, path: &str, body: &str) -> (u16, Value) {
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, "application/json");
        let response = self.send(player, request, body.as_bytes().to_vec()).await;
        let status = response.status().as_u16();
        let bytes = to_bytes(response.into_body(), 1 << 20).await.expect("the body is complete");
        (status, serde_json::from_slice(&bytes).expect("every answer is JSON"))
    }

    /// Sends a request. Returns the answer.
    pub async fn send(&self, player: Option<&Player>, mut request: Builder, body: Vec<u8>) -> Response {
        if let Some(player) = player {
            request = request.header(header::AUTHORIZATION, format!("Bearer {}", player.token));
        }
        let request = request.body(Body::from(body)).expect("the request is valid");
        self.router.clone().oneshot(request).await.expect("a router always answers")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
