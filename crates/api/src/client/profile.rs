//! Profiles: the characters of the user who asks. The protocol has nothing of this, so these operations are our own, and so
//! are their messages, in [`operation`](aether_services::profile::operation).
//!
//! | route | body | answer |
//! | --- | --- | --- |
//! | `GET /v2/profile` | | `{"active": id, "profiles": [profile, …]}`, the oldest first |
//! | `POST /v2/profile` | `{"name": text, "id": text, "data": object}`; a name is required | the new profile |
//! | `PUT /v2/profile/{id}` | `{"name": text, "data": object}`; what is absent stays | the changed profile |
//! | `DELETE /v2/profile/{id}` | | `{"active": id}`: the profile that is active now |
//! | `POST /v2/profile/{id}/select` | | the profile, which is active now |
//!
//! A profile is `{"id": text, "name": text, "data": object, "active": boolean, "create_time": time, "update_time": time}`,
//! with all fields always there.

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
