//! Account operations that extend the Nakama protocol, with their messages: sign-in with a configured provider, lost
//! passwords, email verification, data export. Hooks run for them as for all others.

use crate::declare::{json_text, names, operations};
use aether_messages::Empty;
use aether_messages::api::Session;
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Proof from a configured provider.
#[derive(Clone, Debug, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[prost(skip_debug)]
#[serde(default)]
pub struct AccountExternal {
    /// Token of the provider.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// Session variables.
    #[prost(btree_map = "string, string", tag = "2")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, String>,
}

/// Signs in with a configured provider.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct AuthenticateExternalRequest {
    /// Name of the provider.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Proof that the client got from the provider.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountExternal>,
    /// True to create a missing account. The default.
    #[prost(bool, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<bool>,
    /// Username of a new account.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub username: String,
}

/// Links or unlinks an identity of a configured provider.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct LinkExternalRequest {
    /// Name of the provider.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// Proof that the client got from the provider.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountExternal>,
}

/// Requests a password reset.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RequestPasswordResetRequest {
    /// Email address.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
}

/// Sets a new password.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ResetPasswordRequest {
    /// Code that was sent.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Password.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub password: String,
}

/// Verifies an email address.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct VerifyEmailRequest {
    /// Code that was sent.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
}

/// All stored data of an account. Interfaces stream the document ([`Accounts::export`](super::Accounts::export)) after the
/// hooks have run; hooks and server code get an empty one.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct AccountExport {
    /// JSON object: tables by name, as in the database.
    #[prost(string, tag = "1")]
    #[serde(with = "json_text")]
    pub document: String,
}

names! {
    AccountExport AccountExternal AuthenticateExternalRequest LinkExternalRequest RequestPasswordResetRequest
    ResetPasswordRequest VerifyEmailRequest
}

operations! {
    /// Signs in with a configured provider.
    AuthenticateExternal: AuthenticateExternalRequest => Session,
    /// Links an identity of a configured provider.
    LinkExternal: LinkExternalRequest => Empty,
    /// Unlinks an identity of a configured provider.
    UnlinkExternal: LinkExternalRequest => Empty,
    /// Sends a code for choosing a new password.
    RequestPasswordReset: RequestPasswordResetRequest => Empty,
    /// Sets a new password with a code.
    ResetPassword: ResetPasswordRequest => Empty,
    /// Sends a code for verifying the email address.
    RequestEmailVerification: Empty => Empty,
    /// Verifies the email address with a code.
    VerifyEmail: VerifyEmailRequest => Empty,
    /// Returns all stored data of the account.
    ExportAccount: Empty => AccountExport,
}
