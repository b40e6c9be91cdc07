//! Facebook: an access token, whose owner and game Facebook is asked for.

use super::open_id::{OpenId, OpenIdSettings};
use super::remote::Remote;
use super::{
    ExternalIdentity, FACEBOOK, FriendsFuture, NO_FRIENDS, Provider, ProviderProof, REJECTED, VerifyFuture, encoded,
};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use ring::hmac;
use serde_json::Value;
use std::fmt::Write as _;
use std::sync::Arc;

/// Friends in one answer of Facebook.
const FRIENDS_PER_PAGE: usize = 500;

/// Settings of Facebook.
#[derive(Clone)]
pub struct FacebookSettings {
    /// App id of the game.
    pub app_id: String,
    /// App secret of the game.
    pub app_secret: String,
    /// URL of the Graph API, with its version.
    pub graph_url: String,
    /// Settings for tokens of limited login, which are signed by Facebook and need no request.
    pub limited: OpenIdSettings,
}

/// Facebook provider.
pub struct Facebook {
    settings: FacebookSettings,
    limited: OpenId,
    remote: Remote,
}

impl FacebookSettings {
    /// Settings of a game with this id and secret.
    #[must_use]
    pub fn new(app_id: String, app_secret: String) -> FacebookSettings {
        let graph_url = "https://graph.facebook.com/v23.0".to_owned();
        let limited = OpenIdSettings::facebook_limited(app_id.clone());
        FacebookSettings { app_id, app_secret, graph_url, limited }
    }
}

impl Facebook {
    /// Creates the provider.
    #[must_use]
    pub fn new(settings: FacebookSettings, http_client: HttpClient, clock: Arc<dyn WallClock>) -> Facebook {
        let limited = OpenId::new(settings.limited.clone(), http_client.clone(), Arc::clone(&clock));
        Facebook { settings, limited, remote: Remote::new(FACEBOOK, http_client, clock) }
    }

    async fn check(&self, token: &str) -> Result<ExternalIdentity, ServiceError> {
        let FacebookSettings { app_id, app_secret, graph_url, .. } = &self.settings;
        let (input, own) = (encoded(token), encoded(&format!("{app_id}|{app_secret}")));
        let url = format!("{graph_url}/debug_token?input_token={input}&access_token={own}");
        let about = &self.remote.get_json(&url, &[]).await?["data"];
        // A token of another game does not identify a player of this one.
        if about["is_valid"] != true || id(&about["app_id"]).as_deref() != Some(app_id) {
            return Err(REJECTED);
        }
        let proof = self.proof(token);
        let url = format!("{graph_url}/me?fields=id,name,email&access_token={input}&appsecret_proof={proof}");
        let user = self.remote.get_json(&url, &[]).await?;
        let subject = id(&user["id"]).ok_or(REJECTED)?;
        if id(&about["user_id"]).as_ref() != Some(&subject) {
            return Err(REJECTED);
        }
        let text = |name: &str| user[name].as_str().map(str::to_owned);
        Ok(ExternalIdentity { subject, email: text("email"), username: None, display_name: text("name") })
    }

    /// Returns the ids of the friends who use the game, in pages.
    async fn read_friends(&self, token: &str, max: usize) -> Result<Vec<String>, ServiceError> {
        let (graph_url, input, proof) = (&self.settings.graph_url, encoded(token), self.proof(token));
        let (mut friends, mut after) = (Vec::new(), String::new());
        for _ in 0..max.div_ceil(FRIENDS_PER_PAGE) {
            let url = format!(
                "{graph_url}/me/friends?fields=id&limit={FRIENDS_PER_PAGE}&after={}&access_token={input}\
                 &appsecret_proof={proof}",
                encoded(&after)
            );
            let page = self.remote.get_json(&url, &[]).await?;
            // Without the permission to read friends there is an error instead.
            let listed = page["data"].as_array().ok_or(NO_FRIENDS)?;
            friends.extend(listed.iter().take(FRIENDS_PER_PAGE).filter_map(|friend| id(&friend["id"])));
            match page["paging"]["cursors"]["after"].as_str() {
                Some(next) if page["paging"]["next"].is_string() && next != after => next.clone_into(&mut after),
                _ => break,
            }
        }
        friends.truncate(max);
        Ok(friends)
    }

    /// Returns the proof that the request comes from the holder of the secret, so that a stolen token alone is useless.
    fn proof(&self, token: &str) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.settings.app_secret.as_bytes());
        let mut proof = String::new();
        for byte in hmac::sign(&key, token.as_bytes()).as_ref() {
            let _ = write!(proof, "{byte:02x}");
        }
        proof
    }
}

impl Provider for Facebook {
    fn name(&self) -> &str {
        FACEBOOK
    }

    fn verify<'a>(&'a self, proof: &'a ProviderProof) -> VerifyFuture<'a> {
        Box::pin(async {
            let token = proof.token()?;
            let is_signed = token.split('.').count() == 3;
            if is_signed { self.limited.verify(proof).await } else { self.check(token).await }
        })
    }

    fn friends<'a>(&'a self, proof: &'a ProviderProof, max: usize) -> FriendsFuture<'a> {
        Box::pin(async move {
            let token = proof.token()?;
            // A signed token of limited login cannot ask for anything.
            if token.split('.').count() == 3 {
                return Err(NO_FRIENDS);
            }
            self.check(token).await?;
            self.read_friends(token, max).await
        })
    }
}

impl std::fmt::Debug for FacebookSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FacebookSettings").field("app_id", &self.app_id).finish_non_exhaustive()
    }
}

/// Reads an id, which Facebook writes as a string or a number.
fn id(value: &Value) -> Option<String> {
    match value {
        Value::String(id) if !id.is_empty() => Some(id.clone()),
        Value::Number(id) if id.is_u64() => Some(id.to_string()),
        _ => None,
    }
}
