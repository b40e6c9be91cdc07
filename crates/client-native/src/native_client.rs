//! Client with its connection, for a game loop that must not block.

mod connection_task;
mod silence_timer;

use std::io;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use aether_client::{Client, ClientGame, ClientPhase, Conditions, EndReason, SimulatedNetwork};
use aether_replication::DeliveryOrder;
use aether_wire::{DeliveryPath, ErrorCode, ErrorNotice, InputSeq, ServerMessage};
use tokio::runtime::{Builder, Handle, Runtime};

use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::token_source::TokenSource;
use crate::transport::TransportKind;
use crate::transport_chooser::{TransportChooser, TransportPreference};
use crate::transport_stats::TransportStats;
use connection_task::{ConnectionEvent, ConnectionHandle, ConnectionOpener, TokenNeed};
use silence_timer::{SILENCE_MAX, SilenceTimer, WELCOME_TIME_MAX};

/// Longest time that leaving waits for the server.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(3);

/// Longest time in the background for closing the connection of a dropped client.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(2);

/// Largest number of bytes in the simulated network, on their way to the client.
const NETWORK_BYTES_MAX: usize = 1 << 20;

/// Threads for blocking system calls: name lookups.
const BLOCKING_THREADS_MAX: usize = 2;

/// Connection settings of a [`NativeClient`].
#[derive(Debug, Default)]
pub struct NativeClientSettings {
    /// Preferred transport. Default: the best one that works.
    pub transport: TransportPreference,
    /// Source of access tokens. Default: the client's [`aether_client::JoinOptions`].
    pub tokens: TokenSource,
    /// Simulated network around each connection, for tests. Delays are rounded up to a frame of the game. On a
    /// WebSocket, duplication and reordering have no effect, and a lost packet is late. Default: none.
    pub conditions: Option<Conditions>,
    /// Tokio runtime for the sockets. Default: the client starts a thread of its own.
    pub runtime: Option<Handle>,
}

/// [`Client`] with its connection. It runs on the game's thread; the sockets run on another one.
///
/// Call [`NativeClient::frame`] once per frame. It never blocks: it handles received messages, opens, closes and
/// reopens the connection as needed, and sends the client's messages. After a lost connection the client reconnects by
/// itself and resumes its player if possible. Dropping the client closes the connection at once, and the player can
/// still be resumed for the room's grace period; [`NativeClient::leave`] removes the player.
///
/// ```no_run
/// # fn play<G: aether_client::ClientGame>(game: G, input: G::Input) -> Result<(), Box<dyn std::error::Error>> {
/// use aether_client::{Client, JoinOptions, ClientPhase, ClientSettings};
/// use aether_client_native::{Connector, NativeClient, NativeClientSettings, TokenSource};
/// use aether_wire::RoomSelector;
///
/// let room = RoomSelector::Type { name: "outpost".to_owned(), label: None };
/// let core = Client::new(game, ClientSettings::default(), JoinOptions { room: Some(room), ..JoinOptions::default() });
/// let connector = Connector::new(&"http://127.0.0.1:7350".parse()?);
/// let settings = NativeClientSettings { tokens: TokenSource::guest(), ..NativeClientSettings::default() };
/// let mut client = NativeClient::new(core, connector, settings)?;
/// # let mut input = Some(input);
/// while !matches!(client.client().phase(), ClientPhase::Closed(_)) {
///     client.client_mut().set_input(input.take().expect("an input"));
///     client.frame();
///     let own = client.client().own_state();
///     for (entity, state) in client.client().remote_entities() {
///         // draw(entity, state)
///     }
/// }
/// client.leave();
/// # Ok(())
/// # }
/// ```
pub struct NativeClient<G: ClientGame> {
    client: Client<G>,
    opener: Arc<ConnectionOpener>,
    connection: Option<ConnectionHandle>,
    conditions: Option<Conditions>,
    /// Simulated network of the open connection.
    network: Option<SimulatedNetwork>,
    silence: SilenceTimer,
    last_error: Option<ConnectionError>,
    should_connect_now: bool,
    started_at: Instant,
    /// Latest time passed to the client. Arrival times come from another thread, and the client's time must not go
    /// back.
    last_time: Duration,
    handle: Handle,
    /// Runtime of the sockets, if this client started it.
    runtime: Option<Runtime>,
}

impl<G: ClientGame> NativeClient<G> {
    /// Creates a client that starts to connect with its first frame. Fails if no thread can be started.
    pub fn new(mut client: Client<G>, connector: Connector, settings: NativeClientSettings) -> io::Result<Self> {
        let NativeClientSettings { transport, tokens, conditions, runtime: given } = settings;
        client.set_renews_token(tokens.can_renew());
        let own = if given.is_none() { Some(create_runtime()?) } else { None };
        let handle = given.or_else(|| own.as_ref().map(|own| own.handle().clone())).expect("given or created above");
        Ok(Self {
            client,
            opener: Arc::new(ConnectionOpener { connector, chooser: TransportChooser::new(transport), tokens }),
            connection: None,
            conditions,
            network: None,
            silence: SilenceTimer::default(),
            last_error: None,
            should_connect_now: false,
            started_at: Instant::now(),
            last_time: Duration::ZERO,
            handle,
            runtime: own,
        })
    }

    /// Runs [`NativeClient::receive`], then [`NativeClient::send`].
    pub fn frame(&mut self) {
        self.receive();
        self.send();
    }

    /// Handles received messages, and opens or closes the connection if needed. For games that read new state before
    /// they set the input.
    pub fn receive(&mut self) {
        while self.can_read()
            && let Some(event) = self.connection.as_mut().and_then(ConnectionHandle::next)
        {
            self.handle_event(event);
        }
        let now = self.now();
        self.receive_simulated(now);
        self.check_timeouts(now);
        self.open_if_due(now);
    }

    /// Advances the client to the current time and sends its messages.
    pub fn send(&mut self) {
        let now = self.now();
        let connection = self.connection.as_ref().filter(|connection| connection.transport.is_some());
        let network = &mut self.network;
        let mut failure = None;
        let mut send = |frame: &[u8], path| {
            if let Some(Err(error)) = connection.map(|connection| connection.send(frame, path)) {
                failure = Some(error);
            }
        };
        self.client.advance_frames(now, |frame, is_reliable| {
            let path = if is_reliable { DeliveryPath::Reliable } else { DeliveryPath::Unreliable };
            match network {
                Some(network) => network.push_up(path, frame.to_vec(), now),
                None => send(frame, path),
            }
        });
        while let Some((path, frame)) = network.as_mut().and_then(|network| network.pop_up(now)) {
            send(&frame, path);
        }
        if let Some(error) = failure {
            self.handle_loss(error);
        }
        self.close_if_ended();
    }

    /// Client core: states to draw, events and statistics.
    #[must_use]
    pub fn client(&self) -> &Client<G> {
        &self.client
    }

    /// Client core, mutable. Do not call its methods about connections; this type does.
    pub fn client_mut(&mut self) -> &mut Client<G> {
        &mut self.client
    }

    /// Proposes to move the own entity by a distance; see [`Client::move_by`]. The next frame sends it.
    pub fn move_by(&mut self, delta: [f32; 2]) -> Option<InputSeq> {
        let now = self.now();
        self.client.move_by(delta, now)
    }

    /// Transport of the open connection. `None` while there is none.
    #[must_use]
    pub fn transport(&self) -> Option<TransportKind> {
        self.connection.as_ref()?.transport
    }

    /// Statistics of the path to the server, as the transport measures them. `None` without a connection, and over
    /// transports other than UDP. [`aether_client::ClientStats`] has the round trip and the loss of states over every
    /// transport.
    #[must_use]
    pub fn transport_stats(&self) -> Option<TransportStats> {
        self.connection.as_ref()?.stats()
    }

    /// Error of the last attempt or connection. `None` once the client has joined a room.
    #[must_use]
    pub fn last_error(&self) -> Option<&ConnectionError> {
        self.last_error.as_ref()
    }

    /// Closes the connection and reconnects at once, as the same player if possible. Call it when the system reports a
    /// change of the network: transports that failed before are tried again.
    pub fn reconnect(&mut self) {
        self.opener.chooser.clear_failures();
        self.should_connect_now = true;
        if self.connection.is_some() {
            let is_open = self.transport().is_some();
            self.close_connection();
            if is_open {
                self.report_disconnect(ConnectionError::ReconnectRequested);
            }
        }
    }

    /// Reconnects over another transport, as the same player.
    pub fn switch_transport(&mut self, preference: TransportPreference) {
        self.opener.chooser.set_preference(preference);
        self.reconnect();
    }

    /// Simulates other network conditions from now on, or none.
    pub fn set_conditions(&mut self, conditions: Option<Conditions>) {
        self.conditions = conditions;
        match (&mut self.network, conditions) {
            (Some(network), _) => network.set_conditions(conditions.unwrap_or(Conditions::PERFECT)),
            (None, Some(_)) => self.network = self.simulate_network(),
            (None, None) => {}
        }
    }

    /// Leaves the room, so that the player is removed at once. Blocks until the connection is closed, for up to 3
    /// seconds; returns false if it is still open.
    pub fn leave(self) -> bool {
        let (sender, receiver) = mpsc::channel();
        let handle = self.handle.clone();
        let (client, connection) = self.send_leave();
        handle.spawn(async move {
            if let Some(connection) = connection {
                connection.ended().await;
            }
            let _ = sender.send(());
        });
        let is_confirmed = receiver.recv_timeout(LEAVE_TIME_MAX).is_ok();
        drop(client);
        is_confirmed
    }

    /// Like [`NativeClient::leave`], for async code on any executor.
    pub async fn leave_async(self) -> bool {
        let handle = self.handle.clone();
        let (client, connection) = self.send_leave();
        let Some(connection) = connection else { return true };
        let ended = handle.spawn(async move { tokio::time::timeout(LEAVE_TIME_MAX, connection.ended()).await.is_ok() });
        let is_confirmed = ended.await.unwrap_or(false);
        drop(client);
        is_confirmed
    }

    fn send_leave(mut self) -> (Self, Option<ConnectionHandle>) {
        self.client.leave();
        self.send();
        let connection = self.connection.take();
        (self, connection)
    }

    fn now(&mut self) -> Duration {
        self.client_time(Instant::now())
    }

    /// Converts an instant to the client's time.
    fn client_time(&mut self, moment: Instant) -> Duration {
        self.last_time = self.last_time.max(moment.saturating_duration_since(self.started_at));
        self.last_time
    }

    fn handle_event(&mut self, event: ConnectionEvent) {
        match event {
            ConnectionEvent::Opened(transport, token) => {
                if let Some(token) = token {
                    self.client.set_token(Some(token));
                }
                let now = self.now();
                if let Some(connection) = &mut self.connection {
                    connection.transport = Some(transport);
                }
                self.network = self.simulate_network();
                self.silence.restart(now);
                self.client.connected(transport.delivery_order(), now);
            }
            ConnectionEvent::Frame(message) => {
                let at = self.client_time(message.at);
                match &mut self.network {
                    Some(network) => network.push_down(&message.frame, at),
                    None => self.receive_frame(&message.frame, at),
                }
            }
            ConnectionEvent::Ended(ConnectionError::TokenRejected) => self.handle_rejected_token(),
            ConnectionEvent::Ended(error) => {
                // The last messages say why the connection ended.
                self.receive_simulated(Duration::MAX);
                self.handle_loss(error);
            }
        }
    }

    fn receive_frame(&mut self, frame: &[u8], at: Duration) {
        self.client.receive_frame(frame, at);
        if *self.client.phase() == ClientPhase::Joined {
            self.silence.restart(at);
            self.last_error = None;
        }
        if self.client.retry_at().is_some() {
            // A temporary rejection: the client retries later on another connection.
            self.close_connection();
        }
    }

    /// Handles the frames that have passed the simulated network by `until`.
    fn receive_simulated(&mut self, until: Duration) {
        while let Some(frame) = self.network.as_mut().and_then(|network| network.pop_down(until)) {
            let now = self.now();
            self.receive_frame(&frame, now);
        }
    }

    /// Returns false while the simulated network is full: then the queue of the connection fills, and the server
    /// detects a slow client.
    fn can_read(&self) -> bool {
        self.network.as_ref().is_none_or(|network| network.bytes_down() < NETWORK_BYTES_MAX)
    }

    fn simulate_network(&self) -> Option<SimulatedNetwork> {
        let order = self.transport()?.delivery_order();
        Some(SimulatedNetwork::new(self.conditions?, order, self.client.settings().seed))
    }

    fn close_connection(&mut self) {
        self.connection = None;
        self.network = None;
    }

    /// Closes a connection that is silent or gets no welcome.
    fn check_timeouts(&mut self, now: Duration) {
        if self.transport().is_none() {
            return;
        }
        let elapsed = self.silence.elapsed(now);
        match self.client.phase() {
            ClientPhase::Joined if elapsed > SILENCE_MAX => self.handle_loss(ConnectionError::Silent),
            ClientPhase::Connecting | ClientPhase::Resuming if elapsed > WELCOME_TIME_MAX => {
                self.handle_loss(ConnectionError::TimedOut)
            }
            _ => {}
        }
    }

    fn open_if_due(&mut self, now: Duration) {
        let is_due = self.client.retry_at().is_some_and(|at| at <= now || self.should_connect_now);
        if self.connection.is_none() && is_due {
            self.should_connect_now = false;
            let token_need = match self.client.phase() {
                _ if self.client.needs_fresh_token() => TokenNeed::Fresh,
                ClientPhase::Resuming => TokenNeed::Optional,
                _ => TokenNeed::Any,
            };
            let known = self.client.hello_token().cloned();
            self.connection = Some(ConnectionHandle::open(&self.handle, &self.opener, token_need, known));
        }
    }

    /// Handles a connection that ended or timed out.
    fn handle_loss(&mut self, error: ConnectionError) {
        let transport = self.transport();
        self.close_connection();
        match (self.client.phase(), transport) {
            (ClientPhase::Closed(_), _) => return,
            (ClientPhase::Connecting | ClientPhase::Resuming, Some(transport)) => {
                self.opener.chooser.add_failure(transport)
            }
            _ => {}
        }
        self.report_disconnect(error);
    }

    /// Handles a token that was rejected before the hello, as an answer to the hello: the client asks for another token,
    /// joins without the resume token, or closes.
    fn handle_rejected_token(&mut self) {
        let now = self.now();
        self.close_connection();
        let is_resuming = *self.client.phase() == ClientPhase::Resuming;
        let code = if is_resuming { ErrorCode::ResumeRefused } else { ErrorCode::Unauthenticated };
        let message = ConnectionError::TokenRejected.to_string();
        self.client.connected(DeliveryOrder::Unordered, now);
        self.client.receive(ServerMessage::Error(ErrorNotice { code, message, fatal: true }), now);
        self.report_disconnect(ConnectionError::TokenRejected);
    }

    fn report_disconnect(&mut self, error: ConnectionError) {
        let now = self.now();
        self.client.disconnected(now);
        self.last_error = Some(error);
    }

    /// Closes the connection of a closed client. After a leave the server closes it, once it has read the message.
    fn close_if_ended(&mut self) {
        match (self.client.phase(), &self.connection) {
            (ClientPhase::Closed(EndReason::Left), Some(connection)) => {
                // The leave message and what was sent before it do not wait in the simulated network.
                while let Some((path, frame)) = self.network.as_mut().and_then(|network| network.pop_up(Duration::MAX))
                {
                    let _ = connection.send(&frame, path);
                }
                connection.leave();
            }
            (ClientPhase::Closed(_), Some(_)) => self.close_connection(),
            _ => {}
        }
    }
}

impl<G: ClientGame> Drop for NativeClient<G> {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let (connection, opener) = (self.connection.take(), Arc::clone(&self.opener));
        // Dropping must not block: the runtime closes the connection in the background, then shuts down.
        runtime.handle().clone().spawn(async move {
            let closed = async {
                if let Some(connection) = connection {
                    connection.close().await;
                    opener.connector.wait_idle().await;
                }
            };
            let _ = tokio::time::timeout(CLOSE_TIME_MAX, closed).await;
            // Does not wait for name lookups that are still running.
            runtime.shutdown_background();
        });
    }
}

fn create_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("aether-client")
        .enable_all()
        .build()
}
