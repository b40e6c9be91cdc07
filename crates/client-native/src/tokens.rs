//! Where a hello gets its access token.

use std::fmt::{self, Debug, Formatter};
use std::pin::Pin;
use std::time::Duration;

use aether_wire::Token;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::connector::Connector;
use crate::error::ConnectionError;

/// A guest's token is used again for this long: two thirds of the time for which servers take one.
const GUEST_TIME: Duration = Duration::from_secs(600);

/// Where a hello gets its access token. It is asked for before each connection, because a token runs out while a connection
/// does not.
#[derive(Default)]
pub struct TokenSource {
    source: Source,
}

#[derive(Default)]
enum Source {
    #[default]
    Login,
    Guest(Mutex<Option<(Token, Instant)>>),
    Asked(Box<Ask>),
}

type Ask = dyn Fn() -> Pin<Box<dyn Future<Output = Result<Token, String>> + Send>> + Send + Sync;

impl TokenSource {
    /// The one of the client's [`aether_client::JoinOptions`], if it has one.
    #[must_use]
    pub fn join_options() -> Self {
        Self::default()
    }

    /// A guest's, which the server gives to anyone where it lets guests in.
    #[must_use]
    pub fn guest() -> Self {
        Self { source: Source::Guest(Mutex::default()) }
    }

    /// What the game gives when it is asked: a token that is good for some minutes at least. If there is none, it says why,
    /// and is asked again after a pause. It is asked in the background and may wait for a server.
    #[must_use]
    pub fn from_fn<F>(ask: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Token, String>> + Send + 'static,
    {
        Self { source: Source::Asked(Box::new(move || Box::pin(ask()))) }
    }

    /// A token for a hello; nothing if that of the login is meant.
    pub(crate) async fn take(&self, connector: &Connector) -> Result<Option<Token>, ConnectionError> {
        match &self.source {
            Source::Login => Ok(None),
            Source::Asked(ask) => ask().await.map(Some).map_err(ConnectionError::NoToken),
            Source::Guest(known) => {
                let mut known = known.lock().await;
                if let Some((token, since)) = &*known
                    && since.elapsed() < GUEST_TIME
                {
                    return Ok(Some(token.clone()));
                }
                let token = connector.guest_token().await?;
                *known = Some((token.clone(), Instant::now()));
                Ok(Some(token))
            }
        }
    }
}

impl Debug for TokenSource {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self.source {
            Source::Login => "TokenSource::join_options",
            Source::Guest(_) => "TokenSource::guest",
            Source::Asked(_) => "TokenSource::from_fn",
        })
    }
}
