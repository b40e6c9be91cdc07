//! The role of a developer, and tunnels that forward the requests of others to a development server.

use crate::support::ServerSetup;
use aether_testkit_server::ApiClient;
use aether_testkit_store::file;
use serde_json::json;
use std::net::SocketAddr;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Starts a tunnel on this machine, as `ssh -R` has at its end: it forwards bytes and adds no header.
async fn tunnel(to: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move {
        while let Ok((mut visitor, _)) = listener.accept().await {
            let mut server = TcpStream::connect(to).await.expect("the server listens");
            tokio::spawn(async move { copy_bidirectional(&mut visitor, &mut server).await });
        }
    });
    address
}

/// Returns the role that a guest gets.
async fn role(server: SocketAddr, secret: Option<&str>) -> String {
    let mut client = ApiClient::new(server);
    if let Some(secret) = secret {
        client.authorize(format!("Bearer {secret}"));
    }
    let answer = client.post("/api/guest", &json!({})).await.expect("the server answers");
    assert_eq!(answer.status, 200, "{}", answer.body);
    answer.json()["role"].as_str().expect("the answer has a role").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn visitors_through_a_tunnel_are_no_developers_and_the_printed_url_makes_one() {
    let database = file();
    let setup = ServerSetup::new(&database, &[]);
    let server = setup.serve().await;
    let tunnel = tunnel(server.http).await;
    assert_eq!(role(tunnel, None).await, "player");
    assert_eq!(role(tunnel, Some("guess")).await, "player");
    assert_eq!(role(server.http, None).await, "player", "the server cannot tell the two apart");
    let (url, secret) = server.url.split_once("#developer=").expect("the URL has the secret");
    assert_eq!(url, format!("http://{}/", server.http));
    assert_eq!(secret.len(), 32);
    assert_eq!(role(server.http, Some(secret)).await, "developer");
    let former = secret.to_owned();
    server.kill().await;
    let server = setup.serve().await;
    assert_eq!(role(server.http, Some(&former)).await, "developer", "the secret survives a restart");
    server.kill().await;
    // A server behind a known proxy is public: it has no developers, and prints no secret.
    let public = ServerSetup::new(&database, &["http.trusted_proxies=192.0.2.1", "guests.enabled=true"]);
    let server = public.serve().await;
    assert!(!server.url.contains('#'), "{}", server.url);
    server.kill().await;
}
