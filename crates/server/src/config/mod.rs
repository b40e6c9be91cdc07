//! The configuration: every setting with its default, its bounds and its meaning, declared once.
//!
//! Values come from defaults, then a TOML file, then environment variables, then flags; the later ones win. What is
//! unknown or wrong is refused with the place where it stands.

mod arguments;
mod declare;
mod kinds;
mod load;
mod platforms;
mod problem;
mod rates;
mod reference;
mod rooms;
mod validate;
mod value;

pub use arguments::ConfigArguments;
pub use kinds::{IpNetwork, LogFormat, NodeName, Origin, Secret};
pub use load::{ConfigFile, Flag, Sources};
pub use platforms::{Apple, Facebook, Google, Huawei, OpenIdProvider, Steam};
pub use problem::{ConfigError, ConfigProblem, SettingSource};
pub use rates::{OperationRate, Storage};
pub use reference::reference;
pub use rooms::RoomOverrides;

use crate::tokens::Role;
use declare::{configuration, section};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

configuration! {
    /// Everything that can be set.
    pub struct Config {
        settings {
            /// The folder for everything the server keeps: keys now, and what is written later. Made when it is missing.
            data_dir: PathBuf = PathBuf::from("data");
            /// The name of this server among those of a cluster: lowercase letters, digits and `-`. The ids of the rooms that
            /// it creates end with it.
            node_name: NodeName = NodeName::default();
        }
        sections {
            /// The public listener for pages, the API and WebSockets, and the admin listener.
            http: Http,
            /// Realtime connections over HTTP/3.
            webtransport: WebTransport,
            /// Limits of realtime connections, whatever their transport.
            connections: Connections,
            /// Rooms in general; single room types have sections of their own.
            rooms: Rooms,
            /// Where accounts and everything of theirs are kept.
            database: Database,
            /// The client API: accounts, storage, leaderboards.
            api: Api,
            /// Objects that players keep.
            storage: Storage,
            /// Requests that the server makes to the outside.
            outgoing: Outgoing,
            /// News for the outside: accounts that come and go, codes for new passwords, events.
            webhook: Webhook,
            /// A game on Apple's devices: Sign in with Apple, Game Center and the App Store.
            apple: Apple,
            /// A game at Google: signing in with Google, and Google Play.
            google: Google,
            /// A game on Steam: signing in by its tickets.
            steam: Steam,
            /// A game at Facebook: signing in with Facebook, and Instant Games.
            facebook: Facebook,
            /// A game in Huawei's AppGallery: purchases.
            huawei: Huawei,
            /// Tokens and the sessions that they stand for.
            tokens: Tokens,
            /// Players without an account.
            guests: Guests,
            /// The way from the signal to the end.
            shutdown: Shutdown,
            /// Log lines, on standard error.
            log: Log,
        }
        groups {
            /// Overrides for one room type, such as `[room.sandbox]`. What is not set stays as the game declares it. In
            /// environment variables the type is written in capitals, with `_` for `-`.
            room.<type>: RoomOverrides, each "a room type", dashes true;
            /// A sign-in provider that speaks OpenID Connect, such as `[provider.clerk]`. Clients sign in at
            /// `/v2/account/authenticate/external/clerk`, and their accounts are kept under that name, so it has to stay.
            /// In environment variables it is written in capitals.
            provider.<name>: OpenIdProvider, each "a provider's name", dashes false;
            /// How often an account may ask for operations, beside `api.requests_per_second`, which is for all of them
            /// together. The name is that of a preset (`read`, `write`, `login`, `expensive`), for the operations of that
            /// kind together, or that of an operation, such as `[rate.write_storage_objects]`, which then has a limit of
            /// its own. `/openapi.json` tells the preset of each. Those who are not signed in count by network. When
            /// nothing is set: `read` 100 a second, `write` 100 (20 at once), `login` as `api.logins_per_second`,
            /// `expensive` 5; and on one's own machine no limit.
            rate.<name>: OperationRate, each "a preset or an operation", dashes false;
        }
        others {
            /// Where each value was set that is not a default.
            pub(crate) places: BTreeMap<String, SettingSource>,
        }
    }
}

section! {
    /// The public listener and the admin listener.
    pub struct Http {
        /// Where pages, the API and WebSockets are served. On an address that is not loopback, the development key and
        /// default secrets are refused.
        address: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 7350));
        /// Where metrics and profiles are served. They are never on the public listener.
        admin_address: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 7351));
        /// What the admin listener asks for as a bearer token. Needed when `admin_address` is not loopback; at least 16
        /// characters.
        admin_key: Option<Secret> = None;
        /// Proxies whose `Forwarded` and `X-Forwarded-For` headers are believed. With one, the server counts as public
        /// even on loopback.
        trusted_proxies: Vec<IpNetwork> = Vec::new();
        /// The certificate chain for HTTPS, a PEM file. It is read again when it changes. Needs `tls_key`.
        tls_certificate: Option<PathBuf> = None;
        /// The private key of `tls_certificate`, a PEM file.
        tls_key: Option<PathBuf> = None;
        /// How long a peer may take to send the headers of a request. Longer helps bad networks, and those who hold
        /// connections open for nothing.
        header_seconds: u32 = 10, within 1..=300;
        /// How long a request may take from its headers to its answer.
        request_seconds: u32 = 30, within 1..=3600;
        /// Origins of pages elsewhere that may use the API and connect; pages of this server always may.
        allowed_origins: Vec<Origin> = Vec::new();
    }
}

section! {
    /// Realtime connections over HTTP/3.
    pub struct WebTransport {
        /// Whether it is offered.
        enabled: bool = true;
        /// The UDP address. When it is not set, that of `http.address`.
        address: Option<SocketAddr> = None;
        /// The certificate chain, a PEM file. When it is not set, that of `http.tls_certificate`; without one, a
        /// short-lived certificate is made, which clients accept by its hash.
        certificate: Option<PathBuf> = None;
        /// The private key of `certificate`, a PEM file.
        key: Option<PathBuf> = None;
    }
}

section! {
    /// Limits of realtime connections, whatever their transport.
    pub struct Connections {
        /// The most connections at once. Each takes some memory, and a file descriptor if it is a WebSocket.
        max: usize = 10_000, within 1..=1_000_000;
        /// The most connections of one IP address, so that one peer cannot take all; 0 sets no limit. Players behind
        /// one router share an address.
        per_ip_max: usize = 100, within 0..=1_000_000;
        /// The most connections of one account; 0 sets no limit.
        per_account_max: usize = 8, within 0..=1_000_000;
        /// How long a peer may take from connecting to a valid hello.
        handshake_seconds: u32 = 10, within 1..=300;
        /// After how long without a message a connection is closed.
        idle_seconds: u32 = 30, within 2..=3600;
        /// The most bytes of a message from a client after the handshake. More costs memory per connection.
        message_bytes_max: usize = 512, within 64..=65536;
        /// Whether WebSocket messages may be compressed. Packed state hardly shrinks, and it costs time and memory per
        /// connection.
        compression: bool = false;
        /// How many messages a second a connection may send besides game inputs, which may come at twice the tick rate.
        messages_per_second: u32 = 60, within 1..=100000;
        /// How many messages it may send at once after a pause.
        messages_burst: u32 = 30, within 1..=100000;
        /// After how long a connection is closed that does not take what is sent to it.
        write_stall_seconds: u32 = 10, within 1..=300;
    }
}

section! {
    /// Rooms in general.
    pub struct Rooms {
        /// The most rooms at once.
        max: usize = 1_000, within 1..=1_000_000;
        /// How long a room without players is kept.
        empty_seconds: u32 = 60, within 0..=86400;
        /// How many threads run ticks; 0 takes one less than there are cores.
        tick_threads: usize = 0, within 0..=1024;
        /// How often the state of a durable room is stored, if it has changed. Less loses less of what nobody was promised,
        /// such as steps; what players were told is done is stored before.
        checkpoint_ms: u32 = 1000, within 100..=60000;
        /// How often a state is kept to look back.
        snapshot_seconds: u32 = 60, within 1..=86400;
        /// How many of those are kept for each room; 0 keeps none. Each is as large as the room's state.
        snapshots_kept: u32 = 10, within 0..=1000;
        /// How long the server may be away so that those who were in a durable room still have their places in it.
        away_seconds: u32 = 3600, within 0..=604800;
        /// For how many days a durable room is kept in which nothing was stored.
        unused_days: u32 = 90, within 1..=36500;
    }
}

section! {
    /// Where accounts and everything of theirs are kept.
    pub struct Database {
        /// `postgres://user:password@host/name`, `sqlite:<file>`, or `memory`, which is gone with the process. When it is
        /// not set: SQLite in the file `aether.db` of the data folder.
        url: Option<Secret> = None;
        /// Connections to PostgreSQL. Each is a process there.
        connections: usize = 16, within 1..=1000;
        /// Threads that read from SQLite. Writes have one of their own.
        readers: usize = 2, within 1..=64;
        /// Whether tables are brought up to date at the start. Otherwise an older database is refused, and
        /// `aether migrate` does it.
        migrate: bool = true;
        /// For how many days the history of sessions that have expired is kept.
        session_history_days: u32 = 30, within 1..=3650;
    }
}

section! {
    /// The client API.
    pub struct Api {
        /// What clients send before they are signed in. It is in every copy of a game, so it is no secret: it keeps apart
        /// the games of one address, no more.
        server_key: String = "defaultkey".to_owned();
        /// How many requests a second an account may make; 0 sets no limit. When it is not set: 100, and on one's own
        /// machine no limit.
        requests_per_second: Option<u32> = None;
        /// How many it may make at once after a pause.
        requests_burst: u32 = 100, within 1..=100000;
        /// How many requests a second one network may make without being signed in, such as logins; 0 sets no limit. When
        /// it is not set: 20, and on one's own machine no limit. Players behind one router share a network.
        logins_per_second: Option<u32> = None;
        /// How many it may make at once after a pause.
        logins_burst: u32 = 100, within 1..=100000;
    }
}

section! {
    /// Requests that the server makes to the outside.
    pub struct Outgoing {
        /// How long a request may take.
        seconds: u32 = 10, within 1..=60;
        /// Networks that are reached although they are not public, such as that of a service beside this one. Without
        /// it a webhook or a provider's name that leads to a private address is refused.
        allowed_networks: Vec<IpNetwork> = Vec::new();
    }
}

section! {
    /// News for the outside.
    pub struct Webhook {
        /// Where they are posted to, such as `https://backend.example/aether`. Without it there are none, and no codes for
        /// new passwords either, because nobody could send them.
        url: Option<String> = None;
        /// What signs them, so that the receiver knows whose they are. Needed with `url`; at least 16 characters.
        secret: Option<Secret> = None;
        /// How often one is tried before it is given up, later and later: 20 times take about nine hours.
        attempts_max: u32 = 20, within 1..=100;
    }
}

section! {
    /// Tokens and the sessions that they stand for.
    pub struct Tokens {
        /// Whom tokens are for: one for another audience is refused.
        audience: String = "aether".to_owned();
        /// How long a token can be used to connect. A connection outlives its token.
        access_seconds: u32 = 900, within 60..=86400;
        /// How long a token can be used to get new ones. Whoever does not come back within that time signs in anew.
        refresh_seconds: u32 = 604800, within 300..=604800;
        /// For how long a refresh token may be used a second time, by a client that did not get the answer. Longer
        /// helps bad networks, and thieves.
        refresh_again_seconds: u32 = 10, within 0..=300;
        /// Whether a new session of a user ends the others.
        single_session: bool = false;
        /// Whether tokens under the development key count, which may claim any role. When it is not set: only on
        /// loopback without trusted proxies. Elsewhere it is refused.
        accept_development: Option<bool> = None;
    }
}

section! {
    /// Players without an account.
    pub struct Guests {
        /// Whether anyone gets a token for the asking. When it is not set: only on loopback without trusted proxies.
        enabled: Option<bool> = None;
        /// The role of a guest. When it is not set: developer on loopback without trusted proxies, player elsewhere,
        /// where more is refused.
        role: Option<Role> = None;
    }
}

section! {
    /// The way from the signal to the end.
    pub struct Shutdown {
        /// How long players and rooms have to finish after SIGTERM. A second signal ends at once.
        grace_seconds: u32 = 10, within 0..=3600;
    }
}

section! {
    /// Log lines.
    pub struct Log {
        /// `pretty`, `json`, or `auto`: pretty on a terminal and JSON otherwise.
        format: LogFormat = LogFormat::Auto;
        /// What is logged: a level (error, warn, info, debug, trace), and others by module, such as
        /// `info,aether_net=debug`.
        filter: String = "info".to_owned();
    }
}

impl Config {
    /// Whether others than programs on this machine may reach the server: an address that is not loopback, a proxy before
    /// it, or pages from elsewhere.
    #[must_use]
    pub fn is_public(&self) -> bool {
        let webtransport = self.webtransport.enabled.then(|| self.webtransport_address());
        let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        !is_loopback(self.http.address)
            || webtransport.is_some_and(|address| !is_loopback(address))
            || !self.http.trusted_proxies.is_empty()
            || self.http.allowed_origins.iter().any(Origin::is_foreign)
    }

    /// The UDP address of WebTransport.
    #[must_use]
    pub fn webtransport_address(&self) -> SocketAddr {
        self.webtransport.address.unwrap_or(self.http.address)
    }

    /// Certificate and key of WebTransport, if it has its own or those of HTTPS.
    #[must_use]
    pub fn webtransport_certificate(&self) -> Option<(&PathBuf, &PathBuf)> {
        let own = self.webtransport.certificate.as_ref().zip(self.webtransport.key.as_ref());
        own.or_else(|| self.http.tls_certificate.as_ref().zip(self.http.tls_key.as_ref()))
    }

    /// Whether tokens under the development key count.
    #[must_use]
    pub fn accepts_development(&self) -> bool {
        self.tokens.accept_development.unwrap_or(true) && !self.is_public()
    }

    /// Whether anyone gets a token for the asking.
    #[must_use]
    pub fn accepts_guests(&self) -> bool {
        self.guests.enabled.unwrap_or(!self.is_public())
    }

    /// The role of a guest. More than a player is only possible where the development key counts, because no other key
    /// carries a role.
    #[must_use]
    pub fn guest_role(&self) -> Role {
        if self.accepts_development() { self.guests.role.unwrap_or(Role::Developer) } else { Role::Player }
    }

    /// How many threads run ticks, on a machine of so many cores.
    #[must_use]
    pub fn tick_threads(&self, cores: usize) -> usize {
        match self.rooms.tick_threads {
            0 => cores.saturating_sub(1).max(1),
            threads => threads,
        }
    }

    /// Every setting that is not a default: key, value as TOML, and where it was set. Secrets are hidden.
    #[must_use]
    pub fn effective(&self) -> Vec<(String, String, &SettingSource)> {
        let values = self.values().into_iter();
        values.filter_map(|(key, value)| self.places.get(&key).map(|place| (key, value, place))).collect()
    }

    /// Where the first of a section's settings was set, or where it stands if it has none.
    fn section_place(&self, section: &str) -> SettingSource {
        let mut places = self.places.iter();
        let is_within =
            |key: &str| key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        places.find(|(key, _)| is_within(key)).map_or(SettingSource::Default, |(_, place)| place.clone())
    }
}

/// The full name of a key.
fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// A chosen name as it is in the configuration and in environment variables, which know no `-`.
fn normalized(name: &str) -> String {
    name.replace('-', "_")
}
