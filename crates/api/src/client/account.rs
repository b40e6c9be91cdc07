//! Accounts and users. Signing in is in [`sign_in`], password recovery in [`recovery`].

mod export;
mod recovery;
mod sign_in;

use super::ClientApi;
use crate::routing::Routes;
use aether_messages::operation::{DeleteAccount, GetAccount, GetUsers, UpdateAccount};
use aether_services::account::operation::ExportAccount;
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<GetAccount>(Method::GET, "/v2/account")
        .body::<UpdateAccount>(Method::PUT, "/v2/account")
        .address::<DeleteAccount>(Method::DELETE, "/v2/account")
        .streamed::<ExportAccount>(Method::GET, "/v2/account/export", export::answer)
        .address::<GetUsers>(Method::GET, "/v2/user")
        .with(sign_in::routes)
        .with(recovery::routes)
}
