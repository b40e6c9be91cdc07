//! Local network: a server in one namespace, those who look for it and watch its rooms in another.

use crate::namespaces::Namespace;
use crate::process::{Reader, program};
use aether_testkit_server::DEADLINE;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use tokio::time::timeout;

const SERVER: &str = "10.77.0.1";
const VIEWER: &str = "10.77.0.2";

/// Two namespaces with a server in the first one, and bots that play there.
struct Lan {
    viewers: Namespace,
    _server: Reader,
    _bots: Reader,
    data_dir: PathBuf,
    _servers: Namespace,
}

impl Drop for Lan {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.data_dir);
    }
}

/// Starts everything; none if this machine has no namespaces.
async fn lan() -> Option<Lan> {
    let namespaces = Namespace::new().and_then(|servers| Ok((servers, Namespace::new()?)));
    let (servers, viewers) = match namespaces {
        Ok(namespaces) => namespaces,
        Err(reason) => {
            eprintln!("skipped: network namespaces need root and iproute2: {reason}");
            return None;
        }
    };
    let addresses = [SERVER, VIEWER].map(|address| format!("{address}/24"));
    Namespace::join((&servers, &addresses[0]), (&viewers, &addresses[1])).expect("a virtual cable");
    let data_dir = std::env::temp_dir().join(format!("aether-lan-{}", uuid::Uuid::new_v4().simple()));
    let settings = [
        format!("http.address={SERVER}:7350"),
        format!("multicast.interface={SERVER}"),
        "http.admin_address=127.0.0.1:0".to_owned(),
        "multicast.enabled=true".to_owned(),
        "multicast.name=Den".to_owned(),
        "multicast.spectate=sandbox".to_owned(),
        "guests.enabled=true".to_owned(),
        "database.url=memory".to_owned(),
        "log.filter=warn".to_owned(),
    ];
    let mut arguments = vec!["serve", "--data-dir", data_dir.to_str().expect("UTF-8")];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    let mut server = Reader::start(&servers, &arguments);
    assert_eq!(server.next().await["listening"]["http"], format!("{SERVER}:7350"));
    let address = format!("http://{SERVER}:7350");
    let bots = ["load", "--address", &address, "--allow-remote", "--bots", "6", "--per-room", "6", "--ramp", "3"];
    let bots =
        Reader::start(&servers, &[&bots[..], &["--seconds", "600", "--room-type", "sandbox", "--quiet"]].concat());
    Some(Lan { viewers, _server: server, _bots: bots, data_dir, _servers: servers })
}

impl Lan {
    /// Runs `aether find` in the namespace of the viewers.
    async fn find(&self, name: &str) -> Value {
        let arguments = ["find", name, "--json", "--interface", VIEWER, "--seconds", "0.7"];
        let output = self.viewers.command(program(), &arguments).output();
        let output = timeout(DEADLINE, output).await.expect("the search ends").expect("`aether find` starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Searches until a room is found, and returns its server.
    async fn find_room(&self, name: &str) -> Value {
        let search = async {
            loop {
                let found = self.find(name).await;
                if found[0]["rooms"][0]["players"].as_u64().is_some_and(|players| players > 0) {
                    return found[0].clone();
                }
            }
        };
        timeout(DEADLINE, search).await.expect("a room is found")
    }

    fn watch(&self, more: &[&str]) -> Reader {
        let arguments = [&["spectate", "sandbox", "--json", "--interface", VIEWER][..], more].concat();
        Reader::start(&self.viewers, &arguments)
    }
}

#[tokio::test]
async fn servers_and_rooms_are_found_by_name_from_another_machine() {
    let Some(lan) = lan().await else { return };
    let server = lan.find_room("").await;
    assert_eq!(server["name"], "Den");
    assert_eq!(server["address"], format!("http://{SERVER}:7350"));
    assert!(server["roomTypes"].as_array().is_some_and(|types| types.contains(&"sandbox".into())));
    let room = &server["rooms"][0];
    assert_eq!(
        (&room["type"], &room["label"], &room["canWatch"]),
        (&"sandbox".into(), &"sandbox".into(), &true.into())
    );
    for name in ["den", "SANDBOX", room["code"].as_str().expect("a code")] {
        assert_eq!(lan.find(name).await[0]["key"], server["key"], "{name}");
    }
    assert_eq!(lan.find("no such name").await, Value::Array(Vec::new()));
}

#[tokio::test]
async fn two_viewers_with_loss_and_a_late_one_see_the_same_states() {
    let Some(lan) = lan().await else { return };
    lan.find_room("sandbox").await;
    let (mut first, mut lossy) = (lan.watch(&[]), lan.watch(&["--loss", "0.2"]));
    // The third one comes when the stream runs.
    let mut seen = [first.next().await, lossy.next().await].map(|line| BTreeMap::from([hash_at(&line)]));
    let mut late = lan.watch(&[]);
    let mut seen_late = BTreeMap::from([hash_at(&late.next().await)]);
    // Twice the frames that the lossy one may miss.
    for _ in 0..12 {
        let lines = [first.next().await, lossy.next().await, late.next().await];
        assert!(lines.iter().all(|line| line["entities"].as_u64() >= Some(6)), "{lines:?}");
        assert!(lines.iter().all(|line| line["forged"] == 0), "{lines:?}");
        seen[0].extend([hash_at(&lines[0])]);
        seen[1].extend([hash_at(&lines[1])]);
        seen_late.extend([hash_at(&lines[2])]);
    }
    for (name, others) in [("lossy", &seen[1]), ("late", &seen_late)] {
        let both: Vec<_> = others.iter().filter(|(tick, _)| seen[0].contains_key(*tick)).collect();
        assert!(both.len() >= 3, "{name} has no frames of the first viewer: {others:?} {:?}", seen[0]);
        assert!(both.iter().all(|(tick, hash)| seen[0].get(*tick) == Some(hash)), "{name}");
    }
    let distinct = seen[0].values().collect::<std::collections::BTreeSet<_>>();
    assert!(distinct.len() > 3, "the bots move");
}

fn hash_at(line: &Value) -> (u64, String) {
    (line["tick"].as_u64().expect("a tick"), line["hash"].as_str().expect("a hash").to_owned())
}
