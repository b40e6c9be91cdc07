//! Setting types of the configuration.

use super::value::{RawValue, SettingValue};
use crate::tokens::Role;
use aether_engine::{IndexKind, UpdateRing, WorldBounds};
use std::fmt;
use std::net::IpAddr;

/// An IP network such as `10.0.0.0/8`, or a single address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IpNetwork {
    address: IpAddr,
    prefix_bits: u8,
}

/// A text that is never printed: not in logs, not by `aether check`, not in debug output.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Origin of pages that may connect, such as `https://play.example.com`, or `*` for any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

/// Name of a node: 1 to 32 lowercase letters, digits and dashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeName(String);

/// Format of log output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LogFormat {
    /// Text on a terminal, JSON otherwise.
    #[default]
    Auto,
    /// Text for people.
    Pretty,
    /// One JSON object per line.
    Json,
}

impl IpNetwork {
    /// Returns the address and the length of the prefix in bits.
    #[must_use]
    pub fn parts(&self) -> (IpAddr, u8) {
        (self.address, self.prefix_bits)
    }

    /// Returns true if the address is in the network. An IPv4-mapped IPv6 address counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        aether_api::shares_prefix(self.address, address, self.prefix_bits)
    }
}

impl std::str::FromStr for IpNetwork {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (address, prefix) = text.split_once('/').map_or((text, None), |(address, prefix)| (address, Some(prefix)));
        let address: IpAddr = address.parse().map_err(|_| ())?;
        let bits_max = if address.is_ipv4() { 32 } else { 128 };
        let prefix_bits = prefix.map_or(Ok(bits_max), |prefix| prefix.parse().map_err(|_| ()))?;
        if prefix_bits <= bits_max { Ok(Self { address, prefix_bits }) } else { Err(()) }
    }
}

impl fmt::Display for IpNetwork {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_one_address = self.prefix_bits == if self.address.is_ipv4() { 32 } else { 128 };
        if is_one_address {
            write!(formatter, "{}", self.address)
        } else {
            write!(formatter, "{}/{}", self.address, self.prefix_bits)
        }
    }
}

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text. Do not print it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("(hidden)")
    }
}

impl Origin {
    /// Returns true if it allows pages that are not served from this machine.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        let host = self.0.split_once("://").map_or(self.0.as_str(), |(_, host)| host);
        !aether_api::is_local_name(host)
    }

    /// Returns true if a page with this `Origin` header may connect.
    #[must_use]
    pub fn allows(&self, header: &str) -> bool {
        aether_api::AllowedOrigins::new(vec![self.0.clone()]).allow(Some(header), "")
    }
}

impl NodeName {
    /// Maximum length. The name is part of every room id.
    pub const CHARACTERS_MAX: usize = 32;

    /// Parses a name. Returns `None` if it is invalid.
    #[must_use]
    pub fn parse(text: &str) -> Option<NodeName> {
        let is_allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name = (1..=Self::CHARACTERS_MAX).contains(&text.len()) && text.bytes().all(is_allowed);
        is_name.then(|| NodeName(text.to_owned()))
    }
}

impl Default for NodeName {
    fn default() -> Self {
        NodeName("local".to_owned())
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl SettingValue for IpNetwork {
    fn expected() -> String {
        "an IP address or a network, such as 10.0.0.0/8".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.text()?.trim().parse().ok()
    }

    fn to_toml(&self) -> String {
        format!("\"{self}\"")
    }
}

impl SettingValue for Secret {
    const IS_SECRET: bool = true;

    fn expected() -> String {
        "a non-empty string".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        String::parse_raw(raw).map(Self)
    }

    fn to_toml(&self) -> String {
        "(hidden)".to_owned()
    }
}

impl SettingValue for Origin {
    fn expected() -> String {
        "an origin such as https://play.example.com without a path, or *".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        let text = raw.text()?.trim();
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_origin = host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']));
        (text == "*" || is_origin).then(|| Self(text.to_owned()))
    }

    fn to_toml(&self) -> String {
        format!("{:?}", self.0)
    }
}

impl SettingValue for NodeName {
    fn expected() -> String {
        format!("1 to {} lowercase letters, digits and dashes", Self::CHARACTERS_MAX)
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        Self::parse(raw.text()?.trim())
    }

    fn to_toml(&self) -> String {
        format!("\"{self}\"")
    }
}

impl SettingValue for LogFormat {
    fn expected() -> String {
        "auto, pretty or json".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        match raw.text()? {
            "auto" => Some(Self::Auto),
            "pretty" => Some(Self::Pretty),
            "json" => Some(Self::Json),
            _ => None,
        }
    }

    fn to_toml(&self) -> String {
        match self {
            Self::Auto => "\"auto\"",
            Self::Pretty => "\"pretty\"",
            Self::Json => "\"json\"",
        }
        .to_owned()
    }
}

impl SettingValue for WorldBounds {
    fn expected() -> String {
        "a list of four numbers, [minimum x, minimum y, maximum x, maximum y], each minimum below its maximum"
            .to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        let [min_x, min_y, max_x, max_y] = Vec::<f32>::parse_raw(raw)?.try_into().ok()?;
        let bounds = WorldBounds { min: [min_x, min_y], max: [max_x, max_y] };
        bounds.validate().is_ok().then_some(bounds)
    }

    fn to_toml(&self) -> String {
        [self.min, self.max].concat().to_toml()
    }
}

impl SettingValue for UpdateRing {
    fn expected() -> String {
        "a ring as \"distance:interval\", such as \"100:2\", with an interval of at least 1".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        let (distance, interval) = raw.text()?.split_once(':')?;
        let ring = UpdateRing { distance: distance.trim().parse().ok()?, interval: interval.trim().parse().ok()? };
        (ring.distance >= 0.0 && ring.distance.is_finite() && ring.interval >= 1).then_some(ring)
    }

    fn to_toml(&self) -> String {
        format!("\"{}:{}\"", self.distance, self.interval)
    }
}

impl SettingValue for IndexKind {
    fn expected() -> String {
        "grid or quadtree".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        match raw.text()? {
            "grid" => Some(IndexKind::Grid),
            "quadtree" => Some(IndexKind::Quadtree),
            _ => None,
        }
    }

    fn to_toml(&self) -> String {
        match self {
            IndexKind::Grid => "\"grid\"",
            IndexKind::Quadtree => "\"quadtree\"",
        }
        .to_owned()
    }
}

impl SettingValue for Role {
    fn expected() -> String {
        "admin, developer, moderator, read-only or player".to_owned()
    }

    fn parse_raw(raw: &RawValue) -> Option<Self> {
        raw.text()?.parse().ok()
    }

    fn to_toml(&self) -> String {
        format!("\"{self}\"")
    }
}
