//! `aether admin`: shows and manages players of a running server, by its admin API.

use crate::admin_key;
use crate::config::{Config, ConfigArguments};
use crate::tokens::Role;
use aether_services::http_client::{HttpClient, HttpClientError, Network, Settings};
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
        /// Role: player, read-only, developer or admin
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
    /// List refused uses of permissions and actions of operators, newest first
    Audit {
        /// Number of entries, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
    },
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
        let api = AdminClient::new(config)?;
        let player = |player: &str, action: &str| format!("/api/players/{}{action}", encoded(player));
        let (path, body, list) = match self {
            AdminAction::Show { player: name } => (player(name, ""), None, None),
            AdminAction::Ban { player: name } => (player(name, "/ban"), Some(json!({})), None),
            AdminAction::Unban { player: name } => (player(name, "/unban"), Some(json!({})), None),
            AdminAction::SignOut { player: name } => (player(name, "/sign-out"), Some(json!({})), None),
            AdminAction::Role { player: name, role } => {
                (player(name, "/role"), Some(json!({ "role": role.name() })), None)
            }
            AdminAction::Sessions { player: name, limit } => {
                (player(name, &format!("/sessions?limit={limit}")), None, Some("sessions"))
            }
            AdminAction::Audit { limit } => (format!("/api/audit?limit={limit}"), None, Some("entries")),
        };
        let answer = api.send(&path, body).await?;
        match list {
            None => Ok(record(&answer)),
            Some(list) => Ok(table(answer[list].as_array().map_or(&[], Vec::as_slice))),
        }
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
    async fn send(&self, path: &str, body: Option<Value>) -> Result<Value, String> {
        let (url, bearer) = (format!("http://{}{path}", self.address), format!("Bearer {}", self.key));
        let headers = [("authorization", bearer.as_str()), ("content-type", "application/json")];
        let answer = match body {
            None => self.http.get(&url, &headers).await,
            Some(body) => self.http.post(&url, &headers, body.to_string()).await,
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
