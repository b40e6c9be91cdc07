//! Steam: a ticket of the game, checked with Steam's web API.

use super::remote::Remote;
use super::{
    ExternalIdentity, FriendsFuture, NO_FRIENDS, Provider, ProviderProof, REJECTED, STEAM, VerifyFuture, encoded,
};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use std::sync::Arc;

/// Status of an answer about a private profile.
const PRIVATE_PROFILE_STATUS: u16 = 401;

/// Settings of Steam.
#[derive(Clone)]
pub struct SteamSettings {
    /// App id of the game.
    pub app_id: u32,
    /// Publisher key of the web API.
    pub publisher_key: String,
    /// Identity with which the game requests tickets, if any.
    pub identity: Option<String>,
    /// URL of the web API.
    pub base_url: String,
}

/// Steam provider.
pub struct Steam {
    settings: SteamSettings,
    remote: Remote,
}

impl SteamSettings {
    /// Settings of a game with this id and key, with Steam's API for publishers.
    #[must_use]
    pub fn new(app_id: u32, publisher_key: String) -> SteamSettings {
        let base_url = "https://partner.steam-api.com".to_owned();
        SteamSettings { app_id, publisher_key, identity: None, base_url }
    }
}

impl Steam {
    /// Creates the provider.
    #[must_use]
    pub fn new(settings: SteamSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Steam {
        Steam { settings, remote: Remote::new(STEAM, http_client, clock) }
    }

    async fn check(&self, ticket: &str) -> Result<ExternalIdentity, ServiceError> {
        if !ticket.len().is_multiple_of(2) || !ticket.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(REJECTED);
        }
        let SteamSettings { app_id, publisher_key, identity, base_url } = &self.settings;
        let mut url = format!(
            "{base_url}/ISteamUserAuth/AuthenticateUserTicket/v1/?key={}&appid={app_id}&ticket={ticket}",
            encoded(publisher_key)
        );
        if let Some(identity) = identity {
            url.push_str("&identity=");
            url.push_str(&encoded(identity));
        }
        let answer = self.remote.get_json(&url, &[]).await?;
        let found = &answer["response"]["params"];
        // A ban by the publisher revokes the right to play.
        if found["result"] != "OK" || found["publisherbanned"] == true {
            return Err(REJECTED);
        }
        let subject = found["steamid"].as_str().filter(|id| is_steam_id(id)).ok_or(REJECTED)?;
        Ok(ExternalIdentity { subject: subject.to_owned(), ..ExternalIdentity::default() })
    }
}

impl Steam {
    /// Returns the ids of a player's friends. Steam refuses to list those of a private profile.
    async fn read_friends(&self, steam_id: &str, max: usize) -> Result<Vec<String>, ServiceError> {
        let SteamSettings { publisher_key, base_url, .. } = &self.settings;
        let url = format!(
            "{base_url}/ISteamUser/GetFriendList/v1/?key={}&steamid={steam_id}&relationship=friend",
            encoded(publisher_key)
        );
        let response = self.remote.get_unless(&url, PRIVATE_PROFILE_STATUS).await?.ok_or(NO_FRIENDS)?;
        let answer = self.remote.parse(&response)?;
        let listed = answer["friendslist"]["friends"].as_array().ok_or(NO_FRIENDS)?;
        let ids = listed.iter().filter_map(|friend| friend["steamid"].as_str().filter(|id| is_steam_id(id)));
        Ok(ids.take(max).map(str::to_owned).collect())
    }
}

impl Provider for Steam {
    fn name(&self) -> &str {
        STEAM
    }

    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a> {
        Box::pin(async { self.check(proof.token()?).await })
    }

    fn friends<'a>(&'a self, proof: &'a ProviderProof, max: usize) -> FriendsFuture<'a> {
        Box::pin(async move {
            let identity = self.check(proof.token()?).await?;
            self.read_friends(&identity.subject, max).await
        })
    }
}

impl std::fmt::Debug for SteamSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SteamSettings").field("app_id", &self.app_id).finish_non_exhaustive()
    }
}

fn is_steam_id(id: &str) -> bool {
    id.parse::<u64>().is_ok_and(|id| id > 0)
}
