//! Sign-in by a device id, for players with an account but without a password.

use std::fmt::{self, Debug, Formatter, Write as _};
use std::time::Duration;

use aether_wire::Token;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use tokio::io::AsyncWriteExt as _;

use crate::connector::Connector;
use crate::error::ConnectionError;
use crate::http::{HttpError, parse, read_to_end};

/// Longest wait for a response.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(10);

/// Identity of a device. Its id is a secret: whoever knows it can sign in.
#[derive(Clone)]
pub struct DeviceSignIn {
    /// Id of the device: 10 to 128 characters.
    pub id: String,
    /// Username of the account, if the first sign-in creates it.
    pub username: String,
    /// Setting `api.server_key` of the server.
    pub server_key: String,
}

impl Debug for DeviceSignIn {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("DeviceSignIn").field("username", &self.username).finish_non_exhaustive()
    }
}

impl Connector {
    /// Signs in by a device id and returns an access token. The first sign-in creates the account; it fails with status
    /// 409 if the username belongs to another account.
    pub async fn device_token(&self, sign_in: &DeviceSignIn) -> Result<Token, ConnectionError> {
        #[derive(Deserialize)]
        struct Session {
            token: Token,
        }
        let answer = tokio::time::timeout(ANSWER_TIME_MAX, self.post_device(sign_in));
        let answer = answer.await.map_err(|_| HttpError::TimedOut)??;
        let (status, body) = parse(&answer).ok_or(HttpError::Malformed)?;
        if status != 200 {
            return Err(HttpError::Status(status).into());
        }
        let session: Session = serde_json::from_slice(body).map_err(|_| HttpError::Malformed)?;
        Ok(session.token)
    }

    async fn post_device(&self, sign_in: &DeviceSignIn) -> Result<Vec<u8>, ConnectionError> {
        let authority = self.address().authority();
        let username = percent_encoded(&sign_in.username);
        let key = STANDARD.encode(format!("{}:", sign_in.server_key));
        let body = serde_json::json!({ "id": sign_in.id }).to_string();
        let request = format!(
            "POST /v2/account/authenticate/device?create=true&username={username} HTTP/1.1\r\nHost: {authority}\r\n\
             Authorization: Basic {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Accept: application/json\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        let mut stream = self.stream().await?;
        stream.write_all(request.as_bytes()).await?;
        stream.flush().await?;
        read_to_end(stream).await
    }
}

/// Encodes a value of a query.
fn percent_encoded(value: &str) -> String {
    let mut encoded = String::new();
    for byte in value.bytes() {
        match byte {
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'-' | b'.' | b'_' | b'~' => encoded.push(byte.into()),
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_query_are_encoded() {
        assert_eq!(percent_encoded("Ann-1_2.~"), "Ann-1_2.~");
        assert_eq!(percent_encoded("a b&c=d/ü\r\n"), "a%20b%26c%3Dd%2F%C3%BC%0D%0A");
    }

    #[test]
    fn the_id_of_a_device_is_not_printed() {
        let sign_in = DeviceSignIn { id: "secret-id".into(), username: "ann".into(), server_key: "key".into() };
        assert!(!format!("{sign_in:?}").contains("secret"));
    }
}
