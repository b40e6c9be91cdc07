//! Operations of profiles, which the protocol has nothing of, with their messages. Hooks run around them as around all
//! others.

use super::{NewProfile, Profile, ProfileChange};
use crate::declare::{json_text, names, operations};
use aether_messages::prost::{self, Message};
use aether_messages::{Empty, timestamp};
use serde::{Deserialize, Serialize};

/// A profile as clients see it. All fields are always there.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ShownProfile {
    /// Its id among those of the user.
    #[prost(string, tag = "1")]
    pub id: String,
    /// Its name, for people.
    #[prost(string, tag = "2")]
    pub name: String,
    /// A JSON object, for the game.
    #[prost(string, tag = "3")]
    #[serde(with = "json_text")]
    pub data: String,
    /// Whether it is the one in use.
    #[prost(bool, tag = "4")]
    pub active: bool,
    /// When it was made, by RFC 3339.
    #[prost(string, tag = "5")]
    pub create_time: String,
    /// When it was last changed, by RFC 3339.
    #[prost(string, tag = "6")]
    pub update_time: String,
}

/// All profiles of a user, the oldest first.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ProfileList {
    /// The id of the one in use.
    #[prost(string, tag = "1")]
    pub active: String,
    /// The profiles.
    #[prost(message, repeated, tag = "2")]
    pub profiles: Vec<ShownProfile>,
}

/// Which profile is in use now.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ActiveProfile {
    /// Its id.
    #[prost(string, tag = "1")]
    pub active: String,
}

/// A profile is to be made.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct CreateProfileRequest {
    /// Its id; a random one if none is given.
    #[prost(string, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its name.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// A JSON object; an empty one if none is given.
    #[prost(string, optional, tag = "3")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// What is to be changed about a profile. What is absent stays.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ProfileFields {
    /// Another name.
    #[prost(string, optional, tag = "1")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Another JSON object in place of the one that is there.
    #[prost(string, optional, tag = "2")]
    #[serde(with = "json_text::optional", skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
}

/// A profile is to be changed.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct UpdateProfileRequest {
    /// Which one.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// What about it.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileFields>,
}

/// A profile is meant, by its id.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ProfileRequest {
    /// Which one.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub id: String,
}

names! {
    ActiveProfile CreateProfileRequest ProfileFields ProfileList ProfileRequest ShownProfile UpdateProfileRequest
}

operations! {
    /// Lists the profiles of the user who asks.
    ListProfiles: Empty => ProfileList,
    /// Makes one.
    CreateProfile: CreateProfileRequest => ShownProfile,
    /// Changes one.
    UpdateProfile: UpdateProfileRequest => ShownProfile,
    /// Deletes one.
    DeleteProfile: ProfileRequest => ActiveProfile,
    /// Puts one into use.
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
