//! Brackets, for operators.

use super::Admin;
use crate::routing::Routes;
use aether_services::bracket::operator::{CreateBracket, DeleteBracket, ResolveBracketMatch, StartBracket};
use http::Method;

pub(super) fn routes(routes: Routes<Admin>) -> Routes<Admin> {
    routes
        .body::<CreateBracket>(Method::POST, "/api/brackets")
        .address::<DeleteBracket>(Method::DELETE, "/api/brackets/{id}")
        .address::<StartBracket>(Method::POST, "/api/brackets/{id}/start")
        .field::<ResolveBracketMatch, _>(Method::POST, "/api/brackets/{id}/match/{number}/resolve", |to, body| {
            to.result = Some(body);
        })
}
