//! Durable rooms in the store: leases, checkpoints, members and visits.

use aether_services::GrpcCode;
use aether_services::clock::ManualClock;
use aether_services::room::{
    Batch, Checkpoint, LEASE_HELD, LEASE_LOST, LEASE_MS, MemberIdentity, NewRoom, RoomChoice, RoomLease, Rooms,
    StoredMember, Visit,
};
use aether_services::session::tokens::Role;
use aether_store::{Store, StoreError, values};
use aether_testkit_store::databases;
use std::sync::Arc;
use uuid::Uuid;

const NOW: i64 = 1_800_000_000_000;
const AWAY_MAX: i64 = 3_600_000;

fn rooms(store: &Store) -> Rooms {
    Rooms::new(store.clone(), Arc::new(ManualClock::at(NOW)))
}

fn new_room(id: &str, code: &str) -> NewRoom {
    NewRoom {
        id: id.into(),
        code: code.into(),
        room_type: "outpost".into(),
        wanted_label: "red".into(),
        is_private: false,
        params: "null".to_owned(),
    }
}

fn checkpoint(bytes: &[u8], applied: u64) -> Checkpoint {
    let bytes = Arc::new(bytes.to_vec());
    Checkpoint { tick: 70, bytes, applied, last_player: 4, label: "shown".into(), players: 2, entities: 9 }
}

fn member(player: u32, user: Uuid, hash: u8, previous: Option<u8>) -> StoredMember {
    let identity = MemberIdentity {
        player,
        user,
        session: Uuid::from_u128(7),
        name: "Ann".into(),
        role: Role::Player,
        issued_at: 5,
        metadata: [("team", "r\u{0}d")].into(),
    };
    StoredMember { identity, hash: [hash; 32], previous_hash: previous.map(|hash| [hash; 32]) }
}

async fn write_batch(rooms: &Rooms, lease: &RoomLease, batch: Batch) -> Result<(), GrpcCode> {
    rooms.write_batch(lease, Arc::new(batch)).await.map_err(|error| error.code)
}

/// Lets leases age by some milliseconds.
async fn pass(store: &Store, ms: i64) {
    let update = "UPDATE rooms SET lease_until = lease_until - ?1";
    let passed: Result<u64, StoreError> =
        store.write(move |transaction| transaction.execute(update, values![ms])).await;
    passed.expect("there are rooms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_is_restored_from_its_checkpoint_and_journal() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let lease = rooms.create("node-a", new_room("r1", "ABCDEF"), None).await.expect("it is new");
        let taken = rooms.create("node-a", new_room("r2", "ABCDEF"), None).await.expect_err("the code is taken");
        assert_eq!(taken.code, GrpcCode::AlreadyExists);
        let entries =
            |numbers: std::ops::RangeInclusive<u64>| numbers.map(|number| (number, vec![number as u8])).collect();
        write_batch(&rooms, &lease, Batch { entries: entries(1..=3), ..Batch::default() })
            .await
            .expect("the lease is held");
        let batch = Batch { checkpoint: Some(checkpoint(b"two", 2)), entries: entries(4..=5), ..Batch::default() };
        write_batch(&rooms, &lease, batch).await.expect("the lease is held");
        write_batch(&rooms, &lease, Batch { voided: vec![4], ..Batch::default() }).await.expect("the lease is held");
        for choice in [RoomChoice::Id("r1".into()), RoomChoice::Code("ABCDEF".into())] {
            let opened = rooms.open("node-a", choice, AWAY_MAX).await.expect("it is ours").expect("it is stored");
            assert_eq!(opened.room, new_room("r1", "ABCDEF"), "{}", database.name);
            assert_eq!((opened.state.as_deref(), opened.applied, opened.last_player), (Some(&b"two"[..]), 2, 4));
            assert_eq!(opened.journal, [(3, vec![3]), (5, vec![5])]);
        }
        let candidates = rooms.candidates("node-a", "outpost", "red", 3).await.expect("it can be read");
        assert_eq!(candidates, ["r1"]);
        assert!(
            rooms.candidates("node-a", "outpost", "red", 2).await.expect("it can be read").is_empty(),
            "it is full"
        );
        let hidden = NewRoom { wanted_label: "green".into(), is_private: true, ..new_room("r9", "PRIVAT") };
        rooms.create("node-a", hidden, None).await.expect("the code is free");
        assert!(
            rooms.candidates("node-a", "outpost", "green", 3).await.expect("it can be read").is_empty(),
            "a private room is not joined by type"
        );
        let found = rooms.find(RoomChoice::Code("PRIVAT".into())).await.expect("it can be read");
        assert_eq!(found.as_deref(), Some("r9"));
        let opened = rooms.open("node-a", RoomChoice::Id("r9".into()), 0).await.expect("it can be read");
        assert!(opened.expect("it is stored").room.is_private);
        assert!(rooms.candidates("node-a", "outpost", "", 3).await.expect("it can be read").is_empty());
        assert_eq!(rooms.open("node-a", RoomChoice::Id("none".into()), AWAY_MAX).await, Ok(None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_has_one_lease_and_an_old_one_cannot_write() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let old = rooms.create("node-a", new_room("r1", "ABCDEF"), None).await.expect("it is new");
        write_batch(&rooms, &old, Batch { checkpoint: Some(checkpoint(b"old", 1)), ..Batch::default() })
            .await
            .expect("the lease is held");
        let open = |node: &'static str| rooms.open(node, RoomChoice::Id("r1".into()), AWAY_MAX);
        assert_eq!(open("node-b").await, Err(LEASE_HELD), "{}", database.name);
        assert!(rooms.candidates("node-b", "outpost", "red", 9).await.expect("it can be read").is_empty());
        pass(&store, LEASE_MS - 1_000).await;
        rooms.renew("node-a").await.expect("it can be written");
        rooms.recover("node-b").await.expect("it can be written");
        pass(&store, LEASE_MS - 1_000).await;
        assert_eq!(open("node-b").await, Err(LEASE_HELD), "a renewed lease stays");
        pass(&store, LEASE_MS).await;
        let new = open("node-b").await.expect("the lease is over").expect("it is stored").lease;
        assert!(new.epoch > old.epoch);
        let late = Batch { checkpoint: Some(checkpoint(b"late", 9)), entries: vec![(9, vec![9])], ..Batch::default() };
        assert_eq!(rooms.write_batch(&old, Arc::new(late)).await, Err(LEASE_LOST));
        rooms.release(&old).await.expect("it changes nothing");
        rooms.remove(&old).await.expect("it changes nothing");
        assert_eq!(open("node-a").await, Err(LEASE_HELD));
        write_batch(&rooms, &new, Batch { checkpoint: Some(checkpoint(b"new", 1)), ..Batch::default() })
            .await
            .expect("the lease is held");
        rooms.release(&new).await.expect("the lease is held");
        let opened = open("node-a").await.expect("it was given up").expect("it is stored");
        assert_eq!(open("node-b").await, Err(LEASE_HELD));
        rooms.recover("node-a").await.expect("it can be written");
        assert_eq!(rooms.candidates("node-b", "outpost", "red", 9).await.expect("it can be read"), ["r1"]);
        assert_eq!((opened.state.as_deref(), opened.journal.len()), (Some(&b"new"[..]), 0));
        rooms.remove(&opened.lease).await.expect("the lease is held");
        assert_eq!(open("node-a").await, Ok(None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resume_token_works_once_and_is_then_spent() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let lease = rooms.create("node-a", new_room("r1", "ABCDEF"), None).await.expect("it is new");
        let user = Uuid::new_v4();
        let members = vec![member(1, user, 1, None), member(2, Uuid::new_v4(), 20, None)];
        write_batch(&rooms, &lease, Batch { members, ..Batch::default() }).await.expect("the lease is held");
        let found = rooms.find_by_token_hash([1; 32]).await.expect("it can be read").expect("the token is known");
        assert_eq!((found.room.as_str(), found.identity.user, found.is_spent), ("r1", user, false));
        write_batch(&rooms, &lease, Batch { members: vec![member(1, user, 2, Some(1))], ..Batch::default() })
            .await
            .expect("the lease is held");
        let spent = async |hash: u8| {
            let found = rooms.find_by_token_hash([hash; 32]).await.expect("it can be read");
            found.map(|found| found.is_spent)
        };
        assert_eq!((spent(1).await, spent(2).await), (Some(false), Some(false)), "the welcome may have been lost");
        write_batch(&rooms, &lease, Batch { confirmed: vec![1], ..Batch::default() }).await.expect("the lease is held");
        assert_eq!((spent(1).await, spent(2).await), (Some(true), Some(false)), "{}", database.name);
        let opened = rooms.open("node-a", RoomChoice::Id("r1".into()), AWAY_MAX).await.expect("ours").expect("stored");
        assert_eq!(opened.members.iter().map(|identity| identity.player).collect::<Vec<_>>(), [1, 2]);
        let lease = opened.lease;
        write_batch(&rooms, &lease, Batch { left: vec![2], ..Batch::default() }).await.expect("the lease is held");
        assert_eq!(spent(20).await, None, "a player who left cannot resume");
        write_batch(&rooms, &lease, Batch { members: vec![member(8, user, 8, None)], ..Batch::default() })
            .await
            .expect("the lease is held");
        pass(&store, AWAY_MAX + 1).await;
        let opened = rooms.open("node-a", RoomChoice::Id("r1".into()), AWAY_MAX).await.expect("ours").expect("stored");
        assert!(opened.members.is_empty(), "members are removed after so long");
        assert_eq!(opened.last_player, 8, "player ids are not reused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_checkpoints_are_retained_and_old_rooms_are_pruned() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let lease = rooms.create("node-a", new_room("r1", "ABCDEF"), None).await.expect("it is new");
        for number in 1..=5_u8 {
            let batch =
                Batch { checkpoint: Some(checkpoint(&[number], 0)), checkpoints_max: Some(3), ..Batch::default() };
            write_batch(&rooms, &lease, batch).await.expect("the lease is held");
        }
        write_batch(&rooms, &lease, Batch { checkpoint: Some(checkpoint(b"newest", 0)), ..Batch::default() })
            .await
            .expect("the lease is held");
        let checkpoints = rooms.checkpoints("r1").await.expect("it can be read");
        let numbers: Vec<i64> = checkpoints.iter().map(|checkpoint| checkpoint.number).collect();
        assert_eq!(numbers, [3, 4, 5, 0], "{}", database.name);
        assert_eq!(rooms.checkpoint("r1", 4).await, Ok(Some(vec![4])));
        assert_eq!(rooms.checkpoint("r1", 0).await, Ok(Some(b"newest".to_vec())));
        assert_eq!(rooms.checkpoint("r1", 2).await, Ok(None));
        let listed = rooms.list(10).await.expect("it can be read");
        assert_eq!((listed[0].id.as_str(), listed[0].label.as_str(), listed[0].players), ("r1", "shown", 2));
        assert_eq!(rooms.prune(NOW + 1, AWAY_MAX, NOW).await, Ok(0), "a room with a lease stays");
        rooms.release(&lease).await.expect("the lease is held");
        pass(&store, 10).await;
        assert_eq!(rooms.prune(NOW, AWAY_MAX, NOW).await, Ok(0), "a recently used room stays");
        assert_eq!(rooms.prune(NOW + 1, AWAY_MAX, NOW).await, Ok(1));
        assert!(rooms.checkpoints("r1").await.expect("it can be read").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn visits_are_recorded_for_users_with_an_account() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let (ann, guest) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let insert = "INSERT INTO users (id, username, created_at, updated_at) VALUES (?1, 'ann', 0, 0)";
        let inserted: Result<u64, StoreError> =
            store.write(move |transaction| transaction.execute(insert, values![ann])).await;
        inserted.expect("the name is free");
        let visit = |user: Uuid, room: &str, player: u32| Visit {
            user,
            session: Uuid::from_u128(9),
            room: room.into(),
            room_type: "outpost".into(),
            player,
            node: "node-a".into(),
        };
        rooms.note_join(visit(ann, "r1", 1));
        rooms.note_join(visit(guest, "r1", 2));
        rooms.note_leave("r1", 1, "left");
        rooms.note_join(visit(ann, "r1", 3));
        rooms.flush_visits().await.expect("it can be written");
        let visits = rooms.visits(ann, 10).await.expect("it can be read");
        let ends: Vec<_> = visits.iter().map(|visit| (visit.left_at, visit.reason.as_str())).collect();
        assert_eq!(ends.len(), 2, "{}", database.name);
        assert!(ends.contains(&(Some(NOW), "left")) && ends.contains(&(None, "")), "{ends:?}");
        assert!(rooms.visits(guest, 10).await.expect("it can be read").is_empty());
        let states = ["active", "resuming", "connecting", "authenticated"];
        for (number, state) in (9..).zip(states) {
            let id = Uuid::from_u128(number);
            if number > 9 {
                rooms.note_join(Visit { session: id, ..visit(ann, "r2", number as u32) });
            }
            let insert = "INSERT INTO sessions
                    (id, user_id, state, created_at, refreshed_at, last_seen_at, expires_at)
                VALUES (?1, ?2, ?3, 0, 0, 0, 0)";
            let inserted: Result<u64, StoreError> =
                store.write(move |transaction| transaction.execute(insert, values![id, ann, state])).await;
            inserted.expect("the id is new");
        }
        rooms.flush_visits().await.expect("it can be written");
        let stored_states = async || {
            let select = "SELECT state FROM sessions ORDER BY id";
            let read = store.read(move |transaction| transaction.rows(select, &[], |row| row.get::<String>(0)));
            let read: Result<Vec<String>, StoreError> = read.await;
            read.expect("it can be read")
        };
        rooms.recover("node-b").await.expect("it can be written");
        assert_eq!(stored_states().await, states, "another node may have the players");
        assert!(rooms.visits(ann, 10).await.expect("it can be read").iter().any(|visit| visit.left_at.is_none()));
        rooms.recover("node-a").await.expect("it can be written");
        let visits = rooms.visits(ann, 10).await.expect("it can be read");
        assert!(visits.iter().any(|visit| visit.reason == "server_lost" && visit.left_at == Some(NOW)));
        assert_eq!(stored_states().await, ["authenticated"; 4], "no session stays active after a crash");
    }
}
