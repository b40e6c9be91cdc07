//! `aether admin`: shows and manages players, reports, remote values and rooms of a running server, by its admin API.

mod moderation;
mod values;

pub use moderation::{MuteArguments, ReportAction};
pub use values::ValuesAction;

use crate::admin_key;
use crate::config::{Config, ConfigArguments};
use crate::tokens::Role;
use aether_services::http_client::{HttpClient, HttpClientError, Network, Settings};
use axum::http::Method;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use std::fmt::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Flags of `aether admin`.
#[derive(clap::Args, Clone, Debug)]
pub struct AdminArguments {
    /// Action, with the player that it is about.
    #[command(subcommand)]
    pub action: AdminAction,
    /// Configuration file and flags. The server is found by http.admin_address, and the key by http.admin_key or in the
    /// data folder.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// Actions of `aether admin`. A player is named by id or username.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum AdminAction {
    /// Show a player: id, names, role, ban and presence
    Show {
        /// Id or username of the player
        player: String,
    },
    /// Ban a player: all sessions end, the player leaves every room, and sign-in is refused
    Ban {
        /// Id or username of the player
        player: String,
    },
    /// Lift the ban of a player
    Unban {
        /// Id or username of the player
        player: String,
    },
    /// Give a player a role; it applies within a second, also to open connections
    Role {
        /// Id or username of the player
        player: String,
        /// Role: player, read-only, moderator, developer or admin
        role: Role,
    },
    /// End all sessions of a player, who can sign in again
    SignOut {
        /// Id or username of the player
        player: String,
    },
    /// List the latest sessions of a player and their states, newest first
    Sessions {
        /// Id or username of the player
        player: String,
        /// Number of sessions, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// List, show and resolve reports of players about players
    Report {
        /// Action on reports
        #[command(subcommand)]
        action: ReportAction,
    },
    /// Mute a player in chat, for a time or without end
    Mute(MuteArguments),
    /// End the mute of a player
    Unmute {
        /// Id or username of the player
        player: String,
    },
    /// List the mutes that have not ended, the first to end first
    Mutes {
        /// Number of mutes, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// List, show, set and delete remote values of clients
    Values {
        /// Action on remote values
        #[command(subcommand)]
        action: ValuesAction,
    },
    /// List running and stored rooms
    Rooms {
        /// Only rooms of this state: running or stored
        #[arg(long, default_value = "")]
        state: String,
        /// Number of rooms, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
    /// Show, create, wake, signal, record or end a room
    Room {
        /// Action on the room
        #[command(subcommand)]
        action: RoomAction,
    },
    /// List recordings and their states
    Recordings,
    /// List modules and functions of the Lua scripts, show the last error, or load the scripts again
    Scripts {
        /// modules, functions, error or reload
        #[arg(default_value = "modules", value_parser = ["modules", "functions", "error", "reload"])]
        action: String,
    },
    /// Begin or end a drain, or show it: no new rooms and joins, clients are told, and the server is not ready
    Drain {
        /// start, stop or show
        #[arg(default_value = "show", value_parser = ["start", "stop", "show"])]
        action: String,
    },
    /// List refused uses of permissions and actions of operators, newest first
    Audit {
        /// Number of entries, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
}

/// Actions of `aether admin room`. A room is named by its id.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum RoomAction {
    /// Show a room: state, players, tick, size and last write
    Show {
        /// Id of the room
        room: String,
    },
    /// List the stored checkpoints of a durable room
    Checkpoints {
        /// Id of the room
        room: String,
    },
    /// List entities of a room with their components
    Entities {
        /// Id of the room
        room: String,
        /// Number of a stored checkpoint [default: the running room, or its latest checkpoint]
        #[arg(long)]
        checkpoint: Option<u32>,
        /// Number of entities, up to 1000
        #[arg(long, default_value_t = 100)]
        limit: u32,
    },
    /// Create a room
    Create {
        /// Room type
        room_type: String,
        /// Label of the room
        #[arg(long, default_value = "")]
        label: String,
        /// Create a private room, which is joined by id or code only
        #[arg(long)]
        private: bool,
        /// Record the room from its first tick
        #[arg(long)]
        record: bool,
    },
    /// Open a stored room
    Wake {
        /// Id of the room
        room: String,
    },
    /// Send a text to the game of a room, and print its reply
    Signal {
        /// Id of the room
        room: String,
        /// Text of the signal
        text: String,
    },
    /// End a room; a durable room is stored and unloaded
    End {
        /// Id of the room
        room: String,
    },
    /// Begin to record a running room
    Record {
        /// Id of the room
        room: String,
    },
    /// End the recording of a room
    StopRecording {
        /// Id of the room
        room: String,
    },
}

/// Request to the admin API, and the form of its answer.
struct AdminCall {
    method: Method,
    path: String,
    body: Option<Value>,
    form: AnswerForm,
}

/// Form in which an answer is printed.
enum AnswerForm {
    /// Its fields, one per line.
    Record,
    /// The fields of an object in it.
    Field(&'static str),
    /// A list in it, as a table.
    Table(&'static str),
    /// Bytes in base64 in it, as text.
    Text(&'static str),
}

impl AdminCall {
    fn get(path: String, form: AnswerForm) -> AdminCall {
        AdminCall { method: Method::GET, path, body: None, form }
    }

    fn post(path: String, body: Value, form: AnswerForm) -> AdminCall {
        AdminCall { method: Method::POST, path, body: Some(body), form }
    }

    fn delete(path: String, form: AnswerForm) -> AdminCall {
        AdminCall { method: Method::DELETE, path, body: None, form }
    }

    async fn run(self, api: &AdminClient) -> Result<String, String> {
        let answer = api.send(self.method, &self.path, self.body).await?;
        Ok(match self.form {
            AnswerForm::Record => record(&answer),
            AnswerForm::Field(name) => record(&answer[name]),
            AnswerForm::Table(name) => table(answer[name].as_array().map_or(&[], Vec::as_slice)),
            AnswerForm::Text(name) => {
                let bytes = STANDARD.decode(answer[name].as_str().unwrap_or_default()).unwrap_or_default();
                format!("{}\n", String::from_utf8_lossy(&bytes))
            }
        })
    }
}

impl RoomAction {
    fn call(&self) -> AdminCall {
        use AnswerForm::{Field, Record, Table, Text};
        let room = |room: &str, action: &str| format!("/api/rooms/{}{action}", encoded(room));
        match self {
            RoomAction::Show { room: id } => AdminCall::get(room(id, ""), Field("room")),
            RoomAction::Checkpoints { room: id } => AdminCall::get(room(id, ""), Table("checkpoints")),
            RoomAction::Entities { room: id, checkpoint, limit } => {
                let checkpoint = checkpoint.map_or_else(String::new, |number| format!("&checkpoint={number}"));
                AdminCall::get(room(id, &format!("/entities?limit={limit}{checkpoint}")), Table("entities"))
            }
            RoomAction::Create { room_type, label, private, record } => {
                let new = json!({ "type": room_type, "label": label, "private": private, "record": record });
                AdminCall::post("/api/rooms".to_owned(), new, Record)
            }
            RoomAction::Wake { room: id } => AdminCall::post(room(id, "/wake"), json!({}), Record),
            RoomAction::Signal { room: id, text } => {
                AdminCall::post(room(id, "/signal"), json!({ "data": STANDARD.encode(text) }), Text("data"))
            }
            RoomAction::End { room: id } => AdminCall::post(room(id, "/end"), json!({}), Record),
            RoomAction::Record { room: id } => AdminCall::post(room(id, "/recording"), json!({}), Record),
            RoomAction::StopRecording { room: id } => AdminCall::delete(room(id, "/recording"), Record),
        }
    }
}

impl AdminArguments {
    /// Calls the admin API and returns the answer as text.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        self.action.run(&config).await
    }
}

impl AdminAction {
    /// Calls the admin API of the configured server.
    pub async fn run(&self, config: &Config) -> Result<String, String> {
        self.call()?.run(&AdminClient::new(config)?).await
    }

    fn call(&self) -> Result<AdminCall, String> {
        use AnswerForm::{Record, Table};
        let player = |player: &str, action: &str| format!("/api/players/{}{action}", encoded(player));
        let change = |name: &str, action: &str, body| AdminCall::post(player(name, action), body, Record);
        Ok(match self {
            AdminAction::Show { player: name } => AdminCall::get(player(name, ""), Record),
            AdminAction::Ban { player: name } => change(name, "/ban", json!({})),
            AdminAction::Unban { player: name } => change(name, "/unban", json!({})),
            AdminAction::SignOut { player: name } => change(name, "/sign-out", json!({})),
            AdminAction::Role { player: name, role } => change(name, "/role", json!({ "role": role.name() })),
            AdminAction::Sessions { player: name, limit } => {
                AdminCall::get(player(name, &format!("/sessions?limit={limit}")), Table("sessions"))
            }
            AdminAction::Report { action } => action.call(),
            AdminAction::Mute(mute) => mute.call(),
            AdminAction::Unmute { player } => moderation::unmute(player),
            AdminAction::Mutes { limit } => moderation::mutes(*limit),
            AdminAction::Values { action } => action.call()?,
            AdminAction::Audit { limit } => AdminCall::get(format!("/api/audit?limit={limit}"), Table("entries")),
            AdminAction::Rooms { state, limit } => {
                AdminCall::get(format!("/api/rooms?limit={limit}&state={}", encoded(state)), Table("rooms"))
            }
            AdminAction::Room { action } => action.call(),
            AdminAction::Recordings => AdminCall::get("/api/recordings".to_owned(), Table("recordings")),
            AdminAction::Scripts { action } => {
                let list = |form| AdminCall::get("/api/scripts".to_owned(), form);
                match action.as_str() {
                    "reload" => AdminCall::post("/api/scripts/reload".to_owned(), json!({}), Record),
                    "functions" => list(Table("functions")),
                    "error" => list(AnswerForm::Field("error")),
                    _ => list(Table("modules")),
                }
            }
            AdminAction::Drain { action } => {
                let path = "/api/drain".to_owned();
                match action.as_str() {
                    "start" => AdminCall::post(path, json!({}), Record),
                    "stop" => AdminCall::delete(path, Record),
                    _ => AdminCall::get(path, Record),
                }
            }
        })
    }
}

/// Client of the admin API.
struct AdminClient {
    http: HttpClient,
    address: SocketAddr,
    key: String,
}

impl AdminClient {
    fn new(config: &Config) -> Result<AdminClient, String> {
        let key = admin_key::find(config)?;
        let mut address = config.http.admin_address;
        // A server that listens on all addresses is also on this machine.
        if address.ip().is_unspecified() {
            address.set_ip(match address {
                SocketAddr::V4(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
                SocketAddr::V6(_) => IpAddr::V6(Ipv6Addr::LOCALHOST),
            });
        }
        // The operator names the server, so any network is fine.
        let allowed = ["0.0.0.0/0", "::/0"].iter().filter_map(|network| network.parse::<Network>().ok()).collect();
        let http = HttpClient::new(&Settings { allowed, ..Settings::default() });
        Ok(AdminClient { http, address, key })
    }

    /// Sends a request, and returns the answer or the error for the operator.
    async fn send(&self, method: Method, path: &str, body: Option<Value>) -> Result<Value, String> {
        let (url, bearer) = (format!("http://{}{path}", self.address), format!("Bearer {}", self.key));
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let answer = match method {
            Method::DELETE => self.http.delete(&url, &headers).await,
            Method::POST => self.http.post(&url, &headers, body.unwrap_or_default().to_string()).await,
            _ => self.http.get(&url, &headers).await,
        };
        let answer = answer.map_err(|error| self.unreachable(&error))?;
        let json = serde_json::from_slice::<Value>(&answer.body).ok();
        match (answer.is_success(), json) {
            (true, Some(json)) => Ok(json),
            (false, Some(json)) if answer.status != 401 => {
                Err(json["error"].as_str().unwrap_or("The server refused the request.").to_owned())
            }
            (false, _) if answer.status == 401 => Err(format!(
                "The server at {} has another admin key. Name its data folder with --data-dir, or set http.admin_key as \
                 on the server.",
                self.address
            )),
            _ => Err(format!(
                "{} did not answer like the admin listener of a server (status {}): set http.admin_address.",
                self.address, answer.status
            )),
        }
    }

    fn unreachable(&self, error: &HttpClientError) -> String {
        format!(
            "Cannot reach the server at {}: {error}. Start the server, or name its admin listener with --admin-address.",
            self.address
        )
    }
}

/// Encodes a path segment.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |mut encoded, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
        encoded
    })
}

/// Writes the fields of an answer, one per line.
fn record(answer: &Value) -> String {
    let fields = answer.as_object().into_iter().flat_map(Map::iter);
    fields.map(|(name, value)| format!("{name}\t{}\n", cell(value))).collect()
}

/// Writes rows with a header.
fn table(rows: &[Value]) -> String {
    let Some(first) = rows.first().and_then(Value::as_object) else { return "nothing to list\n".to_owned() };
    let names: Vec<&str> = first.keys().map(String::as_str).collect();
    let mut text = names.join("\t") + "\n";
    for row in rows {
        let cells: Vec<String> = names.iter().map(|name| cell(&row[*name])).collect();
        text += &(cells.join("\t") + "\n");
    }
    text
}

/// Writes a value in one cell: names come from players.
fn cell(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.chars().map(|character| if character.is_control() { ' ' } else { character }).collect()
}
