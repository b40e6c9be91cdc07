//! Reports and mutes, for operators and moderators.

use super::Admin;
use crate::routing::Routes;
use aether_services::admin::moderation::{GetReport, ListMutes, ListReports, MutePlayer, ResolveReport, UnmutePlayer};
use http::Method;

pub(super) fn routes(routes: Routes<Admin>) -> Routes<Admin> {
    routes
        .address::<ListReports>(Method::GET, "/api/reports")
        .address::<GetReport>(Method::GET, "/api/reports/{report}")
        .field::<ResolveReport, _>(Method::POST, "/api/reports/{report}/resolve", |to, body| to.decision = Some(body))
        .address::<ListMutes>(Method::GET, "/api/mutes")
        .field::<MutePlayer, _>(Method::POST, "/api/players/{player}/mute", |to, body| to.mute = Some(body))
        .address::<UnmutePlayer>(Method::POST, "/api/players/{player}/unmute")
}
