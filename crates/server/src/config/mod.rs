//! The configuration. Each setting is declared once, with its default, bounds and description.
//!
//! Values come from defaults, a TOML file, environment variables and flags; later layers win. An unknown setting or an
//! invalid value is an error that names its source: file and line, variable or flag.

mod arguments;
mod declare;
mod load;
mod matchmaker;
mod multicast;
mod platforms;
mod problem;
mod rates;
mod reference;
mod rooms;
mod script;
mod storage_index;
mod types;
mod validate;
mod value;

pub use arguments::ConfigArguments;
pub use load::{ConfigFile, Flag, Sources};
pub use matchmaker::Matchmaker;
pub use multicast::Multicast;
pub use platforms::{Apple, Facebook, Google, Huawei, OpenIdProvider, Samsung, Steam};
pub use problem::{ConfigError, ConfigProblem, SettingSource};
pub use rates::{OperationRate, Storage};
pub use reference::reference;
pub use rooms::RoomOverrides;
pub(crate) use script::MODULES_FOLDER;
pub use script::Script;
pub use storage_index::StorageIndex;
pub use types::{IpNetwork, LogFormat, NodeName, Origin, Secret};

use crate::tokens::Role;
use aether_limits::RateLimit;
use declare::{configuration, section};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Default port of reliable UDP, above that of HTTP: 7352 beside 7350. So servers on one machine do not meet.
const UDP_PORT_ABOVE: u16 = 2;
/// Default of `udp.requests_per_second` on a public server. A client sends a few requests to connect.
const UDP_REQUESTS_PER_SECOND: u32 = 50;

configuration! {
    /// All settings of the server.
    pub struct Config {
        settings {
            /// Folder for signing keys, the node id and, unless `database.url` is set, the database. Created if it is
            /// missing.
            data_dir: PathBuf = PathBuf::from("data");
            /// Name of this server in a cluster. The ids of the rooms that it creates end with it.
            node_name: NodeName = NodeName::default();
        }
        sections {
            /// Public listener for pages, the API and WebSockets; admin listener for metrics and profiles.
            http: Http,
            /// Realtime connections over HTTP/3 (UDP).
            webtransport: WebTransport,
            /// Realtime connections of native clients over reliable UDP.
            udp: Udp,
            /// Driver processes on this machine, which own sockets in place of the server.
            shared_memory: SharedMemory,
            /// The local network: searches for servers and rooms, and streams of rooms for spectators.
            multicast: Multicast,
            /// Limits of realtime connections, for every transport.
            connections: Connections,
            /// The services socket (`/ws`): presence, status, parties, matchmaking, functions. Its connections also count against `[connections]`.
            socket: Socket,
            /// Settings for all rooms. `[room.<type>]` has settings for one room type.
            rooms: Rooms,
            /// The matchmaker: tickets of players who look for a match.
            matchmaker: Matchmaker,
            /// Database of accounts, storage, leaderboards and durable rooms.
            database: Database,
            /// The client API: accounts, storage, leaderboards.
            api: Api,
            /// Quotas of storage objects, and reserved collections.
            storage: Storage,
            /// HTTP requests that the server sends: webhooks, identity providers and shops.
            outgoing: Outgoing,
            /// Signed HTTP requests to your backend: created and deleted accounts, codes for password reset and email
            /// verification, events.
            webhook: Webhook,
            /// Apple: Sign in with Apple, Game Center and App Store purchases.
            apple: Apple,
            /// Google: sign-in with Google and Google Play purchases.
            google: Google,
            /// Steam: sign-in with Steam tickets.
            steam: Steam,
            /// Facebook: sign-in with Facebook, and Instant Games.
            facebook: Facebook,
            /// Huawei AppGallery purchases. They need all four settings.
            huawei: Huawei,
            /// Samsung Galaxy Store purchases.
            samsung: Samsung,
            /// Access tokens, refresh tokens and sessions.
            tokens: Tokens,
            /// Guests: players without an account.
            guests: Guests,
            /// Graceful shutdown.
            shutdown: Shutdown,
            /// Lua scripts: functions, hooks and matches that a folder of modules adds.
            script: Script,
            /// Log output, on standard error.
            log: Log,
        }
        groups {
            /// Overrides of the settings of one room type, such as `[room.sandbox]`. A setting that is not set here is as the
            /// game declares it. In environment variables, write the type in capitals, with `_` for `-`.
            room.<type>: RoomOverrides, each "the name of a room type", dashes true;
            /// An index of the objects of a storage collection, such as `[storage_index.guilds]`, in addition to those of the
            /// program. Server code and operators search it. In environment variables, write the name in capitals, with `_`
            /// for `-`.
            storage_index.<name>: StorageIndex, each "the name of a storage index", dashes true;
            /// An identity provider with OpenID Connect, such as `[provider.clerk]`. Clients sign in at
            /// `/v2/account/authenticate/external/clerk`. Accounts are stored with that name, so do not change it later.
            /// In environment variables, write the name in capitals.
            provider.<name>: OpenIdProvider, each "the name of a provider", dashes false;
            /// Rate limit of one account for some operations, in addition to `api.requests_per_second`, which limits all
            /// operations together. The name is a preset (`read`, `write`, `message`, `login`, `expensive`) and limits the
            /// operations of that preset together, or an operation, such as `[rate.write_storage_objects]`, which then has
            /// its own limit. `/openapi.json` lists the preset of each operation. Requests without an account are limited by
            /// network. Defaults on a public server: `read` 100 per second, `write` 100 (burst 20), `message` 5 (burst 20),
            /// `login` as `api.logins_per_second`, `expensive` 5. On loopback there is no limit.
            rate.<name>: OperationRate, each "the name of a preset or an operation", dashes false;
        }
        others {
            /// Source of each value that is not a default.
            pub(crate) sources: BTreeMap<String, SettingSource>,
        }
    }
}

section! {
    /// Public listener and admin listener.
    pub struct Http {
        /// Address of the public listener: pages, the API and WebSockets. On an address that is not loopback, the server
        /// counts as public, and the development key is rejected.
        address: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 7350));
        /// Address of the admin listener: metrics, health, profiles and the admin API. The public listener serves none of them.
        admin_address: SocketAddr = SocketAddr::from(([127, 0, 0, 1], 7351));
        /// Bearer token for the admin listener, at least 16 characters. Required if `admin_address` is not loopback. Default:
        /// the admin API (`/api`) requires the key in the file `admin.key` of the data folder, which the server creates;
        /// metrics, health and profiles require none.
        admin_key: Option<Secret> = None;
        /// Host names by which the admin listener is reached, such as `metrics.internal`. IP addresses and `localhost` always
        /// work; requests that name another host are rejected.
        admin_hosts: Vec<String> = Vec::new();
        /// Proxies whose `X-Forwarded-For` header is trusted; other headers, such as `Forwarded`, are not read. If the list is
        /// not empty, the server counts as public even on loopback.
        trusted_proxies: Vec<IpNetwork> = Vec::new();
        /// Certificate chain for HTTPS, a PEM file. Reloaded when it changes. Requires `tls_key`.
        tls_certificate: Option<PathBuf> = None;
        /// Private key of `tls_certificate`, a PEM file.
        tls_key: Option<PathBuf> = None;
        /// Time limit for receiving the headers of a request. A longer time helps clients on bad networks, but also
        /// attackers that hold connections open.
        header_seconds: u32 = 10, within 1..=300;
        /// Time limit of a request, from its headers to its answer.
        request_seconds: u32 = 30, within 1..=3600;
        /// Maximum size of all headers of a request. Larger requests get 431. An HTTP/1.1 connection has a buffer of up to
        /// this size in each direction, so a higher value costs memory per connection.
        header_bytes_max: usize = 16384, within 8192..=1048576;
        /// Speaks HTTP/2 with clients that ask for it: over TLS by ALPN, without TLS by prior knowledge. Otherwise only
        /// HTTP/1.1. WebSockets always use HTTP/1.1.
        http2: bool = true;
        /// Maximum number of concurrent requests of an HTTP/2 connection. More let one connection cause more work and hold
        /// more memory.
        http2_streams_max: u32 = 64, within 1..=1000;
        /// Bytes of a request body that an HTTP/2 client may send before the server has read them. A larger window uploads
        /// faster over a long distance, and costs up to this much memory per request.
        http2_stream_window_bytes: u32 = 1048576, within 16384..=16777216;
        /// Bytes of all request bodies of an HTTP/2 connection that the client may send before the server has read them.
        /// It bounds the memory of a connection.
        http2_connection_window_bytes: u32 = 1048576, within 65535..=16777216;
        /// Time between two pings to an HTTP/2 client. A shorter time detects lost clients sooner, and costs a packet in each
        /// direction.
        http2_ping_seconds: u32 = 10, within 1..=3600;
        /// Time limit for the answer to such a ping. Then the connection is closed.
        http2_ping_timeout_seconds: u32 = 20, within 1..=300;
        /// Bytes that the server hands to the system before the network has sent them, per connection of HTTP or WebSocket
        /// (Linux only). More makes state packets older when they are sent to a slow client; less costs more system calls.
        socket_unsent_bytes: u32 = 16384, within 1024..=16777216;
        /// Send buffer of a connection in the system (`SO_SNDBUF`): bytes that are sent and not acknowledged yet, and those
        /// of `socket_unsent_bytes`. Linux reserves twice as much. Default: the system adapts it to the network; a fixed size
        /// bounds the memory, and limits the speed to this much per round trip.
        socket_send_bytes: Option<u32> = None, within 4096..=16777216;
        /// Receive buffer of a connection in the system (`SO_RCVBUF`): bytes of the client that the server has not read yet.
        /// Linux reserves twice as much. Default: the system adapts it to the network; a fixed size bounds the memory, and
        /// limits the speed of uploads to this much per round trip.
        socket_receive_bytes: Option<u32> = None, within 4096..=16777216;
        /// Origins of other sites whose pages may use the API and connect. Pages of this server always may. On loopback, so
        /// may pages of other servers on this machine. An origin that is not on this machine makes the server count as
        /// public.
        allowed_origins: Vec<Origin> = Vec::new();
        /// Folder with pages that are served at `/`, instead of those of the program.
        pages: Option<PathBuf> = None;
    }
}

section! {
    /// Realtime connections over HTTP/3 (UDP).
    pub struct WebTransport {
        /// Enables WebTransport.
        enabled: bool = true;
        /// UDP address. Default: `http.address`.
        address: Option<SocketAddr> = None;
        /// Certificate chain, a PEM file. Default: `http.tls_certificate`, or else a generated short-lived certificate that
        /// clients accept by its hash.
        certificate: Option<PathBuf> = None;
        /// Private key of `certificate`, a PEM file.
        key: Option<PathBuf> = None;
    }
}

section! {
    /// Realtime connections of native clients over reliable UDP.
    pub struct Udp {
        /// Enables reliable UDP.
        enabled: bool = true;
        /// UDP address. Open its port in the firewall. Default: the IP address of `http.address` and a port two above its port,
        /// which is 7352, or a port that the system chooses if that of `http.address` is 0.
        address: Option<SocketAddr> = None;
        /// Number of sockets that share the address; the system spreads clients over them. Each is served by one task, so
        /// more sockets use more threads when one is busy all the time.
        sockets: usize = 1, within 1..=64;
        /// Validity of a connect token, from `POST /api/udp` to the connection. A longer time helps clients on bad networks,
        /// but also thieves of tokens; a token opens one connection.
        token_seconds: u32 = 30, within 5..=300;
        /// Rate limit of one network's connect requests, with a burst of as many; 0 means no limit. Default: 50 on a public
        /// server, no limit on loopback. Players behind one router share a network.
        requests_per_second: Option<u32> = None;
    }
}

section! {
    /// Driver processes on this machine, which own sockets in place of the server.
    pub struct SharedMemory {
        /// Path of the Unix socket on which `aether driver` attaches. With it, the server opens no socket of reliable UDP
        /// itself: a driver does, and passes messages on through shared memory. Needs Linux. Default: none.
        path: Option<PathBuf> = None;
        /// Size of the ring in each direction, rounded up to a power of two. Each driver takes twice as much memory.
        ring_bytes: usize = 4_194_304, within 65_536..=67_108_864;
    }
}

section! {
    /// Limits of realtime connections, for every transport.
    pub struct Connections {
        /// Maximum number of connections. Each takes memory, and a WebSocket also takes a file descriptor.
        max: usize = 10_000, within 1..=1_000_000;
        /// Maximum number of connections from one IP address; 0 means no limit. Players behind one router share an address.
        /// Applied only on a public server.
        per_ip_max: usize = 100, within 0..=1_000_000;
        /// Maximum number of connections of one account; 0 means no limit.
        per_account_max: usize = 8, within 0..=1_000_000;
        /// Time limit from the opened connection to a valid hello.
        handshake_seconds: u32 = 10, within 1..=300;
        /// A connection on which nothing arrives from the client for this long is closed.
        idle_seconds: u32 = 30, within 2..=3600;
        /// A WebSocket on which nothing arrives from the client for this long gets a ping, and then one each second, until
        /// something arrives. Less than `idle_seconds`. Default: half of `idle_seconds`. A shorter time keeps proxies from
        /// closing silent connections; pings of phones cost battery. WebTransport has pings of its own.
        ping_seconds: Option<u32> = None, within 1..=3600;
        /// Maximum size of a client's message after the handshake. A higher value costs memory per connection.
        message_bytes_max: usize = 512, within 64..=65536;
        /// Allows compression of WebSocket messages. State packets hardly shrink, and compression costs time and memory per
        /// connection.
        compression: bool = false;
        /// Rate limit of a connection's messages, apart from game inputs, whose limit is twice the tick rate.
        messages_per_second: u32 = 60, within 1..=100000;
        /// Burst of `messages_per_second`: messages that may arrive at once after a pause.
        messages_burst: u32 = 30, within 1..=100000;
        /// A connection that accepts no data for this long is closed. So is an HTTP connection that takes less than 16 KiB of
        /// its answers in this time.
        write_stall_seconds: u32 = 10, within 1..=300;
        /// Maximum number of bytes that a WebSocket reads at once. All connections of a thread share one buffer of this size,
        /// so a larger one costs little memory; it lets one connection do more work before others have their turn.
        read_buffer_bytes: usize = 16384, within 1024..=1048576;
        /// Unwritten bytes of a connection from which the server stops reading from its client. A client that does not read
        /// its answers can hold about this much memory, and as much again for what arrived in one turn.
        write_buffer_bytes: usize = 65536, within 4096..=16777216;
    }
}

section! {
    /// The services socket.
    pub struct Socket {
        /// Maximum size of a client's message. A higher value costs memory per connection.
        message_bytes_max: usize = 65_536, within 4096..=1048576;
        /// Rate limit of a connection's messages. Messages that cost more or reach many, such as a join of a party or a status,
        /// have a limit of 5 per second; data of matches and parties 60 (burst 30).
        messages_per_second: u32 = 100, within 1..=100000;
        /// Burst of `messages_per_second`: messages that may arrive at once after a pause.
        messages_burst: u32 = 40, within 1..=100000;
        /// Maximum number of a connection's requests that run at a time. Further ones wait, and nothing more is read.
        requests_max: usize = 16, within 1..=64;
    }
}

section! {
    /// Settings for all rooms.
    pub struct Rooms {
        /// Maximum number of rooms.
        max: usize = 1_000, within 1..=1_000_000;
        /// A room without players ends after this time. A durable room is unloaded and can be rebuilt.
        empty_seconds: u32 = 60, within 0..=86400;
        /// Number of tick threads; 0 means one less than the number of cores.
        tick_threads: usize = 0, within 0..=1024;
        /// Number of threads that share the encoding of rooms with many clients (`parallel_clients_min` of the game, 64 by
        /// default); 0 means the number of cores, 1 means that each tick thread encodes alone. Clients get the same bytes.
        encode_threads: usize = 0, within 0..=1024;
        /// Time between two checkpoints of a durable room whose state has changed. A crash loses at most this much of what
        /// the game does not commit to the journal, such as movement; committed entries are not lost.
        checkpoint_ms: u32 = 1000, within 100..=60000;
        /// Time between two checkpoints of a durable room that are kept as history, for `aether rooms` to list and export.
        snapshot_seconds: u32 = 60, within 1..=86400;
        /// Number of checkpoints per room that are kept as history; 0 keeps none. Each is as large as the state of the
        /// room.
        snapshots_kept: u32 = 10, within 0..=1000;
        /// Maximum number of recordings of rooms that operators run at once; 0 allows none.
        recordings_max: usize = 4, within 0..=1000;
        /// Maximum size of a recording in MiB. A recording that reaches it ends. Eight players take about 2.5 kB per second.
        recording_mib_max: u32 = 256, within 1..=4095;
        /// After a restart, players of a durable room can resume if the server was down for less than this time.
        away_seconds: u32 = 3600, within 0..=604800;
        /// A durable room in which nothing was stored for this many days is deleted.
        unused_days: u32 = 90, within 1..=36500;
        /// Maximum number of stored durable rooms that one account has created; 0 means no limit. Deleted rooms do not count.
        /// Default: 32 on a public server, no limit on loopback.
        stored_per_account_max: Option<usize> = None;
    }
}

section! {
    /// Database of accounts, storage, leaderboards and durable rooms.
    pub struct Database {
        /// `postgres://user:password@host/name`, `sqlite:<file>`, or `memory`, which is lost when the process ends. Default:
        /// SQLite in the file `aether.db` of the data folder.
        url: Option<Secret> = None;
        /// Number of PostgreSQL connections for operations of several steps. Three more are shared by all others. Each
        /// connection is a process on the database server.
        connections: usize = 16, within 1..=1000;
        /// Number of threads that read from SQLite. One more thread writes.
        readers: usize = 2, within 1..=64;
        /// Applies pending migrations at the start. If false, the server refuses to start with an older database until
        /// `aether migrate` has run.
        migrate: bool = true;
        /// Days after which the history of an expired session is deleted.
        session_history_days: u32 = 30, within 1..=3650;
        /// Days after which an audit entry is deleted: a refused use of a permission, or an action of an operator.
        audit_days: u32 = 90, within 1..=3650;
    }
}

section! {
    /// The client API: accounts, storage, leaderboards.
    pub struct Api {
        /// Key that clients send before they sign in. It is in every copy of the game, so it is not a secret. It only
        /// distinguishes games that share an address.
        server_key: String = "defaultkey".to_owned();
        /// Secret with which other servers call functions (`/v2/rpc/{id}`) without an account, as `?http_key=` or as the user
        /// name of the scheme Basic; at least 16 characters. Such calls count against the limits of their network. Default:
        /// none, and all such calls are refused.
        http_key: Option<Secret> = None;
        /// Rate limit of one account's requests; 0 means no limit. Default: 100 on a public server, no limit on loopback.
        requests_per_second: Option<u32> = None;
        /// Burst of `requests_per_second`: requests that may arrive at once after a pause.
        requests_burst: u32 = 100, within 1..=100000;
        /// Rate limit of one network's requests without an account, such as sign-ins; 0 means no limit. Default: 20 on a
        /// public server, no limit on loopback. Players behind one router share a network.
        logins_per_second: Option<u32> = None;
        /// Burst of `logins_per_second`: requests that may arrive at once after a pause.
        logins_burst: u32 = 100, within 1..=100000;
        /// Rate limit of one network's room listings (`GET /api/rooms`), with a burst of as many; 0 means no limit. Default: 10
        /// on a public server, no limit on loopback. Players behind one router share a network.
        listings_per_second: Option<u32> = None;
        /// Leaderboards that clients may write to, by id. Each is created at the start if it is missing: best scores,
        /// highest first. Nothing verifies the scores that clients submit, so use it for tests, and where scores do not
        /// matter. Leaderboards of games are written by the games.
        open_leaderboards: Vec<String> = Vec::new();
        /// Tournaments that clients may write to, by id. Each is created at the start if it is missing: best scores, highest
        /// first, active all day and reset at midnight UTC. Nothing verifies the scores, as in `open_leaderboards`.
        open_tournaments: Vec<String> = Vec::new();
    }
}

section! {
    /// HTTP requests that the server sends: webhooks, identity providers and shops.
    pub struct Outgoing {
        /// Time limit of a request.
        seconds: u32 = 10, within 1..=60;
        /// Private networks that the server may send requests to, such as that of your backend. A request to any other
        /// private address fails.
        allowed_networks: Vec<IpNetwork> = Vec::new();
    }
}

section! {
    /// Signed HTTP requests to your backend.
    pub struct Webhook {
        /// URL that receives the webhooks, such as `https://backend.example/aether`. Without it nothing is sent, and
        /// password reset and email verification are unavailable, because the codes cannot be sent.
        url: Option<String> = None;
        /// Secret that signs the webhooks, so that the receiver can verify them; at least 16 characters. Required with
        /// `url`.
        secret: Option<Secret> = None;
        /// Maximum number of attempts for one webhook. The time between attempts grows: 20 attempts take about nine hours.
        attempts_max: u32 = 20, within 1..=100;
    }
}

section! {
    /// Access tokens, refresh tokens and sessions.
    pub struct Tokens {
        /// Audience (`aud`) of the tokens. Tokens with another audience are rejected.
        audience: String = "aether".to_owned();
        /// Validity of an access token. An open connection stays open when its token expires.
        access_seconds: u32 = 900, within 60..=86400;
        /// Validity of a refresh token. A user who is away for longer signs in again.
        refresh_seconds: u32 = 604800, within 300..=604800;
        /// Time in which a used refresh token is accepted again, for a client that did not receive the answer. A longer time
        /// helps clients on bad networks, but also thieves of tokens.
        refresh_again_seconds: u32 = 10, within 0..=300;
        /// Time after a sign-in in which a session may change the login identities of an account with an email address or a
        /// provider, delete it, or export it. Later it needs the current password or a new sign-in. A refresh is not a
        /// sign-in. A longer time helps owners, but also thieves of tokens; 0 always asks for the password.
        recent_seconds: u32 = 300, within 0..=86400;
        /// Ends the other sessions of a user when a new one begins.
        single_session: bool = false;
        /// A connection whose client sends nothing but heartbeats of the transport for this long loses its session: the
        /// player leaves, and the client joins again with an access token. Every message starts the time anew.
        session_idle_seconds: u32 = 3600, within 60..=604800;
        /// Time between two heartbeats in the stored history of a session whose client sends messages. A shorter time costs
        /// more writes: one per session and heartbeat, at most 2,000 per second in all.
        heartbeat_seconds: u32 = 60, within 1..=3600;
        /// Longest time for which messages keep a session of connections open. Then the player leaves, and the client joins
        /// again with an access token.
        session_seconds_max: u32 = 604800, within 60..=2592000;
        /// Accepts tokens signed by the development key, which can claim any role. Default: true on loopback without trusted
        /// proxies, false on a public server, where true is an error.
        accept_development: Option<bool> = None;
    }
}

section! {
    /// Guests: players without an account.
    pub struct Guests {
        /// Allows guest logins: anyone gets a token without signing in. Default: true on loopback without trusted proxies,
        /// false on a public server.
        enabled: Option<bool> = None;
        /// Role of a guest on this machine who shows the developer secret; all others are players. Default: `developer` on
        /// loopback without trusted proxies, `player` on a public server, where any other role is an error.
        role: Option<Role> = None;
    }
}

section! {
    /// Graceful shutdown.
    pub struct Shutdown {
        /// Time for players to leave after SIGTERM or SIGINT. A second signal ends the process at once.
        grace_seconds: u32 = 10, within 0..=3600;
    }
}

section! {
    /// Log output.
    pub struct Log {
        /// `pretty` (text), `json` (one object per line), or `auto`: text on a terminal, JSON otherwise.
        format: LogFormat = LogFormat::Auto;
        /// Log level (error, warn, info, debug, trace), and levels of single modules, such as `info,aether_net=debug`.
        filter: String = "info".to_owned();
    }
}

impl Config {
    /// Returns true if the server counts as public, that is if clients on other machines may reach it: a listener is not
    /// on loopback, a proxy is trusted, or pages of another machine may connect.
    #[must_use]
    pub fn is_public(&self) -> bool {
        let webtransport = self.webtransport.enabled.then(|| self.webtransport_address());
        let udp = self.udp.enabled.then(|| self.udp_address());
        let is_loopback = |address: SocketAddr| address.ip().to_canonical().is_loopback();
        !is_loopback(self.http.address)
            || webtransport.into_iter().chain(udp).any(|address| !is_loopback(address))
            || !self.http.trusted_proxies.is_empty()
            || self.http.allowed_origins.iter().any(Origin::is_foreign)
    }

    /// Returns the UDP address of WebTransport.
    #[must_use]
    pub fn webtransport_address(&self) -> SocketAddr {
        self.webtransport.address.unwrap_or(self.http.address)
    }

    /// Returns the address of reliable UDP. Its port is 0 if the system chooses it.
    #[must_use]
    pub fn udp_address(&self) -> SocketAddr {
        let port = match self.http.address.port() {
            0 => 0,
            port => port.checked_add(UDP_PORT_ABOVE).unwrap_or(0),
        };
        self.udp.address.unwrap_or_else(|| SocketAddr::new(self.http.address.ip(), port))
    }

    /// Returns the rate of connect requests of one network over reliable UDP; none for no limit.
    #[must_use]
    pub fn udp_request_rate(&self) -> Option<RateLimit> {
        let default = if self.is_public() { UDP_REQUESTS_PER_SECOND } else { 0 };
        match self.udp.requests_per_second.unwrap_or(default) {
            0 => None,
            per_second => Some(RateLimit { per_second, burst: per_second }),
        }
    }

    /// Returns the certificate and key of WebTransport, which default to those of HTTPS.
    #[must_use]
    pub fn webtransport_certificate(&self) -> Option<(&PathBuf, &PathBuf)> {
        let own = self.webtransport.certificate.as_ref().zip(self.webtransport.key.as_ref());
        own.or_else(|| self.http.tls_certificate.as_ref().zip(self.http.tls_key.as_ref()))
    }

    /// Returns true if tokens signed by the development key are accepted.
    #[must_use]
    pub fn accepts_development(&self) -> bool {
        self.tokens.accept_development.unwrap_or(true) && !self.is_public()
    }

    /// Returns true if guest logins are allowed.
    #[must_use]
    pub fn accepts_guests(&self) -> bool {
        self.guests.enabled.unwrap_or(!self.is_public())
    }

    /// Returns the role of a guest. Only the development key grants a role, so without it a guest is a player.
    #[must_use]
    pub fn guest_role(&self) -> Role {
        if self.accepts_development() { self.guests.role.unwrap_or(Role::Developer) } else { Role::Player }
    }

    /// Returns the number of tick threads for a machine with `cores` cores.
    #[must_use]
    pub fn tick_threads(&self, cores: usize) -> usize {
        match self.rooms.tick_threads {
            0 => cores.saturating_sub(1).max(1),
            threads => threads,
        }
    }

    /// Returns the number of threads that share the encoding of large rooms, for a machine with `cores` cores. With 1, each
    /// tick thread encodes alone.
    #[must_use]
    pub fn encode_threads(&self, cores: usize) -> usize {
        match self.rooms.encode_threads {
            0 => cores.max(1),
            threads => threads,
        }
    }

    /// Returns every setting that is not a default. Secrets are hidden.
    #[must_use]
    pub fn effective(&self) -> Vec<EffectiveSetting<'_>> {
        let effective = |(key, value)| {
            let source = self.sources.get(&key)?;
            Some(EffectiveSetting { key, value, source })
        };
        self.values().into_iter().filter_map(effective).collect()
    }

    /// Returns the source of a section's first setting, or of its heading if it has none.
    fn section_source(&self, section: &str) -> SettingSource {
        let mut sources = self.sources.iter();
        let is_within =
            |key: &str| key.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        sources.find(|(key, _)| is_within(key)).map_or(SettingSource::Default, |(_, source)| source.clone())
    }
}

/// A setting that is not a default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EffectiveSetting<'a> {
    /// Full name of the key.
    pub key: String,
    /// Value as TOML; empty if it is not set.
    pub value: String,
    /// Source of the value.
    pub source: &'a SettingSource,
}

/// Returns the full name of a key.
fn dotted(section: &str, key: &str) -> String {
    if section.is_empty() { key.to_owned() } else { format!("{section}.{key}") }
}

/// Replaces `-` in a section name, because environment variables cannot contain it.
fn normalized(name: &str) -> String {
    name.replace('-', "_")
}
