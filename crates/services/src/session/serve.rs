//! Handlers of the session operations.

use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::{GrpcCode, ServiceError};
use aether_messages::Empty;
use aether_messages::api::{Session, SessionLogoutRequest, SessionRefreshRequest};
use aether_messages::operation::{SessionLogout, SessionRefresh};

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<SessionRefresh>().with::<SessionLogout>()
}

impl Serve for SessionRefresh {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: RatePreset = RatePreset::Login;

    async fn serve(call: &Call<'_>, request: SessionRefreshRequest) -> Result<Session, ServiceError> {
        if request.token.is_empty() {
            return Err(ServiceError::new(GrpcCode::InvalidArgument, "Refresh token is required."));
        }
        let pair = call.services.sessions.refresh(&request.token, request.vars).await?;
        Ok(Session { created: false, token: pair.access, refresh_token: pair.refresh })
    }
}

impl Serve for SessionLogout {
    async fn serve(call: &Call<'_>, request: SessionLogoutRequest) -> Result<Empty, ServiceError> {
        let user = call.identity()?.user;
        call.services.sessions.log_out(user, &request.token, &request.refresh_token).await?;
        Ok(Empty::default())
    }
}
