//! Membership of matches against a model: lists that are searched for every question.

use aether_server::services::matches::{JoinMatch, MatchSelector, MatchVisitor, Matches, SentData, relayed_stream};
use aether_server::services::router::{OpenSocket, OutboxItem, Router, Shown, SocketSession};
use aether_server::services::session::tokens::Role;
use aether_server::services::socket::SocketFormat;
use aether_server::services::{GrpcCode, Services, UserIdentity};
use aether_testkit_server::{DEADLINE, TestServer};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use uuid::Uuid;

const SESSIONS: u8 = 4;
const USERS: u8 = 3;
const MATCHES: u8 = 2;

#[derive(Clone, Debug)]
enum Step {
    Join {
        session: u8,
        of: u8,
    },
    Leave {
        session: u8,
        of: u8,
    },
    /// The socket ends, and another one of the same user connects.
    Reconnect(u8),
    Kick {
        user: u8,
        of: u8,
    },
    Send {
        session: u8,
        of: u8,
        to: Option<u8>,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let (session, of) = (0..SESSIONS, 0..MATCHES);
    let step = prop_oneof![
        4 => (session.clone(), of.clone()).prop_map(|(session, of)| Step::Join { session, of }),
        2 => (session.clone(), of.clone()).prop_map(|(session, of)| Step::Leave { session, of }),
        1 => session.clone().prop_map(Step::Reconnect),
        1 => (0..USERS, of.clone()).prop_map(|(user, of)| Step::Kick { user, of }),
        3 => (session, of, proptest::option::of(0..SESSIONS)).prop_map(|(session, of, to)| Step::Send { session, of, to }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// Sessions, matches and what each session received, beside the model.
struct World {
    services: Arc<Services>,
    matches: Arc<dyn Matches>,
    ids: Vec<Uuid>,
    users: Vec<Uuid>,
    open: Vec<OpenSocket>,
    /// Model: members of each match, and the data that each session has to get.
    members: Vec<BTreeSet<u8>>,
    expected: BTreeMap<u8, Vec<Vec<u8>>>,
    sent: u32,
}

fn identity(user: Uuid) -> Arc<UserIdentity> {
    Arc::new(UserIdentity {
        user,
        username: user.to_string(),
        session: Uuid::new_v4(),
        variables: BTreeMap::new(),
        role: Role::Player,
        issued_at: 0,
        expires_at: u64::MAX,
    })
}

fn connect(router: &Arc<Router>, user: Uuid) -> OpenSocket {
    let socket = SocketSession { session: Uuid::new_v4(), user, username: "player".into(), node: "node".into() };
    router.open(socket).expect("the session is new")
}

impl World {
    fn new(services: &Arc<Services>) -> World {
        let users: Vec<Uuid> = (0..USERS).map(|_| Uuid::new_v4()).collect();
        let open = (0..SESSIONS).map(|session| connect(&services.router, users[usize::from(session % USERS)]));
        World {
            matches: services.matches().expect("rooms are hosted"),
            ids: (0..MATCHES).map(|_| Uuid::new_v4()).collect(),
            open: open.collect(),
            services: Arc::clone(services),
            users,
            members: vec![BTreeSet::new(); usize::from(MATCHES)],
            expected: BTreeMap::new(),
            sent: 0,
        }
    }

    fn id(&self, of: u8) -> String {
        format!("{}.", self.ids[usize::from(of)])
    }

    fn session(&self, session: u8) -> Uuid {
        self.open[usize::from(session)].socket.session
    }

    /// Sessions of the members, as the server should list them.
    fn listed(&self, of: u8) -> BTreeSet<String> {
        self.members[usize::from(of)].iter().map(|session| self.session(*session).to_string()).collect()
    }

    async fn run(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match *step {
            Step::Join { session, of } => {
                let is_new = !self.members[usize::from(of)].contains(&session);
                let others = self.listed(of);
                let socket = self.open[usize::from(session)].socket.clone();
                let visitor =
                    MatchVisitor { identity: identity(socket.user), socket, address: IpAddr::V4(Ipv4Addr::LOCALHOST) };
                let selector = MatchSelector::Relayed(self.ids[usize::from(of)]);
                let joined = self.matches.join(JoinMatch { visitor, selector, metadata: BTreeMap::new() }).await;
                let joined = joined.expect("the match has room");
                let shown: BTreeSet<String> = joined.presences.into_iter().map(|it| it.session_id).collect();
                prop_assert_eq!(shown, others, "a new member is not in the list, an old one is");
                self.members[usize::from(of)].insert(session);
                prop_assert_eq!(joined.size as usize, self.members[usize::from(of)].len(), "new: {}", is_new);
            }
            Step::Leave { session, of } => {
                let left = self.matches.leave(&self.id(of), self.session(session));
                let was_member = self.members[usize::from(of)].remove(&session);
                prop_assert_eq!(left.is_ok(), was_member);
            }
            Step::Reconnect(session) => {
                let user = self.open[usize::from(session)].socket.user;
                self.check_data().await?;
                self.open[usize::from(session)] = connect(&self.services.router, user);
                for members in &mut self.members {
                    members.remove(&session);
                }
            }
            Step::Kick { user, of } => {
                let kicked = self.matches.kick(&self.id(of), self.users[usize::from(user)]);
                let of_user: Vec<u8> =
                    self.members[usize::from(of)].iter().filter(|session| *session % USERS == user).copied().collect();
                self.members[usize::from(of)].retain(|session| session % USERS != user);
                match kicked {
                    Ok(players) => prop_assert_eq!(players, of_user.len()),
                    Err(error) => prop_assert_eq!(error.code, GrpcCode::NotFound, "nobody has opened it"),
                }
            }
            Step::Send { session, of, to } => self.send(session, of, to)?,
        }
        Ok(())
    }

    fn send(&mut self, session: u8, of: u8, to: Option<u8>) -> Result<(), TestCaseError> {
        self.sent += 1;
        let data = self.sent.to_le_bytes();
        let receivers: Vec<Uuid> = to.map(|to| self.session(to)).into_iter().collect();
        let sent = SentData { op_code: 1, data: &data, receivers: &receivers, is_reliable: true };
        let outcome = self.matches.send(&self.id(of), self.session(session), &sent);
        let members = &self.members[usize::from(of)];
        prop_assert_eq!(outcome.is_ok(), members.contains(&session), "only members send");
        if outcome.is_ok() {
            let others = members.iter().filter(|other| **other != session && to.is_none_or(|to| to == **other));
            for other in others {
                self.expected.entry(*other).or_default().push(data.to_vec());
            }
        }
        Ok(())
    }

    /// Waits for the data that each session has to get, and compares all of it. Members who left in the meantime may miss
    /// the last data, so this is called before they do.
    async fn check_data(&mut self) -> Result<(), TestCaseError> {
        for (session, expected) in std::mem::take(&mut self.expected) {
            let outbox = &self.open[usize::from(session)].outbox;
            let mut got = Vec::new();
            let received = async {
                while got.len() < expected.len() {
                    match outbox.take() {
                        Some(item) => got.extend(data_of(item)),
                        None => tokio::time::sleep(Duration::from_millis(1)).await,
                    }
                }
            };
            let in_time = timeout(DEADLINE, received).await;
            prop_assert!(in_time.is_ok(), "session {} got {:?} of {:?}", session, got, expected);
            // Two matches flush at different times, so only the data of one match has an order.
            got.sort();
            let mut expected = expected;
            expected.sort();
            prop_assert_eq!(got, expected);
        }
        Ok(())
    }

    async fn check(&self) -> Result<(), TestCaseError> {
        for of in 0..MATCHES {
            let stream = relayed_stream(self.ids[usize::from(of)]);
            let present = self.services.router.list(&stream, Shown::All);
            let present: BTreeSet<String> = present.iter().map(|it| it.socket.session.to_string()).collect();
            prop_assert_eq!(&present, &self.listed(of), "the stream has the members");
            let found = self.matches.find(&self.id(of)).await.expect("rooms are hosted");
            let players = found.map_or(0, |info| info.players as usize);
            prop_assert_eq!(players, present.len(), "the room has the same players");
        }
        Ok(())
    }
}

/// Returns the match data of an item of an outbox.
fn data_of(item: OutboxItem) -> Vec<Vec<u8>> {
    let texts: Vec<Vec<u8>> = match item {
        OutboxItem::Message(message) => {
            message.frame(SocketFormat::Json).map(|frame| frame.to_vec()).into_iter().collect()
        }
        OutboxItem::Batch { batch, member } => {
            let messages = batch.runs(member).flat_map(|run| batch.messages(SocketFormat::Json, run));
            messages.map(<[u8]>::to_vec).collect()
        }
    };
    let data = |text: Vec<u8>| {
        let message: Value = serde_json::from_slice(&text).expect("messages are JSON");
        Some(STANDARD.decode(message["match_data"]["data"].as_str()?).expect("data is base64"))
    };
    texts.into_iter().filter_map(data).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_those_who_joined_and_did_not_leave_and_data_reaches_only_them() {
    let server = TestServer::start(|_| {}).await;
    let services = Arc::clone(server.services());
    let runtime = tokio::runtime::Handle::current();
    let checked = tokio::task::spawn_blocking(move || {
        let config = ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() };
        TestRunner::new(config).run(&steps(), |steps| {
            runtime.block_on(async {
                let mut world = World::new(&services);
                for step in &steps {
                    if !matches!(step, Step::Send { .. }) {
                        world.check_data().await?;
                    }
                    world.run(step).await?;
                    world.check().await?;
                }
                world.check_data().await
            })
        })
    });
    checked.await.expect("the test ends").expect("the server does what the model says");
    server.stop().await;
}
