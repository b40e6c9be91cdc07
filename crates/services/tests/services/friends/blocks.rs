//! Blocks hold in statuses, parties, the matchmaker, and after an erasure.

use super::ids;
use crate::audit::services_with;
use aether_messages::realtime;
use aether_messages::socket::{MatchmakerAdd, PartyAccept, PartyJoin, StatusFollow};
use aether_metrics::Registry;
use aether_services::clock::ManualClock;
use aether_services::party::NewParty;
use aether_services::router::{OpenSocket, OutboxItem, SocketSession};
use aether_services::session::tokens::Role;
use aether_services::{CallContext, Caller, GrpcCode, ServiceError, Services, ServicesSettings, UserIdentity, status};
use aether_store::{StoreError, Transaction, values};
use aether_testkit_store::{TestDatabase, databases};
use std::sync::Arc;
use uuid::Uuid;

/// Services with connected users.
struct Sockets {
    services: Arc<Services>,
    name: &'static str,
    _database: TestDatabase,
}

/// A connected user.
struct Connected {
    user: Uuid,
    context: Arc<CallContext>,
    socket: OpenSocket,
}

impl Sockets {
    async fn all(change: impl Fn(&mut ServicesSettings) + Copy) -> Vec<Sockets> {
        let mut all = Vec::new();
        for database in databases() {
            let (clock, registry) = (Arc::new(ManualClock::at(1_700_000_000_000)), Registry::new());
            let services = services_with(database.open().await, &clock, &registry, change).await;
            all.push(Sockets { services, name: database.name, _database: database });
        }
        all
    }

    async fn connect(&self) -> Connected {
        let (user, session) = (Uuid::new_v4(), Uuid::new_v4());
        let username = user.to_string();
        let name = username.clone();
        let add = move |transaction: &mut Transaction<'_>| {
            let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, ?2, 1, 1)";
            transaction.execute(insert, values![user, &name])
        };
        self.services.store.write::<_, StoreError>(add).await.expect("a user can be made");
        let socket = SocketSession { session, user, username: username.as_str().into(), node: "n1".into() };
        let socket = self.services.router.open(socket).expect("the session is new");
        status::start(&self.services.router, &socket.socket, true).expect("a status can be set");
        let identity = UserIdentity {
            user,
            username,
            session,
            variables: Default::default(),
            role: Role::Player,
            issued_at: 0,
            expires_at: u64::MAX,
        };
        let caller = Caller::User(Arc::new(identity));
        let context = CallContext { caller, socket: Some(session), ..CallContext::server() };
        Connected { user, context: Arc::new(context), socket }
    }

    async fn block(&self, user: &Connected, other: &Connected) {
        self.services.friends.block(user.user, ids(&[other.user])).await.expect("it is allowed");
    }

    async fn follow(&self, user: &Connected, other: &Connected) -> usize {
        let request = realtime::StatusFollow { user_ids: vec![other.user.to_string()], usernames: Vec::new() };
        self.services.call::<StatusFollow>(&user.context, request).await.expect("it is valid").presences.len()
    }

    async fn join(&self, user: &Connected, party_id: &str) -> Result<(), ServiceError> {
        let request = realtime::PartyJoin { party_id: party_id.to_owned() };
        self.services.call::<PartyJoin>(&user.context, request).await.map(drop)
    }
}

fn read_all(user: &Connected) -> usize {
    std::iter::from_fn(|| user.socket.outbox.take().and_then(OutboxItem::into_message)).count()
}

#[tokio::test]
async fn users_with_a_block_do_not_see_each_others_status() {
    for sockets in Sockets::all(|_| {}).await {
        let (ann, bob) = (sockets.connect().await, sockets.connect().await);
        assert_eq!(sockets.follow(&bob, &ann).await, 1, "{}", sockets.name);
        sockets.block(&ann, &bob).await;
        read_all(&bob);
        let router = &sockets.services.router;
        status::update(router, ann.socket.socket.session, ann.user, Some("busy".to_owned())).expect("it is valid");
        assert_eq!(read_all(&bob), 0, "the block ended the follow");
        assert_eq!((sockets.follow(&bob, &ann).await, sockets.follow(&ann, &bob).await), (0, 0));
        status::update(router, ann.socket.socket.session, ann.user, Some("free".to_owned())).expect("it is valid");
        assert_eq!(read_all(&bob), 0);
        sockets.services.friends.delete(ann.user, ids(&[bob.user])).await.expect("it ends the block");
        assert_eq!(sockets.follow(&bob, &ann).await, 1);
    }
}

#[tokio::test]
async fn a_party_with_a_block_between_its_members_cannot_be_joined() {
    for sockets in Sockets::all(|_| {}).await {
        let [leader, member] = [sockets.connect().await, sockets.connect().await];
        let [blocked, blocker, other] = [sockets.connect().await, sockets.connect().await, sockets.connect().await];
        let new = NewParty { open: true, max_size: 8, ..NewParty::default() };
        let party = sockets.services.parties.create(leader.socket.socket.session, new).expect("it is valid");
        let party_id = party.info.party_id;
        sockets.join(&member, &party_id).await.expect("nobody blocks");
        sockets.block(&leader, &blocked).await;
        sockets.block(&blocker, &member).await;
        let missing = sockets.join(&blocked, "none").await.expect_err("there is none");
        for refused in [&blocked, &blocker] {
            let error = sockets.join(refused, &party_id).await.expect_err("there is a block");
            assert_eq!(error, missing, "{}: it looks like a party that does not exist", sockets.name);
        }
        sockets.join(&other, &party_id).await.expect("nobody blocks");
        sockets.join(&member, &party_id).await.expect("a member gets the state again");
    }
}

#[tokio::test]
async fn a_join_request_is_not_accepted_after_a_block() {
    for sockets in Sockets::all(|_| {}).await {
        let [leader, guest] = [sockets.connect().await, sockets.connect().await];
        let new = NewParty { max_size: 8, ..NewParty::default() };
        let party = sockets.services.parties.create(leader.socket.socket.session, new).expect("it is valid");
        let party_id = party.info.party_id;
        sockets.join(&guest, &party_id).await.expect("it asks");
        sockets.block(&guest, &leader).await;
        let presence = realtime::UserPresence {
            user_id: guest.user.to_string(),
            session_id: guest.socket.socket.session.to_string(),
            ..Default::default()
        };
        let accept = realtime::PartyAccept { party_id, presence: Some(presence) };
        let refused = sockets.services.call::<PartyAccept>(&leader.context, accept.clone()).await;
        assert_eq!(refused.expect_err("there is a block").code, GrpcCode::FailedPrecondition, "{}", sockets.name);
        sockets.services.friends.delete(guest.user, ids(&[leader.user])).await.expect("it ends the block");
        sockets.services.call::<PartyAccept>(&leader.context, accept).await.expect("it is accepted");
    }
}

#[tokio::test]
async fn players_with_a_block_are_matched_only_without_the_setting() {
    for honour_blocks in [true, false] {
        for sockets in Sockets::all(move |settings| settings.matchmaker.honour_blocks = honour_blocks).await {
            let [ann, bob, cid] = [sockets.connect().await, sockets.connect().await, sockets.connect().await];
            sockets.block(&ann, &bob).await;
            let search = async |user: &Connected| {
                let request =
                    realtime::MatchmakerAdd { min_count: 2, max_count: 2, query: "*".into(), ..Default::default() };
                sockets.services.call::<MatchmakerAdd>(&user.context, request).await.expect("it is valid");
                let candidates = sockets.services.matchmaker.run_part().candidates;
                let users = candidates.iter().flat_map(|candidate| &candidate.tickets).flat_map(|one| &one.users);
                users.map(|user| user.presence.user_id).collect::<Vec<_>>()
            };
            assert!(search(&bob).await.is_empty(), "{}", sockets.name);
            let matched = search(&ann).await;
            assert_eq!(matched.contains(&ann.user) && matched.contains(&bob.user), !honour_blocks);
            if honour_blocks {
                assert!(matched.is_empty());
                let matched = search(&cid).await;
                assert!(matched.len() == 2 && matched.contains(&cid.user), "the third meets one of them");
            }
        }
    }
}

#[tokio::test]
async fn an_erased_account_leaves_no_edges_and_lowers_counts() {
    for sockets in Sockets::all(|_| {}).await {
        let [ann, bob, cid] = [sockets.connect().await, sockets.connect().await, sockets.connect().await];
        let friends = &sockets.services.friends;
        friends.add(ann.user, ids(&[bob.user, cid.user]), "").await.expect("it is allowed");
        friends.add(bob.user, ids(&[ann.user, cid.user]), "").await.expect("it is allowed");
        let count = async |user| sockets.services.accounts.account(user).await.expect("it exists").user.edge_count;
        assert_eq!((count(bob.user).await, count(cid.user).await), (2, 2));
        sockets.services.accounts.delete(ann.user).await.expect("it exists");
        assert_eq!((count(bob.user).await, count(cid.user).await), (1, 1), "{}", sockets.name);
        let listed = friends.list(bob.user, None, None, "").await.expect("it is valid").friends;
        assert_eq!(listed.iter().map(|friend| friend.user.id).collect::<Vec<_>>(), [cid.user]);
        let told = sockets.services.notifications.list(cid.user, Some(10), "").await.expect("it is valid");
        let senders: Vec<_> = told.notifications.iter().map(|one| one.sender).collect();
        assert_eq!(senders, [Some(bob.user)], "notifications of the erased user are deleted");
    }
}
