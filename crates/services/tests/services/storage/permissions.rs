//! Who may read and write what.

use crate::fixture::{refusal, worlds};
use crate::objects::{by, id, write};
use aether_services::storage::{Condition, Delete, Permission};
use aether_services::{Caller, GrpcCode};
use uuid::Uuid;

fn denied() -> (GrpcCode, String) {
    (GrpcCode::PermissionDenied, "Storage write rejected - permission denied.".to_owned())
}

#[tokio::test]
async fn everyone_reads_what_is_public_and_owners_what_is_theirs() {
    use Permission::{Everyone, Nobody, Owner};
    for world in worlds().await {
        let (ann, ben) = (world.user().await, world.user().await);
        for (key, read) in [("nobody", Nobody), ("owner", Owner), ("everyone", Everyone)] {
            for owner in [ann, Uuid::nil()] {
                let object = write("saves", key, owner, "{}").permit(read, Owner);
                world.storage().write(&Caller::Server, vec![object]).await.expect(world.name);
            }
        }
        let keys = ["nobody", "owner", "everyone", "missing"];
        let ids: Vec<_> =
            [ann, Uuid::nil()].iter().flat_map(|owner| keys.map(|key| id("saves", key, *owner))).collect();
        let read = async |caller: &Caller| {
            let found = world.storage().read(caller, ids.clone()).await.expect(world.name);
            found.into_iter().map(|object| (object.id.key, object.id.owner.is_nil())).collect::<Vec<_>>()
        };
        let shown = |expected: &[(&str, bool)]| {
            expected.iter().map(|(key, of_server)| ((*key).to_owned(), *of_server)).collect::<Vec<_>>()
        };
        assert_eq!(read(&by(ann)).await, shown(&[("owner", false), ("everyone", false), ("everyone", true)]));
        assert_eq!(read(&by(ben)).await, shown(&[("everyone", false), ("everyone", true)]));
        assert_eq!(read(&Caller::Server).await.len(), 6);
        assert_eq!(refusal(world.storage().read(&Caller::Stranger, ids.clone()).await).0, GrpcCode::Unauthenticated);
    }
}

#[tokio::test]
async fn an_object_that_nobody_may_write_is_left_alone_by_its_owner() {
    for world in worlds().await {
        let ann = world.user().await;
        let locked = write("saves", "a", ann, r#"{"n":1}"#).permit(Permission::Owner, Permission::Nobody);
        let acks = world.storage().write(&by(ann), vec![locked]).await.expect(world.name);
        for condition in [Condition::Always, Condition::Version(acks[0].version.clone())] {
            let again = write("saves", "a", ann, r#"{"n":2}"#).when(condition);
            assert_eq!(refusal(world.storage().write(&by(ann), vec![again]).await), denied(), "{}", world.name);
        }
        let removed = refusal(world.storage().delete(&by(ann), vec![Delete::new(id("saves", "a", ann))]).await);
        assert_eq!(removed.0, GrpcCode::PermissionDenied);
        let read = world.storage().read(&by(ann), vec![id("saves", "a", ann)]).await.unwrap();
        assert_eq!(read[0].value, r#"{"n":1}"#);
        world.storage().write(&Caller::Server, vec![write("saves", "a", ann, "{}")]).await.expect("the server may");
        world
            .storage()
            .delete(&Caller::Server, vec![Delete::new(id("saves", "a", ann))])
            .await
            .expect("the server may");
    }
}

#[tokio::test]
async fn nobody_writes_or_removes_what_belongs_to_another() {
    for world in worlds().await {
        let (ann, ben) = (world.user().await, world.user().await);
        let public = write("saves", "a", ann, r#"{"n":1}"#).permit(Permission::Everyone, Permission::Owner);
        let acks = world.storage().write(&by(ann), vec![public]).await.unwrap();
        for key in ["a", "missing"] {
            for condition in ["", "*", acks[0].version.as_str()] {
                let stolen = write("saves", key, ann, "{}").when(Condition::from_text(condition));
                assert_eq!(refusal(world.storage().write(&by(ben), vec![stolen]).await), denied(), "{}", world.name);
            }
            let removed = refusal(world.storage().delete(&by(ben), vec![Delete::new(id("saves", key, ann))]).await);
            assert_eq!(removed.0, GrpcCode::PermissionDenied);
        }
        let of_server = refusal(world.storage().write(&by(ben), vec![write("saves", "a", Uuid::nil(), "{}")]).await);
        assert_eq!(of_server, denied());
        let read = world.storage().read(&Caller::Server, vec![id("saves", "a", ann)]).await.unwrap();
        assert_eq!(read[0].value, r#"{"n":1}"#);
    }
}

#[tokio::test]
async fn what_is_open_to_everyone_is_changed_by_others_but_neither_reowned_nor_removed() {
    for world in worlds().await {
        let (ann, ben) = (world.user().await, world.user().await);
        let open = write("boards", "wall", ann, r#"{"n":1}"#).permit(Permission::Everyone, Permission::Everyone);
        let acks = world.storage().write(&by(ann), vec![open]).await.unwrap();
        world.clock.advance_ms(10);
        let changed = write("boards", "wall", ann, r#"{"n":2}"#)
            .permit(Permission::Nobody, Permission::Nobody)
            .when(Condition::Version(acks[0].version.clone()));
        let changed_acks = world.storage().write(&by(ben), vec![changed.clone()]).await.expect(world.name);
        assert_eq!(changed_acks[0].created_at, acks[0].created_at);
        let late = refusal(world.storage().write(&by(ben), vec![changed]).await);
        assert_eq!(late, (GrpcCode::InvalidArgument, "Storage write rejected - version check failed.".to_owned()));
        let read = world.storage().read(&by(ben), vec![id("boards", "wall", ann)]).await.unwrap();
        assert_eq!(read[0].value, r#"{"n":2}"#);
        assert_eq!((read[0].read, read[0].write), (Permission::Everyone, Permission::Everyone), "{}", world.name);
        let removed = refusal(world.storage().delete(&by(ben), vec![Delete::new(id("boards", "wall", ann))]).await);
        assert_eq!(removed.0, GrpcCode::PermissionDenied);
    }
}

#[test]
fn other_permissions_than_the_three_are_refused() {
    assert_eq!(Permission::from_number(0), Ok(Permission::Nobody));
    assert_eq!(Permission::from_number(2), Ok(Permission::Everyone));
    for number in [-1, 3, i64::MAX] {
        assert_eq!(Permission::from_number(number).unwrap_err().code, GrpcCode::InvalidArgument);
    }
}
