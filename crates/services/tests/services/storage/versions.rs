//! Values, versions, and writes that depend on them.

use crate::fixture::{START_MS, error_of, fixtures};
use crate::objects::{by, id, write};
use aether_services::storage::{Condition, Delete, Permission, VALUE_BYTES_MAX};
use aether_services::{Caller, GrpcCode};
use uuid::Uuid;

const VERSION_FAILED: &str = "Storage write rejected - version check failed.";

#[tokio::test]
async fn values_are_read_back_unchanged() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let value = r#"{ "hp" : 1, "text":"né\n\"'; DROP TABLE users; --" }"#;
        let object = write("saves", "slot'1", user, value).permit(Permission::Everyone, Permission::Nobody);
        let acks = fixture.storage().write(&by(user), vec![object]).await.expect(fixture.name);
        assert_eq!(acks[0].id, id("saves", "slot'1", user));
        assert_eq!((acks[0].created_at, acks[0].updated_at), (START_MS, START_MS));
        let read = fixture.storage().read(&by(user), vec![id("saves", "slot'1", user)]).await.expect(fixture.name);
        assert_eq!(read.len(), 1);
        assert_eq!((read[0].value.as_str(), &read[0].version), (value, &acks[0].version));
        assert_eq!((read[0].read, read[0].write), (Permission::Everyone, Permission::Nobody));
    }
}

#[tokio::test]
async fn the_version_is_the_md5_of_the_value() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let acks = fixture.storage().write(&by(user), vec![write("saves", "a", user, r#"{"hp":1}"#)]).await.unwrap();
        assert_eq!(acks[0].version, "a5e17a8939c2af38ee56933d342d0346".to_owned(), "{}", fixture.name);
    }
}

#[tokio::test]
async fn overwriting_keeps_the_time_of_creation() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        fixture.storage().write(&by(user), vec![write("saves", "a", user, r#"{"n":1}"#)]).await.unwrap();
        fixture.clock.advance_ms(5_000);
        let acks = fixture.storage().write(&by(user), vec![write("saves", "a", user, r#"{"n":2}"#)]).await.unwrap();
        assert_eq!((acks[0].created_at, acks[0].updated_at), (START_MS, START_MS + 5_000), "{}", fixture.name);
        let read = fixture.storage().read(&by(user), vec![id("saves", "a", user)]).await.unwrap();
        assert_eq!((read[0].created_at, read[0].updated_at), (START_MS, START_MS + 5_000));
        assert_eq!((read[0].value.as_str(), read[0].version.as_str()), (r#"{"n":2}"#, acks[0].version.as_str()));
    }
}

#[tokio::test]
async fn a_write_that_expects_no_object_fails_if_there_is_one() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let create = || write("saves", "a", user, "{}").when(Condition::from_text("*"));
        fixture.storage().write(&by(user), vec![create()]).await.expect(fixture.name);
        for caller in [by(user), Caller::Server] {
            let rejected = error_of(fixture.storage().write(&caller, vec![create()]).await);
            assert_eq!(rejected, (GrpcCode::InvalidArgument, VERSION_FAILED.to_owned()), "{}", fixture.name);
        }
    }
}

#[tokio::test]
async fn a_write_that_expects_another_version_fails() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let first = fixture.storage().write(&by(user), vec![write("saves", "a", user, r#"{"n":1}"#)]).await.unwrap();
        let expecting = |version: &str| write("saves", "a", user, r#"{"n":2}"#).when(Condition::from_text(version));
        let second = fixture.storage().write(&by(user), vec![expecting(&first[0].version)]).await.expect(fixture.name);
        for caller in [by(user), Caller::Server] {
            let rejected = error_of(fixture.storage().write(&caller, vec![expecting(&first[0].version)]).await);
            assert_eq!(rejected, (GrpcCode::InvalidArgument, VERSION_FAILED.to_owned()), "{}", fixture.name);
        }
        fixture.storage().write(&by(user), vec![expecting(&second[0].version)]).await.expect(fixture.name);
        let missing = write("saves", "b", user, "{}").when(Condition::from_text("abc"));
        assert_eq!(error_of(fixture.storage().write(&by(user), vec![missing]).await).1, VERSION_FAILED);
    }
}

#[tokio::test]
async fn a_deletion_may_expect_a_version() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
        let acks = fixture.storage().write(&by(user), vec![write("saves", "a", user, "{}")]).await.unwrap();
        let expecting = |version: &str| vec![Delete { id: id("saves", "a", user), version: Some(version.to_owned()) }];
        let rejected = error_of(fixture.storage().delete(&by(user), expecting("other")).await);
        assert_eq!(rejected, (GrpcCode::InvalidArgument, "Storage delete rejected - version check failed.".to_owned()));
        fixture.storage().delete(&by(user), expecting(&acks[0].version)).await.expect(fixture.name);
        assert_eq!(fixture.storage().read(&by(user), vec![id("saves", "a", user)]).await.unwrap(), []);
        let gone = error_of(fixture.storage().delete(&by(user), expecting(&acks[0].version)).await);
        assert_eq!(gone.0, GrpcCode::InvalidArgument, "{}", fixture.name);
        fixture
            .storage()
            .delete(&by(user), vec![Delete::new(id("saves", "a", user))])
            .await
            .expect("it is gone already");
    }
}

#[tokio::test]
async fn invalid_objects_are_rejected_before_reaching_the_database() {
    for fixture in fixtures().await {
        let user = fixture.user().await;
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
            let rejected = error_of(fixture.storage().write(&by(user), vec![wrong]).await);
            assert_eq!(rejected.0, GrpcCode::InvalidArgument, "{}: {shown}", fixture.name);
        }
        let nobody =
            error_of(fixture.storage().write(&Caller::Server, vec![write("saves", "a", Uuid::new_v4(), "{}")]).await);
        assert_eq!(nobody, (GrpcCode::NotFound, "User account not found.".to_owned()), "{}", fixture.name);
        assert_eq!(fixture.count("SELECT count(*) FROM storage_objects").await, 0);
    }
}
