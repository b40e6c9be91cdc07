//! Password reset and email verification. The protocol has neither; these operations and their messages are extensions
//! of Aether, in [`operation`](aether_services::account::operation).
//!
//! | route | requires | body | effect |
//! | --- | --- | --- | --- |
//! | `POST /v2/account/password/reset` | the server key | `email` | sends a code, if the account exists |
//! | `POST /v2/account/password/confirm` | the server key | `code`, `password` | sets the password, ends all sessions |
//! | `POST /v2/account/email/verify` | a session | | sends a code to the account's address |
//! | `POST /v2/account/email/verify/confirm` | the server key | `code` | confirms the address |
//!
//! Codes go to the webhook as `account.password_reset` and `account.email_verification`; the webhook sends them to the
//! owner. The answer is `{}`.

use super::super::ClientApi;
use crate::routing::Routes;
use aether_services::account::operation::{RequestEmailVerification, RequestPasswordReset, ResetPassword, VerifyEmail};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .body::<RequestPasswordReset>(Method::POST, "/v2/account/password/reset")
        .body::<ResetPassword>(Method::POST, "/v2/account/password/confirm")
        .address::<RequestEmailVerification>(Method::POST, "/v2/account/email/verify")
        .body::<VerifyEmail>(Method::POST, "/v2/account/email/verify/confirm")
}
