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

use super::{Call, Desk, Preset, Routes, Serve};
use aether_messages::Empty;
use aether_services::Refusal;
use aether_services::profile::operation::{
    ActiveProfile, CreateProfile, CreateProfileRequest, DeleteProfile, ListProfiles, ProfileList, ProfileRequest,
    SelectProfile, ShownProfile, UpdateProfile, UpdateProfileRequest,
};
use http::Method;

pub(super) fn routes(routes: Routes) -> Routes {
    routes
        .address::<ListProfiles>(Method::GET, "/v2/profile")
        .body::<CreateProfile>(Method::POST, "/v2/profile")
        .field::<UpdateProfile, _>(Method::PUT, "/v2/profile/{id}", |to, body| to.profile = Some(body))
        .address::<DeleteProfile>(Method::DELETE, "/v2/profile/{id}")
        .address::<SelectProfile>(Method::POST, "/v2/profile/{id}/select")
}

impl Serve for ListProfiles {
    const PRESET: Preset = Preset::Read;

    async fn serve(desk: &Desk, call: &Call, _: Empty) -> Result<ProfileList, Refusal> {
        desk.services().profiles.list(call.identity()?.user).await.map(Into::into)
    }
}

impl Serve for CreateProfile {
    async fn serve(desk: &Desk, call: &Call, request: CreateProfileRequest) -> Result<ShownProfile, Refusal> {
        desk.services().profiles.create(call.identity()?.user, request.into()).await.map(Into::into)
    }
}

impl Serve for UpdateProfile {
    async fn serve(desk: &Desk, call: &Call, request: UpdateProfileRequest) -> Result<ShownProfile, Refusal> {
        let (user, change) = (call.identity()?.user, request.profile.unwrap_or_default().into());
        desk.services().profiles.update(user, &request.id, change).await.map(Into::into)
    }
}

impl Serve for DeleteProfile {
    async fn serve(desk: &Desk, call: &Call, request: ProfileRequest) -> Result<ActiveProfile, Refusal> {
        let active = desk.services().profiles.delete(call.identity()?.user, &request.id).await?;
        Ok(ActiveProfile { active: active.id })
    }
}

impl Serve for SelectProfile {
    async fn serve(desk: &Desk, call: &Call, request: ProfileRequest) -> Result<ShownProfile, Refusal> {
        desk.services().profiles.select(call.identity()?.user, &request.id).await.map(Into::into)
    }
}
