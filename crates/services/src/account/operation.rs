//! Operations of accounts that the protocol has nothing of, with their messages: signing in by a provider of the server's
//! configuration, lost passwords, unconfirmed email addresses, everything that is kept. Hooks run around them as around
//! all others.

use crate::declare::{json_text, names, operations};
use aether_messages::Empty;
use aether_messages::api::Session;
use aether_messages::prost::{self, Message};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a provider of the server's configuration gave to a client.
#[derive(Clone, Debug, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[prost(skip_debug)]
#[serde(default)]
pub struct AccountExternal {
    /// The provider's token.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// Variables that the session is to carry.
    #[prost(btree_map = "string, string", tag = "2")]
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub vars: BTreeMap<String, String>,
}

/// Someone wants to sign in by a provider of the server's configuration.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct AuthenticateExternalRequest {
    /// The provider's name.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// What the provider gave to the client.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountExternal>,
    /// Whether an account is created when there is none; it is, unless this says otherwise.
    #[prost(bool, optional, tag = "3")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub create: Option<bool>,
    /// The username for a new account.
    #[prost(string, tag = "4")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub username: String,
}

/// A way in, by a provider of the server's configuration, that is to be added or taken away.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct LinkExternalRequest {
    /// The provider's name.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub provider: String,
    /// What the provider gave to the client.
    #[prost(message, optional, tag = "2")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub account: Option<AccountExternal>,
}

/// Someone has lost their password.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct RequestPasswordResetRequest {
    /// Their email address.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub email: String,
}

/// A new password.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct ResetPasswordRequest {
    /// The code that was sent.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// The password.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub password: String,
}

/// An email address that is confirmed.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct VerifyEmailRequest {
    /// The code that was sent.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "String::is_empty")]
    pub code: String,
}

/// Everything that is kept about an account.
#[derive(Clone, PartialEq, Eq, Message, Serialize, Deserialize)]
#[prost(prost_path = "prost")]
#[serde(default)]
pub struct AccountExport {
    /// A JSON object: tables by name, as the database has them.
    #[prost(string, tag = "1")]
    #[serde(with = "json_text")]
    pub document: String,
}

names! {
    AccountExport AccountExternal AuthenticateExternalRequest LinkExternalRequest RequestPasswordResetRequest
    ResetPasswordRequest VerifyEmailRequest
}

operations! {
    /// Signs in by a provider of the server's configuration.
    AuthenticateExternal: AuthenticateExternalRequest => Session,
    /// Adds such a way to an account.
    LinkExternal: LinkExternalRequest => Empty,
    /// Takes such a way away.
    UnlinkExternal: LinkExternalRequest => Empty,
    /// Has a code sent with which a new password can be chosen.
    RequestPasswordReset: RequestPasswordResetRequest => Empty,
    /// Chooses it.
    ResetPassword: ResetPasswordRequest => Empty,
    /// Has a code sent with which the email address can be confirmed.
    RequestEmailVerification: Empty => Empty,
    /// Confirms it.
    VerifyEmail: VerifyEmailRequest => Empty,
    /// Tells everything that is kept about the account.
    ExportAccount: Empty => AccountExport,
}
