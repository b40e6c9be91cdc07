//! Durable rooms in the store: one holder, nothing old over anything new, and what is kept of whom.

use aether_services::GrpcCode;
use aether_services::clock::ManualClock;
use aether_services::room::{
    Batch, Checkpoint, HELD, LEASE_MS, LOST, MemberIdentity, NewRoom, RoomChoice, RoomLease, Rooms, StoredMember, Visit,
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
    NewRoom { id: id.into(), code: code.into(), room_type: "outpost".into(), wanted_label: "red".into() }
}

fn state(bytes: &[u8], applied: u64) -> Checkpoint {
    let bytes = Arc::new(bytes.to_vec());
    Checkpoint { bytes, applied, last_player: 4, label: "shown".into(), players: 2, entities: 9 }
}

fn place(player: u32, user: Uuid, hash: u8, previous: Option<u8>) -> StoredMember {
    let holder = MemberIdentity {
        player,
        user,
        session: Uuid::from_u128(7),
        name: "Ann".into(),
        role: Role::Player,
        issued_at: 5,
    };
    StoredMember { holder, hash: [hash; 32], previous_hash: previous.map(|hash| [hash; 32]) }
}

async fn keep(rooms: &Rooms, hold: &RoomLease, batch: Batch) -> Result<(), GrpcCode> {
    rooms.keep(hold, Arc::new(batch)).await.map_err(|refusal| refusal.code)
}

/// Lets so many milliseconds pass for the leases.
async fn pass(store: &Store, ms: i64) {
    let update = "UPDATE rooms SET lease_until = lease_until - ?1";
    let passed: Result<u64, StoreError> =
        store.write(move |transaction| transaction.execute(update, values![ms])).await;
    passed.expect("there are rooms");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_comes_back_with_its_newest_state_and_what_was_committed_since() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let hold = rooms.create("node-a", new_room("r1", "ABCDEF")).await.expect("it is new");
        let taken = rooms.create("node-a", new_room("r2", "ABCDEF")).await.expect_err("the code is taken");
        assert_eq!(taken.code, GrpcCode::AlreadyExists);
        let entries =
            |numbers: std::ops::RangeInclusive<u64>| numbers.map(|number| (number, vec![number as u8])).collect();
        keep(&rooms, &hold, Batch { entries: entries(1..=3), ..Batch::default() }).await.expect("it is held");
        let batch = Batch { state: Some(state(b"two", 2)), entries: entries(4..=5), ..Batch::default() };
        keep(&rooms, &hold, batch).await.expect("it is held");
        keep(&rooms, &hold, Batch { voided: vec![4], ..Batch::default() }).await.expect("it is held");
        for which in [RoomChoice::Id("r1".into()), RoomChoice::Code("ABCDEF".into())] {
            let opened = rooms.open("node-a", which, AWAY_MAX).await.expect("it is ours").expect("it is stored");
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
        assert!(rooms.candidates("node-a", "outpost", "", 3).await.expect("it can be read").is_empty());
        assert_eq!(rooms.open("node-a", RoomChoice::Id("none".into()), AWAY_MAX).await, Ok(None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_has_one_holder_and_an_old_one_can_write_nothing() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let old = rooms.create("node-a", new_room("r1", "ABCDEF")).await.expect("it is new");
        keep(&rooms, &old, Batch { state: Some(state(b"old", 1)), ..Batch::default() }).await.expect("it is held");
        let open = |node: &'static str| rooms.open(node, RoomChoice::Id("r1".into()), AWAY_MAX);
        assert_eq!(open("node-b").await, Err(HELD), "{}", database.name);
        assert!(rooms.candidates("node-b", "outpost", "red", 9).await.expect("it can be read").is_empty());
        pass(&store, LEASE_MS - 1_000).await;
        rooms.renew("node-a").await.expect("it can be written");
        rooms.started("node-b").await.expect("it can be written");
        pass(&store, LEASE_MS - 1_000).await;
        assert_eq!(open("node-b").await, Err(HELD), "whoever renews keeps it");
        pass(&store, LEASE_MS).await;
        let new = open("node-b").await.expect("the lease is over").expect("it is stored").hold;
        assert!(new.epoch > old.epoch);
        let late = Batch { state: Some(state(b"late", 9)), entries: vec![(9, vec![9])], ..Batch::default() };
        assert_eq!(rooms.keep(&old, Arc::new(late)).await, Err(LOST));
        rooms.release(&old).await.expect("it changes nothing");
        rooms.remove(&old).await.expect("it changes nothing");
        assert_eq!(open("node-a").await, Err(HELD));
        keep(&rooms, &new, Batch { state: Some(state(b"new", 1)), ..Batch::default() }).await.expect("it is held");
        rooms.release(&new).await.expect("it is held");
        let opened = open("node-a").await.expect("it was given up").expect("it is stored");
        assert_eq!(open("node-b").await, Err(HELD));
        rooms.started("node-a").await.expect("it can be written");
        assert_eq!(rooms.candidates("node-b", "outpost", "red", 9).await.expect("it can be read"), ["r1"]);
        assert_eq!((opened.state.as_deref(), opened.journal.len()), (Some(&b"new"[..]), 0));
        rooms.remove(&opened.hold).await.expect("it is held");
        assert_eq!(open("node-a").await, Ok(None));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_leads_back_once_and_a_spent_one_is_known_as_such() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let hold = rooms.create("node-a", new_room("r1", "ABCDEF")).await.expect("it is new");
        let user = Uuid::new_v4();
        let places = vec![place(1, user, 1, None), place(2, Uuid::new_v4(), 20, None)];
        keep(&rooms, &hold, Batch { places, ..Batch::default() }).await.expect("it is held");
        let found = rooms.find_holder([1; 32]).await.expect("it can be read").expect("it leads back");
        assert_eq!((found.room.as_str(), found.holder.user, found.is_spent), ("r1", user, false));
        keep(&rooms, &hold, Batch { places: vec![place(1, user, 2, Some(1))], ..Batch::default() })
            .await
            .expect("held");
        let spent = async |hash: u8| {
            let found = rooms.find_holder([hash; 32]).await.expect("it can be read");
            found.map(|found| found.is_spent)
        };
        assert_eq!((spent(1).await, spent(2).await), (Some(false), Some(false)), "the welcome may have been lost");
        keep(&rooms, &hold, Batch { heard: vec![1], ..Batch::default() }).await.expect("it is held");
        assert_eq!((spent(1).await, spent(2).await), (Some(true), Some(false)), "{}", database.name);
        let opened = rooms.open("node-a", RoomChoice::Id("r1".into()), AWAY_MAX).await.expect("ours").expect("stored");
        assert_eq!(opened.holders.iter().map(|holder| holder.player).collect::<Vec<_>>(), [1, 2]);
        let hold = opened.hold;
        keep(&rooms, &hold, Batch { left: vec![2], ..Batch::default() }).await.expect("it is held");
        assert_eq!(spent(20).await, None, "who left has no way back");
        keep(&rooms, &hold, Batch { places: vec![place(8, user, 8, None)], ..Batch::default() })
            .await
            .expect("it is held");
        pass(&store, AWAY_MAX + 1).await;
        let opened = rooms.open("node-a", RoomChoice::Id("r1".into()), AWAY_MAX).await.expect("ours").expect("stored");
        assert!(opened.holders.is_empty(), "after so long nobody has a place any more");
        assert_eq!(opened.last_player, 8, "but no number is given twice");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_states_are_kept_to_look_back_and_old_rooms_go() {
    for database in databases() {
        let store = database.open().await;
        let rooms = rooms(&store);
        let hold = rooms.create("node-a", new_room("r1", "ABCDEF")).await.expect("it is new");
        for number in 1..=5_u8 {
            let batch = Batch { state: Some(state(&[number], 0)), snapshots: Some(3), ..Batch::default() };
            keep(&rooms, &hold, batch).await.expect("it is held");
        }
        keep(&rooms, &hold, Batch { state: Some(state(b"newest", 0)), ..Batch::default() }).await.expect("it is held");
        let snapshots = rooms.snapshots("r1").await.expect("it can be read");
        let numbers: Vec<i64> = snapshots.iter().map(|snapshot| snapshot.number).collect();
        assert_eq!(numbers, [3, 4, 5, 0], "{}", database.name);
        assert_eq!(rooms.snapshot("r1", 4).await, Ok(Some(vec![4])));
        assert_eq!(rooms.snapshot("r1", 0).await, Ok(Some(b"newest".to_vec())));
        assert_eq!(rooms.snapshot("r1", 2).await, Ok(None));
        let listed = rooms.list(10).await.expect("it can be read");
        assert_eq!((listed[0].id.as_str(), listed[0].label.as_str(), listed[0].players), ("r1", "shown", 2));
        assert_eq!(rooms.prune(NOW + 1, AWAY_MAX, NOW).await, Ok(0), "one that is held stays");
        rooms.release(&hold).await.expect("it is held");
        pass(&store, 10).await;
        assert_eq!(rooms.prune(NOW, AWAY_MAX, NOW).await, Ok(0), "one that was used stays");
        assert_eq!(rooms.prune(NOW + 1, AWAY_MAX, NOW).await, Ok(1));
        assert!(rooms.snapshots("r1").await.expect("it can be read").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_where_is_remembered_of_those_with_an_account() {
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
        rooms.started("node-b").await.expect("it can be written");
        assert!(rooms.visits(ann, 10).await.expect("it can be read").iter().any(|visit| visit.left_at.is_none()));
        rooms.started("node-a").await.expect("it can be written");
        let visits = rooms.visits(ann, 10).await.expect("it can be read");
        assert!(visits.iter().any(|visit| visit.reason == "server_lost" && visit.left_at == Some(NOW)));
    }
}
