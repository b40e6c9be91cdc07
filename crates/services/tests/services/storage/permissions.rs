//! Permissions of stored objects.

use crate::fixture::{error_of, fixtures};
use crate::objects::{by, id, write};
use aether_services::storage::{Condition, Delete, Permission};
use aether_services::{Caller, GrpcCode};
use uuid::Uuid;

fn denied() -> (GrpcCode, String) {
    (GrpcCode::PermissionDenied, "Storage write rejected - permission denied.".to_owned())
}

#[tokio::test]
async fn users_read_public_objects_and_their_own() {
    use Permission::{Everyone, Nobody, Owner};
    for fixture in fixtures().await {
        let (ann, ben) = (fixture.user().await, fixture.user().await);
        for (key, read) in [("nobody", Nobody), ("owner", Owner), ("everyone", Everyone)] {
            for owner in [ann, Uuid::nil()] {
                let object = write("saves", key, owner, "{}").permit(read, Owner);
                fixture.storage().write(&Caller::Server, vec![object]).await.expect(fixture.name);
            }
        }
        let keys = ["nobody", "owner", "everyone", "missing"];
        let ids: Vec<_> =
            [ann, Uuid::nil()].iter().flat_map(|owner| keys.map(|key| id("saves", key, *owner))).collect();
        let read = async |caller: &Caller| {
            let found = fixture.storage().read(caller, ids.clone()).await.expect(fixture.name);
            found.into_iter().map(|object| (object.id.key, object.id.owner.is_nil())).collect::<Vec<_>>()
        };
        let shown = |expected: &[(&str, bool)]| {
            expected.iter().map(|(key, of_server)| ((*key).to_owned(), *of_server)).collect::<Vec<_>>()
        };
        assert_eq!(read(&by(ann)).await, shown(&[("owner", false), ("everyone", false), ("everyone", true)]));
        assert_eq!(read(&by(ben)).await, shown(&[("everyone", false), ("everyone", true)]));
        assert_eq!(read(&Caller::Server).await.len(), 6);
        assert_eq!(
            error_of(fixture.storage().read(&Caller::Anonymous, ids.clone()).await).0,
            GrpcCode::Unauthenticated
        );
    }
}

#[tokio::test]
async fn an_object_that_nobody_may_write_is_read_only_for_its_owner() {
    for fixture in fixtures().await {
        let ann = fixture.user().await;
        let locked = write("saves", "a", ann, r#"{"n":1}"#).permit(Permission::Owner, Permission::Nobody);
        let acks = fixture.storage().write(&by(ann), vec![locked]).await.expect(fixture.name);
        for condition in [Condition::Always, Condition::Version(acks[0].version.clone())] {
            let again = write("saves", "a", ann, r#"{"n":2}"#).when(condition);
            assert_eq!(error_of(fixture.storage().write(&by(ann), vec![again]).await), denied(), "{}", fixture.name);
        }
        let removed = error_of(fixture.storage().delete(&by(ann), vec![Delete::new(id("saves", "a", ann))]).await);
        assert_eq!(removed.0, GrpcCode::PermissionDenied);
        let read = fixture.storage().read(&by(ann), vec![id("saves", "a", ann)]).await.unwrap();
        assert_eq!(read[0].value, r#"{"n":1}"#);
        fixture.storage().write(&Caller::Server, vec![write("saves", "a", ann, "{}")]).await.expect("the server may");
        fixture
            .storage()
            .delete(&Caller::Server, vec![Delete::new(id("saves", "a", ann))])
            .await
            .expect("the server may");
    }
}

#[tokio::test]
async fn users_cannot_write_or_delete_objects_of_others() {
    for fixture in fixtures().await {
        let (ann, ben) = (fixture.user().await, fixture.user().await);
        let public = write("saves", "a", ann, r#"{"n":1}"#).permit(Permission::Everyone, Permission::Owner);
        let acks = fixture.storage().write(&by(ann), vec![public]).await.unwrap();
        for key in ["a", "missing"] {
            for condition in ["", "*", acks[0].version.as_str()] {
                let stolen = write("saves", key, ann, "{}").when(Condition::from_text(condition));
                assert_eq!(
                    error_of(fixture.storage().write(&by(ben), vec![stolen]).await),
                    denied(),
                    "{}",
                    fixture.name
                );
            }
            let removed = error_of(fixture.storage().delete(&by(ben), vec![Delete::new(id("saves", key, ann))]).await);
            assert_eq!(removed.0, GrpcCode::PermissionDenied);
        }
        let of_server = error_of(fixture.storage().write(&by(ben), vec![write("saves", "a", Uuid::nil(), "{}")]).await);
        assert_eq!(of_server, denied());
        let read = fixture.storage().read(&Caller::Server, vec![id("saves", "a", ann)]).await.unwrap();
        assert_eq!(read[0].value, r#"{"n":1}"#);
    }
}

#[tokio::test]
async fn others_change_only_the_value_of_an_open_object() {
    for fixture in fixtures().await {
        let (ann, ben) = (fixture.user().await, fixture.user().await);
        let open = write("boards", "wall", ann, r#"{"n":1}"#).permit(Permission::Everyone, Permission::Everyone);
        let acks = fixture.storage().write(&by(ann), vec![open]).await.unwrap();
        fixture.clock.advance_ms(10);
        let changed = write("boards", "wall", ann, r#"{"n":2}"#)
            .permit(Permission::Nobody, Permission::Nobody)
            .when(Condition::Version(acks[0].version.clone()));
        let changed_acks = fixture.storage().write(&by(ben), vec![changed.clone()]).await.expect(fixture.name);
        assert_eq!(changed_acks[0].created_at, acks[0].created_at);
        let late = error_of(fixture.storage().write(&by(ben), vec![changed]).await);
        assert_eq!(late, (GrpcCode::InvalidArgument, "Storage write rejected - version check failed.".to_owned()));
        let read = fixture.storage().read(&by(ben), vec![id("boards", "wall", ann)]).await.unwrap();
        assert_eq!(read[0].value, r#"{"n":2}"#);
        assert_eq!((read[0].read, read[0].write), (Permission::Everyone, Permission::Everyone), "{}", fixture.name);
        let removed = error_of(fixture.storage().delete(&by(ben), vec![Delete::new(id("boards", "wall", ann))]).await);
        assert_eq!(removed.0, GrpcCode::PermissionDenied);
    }
}

#[test]
fn unknown_permissions_are_rejected() {
    assert_eq!(Permission::from_number(0), Ok(Permission::Nobody));
    assert_eq!(Permission::from_number(2), Ok(Permission::Everyone));
    for number in [-1, 3, i64::MAX] {
        assert_eq!(Permission::from_number(number).unwrap_err().code, GrpcCode::InvalidArgument);
    }
}
