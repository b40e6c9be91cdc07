//! Signing in, and linking and unlinking of sign-in methods.
//!
//! Identity providers of the server's configuration have routes that extend the protocol:
//! `POST /v2/account/authenticate/external/{provider}`, and the same with `link` or `unlink` instead of `authenticate`.
//! The body is the same as for other providers: `{"token": "…", "vars": {…}}`.

use super::super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{
    AuthenticateApple, AuthenticateCustom, AuthenticateDevice, AuthenticateEmail, AuthenticateFacebook,
    AuthenticateFacebookInstantGame, AuthenticateGameCenter, AuthenticateGoogle, AuthenticateSteam, LinkApple,
    LinkCustom, LinkDevice, LinkEmail, LinkFacebook, LinkFacebookInstantGame, LinkGameCenter, LinkGoogle, LinkSteam,
    UnlinkApple, UnlinkCustom, UnlinkDevice, UnlinkEmail, UnlinkFacebook, UnlinkFacebookInstantGame, UnlinkGameCenter,
    UnlinkGoogle, UnlinkSteam,
};
use aether_services::account::operation::{AuthenticateExternal, LinkExternal, UnlinkExternal};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes.with(authenticate_routes).with(link_routes).with(unlink_routes).with(external_routes)
}

fn authenticate_routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
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

fn link_routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
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

fn unlink_routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
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

fn external_routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    const POST: Method = Method::POST;
    routes
        .field::<AuthenticateExternal, _>(POST, "/v2/account/authenticate/external/{provider}", |to, body| {
            to.account = Some(body);
        })
        .field::<LinkExternal, _>(POST, "/v2/account/link/external/{provider}", |to, body| to.account = Some(body))
        .field::<UnlinkExternal, _>(POST, "/v2/account/unlink/external/{provider}", |to, body| to.account = Some(body))
}
