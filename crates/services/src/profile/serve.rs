//! Handlers of the profile operations.

use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve};
use crate::profile::operation::{
    ActiveProfile, CreateProfile, CreateProfileRequest, DeleteProfile, ListProfiles, ProfileList, ProfileRequest,
    SelectProfile, ShownProfile, UpdateProfile, UpdateProfileRequest,
};
use aether_messages::Empty;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListProfiles>()
        .with::<CreateProfile>()
        .with::<UpdateProfile>()
        .with::<DeleteProfile>()
        .with::<SelectProfile>()
}

impl Serve for ListProfiles {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, _: Empty) -> Result<ProfileList, ServiceError> {
        call.services.profiles.list(call.owner()?).await.map(Into::into)
    }
}

impl Serve for CreateProfile {
    async fn serve(call: &Call<'_>, request: CreateProfileRequest) -> Result<ShownProfile, ServiceError> {
        call.services.profiles.create(call.owner()?, request.into()).await.map(Into::into)
    }
}

impl Serve for UpdateProfile {
    async fn serve(call: &Call<'_>, request: UpdateProfileRequest) -> Result<ShownProfile, ServiceError> {
        let (user, change) = (call.owner()?, request.profile.unwrap_or_default().into());
        call.services.profiles.update(user, &request.id, change).await.map(Into::into)
    }
}

impl Serve for DeleteProfile {
    async fn serve(call: &Call<'_>, request: ProfileRequest) -> Result<ActiveProfile, ServiceError> {
        let active = call.services.profiles.delete(call.owner()?, &request.id).await?;
        Ok(ActiveProfile { active: active.id })
    }
}

impl Serve for SelectProfile {
    async fn serve(call: &Call<'_>, request: ProfileRequest) -> Result<ShownProfile, ServiceError> {
        call.services.profiles.select(call.owner()?, &request.id).await.map(Into::into)
    }
}
