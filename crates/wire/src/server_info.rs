//! Answer of `GET /api/server`, as JSON. Clients read it before they connect.

use serde::{Deserialize, Serialize};

/// Public description of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerInfo {
    /// Version of the server.
    pub version: String,
    /// Version of the protocol.
    pub protocol: u32,
    /// Room types that clients can join.
    pub room_types: Vec<RoomTypeInfo>,
    /// Endpoint of WebTransport, if it is enabled.
    pub web_transport: Option<WebTransportInfo>,
    /// Endpoint of reliable UDP, if it is enabled. Clients get its connect tokens from `POST /api/udp`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp: Option<UdpInfo>,
    /// True if guests may play without an account.
    pub guests: bool,
}

/// Description of a room type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoomTypeInfo {
    /// Name of the type.
    pub name: String,
    /// Ticks per second; 0 for a relay room.
    pub tick_hz: u32,
    /// Snapshots per second; 0 for a relay room.
    pub snapshot_hz: u32,
    /// Upper bound of players in one room.
    pub players_max: usize,
}

/// Endpoint of WebTransport.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WebTransportInfo {
    /// Address to connect to.
    pub url: String,
    /// SHA-256 hash of a self-signed certificate, in base64. A browser needs it to trust the certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_hash: Option<String>,
}

/// Endpoint of reliable UDP. Its host is the one of the HTTP interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UdpInfo {
    /// UDP port.
    pub port: u16,
}

/// Answer of `POST /api/udp`: everything that a client needs to connect over reliable UDP.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UdpGrant {
    /// Host and port to connect to.
    pub address: String,
    /// Connect token in base64url without padding. It opens one connection.
    pub token: String,
    /// Expiry of the connect token, in seconds since 1970.
    pub expires: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> ServerInfo {
        ServerInfo {
            version: "0.1.0".to_owned(),
            protocol: 2,
            room_types: vec![RoomTypeInfo {
                name: "sandbox".to_owned(),
                tick_hz: 40,
                snapshot_hz: 20,
                players_max: 64,
            }],
            web_transport: None,
            udp: None,
            guests: true,
        }
    }

    #[test]
    fn the_json_of_a_server_is_as_documented() {
        let plain = r#"{"version":"0.1.0","protocol":2,"roomTypes":[{"name":"sandbox","tickHz":40,"snapshotHz":20,"playersMax":64}],"webTransport":null,"guests":true}"#;
        assert_eq!(serde_json::to_string(&info()).expect("serializes"), plain);
        assert_eq!(serde_json::from_str::<ServerInfo>(plain).expect("deserializes"), info());
    }

    #[test]
    fn a_certificate_hash_is_written_only_if_there_is_one() {
        let mut endpoint = WebTransportInfo { url: "https://a:1/rt".to_owned(), certificate_hash: None };
        assert_eq!(serde_json::to_string(&endpoint).expect("serializes"), r#"{"url":"https://a:1/rt"}"#);
        endpoint.certificate_hash = Some("aGFzaA==".to_owned());
        let json = serde_json::to_string(&endpoint).expect("serializes");
        assert_eq!(json, r#"{"url":"https://a:1/rt","certificateHash":"aGFzaA=="}"#);
        assert_eq!(serde_json::from_str::<WebTransportInfo>(&json).expect("deserializes"), endpoint);
    }

    #[test]
    fn the_endpoint_of_udp_is_written_only_if_there_is_one() {
        let offered = ServerInfo { udp: Some(UdpInfo { port: 7352 }), ..info() };
        let json = serde_json::to_string(&offered).expect("serializes");
        assert!(json.contains(r#""webTransport":null,"udp":{"port":7352},"guests":true"#), "{json}");
        assert_eq!(serde_json::from_str::<ServerInfo>(&json).expect("deserializes"), offered);
    }

    #[test]
    fn unknown_fields_are_ignored_and_missing_ones_have_defaults() {
        let json = r#"{"mood":"sunny","webTransport":{"url":"https://a:1/rt","port":1}}"#;
        let read: ServerInfo = serde_json::from_str(json).expect("deserializes");
        let endpoint = WebTransportInfo { url: "https://a:1/rt".to_owned(), certificate_hash: None };
        assert_eq!(read, ServerInfo { web_transport: Some(endpoint), ..ServerInfo::default() });
        assert_eq!(serde_json::from_str::<ServerInfo>("{}").expect("deserializes"), ServerInfo::default());
        assert!(serde_json::from_str::<WebTransportInfo>("{}").is_err(), "the address is required");
    }
}
