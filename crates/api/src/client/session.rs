//! Sessions: renewal and the end.

use super::access::Access;
use super::{Call, Desk, Preset, Routes, Serve};
use aether_messages::Empty;
use aether_messages::api::{Session, SessionLogoutRequest, SessionRefreshRequest};
use aether_messages::operation::{SessionLogout, SessionRefresh};
use aether_services::{Code, Refusal};
use http::Method;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .body::<SessionRefresh>(Method::POST, "/v2/account/session/refresh")
        .body::<SessionLogout>(Method::POST, "/v2/session/logout")
}

impl Serve for SessionRefresh {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: Preset = Preset::Login;

    async fn serve(desk: &Desk, _: &Call, request: SessionRefreshRequest) -> Result<Session, Refusal> {
        if request.token.is_empty() {
            return Err(Refusal::new(Code::InvalidArgument, "Refresh token is required."));
        }
        let pair = desk.services().sessions.refresh(&request.token, request.vars).await?;
        Ok(Session { created: false, token: pair.access, refresh_token: pair.refresh })
    }
}

impl Serve for SessionLogout {
    async fn serve(desk: &Desk, call: &Call, request: SessionLogoutRequest) -> Result<Empty, Refusal> {
        let user = call.identity()?.user;
        desk.services().sessions.log_out(user, &request.token, &request.refresh_token).await?;
        Ok(Empty::default())
    }
}
