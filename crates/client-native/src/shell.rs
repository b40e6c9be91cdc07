//! The client's core in a game loop that must never wait.

mod line;
mod patience;

use std::io;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use aether_client::{Client, ClientGame, ClientPhase, EndReason};
use aether_wire::DeliveryPath;
use tokio::runtime::{Builder, Handle, Runtime};

use crate::choice::{TransportChooser, TransportPreference};
use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::tokens::TokenSource;
use crate::transport::TransportKind;
use line::{ConnectionEvent, ConnectionHandle, ConnectionThread};
use patience::{SILENCE_MAX, SilenceTimer, WELCOME_TIME_MAX};

/// How long leaving may hold up whoever waits for it.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(3);

/// How long the last words of a shell that is dropped may take, in the background.
const CLOSE_TIME_MAX: Duration = Duration::from_secs(2);

/// Threads for what waits in the system, which is the lookup of names.
const BLOCKING_THREADS_MAX: usize = 2;

/// How a shell connects.
#[derive(Debug, Default)]
pub struct NativeClientSettings {
    /// What the connection is carried by. By default the best that works.
    pub transport: TransportPreference,
    /// Where a hello gets its access token. By default from the client's login.
    pub tokens: TokenSource,
    /// A runtime that the sockets may use. By default the shell starts a thread for them.
    pub runtime: Option<Handle>,
}

/// A [`Client`] and its connection: it is on the game's thread, while the sockets are on another one.
///
/// Call [`NativeClient::frame`] once a frame. It never waits: it takes in what has arrived, opens, gives up and reopens the
/// connection as the client says, and hands over what is to be sent. Whatever happens to the connection, the client comes
/// back by itself, as the same player if it can. A shell that is dropped ends at once; the player's place is kept for a
/// while then, and [`NativeClient::leave`] gives it up.
///
/// ```no_run
/// # fn play<G: aether_client::ClientGame>(game: G, input: G::Input) -> Result<(), Box<dyn std::error::Error>> {
/// use aether_client::{Client, JoinOptions, ClientPhase, ClientSettings};
/// use aether_client_native::{Connector, NativeClient, NativeClientSettings, TokenSource};
/// use aether_wire::RoomSelector;
///
/// let room = RoomSelector::Type { name: "outpost".to_owned(), label: None };
/// let client = Client::new(game, ClientSettings::default(), JoinOptions { room: Some(room), token: None });
/// let connector = Connector::new(&"http://127.0.0.1:7350".parse()?);
/// let settings = NativeClientSettings { tokens: TokenSource::guest(), ..NativeClientSettings::default() };
/// let mut shell = NativeClient::new(client, connector, settings)?;
/// # let mut input = Some(input);
/// while !matches!(shell.client().phase(), ClientPhase::Closed(_)) {
///     shell.client_mut().set_input(input.take().expect("there is one"));
///     shell.frame();
///     let me = shell.client().own_state();
///     for (entity, other) in shell.client().remote_entities() {
///         // draw(entity, other)
///     }
/// }
/// shell.leave();
/// # Ok(())
/// # }
/// ```
pub struct NativeClient<G: ClientGame> {
    client: Client<G>,
    office: Arc<ConnectionThread>,
    line: Option<ConnectionHandle>,
    patience: SilenceTimer,
    trouble: Option<ConnectionError>,
    is_hurried: bool,
    began: Instant,
    /// The newest time that the client was told. Arrivals are noted on another thread, and the client's time does not go back.
    told: Duration,
    handle: Handle,
    /// The thread of the sockets, if it is the shell's own.
    runtime: Option<Runtime>,
}

impl<G: ClientGame> NativeClient<G> {
    /// A shell that begins to connect with its first frame. It fails if the system gives it no thread.
    pub fn new(client: Client<G>, connector: Connector, settings: NativeClientSettings) -> io::Result<Self> {
        let NativeClientSettings { transport, tokens, runtime: given } = settings;
        let own = if given.is_none() { Some(own_runtime()?) } else { None };
        let handle = given.or_else(|| own.as_ref().map(|own| own.handle().clone())).expect("it is given or our own");
        Ok(Self {
            client,
            office: Arc::new(ConnectionThread { connector, choice: TransportChooser::new(transport), tokens }),
            line: None,
            patience: SilenceTimer::default(),
            trouble: None,
            is_hurried: false,
            began: Instant::now(),
            told: Duration::ZERO,
            handle,
            runtime: own,
        })
    }

    /// Does all that is due: [`NativeClient::receive`], then [`NativeClient::send`].
    pub fn frame(&mut self) {
        self.receive();
        self.send();
    }

    /// Takes in what has arrived, and opens or gives up the connection as is due. For games that want to look at what is new
    /// before they say what the player does.
    pub fn receive(&mut self) {
        while let Some(news) = self.line.as_mut().and_then(ConnectionHandle::next) {
            self.take(news);
        }
        let now = self.now();
        self.watch(now);
        self.open_if_due(now);
    }

    /// Moves the client on to now, and sends what it gives.
    pub fn send(&mut self) {
        let now = self.now();
        let line = self.line.as_ref().filter(|line| line.opened.is_some());
        let mut stuck = None;
        self.client.advance_frames(now, |frame, is_reliable| {
            let path = if is_reliable { DeliveryPath::Reliable } else { DeliveryPath::Unreliable };
            if let Some(Err(error)) = line.map(|line| line.send(frame, path)) {
                stuck = Some(error);
            }
        });
        if let Some(error) = stuck {
            self.lost(error);
        }
        self.close_if_over();
    }

    /// The client: what is to be drawn, and how it is doing.
    #[must_use]
    pub fn client(&self) -> &Client<G> {
        &self.client
    }

    /// The client, to be steered. What is about its connection is the shell's to say.
    pub fn client_mut(&mut self) -> &mut Client<G> {
        &mut self.client
    }

    /// What the connection goes over; nothing while there is none.
    #[must_use]
    pub fn transport(&self) -> Option<TransportKind> {
        self.line.as_ref()?.opened
    }

    /// Why the last attempt or connection ended, while the client is not in a room.
    #[must_use]
    pub fn last_error(&self) -> Option<&ConnectionError> {
        self.trouble.as_ref()
    }

    /// Gives up the connection and comes back at once, as the same player if that can be. Also the thing to do when the
    /// system tells that the network is another one: what did not work before is tried again.
    pub fn reconnect(&mut self) {
        self.office.choice.forget_failures();
        self.is_hurried = true;
        if self.line.is_some() {
            let is_open = self.transport().is_some();
            self.line = None;
            if is_open {
                self.disconnected(ConnectionError::GivenUp);
            }
        }
    }

    /// Goes on over another transport, as the same player.
    pub fn switch_transport(&mut self, wish: TransportPreference) {
        self.office.choice.set_wish(wish);
        self.reconnect();
    }

    /// Leaves for good, so that the player's place is not kept. It waits until the server has heard it, for some seconds at
    /// most; false if that was not long enough.
    pub fn leave(self) -> bool {
        let (told, heard) = mpsc::channel();
        let handle = self.handle.clone();
        let (shell, line) = self.say_leave();
        handle.spawn(async move {
            if let Some(line) = line {
                line.ended().await;
            }
            let _ = told.send(());
        });
        let is_heard = heard.recv_timeout(LEAVE_TIME_MAX).is_ok();
        drop(shell);
        is_heard
    }

    /// As [`NativeClient::leave`], for those who must not block: on any executor.
    pub async fn leave_async(self) -> bool {
        let handle = self.handle.clone();
        let (shell, line) = self.say_leave();
        let Some(line) = line else { return true };
        let ended = handle.spawn(async move { tokio::time::timeout(LEAVE_TIME_MAX, line.ended()).await.is_ok() });
        let is_heard = ended.await.unwrap_or(false);
        drop(shell);
        is_heard
    }

    fn say_leave(mut self) -> (Self, Option<ConnectionHandle>) {
        self.client.leave();
        self.send();
        let line = self.line.take();
        (self, line)
    }

    fn now(&mut self) -> Duration {
        self.at(Instant::now())
    }

    /// A moment as the client is told it.
    fn at(&mut self, moment: Instant) -> Duration {
        self.told = self.told.max(moment.saturating_duration_since(self.began));
        self.told
    }

    fn take(&mut self, news: ConnectionEvent) {
        match news {
            ConnectionEvent::Opened(transport, token) => {
                if let Some(token) = token {
                    self.client.set_token(Some(token));
                }
                let now = self.now();
                if let Some(line) = &mut self.line {
                    line.opened = Some(transport);
                }
                self.patience.restart(now);
                self.client.connected(transport.delivery_order(), now);
            }
            ConnectionEvent::Frame(arrival) => {
                let at = self.at(arrival.at);
                self.client.receive_frame(&arrival.frame, at);
                if *self.client.phase() == ClientPhase::Joined {
                    self.patience.restart(at);
                    self.trouble = None;
                }
                if self.client.retry_at().is_some() {
                    // The server has no place now: the client tries again later, on another connection.
                    self.line = None;
                }
            }
            ConnectionEvent::Ended(error) => self.lost(error),
        }
    }

    /// Notices a connection that is dead, or leads nowhere.
    fn watch(&mut self, now: Duration) {
        if self.transport().is_none() {
            return;
        }
        let waited = self.patience.waited(now);
        match self.client.phase() {
            ClientPhase::Joined if waited > SILENCE_MAX => self.lost(ConnectionError::Silent),
            ClientPhase::Connecting | ClientPhase::Resuming if waited > WELCOME_TIME_MAX => {
                self.lost(ConnectionError::TimedOut)
            }
            _ => {}
        }
    }

    fn open_if_due(&mut self, now: Duration) {
        let is_due = self.client.retry_at().is_some_and(|at| at <= now || self.is_hurried);
        if self.line.is_none() && is_due {
            self.is_hurried = false;
            let is_resuming = *self.client.phase() == ClientPhase::Resuming;
            self.line = Some(ConnectionHandle::open(&self.handle, &self.office, is_resuming));
        }
    }

    /// The line is over, or is given up.
    fn lost(&mut self, error: ConnectionError) {
        let transport = self.transport();
        self.line = None;
        match (self.client.phase(), transport) {
            (ClientPhase::Closed(_), _) => return,
            (ClientPhase::Connecting | ClientPhase::Resuming, Some(transport)) => self.office.choice.failed(transport),
            _ => {}
        }
        self.disconnected(error);
    }

    fn disconnected(&mut self, error: ConnectionError) {
        let now = self.now();
        self.client.disconnected(now);
        self.trouble = Some(error);
    }

    /// After leaving the server closes by itself, once it has read that; whatever else is over is closed at once.
    fn close_if_over(&mut self) {
        match (self.client.phase(), &self.line) {
            (ClientPhase::Closed(EndReason::Left), Some(line)) => line.leave(),
            (ClientPhase::Closed(_), Some(_)) => self.line = None,
            _ => {}
        }
    }
}

impl<G: ClientGame> Drop for NativeClient<G> {
    fn drop(&mut self) {
        let Some(runtime) = self.runtime.take() else { return };
        let (line, office) = (self.line.take(), Arc::clone(&self.office));
        // The game does not wait for the last words: the runtime holds itself until they are said.
        runtime.handle().clone().spawn(async move {
            let closed = async {
                if let Some(line) = line {
                    line.close().await;
                    office.connector.wait_idle().await;
                }
            };
            let _ = tokio::time::timeout(CLOSE_TIME_MAX, closed).await;
            // Nor does anyone wait for names that are still being looked up.
            runtime.shutdown_background();
        });
    }
}

fn own_runtime() -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(BLOCKING_THREADS_MAX)
        .thread_name("aether-client")
        .enable_all()
        .build()
}
