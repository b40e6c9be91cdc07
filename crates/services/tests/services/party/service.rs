//! The service of parties under sessions that come and go at the same time.

use crate::audit::services;
use aether_messages::realtime::envelope::Message;
use aether_messages::realtime::{Party, PartyPresenceEvent, UserPresence};
use aether_metrics::Registry;
use aether_services::Services;
use aether_services::clock::ManualClock;
use aether_services::party::{NewParty, TicketRequest};
use aether_services::router::{OUTBOX_MESSAGES_MAX, OpenSocket, OutboxItem, SocketSession};
use aether_store::{Database, Store, StoreSettings};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use uuid::Uuid;

/// Sessions that join and end, one after another, in each thread.
const VISITS: u128 = 25;
/// Threads of such sessions.
const VISITORS: u128 = 4;
/// Members that join in between and stay.
const WATCHERS: u128 = 8;
/// Parties of the test, one after another.
const ROUNDS: u128 = 20;

const _: () = assert!((2 * VISITS * VISITORS + WATCHERS) < OUTBOX_MESSAGES_MAX as u128, "no member reads too slowly");

async fn open_services() -> Arc<Services> {
    let registry = Registry::new();
    let store =
        Store::open(&StoreSettings::new(Database::Memory), &registry).await.expect("a database in memory opens");
    services(store, &Arc::new(ManualClock::at(1_000)), &registry).await
}

/// Connects the user and session with a number.
fn open(services: &Services, number: u128) -> OpenSocket {
    let (session, user) = (Uuid::from_u128(1_000_000 + number), Uuid::from_u128(number + 1));
    let socket = SocketSession { session, user, username: format!("player{number}").into(), node: "n1".into() };
    services.router.open(socket).expect("the session is new")
}

/// View of a member: the state of the party, changed by the events after it.
#[derive(Default)]
struct View {
    members: BTreeSet<String>,
}

impl View {
    /// Applies the messages that wait for a session. Every event must fit the view.
    fn read(&mut self, socket: &OpenSocket) {
        while let Some(message) = socket.outbox.take().and_then(OutboxItem::into_message) {
            match message.envelope().message.clone() {
                Some(Message::Party(Party { presences, .. })) => self.members = sessions(&presences).collect(),
                Some(Message::PartyPresenceEvent(PartyPresenceEvent { joins, leaves, .. })) => {
                    // The own join is in the state already.
                    self.members.extend(sessions(&joins));
                    for session in sessions(&leaves) {
                        assert!(self.members.remove(&session), "{session} left, and was not a member");
                    }
                }
                Some(Message::PartyLeader(_)) => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

fn sessions(presences: &[UserPresence]) -> impl Iterator<Item = String> {
    presences.iter().map(|presence| presence.session_id.clone())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_member_knows_all_others_while_sessions_come_and_go() {
    let services = open_services().await;
    (0..ROUNDS).for_each(|round| visit_a_party(&services, 100_000 * round));
    assert!(services.parties.is_empty());
}

/// Lets members come, go and stay in one party. The numbers of the sessions begin with the given one.
fn visit_a_party(services: &Services, first: u128) {
    let leader = open(services, first);
    let new = NewParty { open: true, max_size: 64, ..NewParty::default() };
    let party_id = services.parties.create(leader.socket.session, new).expect("the party is valid").info.party_id;
    let is_over = AtomicBool::new(false);
    let stayed: Vec<(OpenSocket, View)> = std::thread::scope(|scope| {
        let (party_id, is_over) = (&party_id, &is_over);
        let visitors: Vec<_> = (0..VISITORS)
            .map(|thread| {
                scope.spawn(move || {
                    for visit in 0..VISITS {
                        let socket = open(services, first + 10_000 + thread * VISITS + visit);
                        services.parties.join(socket.socket.session, party_id).expect("the party has room");
                        if visit % 3 == 0 {
                            services.parties.leave(socket.socket.session, party_id).expect("it is a member");
                        }
                    }
                })
            })
            .collect();
        let watchers: Vec<_> = (0..WATCHERS)
            .map(|number| {
                scope.spawn(move || {
                    let (socket, mut view) = (open(services, first + 1 + number), View::default());
                    services.parties.join(socket.socket.session, party_id).expect("the party has room");
                    while !is_over.load(Ordering::SeqCst) {
                        view.read(&socket);
                        std::thread::yield_now();
                    }
                    (socket, view)
                })
            })
            .collect();
        visitors.into_iter().for_each(|visitor| visitor.join().expect("visitors end"));
        is_over.store(true, Ordering::SeqCst);
        let mut stayed: Vec<(OpenSocket, View)> =
            watchers.into_iter().map(|watcher| watcher.join().expect("watchers end")).collect();
        // All of them are still connected.
        stayed.iter_mut().for_each(|(socket, view)| view.read(socket));
        stayed
    });
    let expected: BTreeSet<String> =
        (0..=WATCHERS).map(|number| Uuid::from_u128(1_000_000 + first + number).to_string()).collect();
    for (_, view) in &stayed {
        assert_eq!(view.members, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_sessions_that_ended() {
    let services = open_services().await;
    std::thread::scope(|scope| {
        for thread in 0..VISITORS {
            let services = &services;
            scope.spawn(move || {
                for visit in 0..VISITS {
                    let number = 10_000 + 2 * (thread * VISITS + visit);
                    let [leader, member] = [number, number + 1].map(|number| open(services, number));
                    let new = NewParty { open: true, max_size: 2, ..NewParty::default() };
                    let party = services.parties.create(leader.socket.session, new).expect("the party is valid");
                    services.parties.join(member.socket.session, &party.info.party_id).expect("it has room");
                    let request = TicketRequest {
                        ticket: Uuid::from_u128(number),
                        min_count: 4,
                        max_count: 4,
                        count_multiple: 1,
                        ..TicketRequest::default()
                    };
                    let added =
                        services.parties.add_to_matchmaker(leader.socket.session, &party.info.party_id, request);
                    added.expect("the leader adds a ticket");
                    let _ = services.matchmaker.run_part();
                    // The leader ends first, then the member, which leads for a moment.
                    drop((leader, member));
                }
            });
        }
    });
    assert!(services.parties.is_empty());
    let stats = services.matchmaker.stats();
    assert_eq!((stats.tickets, stats.candidates), (0, 0));
    assert_eq!(services.router.sockets(), 0);
}
