//! Values, versions, and writes that depend on them.

use crate::fixture::{START_MS, refusal, worlds};
use crate::objects::{by, id, write};
use aether_services::storage::{Condition, Delete, Permission, VALUE_BYTES_MAX};
use aether_services::{Caller, GrpcCode};
use uuid::Uuid;

const VERSION_FAILED: &str = "Storage write rejected - version check failed.";

#[tokio::test]
async fn what_was_written_is_read_back_as_it_was() {
    for world in worlds().await {
        let user = world.user().await;
        let value = r#"{ "hp" : 1, "text":"né\n\"'; DROP TABLE users; --" }"#;
        let object = write("saves", "slot'1", user, value).permit(Permission::Everyone, Permission::Nobody);
        let acks = world.storage().write(&by(user), vec![object]).await.expect(world.name);
        assert_eq!(acks[0].id, id("saves", "slot'1", user));
        assert_eq!((acks[0].created_at, acks[0].updated_at), (START_MS, START_MS));
        let read = world.storage().read(&by(user), vec![id("saves", "slot'1", user)]).await.expect(world.name);
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].value.as_str(), &read[0].version), (value, &acks[0].version));
        assert_eq!((read[0].read, read[0].write), (Permission::Everyone, Permission::Nobody));
    }
}

#[tokio::test]
async fn the_version_is_the_md5_of_the_value() {
    for world in worlds().await {
        let user = world.user().await;
        let acks = world.storage().write(&by(user), vec![write("saves", "a", user, r#"{"hp":1}"#)]).await.unwrap();
        assert_eq!(acks[0].version, "a5e17a8939c2af38ee56933d342d0346".to_owned(), "{}", world.name);
    }
}

#[tokio::test]
async fn overwriting_keeps_the_time_of_creation() {
    for world in worlds().await {
        let user = world.user().await;
        world.storage().write(&by(user), vec![write("saves", "a", user, r#"{"n":1}"#)]).await.unwrap();
        world.clock.advance_ms(5_000);
        let acks = world.storage().write(&by(user), vec![write("saves", "a", user, r#"{"n":2}"#)]).await.unwrap();
        assert_eq!((acks[0].created_at, acks[0].updated_at), (START_MS, START_MS + 5_000), "{}", world.name);
        let read = world.storage().read(&by(user), vec![id("saves", "a", user)]).await.unwrap();
        assert_eq!((read[0].created_at, read[0].updated_at), (START_MS, START_MS + 5_000));
        assert_eq!((read[0].value.as_str(), read[0].version.as_str()), (r#"{"n":2}"#, acks[0].version.as_str()));
    }
}

#[tokio::test]
async fn a_write_that_expects_no_object_is_refused_if_there_is_one() {
    for world in worlds().await {
        let user = world.user().await;
        let create = || write("saves", "a", user, "{}").when(Condition::from_text("*"));
        world.storage().write(&by(user), vec![create()]).await.expect(world.name);
        for caller in [by(user), Caller::Server] {
            let refused = refusal(world.storage().write(&caller, vec![create()]).await);
            assert_eq!(refused, (GrpcCode::InvalidArgument, VERSION_FAILED.to_owned()), "{}", world.name);
        }
    }
}

#[tokio::test]
async fn a_write_that_expects_a_version_is_refused_if_it_is_another() {
    for world in worlds().await {
        let user = world.user().await;
        let first = world.storage().write(&by(user), vec![write("saves", "a", user, r#"{"n":1}"#)]).await.unwrap();
        let expecting = |version: &str| write("saves", "a", user, r#"{"n":2}"#).when(Condition::from_text(version));
        let second = world.storage().write(&by(user), vec![expecting(&first[0].version)]).await.expect(world.name);
        for caller in [by(user), Caller::Server] {
            let refused = refusal(world.storage().write(&caller, vec![expecting(&first[0].version)]).await);
            assert_eq!(refused, (GrpcCode::InvalidArgument, VERSION_FAILED.to_owned()), "{}", world.name);
        }
        world.storage().write(&by(user), vec![expecting(&second[0].version)]).await.expect(world.name);
        let missing = write("saves", "b", user, "{}").when(Condition::from_text("abc"));
        assert_eq!(refusal(world.storage().write(&by(user), vec![missing]).await).1, VERSION_FAILED);
    }
}

#[tokio::test]
async fn a_removal_may_expect_a_version() {
    for world in worlds().await {
        let user = world.user().await;
        let acks = world.storage().write(&by(user), vec![write("saves", "a", user, "{}")]).await.unwrap();
        let expecting = |version: &str| vec![Delete { id: id("saves", "a", user), version: Some(version.to_owned()) }];
        let refused = refusal(world.storage().delete(&by(user), expecting("other")).await);
        assert_eq!(refused, (GrpcCode::InvalidArgument, "Storage delete rejected - version check failed.".to_owned()));
        world.storage().delete(&by(user), expecting(&acks[0].version)).await.expect(world.name);
        assert_eq!(world.storage().read(&by(user), vec![id("saves", "a", user)]).await.unwrap(), []);
        let gone = refusal(world.storage().delete(&by(user), expecting(&acks[0].version)).await);
        assert_eq!(gone.0, GrpcCode::InvalidArgument, "{}", world.name);
        world.storage().delete(&by(user), vec![Delete::new(id("saves", "a", user))]).await.expect("it is gone already");
    }
}

#[tokio::test]
async fn what_cannot_be_kept_is_refused_before_the_database_sees_it() {
    for world in worlds().await {
        let user = world.user().await;
        let (long, huge) = ("k".repeat(129), format!(r#"{{"a":"{}"}}"#, "x".repeat(VALUE_BYTES_MAX)));
        let wrong = [
            write("", "a", user, "{}"),
            write("saves", "", user, "{}"),
            write(&long, "a", user, "{}"),
            write("saves", &long, user, "{}"),
            write("sa\0ves", "a", user, "{}"),
            write("saves", "a\0", user, "{}"),
            write("saves", "a", user, ""),
            write("saves", "a", user, "[1]"),
            write("saves", "a", user, "7"),
            write("saves", "a", user, r#"{"a":"\u0000"}"#),
            write("saves", "a", user, &huge),
            write("saves", "a", user, "{}").when(Condition::Version("v\0".to_owned())),
            write("saves", "a", user, "{}").when(Condition::Version("v".repeat(129))),
        ];
        for wrong in wrong {
            let shown = format!("{:?} {:?}", wrong.id, wrong.condition);
            let refused = refusal(world.storage().write(&by(user), vec![wrong]).await);
            assert_eq!(refused.0, GrpcCode::InvalidArgument, "{}: {shown}", world.name);
        }
        let nobody =
            refusal(world.storage().write(&Caller::Server, vec![write("saves", "a", Uuid::new_v4(), "{}")]).await);
        assert_eq!(nobody, (GrpcCode::NotFound, "User account not found.".to_owned()), "{}", world.name);
        assert_eq!(world.count("SELECT count(*) FROM storage_objects").await, 0);
    }
}
