//! Lost passwords and unconfirmed email addresses. The protocol has nothing of this, so these operations are our own, and
//! so are their messages, in [`operation`](aether_services::account::operation).
//!
//! | route | asks for | body | what it does |
//! | --- | --- | --- | --- |
//! | `POST /v2/account/password/reset` | the server key | `email` | has a code sent, if there is such an account |
//! | `POST /v2/account/password/confirm` | the server key | `code`, `password` | sets the password, ends all sessions |
//! | `POST /v2/account/email/verify` | a session | | has a code sent to the account's address |
//! | `POST /v2/account/email/verify/confirm` | the server key | `code` | confirms the address |
//!
//! Codes go to the webhook, as `account.password_reset` and `account.email_verification`, which sends them to their owner.
//! The answer is `{}`.

use super::super::access::Access;
use super::super::{Call, Desk, Preset, Routes, Serve};
use aether_messages::Empty;
use aether_services::Refusal;
use aether_services::account::operation::{
    RequestEmailVerification, RequestPasswordReset, RequestPasswordResetRequest, ResetPassword, ResetPasswordRequest,
    VerifyEmail, VerifyEmailRequest,
};
use http::Method;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .body::<RequestPasswordReset>(Method::POST, "/v2/account/password/reset")
        .body::<ResetPassword>(Method::POST, "/v2/account/password/confirm")
        .address::<RequestEmailVerification>(Method::POST, "/v2/account/email/verify")
        .body::<VerifyEmail>(Method::POST, "/v2/account/email/verify/confirm")
}

impl Serve for RequestPasswordReset {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: Preset = Preset::Login;

    async fn serve(desk: &Desk, call: &Call, request: RequestPasswordResetRequest) -> Result<Empty, Refusal> {
        desk.services().accounts.request_password_reset(&request.email, call.context.address).await?;
        Ok(Empty::default())
    }
}

impl Serve for ResetPassword {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: Preset = Preset::Login;

    async fn serve(desk: &Desk, _: &Call, request: ResetPasswordRequest) -> Result<Empty, Refusal> {
        desk.services().accounts.reset_password(&request.code, request.password).await?;
        Ok(Empty::default())
    }
}

impl Serve for RequestEmailVerification {
    const PRESET: Preset = Preset::Expensive;

    async fn serve(desk: &Desk, call: &Call, _: Empty) -> Result<Empty, Refusal> {
        let user = call.identity()?.user;
        desk.services().accounts.request_email_verification(user, call.context.address).await?;
        Ok(Empty::default())
    }
}

impl Serve for VerifyEmail {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: Preset = Preset::Login;

    async fn serve(desk: &Desk, _: &Call, request: VerifyEmailRequest) -> Result<Empty, Refusal> {
        desk.services().accounts.verify_email(&request.code).await?;
        Ok(Empty::default())
    }
}
