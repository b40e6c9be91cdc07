//! The connection to the server, and what keeps the player from playing.

use crate::arguments::Arguments;
use crate::client_game::AsteroidsClient;
use crate::device::device_id;
use crate::notice::Notice;
use aether::prelude::*;
use aether_asteroids_rules::{Controls, Explosion};
use aether_client_native::{DeviceSignIn, HttpError};
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time for which an access token is used for new connections: two thirds of its validity.
const TOKEN_TIME: Duration = Duration::from_secs(600);
/// Status of a sign-in with the name of another account.
const NAME_TAKEN: u16 = 409;

/// Client with its connection.
pub struct Session {
    native: NativeClient<AsteroidsClient>,
    sign_in: Arc<SignIn>,
    /// Address of the server.
    pub server: String,
}

/// Signs in before each connection.
struct SignIn {
    connector: Connector,
    device: DeviceSignIn,
    state: Mutex<SignInState>,
}

#[derive(Default)]
struct SignInState {
    token: Option<(Token, Instant)>,
    is_name_taken: bool,
}

impl Session {
    /// Starts to connect.
    pub fn start(arguments: &Arguments, data_dir: Option<&Path>) -> Result<Session, Box<dyn Error>> {
        let address: ServerAddress = arguments.server.parse()?;
        let id = device_id(data_dir, &arguments.server, &arguments.name)
            .map_err(|error| format!("the device id cannot be stored: {error}"))?;
        let (username, server_key) = (arguments.name.clone(), arguments.server_key.clone());
        let sign_in = Arc::new(SignIn {
            connector: Connector::new(&address),
            device: DeviceSignIn { id, username, server_key },
            state: Mutex::default(),
        });
        let room = match &arguments.room {
            Some(code) => RoomSelector::Code(code.clone()),
            None => RoomSelector::Type { name: "asteroids".to_owned(), label: None },
        };
        let options = JoinOptions { room: Some(room), ..JoinOptions::default() };
        let settings = ClientSettings { seed: seed_of(&sign_in.device.id), ..ClientSettings::default() };
        let core = Client::new(AsteroidsClient, settings, options);
        let source = Arc::clone(&sign_in);
        let tokens = TokenSource::renewing(move |was_rejected| {
            let source = Arc::clone(&source);
            async move { source.token(was_rejected).await }
        });
        let settings =
            NativeClientSettings { transport: arguments.transport, tokens, ..NativeClientSettings::default() };
        let native = NativeClient::new(core, Connector::new(&address), settings)?;
        Ok(Session { native, sign_in, server: arguments.server.clone() })
    }

    /// Sends the controls and handles received messages. Returns explosions since the last frame.
    pub fn frame(&mut self, controls: Controls) -> Vec<Explosion> {
        self.native.client_mut().set_input(controls);
        self.native.frame();
        let events: Vec<ClientEvent> = self.native.client_mut().events().collect();
        let client = self.native.client();
        let explosions = events.iter().filter_map(|event| match event {
            ClientEvent::Game(event) => client.read_event::<Explosion>(event),
            _ => None,
        });
        explosions.collect()
    }

    /// Client core.
    pub fn client(&self) -> &Client<AsteroidsClient> {
        self.native.client()
    }

    /// Name of the transport, while there is a connection.
    pub fn transport(&self) -> Option<&'static str> {
        self.native.transport().map(TransportKind::name)
    }

    /// Share of lost packets in the worse direction, from 0 to 1. Only UDP measures the direction to the server.
    pub fn loss(&self) -> f32 {
        let up = self.native.transport_stats().map_or(0.0, |stats| stats.loss);
        self.client().stats().loss.max(up)
    }

    /// Returns the reason why the player cannot play.
    pub fn notice(&self) -> Option<Notice> {
        let error = self.native.last_error().map(|error| match error {
            // The text of the sign-in.
            ConnectionError::NoToken(text) => text.clone(),
            other => other.to_string(),
        });
        match self.client().phase() {
            ClientPhase::Joined => None,
            ClientPhase::Resuming => Some(Notice::Reconnecting(error)),
            ClientPhase::Closed(reason) => Some(Notice::Closed(text_of(reason))),
            ClientPhase::Connecting if self.sign_in.is_name_taken() => Some(Notice::NameTaken),
            ClientPhase::Connecting => Some(error.map_or(Notice::Connecting, Notice::Unreachable)),
        }
    }

    /// Leaves the room.
    pub fn leave(self) {
        self.native.leave();
    }
}

impl SignIn {
    /// Returns an access token: the last one, unless it was rejected or is old.
    async fn token(&self, was_rejected: bool) -> Result<Token, String> {
        let known = self.state.lock().unwrap_or_else(PoisonError::into_inner).token.clone();
        if let Some((token, since)) = known
            && since.elapsed() < TOKEN_TIME
            && !was_rejected
        {
            return Ok(token);
        }
        let result = self.connector.device_token(&self.device).await;
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.is_name_taken = matches!(result, Err(ConnectionError::Http(HttpError::Status(NAME_TAKEN))));
        match result {
            Ok(token) => {
                state.token = Some((token.clone(), Instant::now()));
                Ok(token)
            }
            Err(error) => Err(error.to_string()),
        }
    }

    fn is_name_taken(&self) -> bool {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).is_name_taken
    }
}

/// Returns a seed that differs between devices.
fn seed_of(id: &str) -> u64 {
    id.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

fn text_of(reason: &EndReason) -> String {
    match reason {
        EndReason::Left => "You left the room.".to_owned(),
        EndReason::ClosedByServer(closing) => format!("The server closed the connection: {}", closing.text),
        EndReason::JoinRejected(notice) => format!("The server rejected the join: {}", notice.message),
        EndReason::UnknownSchema => "Client and server have different versions of the game: update one.".to_owned(),
        EndReason::TooManyEntities | EndReason::InvalidRates => "The server sent an invalid room.".to_owned(),
    }
}
