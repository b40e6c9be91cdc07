//! Signing in, and the ways to do so.
//!
//! Beside the providers that the protocol knows there are those of the server's configuration, by name, at routes of our
//! own: `POST /v2/account/authenticate/external/{provider}`, and `link` and `unlink` in the place of `authenticate`. Their
//! body is that of the others: `{"token": "…", "vars": {…}}`.

use super::super::access::Access;
use super::super::{Call, Desk, Preset, Routes, Serve};
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
use aether_services::Refusal;
use aether_services::account::operation::{
    AccountExternal, AuthenticateExternal, AuthenticateExternalRequest, LinkExternal, LinkExternalRequest,
    UnlinkExternal,
};
use aether_services::account::provider::{self, GameCenterProof, Proof};
use aether_services::account::{self, SignIn};
use aether_services::session::{self, Beginning};
use http::Method;
use std::collections::BTreeMap;

pub(super) fn routes(routes: Routes) -> Routes {
    routes.with(authenticate_routes).with(link_routes).with(unlink_routes).with(external_routes)
}

fn authenticate_routes(routes: Routes) -> Routes {
    const POST: Method = Method::POST;
    routes
        .field::<AuthenticateApple, _>(POST, "/v2/account/authenticate/apple", |to, body| to.account = Some(body))
        .field::<AuthenticateCustom, _>(POST, "/v2/account/authenticate/custom", |to, body| to.account = Some(body))
        .field::<AuthenticateDevice, _>(POST, "/v2/account/authenticate/device", |to, body| to.account = Some(body))
        .field::<AuthenticateEmail, _>(POST, "/v2/account/authenticate/email", |to, body| to.account = Some(body))
        .field::<AuthenticateFacebook, _>(POST, "/v2/account/authenticate/facebook", |to, body| to.account = Some(body))
        .field::<AuthenticateFacebookInstantGame, _>(
            POST,
            "/v2/account/authenticate/facebookinstantgame",
            |to, body| to.account = Some(body),
        )
        .field::<AuthenticateGameCenter, _>(POST, "/v2/account/authenticate/gamecenter", |to, body| {
            to.account = Some(body);
        })
        .field::<AuthenticateGoogle, _>(POST, "/v2/account/authenticate/google", |to, body| to.account = Some(body))
        .field::<AuthenticateSteam, _>(POST, "/v2/account/authenticate/steam", |to, body| to.account = Some(body))
}

fn link_routes(routes: Routes) -> Routes {
    routes
        .body::<LinkApple>(Method::POST, "/v2/account/link/apple")
        .body::<LinkCustom>(Method::POST, "/v2/account/link/custom")
        .body::<LinkDevice>(Method::POST, "/v2/account/link/device")
        .body::<LinkEmail>(Method::POST, "/v2/account/link/email")
        .field::<LinkFacebook, _>(Method::POST, "/v2/account/link/facebook", |to, body| to.account = Some(body))
        .body::<LinkFacebookInstantGame>(Method::POST, "/v2/account/link/facebookinstantgame")
        .body::<LinkGameCenter>(Method::POST, "/v2/account/link/gamecenter")
        .body::<LinkGoogle>(Method::POST, "/v2/account/link/google")
        .body::<LinkSteam>(Method::POST, "/v2/account/link/steam")
}

fn unlink_routes(routes: Routes) -> Routes {
    routes
        .body::<UnlinkApple>(Method::POST, "/v2/account/unlink/apple")
        .body::<UnlinkCustom>(Method::POST, "/v2/account/unlink/custom")
        .body::<UnlinkDevice>(Method::POST, "/v2/account/unlink/device")
        .body::<UnlinkEmail>(Method::POST, "/v2/account/unlink/email")
        .body::<UnlinkFacebook>(Method::POST, "/v2/account/unlink/facebook")
        .body::<UnlinkFacebookInstantGame>(Method::POST, "/v2/account/unlink/facebookinstantgame")
        .body::<UnlinkGameCenter>(Method::POST, "/v2/account/unlink/gamecenter")
        .body::<UnlinkGoogle>(Method::POST, "/v2/account/unlink/google")
        .body::<UnlinkSteam>(Method::POST, "/v2/account/unlink/steam")
}

fn external_routes(routes: Routes) -> Routes {
    const POST: Method = Method::POST;
    routes
        .field::<AuthenticateExternal, _>(POST, "/v2/account/authenticate/external/{provider}", |to, body| {
            to.account = Some(body);
        })
        .field::<LinkExternal, _>(POST, "/v2/account/link/external/{provider}", |to, body| to.account = Some(body))
        .field::<UnlinkExternal, _>(POST, "/v2/account/unlink/external/{provider}", |to, body| to.account = Some(body))
}

/// A way to sign in, as a message says it.
trait Way {
    /// How someone signs in, and the variables that the session is to carry.
    fn split(self) -> (account::Method, BTreeMap<String, String>);
}

impl Way for AccountDevice {
    fn split(self) -> (account::Method, BTreeMap<String, String>) {
        (account::Method::Device(self.id), self.vars)
    }
}

impl Way for AccountCustom {
    fn split(self) -> (account::Method, BTreeMap<String, String>) {
        (account::Method::Custom(self.id), self.vars)
    }
}

impl Way for AccountEmail {
    fn split(self) -> (account::Method, BTreeMap<String, String>) {
        (account::Method::Email { email: self.email, password: self.password }, self.vars)
    }
}

impl Way for AccountGameCenter {
    fn split(self) -> (account::Method, BTreeMap<String, String>) {
        let proof = GameCenterProof {
            player_id: self.player_id,
            bundle_id: self.bundle_id,
            timestamp: self.timestamp_seconds,
            salt: self.salt,
            signature: self.signature,
            public_key_url: self.public_key_url,
        };
        (external(provider::GAME_CENTER, Proof::GameCenter(proof)), self.vars)
    }
}

macro_rules! ways_by_token {
    ($($message:ty, $token:ident => $provider:expr;)+) => {$(
        impl Way for $message {
            fn split(self) -> (account::Method, BTreeMap<String, String>) {
                (external($provider, Proof::Token(self.$token)), self.vars)
            }
        }
    )+};
}

ways_by_token! {
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
            const PRESET: Preset = Preset::Login;

            async fn serve(
                desk: &Desk,
                call: &Call,
                request: <Self as Operation>::Request,
            ) -> Result<Session, Refusal> {
                let way = request.account.unwrap_or_default().split();
                desk.authenticate(call, way, request.username, request.create).await
            }
        }
    )+};
}

authenticate! {
    AuthenticateApple AuthenticateCustom AuthenticateDevice AuthenticateEmail AuthenticateFacebook
    AuthenticateFacebookInstantGame AuthenticateGameCenter AuthenticateGoogle AuthenticateSteam
}

/// Operations by what they do and where their message has the way: it is the way, or has it beside other things.
macro_rules! change {
    ($($operation:ident: $change:ident $(. $account:ident)?;)+) => {$(
        impl Serve for $operation {
            // A provider may be asked, or a password hashed.
            const PRESET: Preset = Preset::Expensive;

            async fn serve(desk: &Desk, call: &Call, request: <Self as Operation>::Request) -> Result<Empty, Refusal> {
                let (method, _) = request $(.$account.unwrap_or_default())? .split();
                desk.services().accounts.$change(call.identity()?.user, method).await?;
                Ok(Empty::default())
            }
        }
    )+};
}

change! {
    LinkApple: link;
    LinkCustom: link;
    LinkDevice: link;
    LinkEmail: link;
    LinkFacebook: link.account;
    LinkFacebookInstantGame: link;
    LinkGameCenter: link;
    LinkGoogle: link;
    LinkSteam: link.account;
    UnlinkApple: unlink;
    UnlinkCustom: unlink;
    UnlinkDevice: unlink;
    UnlinkEmail: unlink;
    UnlinkFacebook: unlink;
    UnlinkFacebookInstantGame: unlink;
    UnlinkGameCenter: unlink;
    UnlinkGoogle: unlink;
    UnlinkSteam: unlink;
}

impl Desk {
    async fn authenticate(
        &self,
        call: &Call,
        (method, variables): (account::Method, BTreeMap<String, String>),
        username: String,
        create: Option<bool>,
    ) -> Result<Session, Refusal> {
        // Before anything is written: an account must not come of a request that is refused.
        session::check_variables(&variables)?;
        let (name, address) = (method.name(), call.context.address);
        let sign_in = SignIn { method, username: Some(username), create: create.unwrap_or(true), address };
        let signed_in = self.services().accounts.authenticate(sign_in).await?;
        let beginning =
            Beginning { user: signed_in.user, username: &signed_in.username, variables, address, method: name };
        let pair = self.services().sessions.start(beginning).await?;
        Ok(Session { created: signed_in.created, token: pair.access, refresh_token: pair.refresh })
    }
}

impl Serve for AuthenticateExternal {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: Preset = Preset::Login;

    async fn serve(desk: &Desk, call: &Call, request: AuthenticateExternalRequest) -> Result<Session, Refusal> {
        let AccountExternal { token, vars } = request.account.unwrap_or_default();
        let way = (external(&request.provider, Proof::Token(token)), vars);
        desk.authenticate(call, way, request.username, request.create).await
    }
}

impl Serve for LinkExternal {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(desk: &Desk, call: &Call, request: LinkExternalRequest) -> Result<Empty, Refusal> {
        desk.services().accounts.link(call.identity()?.user, external_way(request)).await?;
        Ok(Empty::default())
    }
}

impl Serve for UnlinkExternal {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(desk: &Desk, call: &Call, request: LinkExternalRequest) -> Result<Empty, Refusal> {
        desk.services().accounts.unlink(call.identity()?.user, external_way(request)).await?;
        Ok(Empty::default())
    }
}

fn external_way(request: LinkExternalRequest) -> account::Method {
    external(&request.provider, Proof::Token(request.account.unwrap_or_default().token))
}

fn external(provider: &str, proof: Proof) -> account::Method {
    account::Method::External { provider: provider.to_owned(), proof }
}
