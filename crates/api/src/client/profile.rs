//! Profiles: the characters of the calling user. The protocol has no profiles; these operations and their messages are
//! extensions of Aether, in [`operation`](aether_services::profile::operation).
//!
//! | route | body | answer |
//! | --- | --- | --- |
//! | `GET /v2/profile` | | `{"active": id, "profiles": [profile, …]}`, the oldest first |
//! | `POST /v2/profile` | `{"name": text, "id": text, "data": object}`; the name is required | the new profile |
//! | `PUT /v2/profile/{id}` | `{"name": text, "data": object}`; absent fields stay unchanged | the changed profile |
//! | `DELETE /v2/profile/{id}` | | `{"active": id}`: the active profile afterwards |
//! | `POST /v2/profile/{id}/select` | | the profile, now active |
//!
//! A profile always has all fields:
//! `{"id": text, "name": text, "data": object, "active": boolean, "create_time": time, "update_time": time}`.

use super::ClientApi;
use crate::routing::Routes;
use aether_services::profile::operation::{CreateProfile, DeleteProfile, ListProfiles, SelectProfile, UpdateProfile};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<ListProfiles>(Method::GET, "/v2/profile")
        .body::<CreateProfile>(Method::POST, "/v2/profile")
        .field::<UpdateProfile, _>(Method::PUT, "/v2/profile/{id}", |to, body| to.profile = Some(body))
        .address::<DeleteProfile>(Method::DELETE, "/v2/profile/{id}")
        .address::<SelectProfile>(Method::POST, "/v2/profile/{id}/select")
}
