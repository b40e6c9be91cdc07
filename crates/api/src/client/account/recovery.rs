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
