//! Operations of profiles, which extend the Nakama protocol, with their messages. Hooks run for them as for all others.

use super::{NewProfile, Profile, ProfileChange};
use crate::declare::{json_text, names, operations};
use aether_messages::prost::{self, Message};
use aether_messages::{Empty, timestamp};
use serde::{Deserialize, Serialize};

/// Profile as clients see it. All fields are always present.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownProfile {
    /// Id, unique per user.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Display name.
    #[prost(string, tag = "2")]
    pub name: String,
    /// JSON object for the game.
    #[prost(string, tag = "3")]
    #[serde(with = "json_text")]
    pub data: String,
    /// True for the active profile.
    #[prost(bool, tag = "4")]
    pub active: bool,
    /// Creation time, by RFC 3339.
    #[prost(string, tag = "5")]
    pub create_time: String,
    /// Time of the last change, by RFC 3339.
    #[prost(string, tag = "6")]
    pub update_time: String,
}

/// All profiles of a user, oldest first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ProfileList {
    /// Id of the active profile.
    #[prost(string, tag = "1")]
    pub active: String,
    /// Profiles.
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<ShownProfile>,
}

/// The active profile.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ActiveProfile {
    /// Id.
    #[prost(string, tag = "1")]
    pub active: String,
}

/// Creates a profile.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct CreateProfileRequest {
    /// Id. A random one if absent.
    #[prost(string, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Display name.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// JSON object. An empty one if absent.
    #[prost(string, optional, tag = "3")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// Changes to a profile. Absent fields stay as they are.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ProfileFields {
    /// New name.
    #[prost(string, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// New JSON object.
    #[prost(string, optional, tag = "2")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// Changes a profile.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct UpdateProfileRequest {
    /// Id of the profile.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Changes.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileFields>,
}

/// Names a profile.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ProfileRequest {
    /// Id of the profile.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
}

names! {
    ActiveProfile CreateProfileRequest ProfileFields ProfileList ProfileRequest ShownProfile UpdateProfileRequest
}

operations! {
    /// Lists the profiles of the caller.
    ListProfiles: Empty => ProfileList,
    /// Creates a profile.
    CreateProfile: CreateProfileRequest => ShownProfile,
    /// Changes a profile.
    UpdateProfile: UpdateProfileRequest => ShownProfile,
    /// Deletes a profile.
    DeleteProfile: ProfileRequest => ActiveProfile,
    /// Selects the active profile.
    SelectProfile: ProfileRequest => ShownProfile,
}

impl From<Profile> for ShownProfile {
    fn from(profile: Profile) -> ShownProfile {
        ShownProfile {
            id: profile.id,
            name: profile.name,
            data: profile.data,
            active: profile.is_active,
            create_time: timestamp(profile.created_at_ms).to_string(),
            update_time: timestamp(profile.updated_at_ms).to_string(),
        }
    }
}

impl From<Vec<Profile>> for ProfileList {
    fn from(profiles: Vec<Profile>) -> ProfileList {
        let active = profiles.iter().find(|profile| profile.is_active).map(|profile| profile.id.clone());
        ProfileList { active: active.unwrap_or_default(), profiles: profiles.into_iter().map(Into::into).collect() }
    }
}

impl From<CreateProfileRequest> for NewProfile {
    fn from(request: CreateProfileRequest) -> NewProfile {
        NewProfile { id: request.id, name: request.name, data: request.data }
    }
}

impl From<ProfileFields> for ProfileChange {
    fn from(fields: ProfileFields) -> ProfileChange {
        ProfileChange { name: fields.name, data: fields.data }
    }
}
