//! Lost passwords and unconfirmed email addresses. The protocol has nothing of this, so these routes are our own; their
//! messages are JSON objects with fields of text.
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
use super::super::answer::{Refused, answer};
use super::super::routes::{read_body, read_json};
use super::super::{Call, Desk, Routes};
use aether_messages::Empty;
use aether_services::Refusal;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, post};
use serde::Deserialize;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .own("/v2/account/password/reset", route(Step::AskPassword))
        .own("/v2/account/password/confirm", route(Step::SetPassword))
        .own("/v2/account/email/verify", route(Step::AskEmail))
        .own("/v2/account/email/verify/confirm", route(Step::ConfirmEmail))
}

/// What is done.
#[derive(Clone, Copy)]
enum Step {
    AskPassword,
    SetPassword,
    AskEmail,
    ConfirmEmail,
}

/// The fields of all steps; each needs some of them.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    email: String,
    code: String,
    password: String,
}

fn route(step: Step) -> MethodRouter<Desk> {
    post(async move |State(desk): State<Desk>, request: Request| -> Response {
        match step.take(&desk, request).await {
            Ok(()) => answer(&Empty::default()),
            Err(refusal) => Refused(refusal).into_response(),
        }
    })
}

impl Step {
    async fn take(self, desk: &Desk, request: Request) -> Result<(), Refusal> {
        let access = match self {
            Step::AskEmail => Access::User,
            Step::AskPassword | Step::SetPassword | Step::ConfirmEmail => Access::ServerKey,
        };
        let call: Call = desk.receive(access, &request)?;
        let fields: Fields = read_json(&read_body(request.into_body()).await?)?;
        let (accounts, address) = (&desk.services().accounts, call.context.address);
        match self {
            Step::AskPassword => accounts.request_password_reset(&fields.email, address).await,
            Step::SetPassword => accounts.reset_password(&fields.code, fields.password).await,
            Step::AskEmail => accounts.request_email_verification(call.identity()?.user, address).await,
            Step::ConfirmEmail => accounts.verify_email(&fields.code).await,
        }
    }
}
