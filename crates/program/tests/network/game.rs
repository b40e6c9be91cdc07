//! A game over reliable UDP between two namespaces, at 5 % loss and a round trip of 100 ms.

use crate::forwarder;
use crate::namespaces::Namespace;
use crate::process::{Reader, program};
use aether_testkit_server::DEADLINE;
use serde_json::Value;
use std::process::Command;
use tokio::time::timeout;

const SERVER: &str = "10.79.2.2";
const CLIENT: &str = "10.79.2.1";
/// Addresses of the forwarder and its client, if there is no netem.
const FORWARDER: &str = "10.79.1.1";
const FAR_CLIENT: &str = "10.79.1.2";
const PORTS: (u16, u16) = (7350, 7352);
const BOTS: u64 = 8;
const SECONDS: u64 = 12;
/// Bots that join per second: a public server allows five guests per second of one address.
const RAMP: &str = "3";

/// Server and client with a bad network between them.
struct Network {
    server: Namespace,
    client: Namespace,
    /// Address by which the client reaches the server.
    address: &'static str,
    _forwarder: Option<(tokio::process::Child, Namespace)>,
}

/// Builds the network, with netem if the kernel has it; none if this machine has no namespaces.
async fn network() -> Option<Network> {
    let namespaces = Namespace::new().and_then(|server| Ok((server, Namespace::new()?)));
    let (server, near) = match namespaces {
        Ok(namespaces) => namespaces,
        Err(reason) => {
            eprintln!("skipped: network namespaces need root and iproute2: {reason}");
            return None;
        }
    };
    let ends = [SERVER, CLIENT].map(|address| format!("{address}/24"));
    let [server_link, client_link] = Namespace::join((&server, &ends[0]), (&near, &ends[1])).expect("a virtual cable");
    if netem(&server, &server_link) && netem(&near, &client_link) {
        println!("the network is made by netem");
        return Some(Network { server, client: near, address: SERVER, _forwarder: None });
    }
    println!("the kernel has no netem: the network is made by a forwarder in user space");
    let client = Namespace::new().expect("a third namespace");
    let ends = [FORWARDER, FAR_CLIENT].map(|address| format!("{address}/24"));
    Namespace::join((&near, &ends[0]), (&client, &ends[1])).expect("a virtual cable");
    let forwarder = forwarder::start(&near, (FORWARDER, SERVER), PORTS).await;
    Some(Network { server, client, address: FORWARDER, _forwarder: Some((forwarder, near)) })
}

/// Adds loss and latency to what an interface sends. Returns false if the kernel cannot.
fn netem(namespace: &Namespace, link: &str) -> bool {
    let conditions = forwarder::CONDITIONS;
    let (delay, loss) = (format!("{}ms", conditions.latency.as_millis()), format!("{}%", conditions.loss * 100.0));
    let arguments = ["-n", namespace.name(), "qdisc", "add", "dev", link, "root", "netem"];
    let added = Command::new("tc").args(arguments).args(["delay", &delay, "loss", &loss]).output();
    added.is_ok_and(|output| output.status.success())
}

async fn play(network: &Network, more: &[&str]) -> Value {
    let data_dir = std::env::temp_dir().join(format!("aether-udp-{}", uuid::Uuid::new_v4().simple()));
    let settings = [
        format!("http.address={SERVER}:{}", PORTS.0),
        // On all addresses, so that clients connect to the address that they know.
        format!("udp.address=0.0.0.0:{}", PORTS.1),
        "http.admin_address=127.0.0.1:0".to_owned(),
        "guests.enabled=true".to_owned(),
        "database.url=memory".to_owned(),
        "log.filter=warn".to_owned(),
    ];
    let mut arguments = vec!["serve", "--data-dir", data_dir.to_str().expect("UTF-8")];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let mut server = Reader::start(&network.server, &arguments);
    assert_eq!(server.next().await["listening"]["http"], format!("{SERVER}:{}", PORTS.0));
    let (address, bots, seconds) =
        (format!("http://{}:{}", network.address, PORTS.0), BOTS.to_string(), SECONDS.to_string());
    let load = ["load", "--address", &address, "--allow-remote", "--transport", "udp", "--bots", &bots, "--per-room"];
    let load = [
        &load[..],
        &[&bots, "--seconds", &seconds, "--ramp", RAMP, "--room-type", "sandbox", "--json", "--quiet"],
        more,
    ]
    .concat();
    let output = network.client.command(program(), &load).output();
    let output = timeout(DEADLINE * 3, output).await.expect("the bots end").expect("`aether load` starts");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}{}", text(&output.stderr), text(&output.stdout));
    let _ = std::fs::remove_dir_all(&data_dir);
    serde_json::from_slice(&output.stdout).expect("a report")
}

#[tokio::test]
async fn bots_play_over_udp_at_5_percent_loss_and_100_ms() {
    let Some(network) = network().await else { return };
    let report = play(&network, &[]).await;
    assert_eq!(report["connected"], BOTS, "{report:#}");
    for nothing in ["failures", "disconnects", "errors"] {
        assert_eq!(report[nothing].as_object().map(|by_reason| by_reason.len()), Some(0), "{report:#}");
    }
    // The latency is at least that of the network; a loaded machine may add to it.
    let number = |name: &str, field: &str| report[name][field].as_f64().expect("a number");
    assert!(number("roundTripMs", "p50") >= 2.0 * forwarder::CONDITIONS.latency.as_millis() as f64, "{report:#}");
    assert!(number("inputToStateMs", "count") > 0.0, "inputs reach the state: {report:#}");
    // A third of the states of a perfect network: 20 per second and bot.
    let expected = BOTS * SECONDS * 20;
    assert!(report["statePackets"].as_u64() > Some(expected / 3), "{report:#}");
    println!("{report:#}");
}

#[tokio::test]
async fn bots_resume_over_udp_on_a_bad_network() {
    let Some(network) = network().await else { return };
    let report = play(&network, &["--churn-seconds", "4"]).await;
    assert_eq!(report["connected"], BOTS, "{report:#}");
    assert!(report["resumes"].as_u64() > Some(0), "{report:#}");
    assert_eq!((&report["resumesAsAnother"], &report["resumesRefused"]), (&0.into(), &0.into()), "{report:#}");
}
