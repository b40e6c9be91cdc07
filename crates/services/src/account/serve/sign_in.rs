//! Handlers of signing in, and of linking login identities.

use crate::ServiceError;
use crate::account::operation::{
    AccountExternal, AuthenticateExternal, AuthenticateExternalRequest, LinkExternal, LinkExternalRequest,
    UnlinkExternal,
};
use crate::account::provider::{self, GameCenterProof, ProviderProof};
use crate::account::{self, OwnerClaim, SignIn};
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::friend;
use crate::notification::{NewNotification, code};
use crate::session::{self, NewSession};
use aether_messages::Empty;
use aether_messages::api::{
    AccountApple, AccountCustom, AccountDevice, AccountEmail, AccountFacebook, AccountFacebookInstantGame,
    AccountGameCenter, AccountGoogle, AccountSteam, Session,
};
use aether_messages::operation::{
    AuthenticateApple, AuthenticateCustom, AuthenticateDevice, AuthenticateEmail, AuthenticateFacebook,
    AuthenticateFacebookInstantGame, AuthenticateGameCenter, AuthenticateGoogle, AuthenticateSteam, LinkApple,
    LinkCustom, LinkDevice, LinkEmail, LinkFacebook, LinkFacebookInstantGame, LinkGameCenter, LinkGoogle, LinkSteam,
    Operation, UnlinkApple, UnlinkCustom, UnlinkDevice, UnlinkEmail, UnlinkFacebook, UnlinkFacebookInstantGame,
    UnlinkGameCenter, UnlinkGoogle, UnlinkSteam,
};
use std::collections::BTreeMap;
use tracing::debug;
use uuid::Uuid;

pub(super) fn operations(operations: Operations) -> Operations {
    operations
        .with::<AuthenticateApple>()
        .with::<AuthenticateCustom>()
        .with::<AuthenticateDevice>()
        .with::<AuthenticateEmail>()
        .with::<AuthenticateFacebook>()
        .with::<AuthenticateFacebookInstantGame>()
        .with::<AuthenticateGameCenter>()
        .with::<AuthenticateGoogle>()
        .with::<AuthenticateSteam>()
        .with::<LinkApple>()
        .with::<LinkCustom>()
        .with::<LinkDevice>()
        .with::<LinkEmail>()
        .with::<LinkFacebook>()
        .with::<LinkFacebookInstantGame>()
        .with::<LinkGameCenter>()
        .with::<LinkGoogle>()
        .with::<LinkSteam>()
        .with::<UnlinkApple>()
        .with::<UnlinkCustom>()
        .with::<UnlinkDevice>()
        .with::<UnlinkEmail>()
        .with::<UnlinkFacebook>()
        .with::<UnlinkFacebookInstantGame>()
        .with::<UnlinkGameCenter>()
        .with::<UnlinkGoogle>()
        .with::<UnlinkSteam>()
        .with::<AuthenticateExternal>()
        .with::<LinkExternal>()
        .with::<UnlinkExternal>()
}

/// Message that carries a sign-in method.
trait SignInMessage {
    /// Returns the sign-in method and the variables of the new session.
    fn split(self) -> (account::SignInMethod, BTreeMap<String, String>);
}

impl SignInMessage for AccountDevice {
    fn split(self) -> (account::SignInMethod, BTreeMap<String, String>) {
        (account::SignInMethod::Device(self.id), self.vars)
    }
}

impl SignInMessage for AccountCustom {
    fn split(self) -> (account::SignInMethod, BTreeMap<String, String>) {
        (account::SignInMethod::Custom(self.id), self.vars)
    }
}

impl SignInMessage for AccountEmail {
    fn split(self) -> (account::SignInMethod, BTreeMap<String, String>) {
        (account::SignInMethod::Email { email: self.email, password: self.password }, self.vars)
    }
}

impl SignInMessage for AccountGameCenter {
    fn split(self) -> (account::SignInMethod, BTreeMap<String, String>) {
        let proof = GameCenterProof {
            player_id: self.player_id,
            bundle_id: self.bundle_id,
            timestamp: self.timestamp_seconds,
            salt: self.salt,
            signature: self.signature,
            public_key_url: self.public_key_url,
        };
        (external(provider::GAME_CENTER, ProviderProof::GameCenter(proof)), self.vars)
    }
}

macro_rules! token_messages {
    ($($message:ty, $token:ident => $provider:expr;)+) => {$(
        impl SignInMessage for $message {
            fn split(self) -> (account::SignInMethod, BTreeMap<String, String>) {
                (external($provider, ProviderProof::Token(self.$token)), self.vars)
            }
        }
    )+};
}

token_messages! {
    AccountApple, token => provider::APPLE;
    AccountFacebook, token => provider::FACEBOOK;
    AccountFacebookInstantGame, signed_player_info => provider::FACEBOOK_INSTANT;
    AccountGoogle, token => provider::GOOGLE;
    AccountSteam, token => provider::STEAM;
}

macro_rules! authenticate {
    ($($operation:ident)+) => {$(
        impl Serve for $operation {
            const ACCESS: Access = Access::ServerKey;
            const PRESET: RatePreset = RatePreset::Login;

            async fn serve(
                call: &Call<'_>,
                request: <Self as Operation>::Request,
            ) -> Result<Session, ServiceError> {
                let account = request.account.unwrap_or_default().split();
                authenticate(call, account, request.username, request.create).await
            }
        }
    )+};
}

authenticate! {
    AuthenticateApple AuthenticateCustom AuthenticateDevice AuthenticateEmail AuthenticateFacebookInstantGame
    AuthenticateGameCenter AuthenticateGoogle
}

/// Operations with a field `sync`, which imports the friends at the provider.
macro_rules! with_friends {
    ($($authenticate:ident, $link:ident => $provider:expr;)+) => {$(
        impl Serve for $authenticate {
            const ACCESS: Access = Access::ServerKey;
            const PRESET: RatePreset = RatePreset::Login;

            async fn serve(
                call: &Call<'_>,
                request: <Self as Operation>::Request,
            ) -> Result<Session, ServiceError> {
                let account = request.account.unwrap_or_default();
                let token = request.sync.unwrap_or(false).then(|| account.token.clone());
                let (user, session) = sign_in(call, account.split(), request.username, request.create).await?;
                import_friends(call, user, $provider, token).await;
                Ok(session)
            }
        }

        impl Serve for $link {
            const PRESET: RatePreset = RatePreset::Expensive;

            async fn serve(call: &Call<'_>, request: <Self as Operation>::Request) -> Result<Empty, ServiceError> {
                let account = request.account.unwrap_or_default();
                let token = request.sync.unwrap_or(false).then(|| account.token.clone());
                let (method, variables) = account.split();
                let owner = owner(call, variables)?;
                call.services.accounts.link_as_owner(&owner, method).await?;
                import_friends(call, owner.user, $provider, token).await;
                Ok(Empty::default())
            }
        }
    )+};
}

with_friends! {
    AuthenticateFacebook, LinkFacebook => provider::FACEBOOK;
    AuthenticateSteam, LinkSteam => provider::STEAM;
}

/// Imports the friends at a provider, if there is a token to do so. The sign-in or link has succeeded, so a failure of the
/// import does not matter: the client can import later.
async fn import_friends(call: &Call<'_>, user: Uuid, provider: &'static str, token: Option<String>) {
    let Some(token) = token else { return };
    if let Err(error) = friend::serve::import(call, user, provider, token, false).await {
        debug!(provider, error = %error.message, "friends are not imported");
    }
}

/// Link and unlink operations. The message is the identity.
macro_rules! change {
    ($($operation:ident: $change:ident;)+) => {$(
        impl Serve for $operation {
            // The provider may be queried, or a password hashed.
            const PRESET: RatePreset = RatePreset::Expensive;

            async fn serve(call: &Call<'_>, request: <Self as Operation>::Request) -> Result<Empty, ServiceError> {
                let (method, variables) = request.split();
                call.services.accounts.$change(&owner(call, variables)?, method).await?;
                Ok(Empty::default())
            }
        }
    )+};
}

change! {
    LinkApple: link_as_owner;
    LinkCustom: link_as_owner;
    LinkDevice: link_as_owner;
    LinkEmail: link_as_owner;
    LinkFacebookInstantGame: link_as_owner;
    LinkGameCenter: link_as_owner;
    LinkGoogle: link_as_owner;
    UnlinkApple: unlink_as_owner;
    UnlinkCustom: unlink_as_owner;
    UnlinkDevice: unlink_as_owner;
    UnlinkEmail: unlink_as_owner;
    UnlinkFacebook: unlink_as_owner;
    UnlinkFacebookInstantGame: unlink_as_owner;
    UnlinkGameCenter: unlink_as_owner;
    UnlinkGoogle: unlink_as_owner;
    UnlinkSteam: unlink_as_owner;
}

async fn authenticate(
    call: &Call<'_>,
    account: (account::SignInMethod, BTreeMap<String, String>),
    username: String,
    create: Option<bool>,
) -> Result<Session, ServiceError> {
    sign_in(call, account, username, create).await.map(|(_, session)| session)
}

/// Signs in, and returns the user and the tokens of the new session.
async fn sign_in(
    call: &Call<'_>,
    (method, variables): (account::SignInMethod, BTreeMap<String, String>),
    username: String,
    create: Option<bool>,
) -> Result<(Uuid, Session), ServiceError> {
    // Checked before anything is written, so that a rejected request does not create an account.
    session::check_variables(&variables)?;
    let (name, address) = (method.name(), call.context.address);
    let sign_in = SignIn { method, username: Some(username), create: create.unwrap_or(true), address };
    let signed_in = call.services.accounts.authenticate(sign_in).await?;
    let new_session =
        NewSession { user: signed_in.user, username: &signed_in.username, variables, address, method: name };
    let pair = call.services.sessions.start(new_session).await?;
    if call.services.sessions.is_single() {
        // Sockets of the sessions that this one ended get it before they are closed.
        let subject = "Your session ended because you signed in again.";
        let ended = NewNotification::persistent(signed_in.user, code::SINGLE_SOCKET, subject, "{}");
        call.services.notifications.send_live(ended);
    }
    let session = Session { created: signed_in.created, token: pair.access, refresh_token: pair.refresh };
    Ok((signed_in.user, session))
}

impl Serve for AuthenticateExternal {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: RatePreset = RatePreset::Login;

    async fn serve(call: &Call<'_>, request: AuthenticateExternalRequest) -> Result<Session, ServiceError> {
        let AccountExternal { token, vars } = request.account.unwrap_or_default();
        let account = (external(&request.provider, ProviderProof::Token(token)), vars);
        authenticate(call, account, request.username, request.create).await
    }
}

impl Serve for LinkExternal {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, request: LinkExternalRequest) -> Result<Empty, ServiceError> {
        let (method, variables) = external_method(request);
        call.services.accounts.link_as_owner(&owner(call, variables)?, method).await?;
        Ok(Empty::default())
    }
}

impl Serve for UnlinkExternal {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, request: LinkExternalRequest) -> Result<Empty, ServiceError> {
        let (method, variables) = external_method(request);
        call.services.accounts.unlink_as_owner(&owner(call, variables)?, method).await?;
        Ok(Empty::default())
    }
}

fn external_method(request: LinkExternalRequest) -> (account::SignInMethod, BTreeMap<String, String>) {
    let AccountExternal { token, vars } = request.account.unwrap_or_default();
    (external(&request.provider, ProviderProof::Token(token)), vars)
}

/// Returns the caller as the owner of the account, with the current password if the variables have it.
fn owner(call: &Call<'_>, mut variables: BTreeMap<String, String>) -> Result<OwnerClaim, ServiceError> {
    let claim = OwnerClaim::of_session(call.identity()?, call.context.address);
    Ok(OwnerClaim { password: variables.remove(account::CURRENT_PASSWORD), ..claim })
}

fn external(provider: &str, proof: ProviderProof) -> account::SignInMethod {
    account::SignInMethod::External { provider: provider.to_owned(), proof }
}
