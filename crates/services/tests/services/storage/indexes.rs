//! Storage indexes: they agree with the database, under concurrent changes and after a restart.

use crate::fixture::{Fixture, error_of, fixtures};
use crate::moderation::as_user;
use aether_metrics::Registry;
use aether_services::multi_update::{Changes, MultiUpdates};
use aether_services::session::tokens::Role;
use aether_services::storage::{
    Delete, IndexDefinition, IndexQuery, ObjectId, Page, Permission, Storage, StorageIndexes, Write, index,
};
use aether_services::wallet::Wallets;
use aether_services::{Caller, GrpcCode};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

const COLLECTION: &str = "heroes";

fn heroes() -> IndexDefinition {
    IndexDefinition::new("heroes", COLLECTION, ["level", "class"]).sortable(["level", "class"]).entries_max(1_000)
}

/// Storage with indexes, and its metrics.
struct Indexed {
    storage: Storage,
    multi_updates: MultiUpdates,
    indexes: Arc<StorageIndexes>,
    registry: Registry,
}

async fn indexed(fixture: &Fixture, definitions: Vec<IndexDefinition>) -> Indexed {
    let registry = Registry::new();
    let indexes = StorageIndexes::open(definitions, &fixture.store, &registry).await.expect("the indexes open");
    let indexes = Arc::new(indexes);
    let storage = Storage::new(fixture.store.clone(), fixture.clock.clone()).with_indexes(Arc::clone(&indexes));
    let wallets = Wallets::new(fixture.store.clone(), fixture.clock.clone());
    let multi_updates = MultiUpdates::new(fixture.store.clone(), fixture.clock.clone(), wallets);
    let multi_updates = multi_updates.with_indexes(Arc::clone(&indexes));
    Indexed { storage, multi_updates, indexes, registry }
}

fn write(owner: Uuid, key: &str, value: Value) -> Write {
    Write::new(ObjectId::new(COLLECTION, key, owner), value.to_string()).permit(Permission::Everyone, Permission::Owner)
}

fn query(query: &str, order: &[&str]) -> IndexQuery {
    let order = order.iter().map(|name| (*name).to_owned()).collect();
    IndexQuery { index: "heroes".to_owned(), query: query.to_owned(), order, limit: 100, cursor: String::new() }
}

async fn keys(storage: &Storage, caller: &Caller, query: &IndexQuery) -> Vec<String> {
    keys_of(&storage.list_index(caller, query).await.expect("the index answers"))
}

fn keys_of(page: &Page) -> Vec<String> {
    page.objects.iter().map(|object| object.id.key.clone()).collect()
}

#[tokio::test]
async fn objects_are_found_by_field_and_sorted_while_they_change() {
    for fixture in fixtures().await {
        let Indexed { storage, registry, .. } = indexed(&fixture, vec![heroes()]).await;
        let owner = fixture.user().await;
        let writes = [("a", json!({"level": 3, "class": "mage"})), ("b", json!({"level": 9, "class": "thief"}))];
        let writes = writes.into_iter().map(|(key, value)| write(owner, key, value)).collect();
        storage.write(&Caller::Server, writes).await.unwrap();
        fixture.clock.advance_ms(1);
        let one = write(owner, "c", json!({"level": 5, "class": "mage", "secret": 1}));
        storage.write(&Caller::Server, vec![one]).await.unwrap();
        let find = async |text: &str, order: &[&str]| keys(&storage, &Caller::Server, &query(text, order)).await;
        assert_eq!(find("+value.class:mage", &["value.level"]).await, ["a", "c"], "{}", fixture.name);
        assert_eq!(find("", &["-value.level"]).await, ["b", "c", "a"]);
        assert_eq!(find("", &["value.class", "-value.level"]).await, ["c", "a", "b"]);
        assert_eq!(find("", &["-update_time"]).await[0], "c");
        assert_eq!(find("+value.level:>=5", &["value.level"]).await, ["c", "b"]);
        assert!(find("+value.secret:1", &[]).await.is_empty(), "only fields of the index are searched");
        assert_eq!(find(&format!("+user_id:{owner} +key:b"), &[]).await, ["b"]);
        let page = storage.list_index(&Caller::Server, &query("+key:c", &[])).await.unwrap();
        assert_eq!(page.objects[0].value, json!({"level": 5, "class": "mage", "secret": 1}).to_string());
        assert!(registry.render().contains("aether_storage_index_entries{index=\"heroes\"} 3\n"));

        storage.write(&Caller::Server, vec![write(owner, "a", json!({"level": 20}))]).await.unwrap();
        assert_eq!(find("", &["-value.level"]).await, ["a", "b", "c"]);
        assert_eq!(find("", &["value.class"]).await, ["c", "b", "a"], "objects without the field are last");
        storage.write(&Caller::Server, vec![write(owner, "b", json!({"other": 1}))]).await.unwrap();
        assert_eq!(find("", &["value.level"]).await, ["c", "a"], "an object without the fields is not in the index");
        storage.delete(&Caller::Server, vec![Delete::new(ObjectId::new(COLLECTION, "a", owner))]).await.unwrap();
        assert_eq!(find("", &[]).await, ["c"]);
        let failed = write(owner, "c", json!({"level": 1}));
        let failed = failed.when(aether_services::storage::Condition::Version("other".to_owned()));
        assert!(storage.write(&Caller::Server, vec![failed]).await.is_err());
        assert_eq!(find("+value.level:5", &[]).await, ["c"], "a rejected write changes nothing");
    }
}

#[tokio::test]
async fn an_index_of_one_key_with_a_filter_answers_from_memory_and_is_filled_at_the_start() {
    for fixture in fixtures().await {
        let definition = || {
            IndexDefinition::new("heroes", COLLECTION, ["level"])
                .of_key("main")
                .sortable(["level"])
                .index_only()
                .filter(|object| !object.value.contains("hidden"))
        };
        let before = indexed(&fixture, vec![definition()]).await;
        for level in 0..250 {
            let owner = fixture.user().await;
            let state = if level % 2 == 0 { "shown" } else { "hidden" };
            let values = vec![
                write(owner, "main", json!({"level": level, "state": state, "more": "x".repeat(100)})),
                write(owner, "other", json!({"level": level})),
            ];
            before.storage.write(&Caller::Server, values).await.unwrap();
        }
        let after = indexed(&fixture, vec![definition()]).await;
        for Indexed { storage, .. } in [&before, &after] {
            let found = storage.list_index(&Caller::Server, &query("+value.level:<5", &["value.level"])).await.unwrap();
            let values: Vec<&str> = found.objects.iter().map(|object| object.value.as_str()).collect();
            assert_eq!(values, [r#"{"level":0}"#, r#"{"level":2}"#, r#"{"level":4}"#], "{}", fixture.name);
            let mut listed = Vec::new();
            let mut next = IndexQuery { limit: 7, ..query("", &["-value.level"]) };
            loop {
                let page = storage.list_index(&Caller::Server, &next).await.unwrap();
                listed.extend(page.objects.iter().map(|object| object.value.clone()));
                next.cursor = page.cursor;
                if next.cursor.is_empty() {
                    break;
                }
            }
            let expected: Vec<String> = (0..125).rev().map(|half| format!(r#"{{"level":{}}}"#, half * 2)).collect();
            assert_eq!(listed, expected, "{}: all pages", fixture.name);
        }
    }
}

#[tokio::test]
async fn the_oldest_objects_leave_a_full_index_also_after_a_restart() {
    for fixture in fixtures().await {
        let definition = || heroes().entries_max(3);
        let Indexed { storage, .. } = indexed(&fixture, vec![definition()]).await;
        let owner = fixture.user().await;
        for key in ["a", "b", "c", "a", "d"] {
            fixture.clock.advance_ms(1);
            storage.write(&Caller::Server, vec![write(owner, key, json!({"level": 1}))]).await.unwrap();
        }
        let listed = async |storage: &Storage| keys(storage, &Caller::Server, &query("", &["-update_time"])).await;
        assert_eq!(listed(&storage).await, ["d", "a", "c"], "{}", fixture.name);
        let again = indexed(&fixture, vec![definition()]).await;
        assert_eq!(listed(&again.storage).await, ["d", "a", "c"], "{}", fixture.name);
    }
}

#[tokio::test]
async fn a_user_finds_public_and_own_objects_only() {
    for fixture in fixtures().await {
        let Indexed { storage, .. } = indexed(&fixture, vec![heroes()]).await;
        let (one, other) = (fixture.user().await, fixture.user().await);
        let permit = |key: &str, owner, read| write(owner, key, json!({"level": 1})).permit(read, Permission::Everyone);
        let writes = vec![
            permit("own", one, Permission::Owner),
            permit("hidden", one, Permission::Nobody),
            permit("private", other, Permission::Owner),
            permit("public", other, Permission::Everyone),
        ];
        storage.write(&Caller::Server, writes).await.unwrap();
        let by_key = query("", &[]);
        let as_one = as_user(one, Role::Player).caller.clone();
        let sorted = async |caller: &Caller| {
            let mut keys = keys(&storage, caller, &by_key).await;
            keys.sort();
            keys
        };
        assert_eq!(sorted(&as_one).await, ["own", "public"], "{}", fixture.name);
        assert_eq!(sorted(&Caller::Server).await, ["hidden", "own", "private", "public"]);
        let anonymous = storage.list_index(&Caller::Anonymous, &by_key).await;
        assert_eq!(error_of(anonymous).0, GrpcCode::Unauthenticated);
        // The value of another's object changes, and its permissions stay.
        let foreign = Write::new(ObjectId::new(COLLECTION, "public", other), json!({"level": 7}).to_string());
        storage.write(&as_one, vec![foreign]).await.unwrap();
        assert_eq!(keys(&storage, &as_one, &query("+value.level:7", &[])).await, ["public"], "{}", fixture.name);
    }
}

#[tokio::test]
async fn updates_of_several_owners_and_erasures_reach_the_index() {
    for fixture in fixtures().await {
        let Indexed { storage, multi_updates, indexes, .. } = indexed(&fixture, vec![heroes()]).await;
        let (one, other) = (fixture.user().await, fixture.user().await);
        let writes = || {
            vec![
                write(one, "a", json!({"level": 1})),
                write(other, "b", json!({"level": 2})),
                write(Uuid::nil(), "c", json!({"level": 3})),
            ]
        };
        storage.write(&Caller::Server, writes()).await.unwrap();
        let levels = query("", &["value.level"]);
        assert_eq!(keys(&storage, &Caller::Server, &levels).await, ["a", "b", "c"], "{}", fixture.name);
        let changes = Changes {
            writes: vec![write(one, "a", json!({"level": 9})), write(other, "d", json!({"level": 4}))],
            deletes: vec![Delete::new(ObjectId::new(COLLECTION, "c", Uuid::nil()))],
            ..Changes::default()
        };
        multi_updates.apply(changes).await.unwrap();
        assert_eq!(keys(&storage, &Caller::Server, &levels).await, ["b", "d", "a"], "{}", fixture.name);
        assert_eq!(indexes.names(), ["heroes"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_that_is_added_while_objects_change_agrees_with_the_database() {
    for fixture in fixtures().await {
        let Indexed { storage, registry, .. } = indexed(&fixture, Vec::new()).await;
        let owner = fixture.user().await;
        let level = move |key: usize, level: usize| write(owner, &format!("{key:03}"), json!({ "level": level }));
        let before = (0..100).map(|key| level(key, 0)).collect();
        storage.write(&Caller::Server, before).await.unwrap();
        let changing = storage.clone();
        let changes = tokio::spawn(async move {
            for round in 1..=200 {
                let changed = level(round % 50, round);
                changing.write(&Caller::Server, vec![changed]).await.unwrap();
                let id = ObjectId::new(COLLECTION, format!("{:03}", 50 + round % 40), owner);
                // It may be deleted already.
                let _ = changing.delete(&Caller::Server, vec![Delete::new(id)]).await;
            }
        });
        storage.add_index(heroes(), &registry, true).await.unwrap();
        changes.await.unwrap();
        assert_eq!(storage.index_names(), ["heroes"], "{}", fixture.name);
        let levels = storage.list_index(&Caller::Server, &query("", &["-value.level"])).await.unwrap();
        let expected: Vec<String> = (151..=200).rev().map(|round| format!("{:03}", round % 50)).collect();
        assert_eq!(keys_of(&levels)[..50], expected, "{}", fixture.name);
        assert_eq!(levels.objects.len(), 60, "{}: 50 changed, 10 unchanged, 40 deleted", fixture.name);
        let again = storage.add_index(heroes(), &registry, true).await;
        assert_eq!(error_of(again).0, GrpcCode::AlreadyExists);
    }
}

#[tokio::test]
async fn an_erased_account_leaves_the_index() {
    for fixture in fixtures().await {
        let extensions = aether_services::ServicesExtensions {
            storage_indexes: vec![heroes()],
            ..aether_services::ServicesExtensions::default()
        };
        let services = crate::audit::extended_services(fixture.store.clone(), &fixture.clock, extensions).await;
        let (one, other) = (fixture.user().await, fixture.user().await);
        let writes = vec![write(one, "a", json!({"level": 1})), write(other, "b", json!({"level": 2}))];
        services.storage.write(&Caller::Server, writes).await.unwrap();
        services.accounts.delete(one).await.unwrap();
        assert_eq!(keys(&services.storage, &Caller::Server, &query("", &[])).await, ["b"], "{}", fixture.name);
        let context = as_user(other, Role::Player);
        let request = json!({ "index": "heroes", "query": "+value.level:2" });
        let refused = services.call_json("ListStorageIndex", &context, request.clone()).await;
        assert_eq!(error_of(refused).0, GrpcCode::PermissionDenied, "players cannot search the index");
        let server = Arc::new(aether_services::CallContext::server());
        let answer = services.call_json("ListStorageIndex", &server, request).await.unwrap();
        assert_eq!(answer["objects"][0]["key"], "b");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_leave_the_index_as_the_database() {
    for fixture in fixtures().await {
        let Indexed { storage, .. } = indexed(&fixture, vec![heroes()]).await;
        let owners = [Uuid::nil(), fixture.user().await, fixture.user().await];
        let change = |number: usize| {
            let (storage, owner) = (storage.clone(), owners[number % 3]);
            tokio::spawn(async move {
                let key = |number: usize| format!("k{}", number % 4);
                match number % 7 {
                    0 => {
                        let delete = Delete::new(ObjectId::new(COLLECTION, key(number), owner));
                        storage.delete(&Caller::Server, vec![delete]).await
                    }
                    1 => {
                        let batch =
                            owners.map(|owner| write(owner, &key(number), json!({"level": number, "class": "b"})));
                        storage.write(&Caller::Server, batch.to_vec()).await.map(|_| ())
                    }
                    _ => {
                        let one = write(owner, &key(number), json!({"level": number, "class": "s"}));
                        storage.write(&Caller::Server, vec![one]).await.map(|_| ())
                    }
                }
            })
        };
        for round in 0..4 {
            let changes: Vec<_> = (0..60).map(|number| change(round * 60 + number)).collect();
            for changed in changes {
                changed.await.unwrap().unwrap();
            }
            let found = storage.list_index(&Caller::Server, &query("", &[])).await.unwrap().objects;
            let levels = |text: &str| serde_json::from_str::<Value>(text).unwrap()["level"].as_i64();
            for object in &found {
                let text = format!(
                    "+value.level:{} +key:{} +user_id:{}",
                    levels(&object.value).unwrap(),
                    object.id.key,
                    object.id.owner
                );
                let hits = keys(&storage, &Caller::Server, &query(&text, &[])).await;
                assert_eq!(hits.len(), 1, "{}: {text} is in the index as it is stored", fixture.name);
            }
            let stored = fixture.count("SELECT COUNT(*) FROM storage_objects WHERE collection = 'heroes'").await;
            assert_eq!(found.len() as i64, stored, "{}", fixture.name);
        }
    }
}

#[tokio::test]
async fn definitions_and_requests_have_limits() {
    let fixture = fixtures().await.remove(0);
    let wrong = [
        IndexDefinition { name: String::new(), ..heroes() },
        IndexDefinition { name: "x".repeat(index::INDEX_NAME_BYTES_MAX + 1), ..heroes() },
        IndexDefinition { collection: String::new(), ..heroes() },
        IndexDefinition { key: Some(String::new()), ..heroes() },
        IndexDefinition { fields: Vec::new(), ..heroes() },
        IndexDefinition { fields: vec!["level".to_owned(); index::INDEX_FIELDS_MAX + 1], ..heroes() },
        IndexDefinition { sortable: vec!["other".to_owned()], ..heroes() },
        IndexDefinition { sortable: vec!["level".to_owned(); index::SORTABLE_FIELDS_MAX + 1], ..heroes() },
        IndexDefinition { entries_max: 0, ..heroes() },
        IndexDefinition { entries_max: index::INDEX_ENTRIES_MAX + 1, ..heroes() },
    ];
    for definition in wrong {
        let text = format!("{definition:?}");
        let opened = StorageIndexes::open(vec![definition], &fixture.store, &Registry::new()).await;
        assert_eq!(opened.err().map(|error| error.code), Some(GrpcCode::InvalidArgument), "{text}");
    }
    let twice = StorageIndexes::open(vec![heroes(), heroes()], &fixture.store, &Registry::new()).await;
    assert_eq!(twice.err().map(|error| error.code), Some(GrpcCode::AlreadyExists));
    let many = vec![heroes(); index::INDEXES_MAX + 1];
    assert!(StorageIndexes::open(many, &fixture.store, &Registry::new()).await.is_err());

    let Indexed { storage, registry, .. } = indexed(&fixture, vec![heroes()]).await;
    for bad in [
        IndexQuery { limit: 0, ..query("", &[]) },
        IndexQuery { limit: 101, ..query("", &[]) },
        query("+value.level:>", &[]),
        query("", &["level"]),
        query("", &["value.secret"]),
        query("", &["value.level"; index::ORDER_FIELDS_MAX + 1]),
        IndexQuery { cursor: "???".to_owned(), ..query("", &[]) },
    ] {
        let (code, _) = error_of(storage.list_index(&Caller::Server, &bad).await);
        assert_eq!(code, GrpcCode::InvalidArgument, "{bad:?}");
    }
    let missing = IndexQuery { index: "gone".to_owned(), ..query("", &[]) };
    assert_eq!(error_of(storage.list_index(&Caller::Server, &missing).await).0, GrpcCode::NotFound);
    let large = write(Uuid::nil(), "large", json!({"class": "x".repeat(index::INDEX_ENTRY_BYTES_MAX)}));
    storage.write(&Caller::Server, vec![large]).await.unwrap();
    assert!(keys(&storage, &Caller::Server, &query("", &[])).await.is_empty(), "it is stored, but not in the index");
    assert!(registry.render().contains("aether_storage_index_too_large_total{index=\"heroes\"} 1\n"));
    let small = write(Uuid::nil(), "small", json!({"class": "a"}));
    storage
        .write(&Caller::Server, vec![small.clone(), Write { id: ObjectId::new(COLLECTION, "b", Uuid::nil()), ..small }])
        .await
        .unwrap();
    let page = storage.list_index(&Caller::Server, &IndexQuery { limit: 1, ..query("", &[]) }).await.unwrap();
    let other = IndexQuery { cursor: page.cursor, ..query("+value.class:a", &[]) };
    assert_eq!(error_of(storage.list_index(&Caller::Server, &other).await).0, GrpcCode::InvalidArgument);
}

/// Step of the model.
#[derive(Clone, Debug)]
enum Step {
    Write { owner: usize, key: u8, level: Option<i8>, class: Option<u8> },
    Delete { owner: usize, key: u8 },
    Search { level_min: i8, class: Option<u8>, is_descending: bool, limit: i32 },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..3_usize, 0..6_u8, any::<Option<i8>>(), proptest::option::of(0..3_u8))
            .prop_map(|(owner, key, level, class)| Step::Write { owner, key, level, class }),
        1 => (0..3_usize, 0..6_u8).prop_map(|(owner, key)| Step::Delete { owner, key }),
        2 => (-20..20_i8, proptest::option::of(0..3_u8), any::<bool>(), 1..5)
            .prop_map(|(level_min, class, is_descending, limit)| Step::Search { level_min, class, is_descending, limit }),
    ];
    proptest::collection::vec(step, 1..40)
}

/// Objects of the model: level, class and time of the last write, by owner and key.
type Model = BTreeMap<(Uuid, String), (Option<i8>, Option<u8>, i64)>;

async fn check_steps(steps: Vec<Step>) {
    const ENTRIES_MAX: usize = 10;
    let fixture = Fixture::new(aether_testkit_store::memory()).await;
    let Indexed { storage, .. } = indexed(&fixture, vec![heroes().entries_max(ENTRIES_MAX)]).await;
    let owners = [Uuid::nil(), fixture.user().await, fixture.user().await];
    let mut model = Model::new();
    for step in steps {
        fixture.clock.advance_ms(1);
        let now = aether_services::clock::WallClock::now_ms(&*fixture.clock);
        match step {
            Step::Write { owner, key, level, class } => {
                let (owner, key) = (owners[owner], format!("k{key}"));
                let mut value = json!({ "other": 1 });
                level.into_iter().for_each(|level| value["level"] = json!(level));
                class.into_iter().for_each(|class| value["class"] = json!(format!("c{class}")));
                storage.write(&Caller::Server, vec![write(owner, &key, value)]).await.expect("it is stored");
                model.remove(&(owner, key.clone()));
                if level.is_some() || class.is_some() {
                    model.insert((owner, key), (level, class, now));
                }
                while model.len() > ENTRIES_MAX {
                    let oldest = model
                        .iter()
                        .min_by_key(|(_, (_, _, at))| *at)
                        .map(|(key, _)| key.clone())
                        .expect("it is not empty");
                    model.remove(&oldest);
                }
            }
            Step::Delete { owner, key } => {
                let (owner, key) = (owners[owner], format!("k{key}"));
                let delete = Delete::new(ObjectId::new(COLLECTION, key.clone(), owner));
                storage.delete(&Caller::Server, vec![delete]).await.expect("it is deleted");
                model.remove(&(owner, key));
            }
            Step::Search { level_min, class, is_descending, limit } => {
                let mut text = format!("+value.level:>={level_min}");
                class.into_iter().for_each(|class| text += &format!(" +value.class:c{class}"));
                let order = if is_descending { "-value.level" } else { "value.level" };
                let matches = model.iter().filter(|(_, (level, of, _))| {
                    level.is_some_and(|level| level >= level_min) && class.is_none_or(|class| *of == Some(class))
                });
                let mut expected: Vec<_> = matches.collect();
                expected.sort_by_key(|(key, (level, _, at))| {
                    let level = i32::from(level.unwrap_or(0));
                    (if is_descending { -level } else { level }, -at, (*key).clone())
                });
                let expected: Vec<(Uuid, String)> = expected.into_iter().map(|(key, _)| key.clone()).collect();
                let mut found = Vec::new();
                let mut next = IndexQuery { limit, ..query(&text, &[order]) };
                loop {
                    let page = storage.list_index(&Caller::Server, &next).await.expect("it is listed");
                    assert!(page.objects.len() <= limit as usize);
                    found.extend(page.objects.into_iter().map(|object| (object.id.owner, object.id.key)));
                    next.cursor = page.cursor;
                    if next.cursor.is_empty() {
                        break;
                    }
                }
                assert_eq!(found, expected, "{text} {order}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn an_index_agrees_with_a_list_of_all_objects(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(check_steps(steps));
    }
}
