//! Operations of sessions: renewal and the end.

use crate::calls::{Access, Call, Operations, Preset, Serve};
use crate::{Code, Refusal};
use aether_messages::Empty;
use aether_messages::api::{Session, SessionLogoutRequest, SessionRefreshRequest};
use aether_messages::operation::{SessionLogout, SessionRefresh};

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<SessionRefresh>().with::<SessionLogout>()
}

impl Serve for SessionRefresh {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: Preset = Preset::Login;

    async fn serve(call: &Call<'_>, request: SessionRefreshRequest) -> Result<Session, Refusal> {
        if request.token.is_empty() {
            return Err(Refusal::new(Code::InvalidArgument, "Refresh token is required."));
        }
        let pair = call.services.sessions.refresh(&request.token, request.vars).await?;
        Ok(Session { created: false, token: pair.access, refresh_token: pair.refresh })
    }
}

impl Serve for SessionLogout {
    async fn serve(call: &Call<'_>, request: SessionLogoutRequest) -> Result<Empty, Refusal> {
        let user = call.identity()?.user;
        call.services.sessions.log_out(user, &request.token, &request.refresh_token).await?;
        Ok(Empty::default())
    }
}
