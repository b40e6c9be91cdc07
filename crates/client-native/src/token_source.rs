//! Source of access tokens.

use std::fmt::{self, Debug, Formatter};
use std::pin::Pin;
use std::time::Duration;

use aether_wire::Token;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::connector::Connector;
use crate::error::ConnectionError;

/// Time for which a guest token is reused: two thirds of its validity.
const GUEST_TOKEN_TIME: Duration = Duration::from_secs(600);

/// Source of the access token of a hello. It is queried before each connection, because tokens expire while connections
/// do not.
#[derive(Default)]
pub struct TokenSource {
    source: Source,
}

#[derive(Default)]
enum Source {
    #[default]
    JoinOptions,
    Guest(Mutex<Option<(Token, Instant)>>),
    Callback(Box<TokenCallback>),
}

type TokenCallback = dyn Fn(bool) -> Pin<Box<dyn Future<Output = Result<Token, String>> + Send>> + Send + Sync;

impl TokenSource {
    /// Uses the token of the client's [`aether_client::JoinOptions`], if it has one.
    #[must_use]
    pub fn join_options() -> Self {
        Self::default()
    }

    /// Requests guest tokens from the server, if it allows guests.
    #[must_use]
    pub fn guest() -> Self {
        Self { source: Source::Guest(Mutex::default()) }
    }

    /// Calls a function of the game. It returns a token that is valid for some minutes, or an error text; after an
    /// error it is called again with a delay. It runs in the background and may wait for a server.
    #[must_use]
    pub fn from_fn<F>(callback: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Token, String>> + Send + 'static,
    {
        Self { source: Source::Callback(Box::new(move |_| Box::pin(callback()))) }
    }

    /// Like [`TokenSource::from_fn`], for a function that stores its token. Its argument is true if the server rejected
    /// the last token, for example because a key was replaced: the function then has to get another one.
    #[must_use]
    pub fn renewing<F>(callback: impl Fn(bool) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Result<Token, String>> + Send + 'static,
    {
        Self { source: Source::Callback(Box::new(move |was_rejected| Box::pin(callback(was_rejected)))) }
    }

    /// Returns true if the source can provide another token after one was rejected.
    pub(crate) fn can_renew(&self) -> bool {
        !matches!(self.source, Source::JoinOptions)
    }

    /// Returns the token for a hello; another one if the last was rejected. `None` means the one of the join options.
    pub(crate) async fn token(
        &self,
        connector: &Connector,
        was_rejected: bool,
    ) -> Result<Option<Token>, ConnectionError> {
        match &self.source {
            Source::JoinOptions => Ok(None),
            Source::Callback(callback) => callback(was_rejected).await.map(Some).map_err(ConnectionError::NoToken),
            Source::Guest(known) => {
                let mut known = known.lock().await;
                if let Some((token, since)) = &*known
                    && since.elapsed() < GUEST_TOKEN_TIME
                    && !was_rejected
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
            Source::JoinOptions => "TokenSource::join_options",
            Source::Guest(_) => "TokenSource::guest",
            Source::Callback(_) => "TokenSource::from_fn",
        })
    }
}
