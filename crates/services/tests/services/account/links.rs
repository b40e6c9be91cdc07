//! Further ways into an account, and fewer.

use super::world::{World, assert_refused, by_custom_id, by_device, by_email};
use aether_services::GrpcCode;
use aether_services::account::SignInMethod;
use uuid::Uuid;

const LAST: &str = "Cannot unlink last account identifier. Check profile exists and is not last link.";

#[tokio::test]
async fn a_linked_way_leads_to_the_same_account_and_an_unlinked_one_no_more() {
    for world in World::all().await {
        let user = world.user("device-0001").await;
        let further =
            [by_device("device-0002"), by_custom_id("custom-1"), by_email("someone@example.com", "correct horse")];
        for way in &further {
            world.accounts.link(user, way.clone()).await.expect("it is nobody's");
            world.accounts.link(user, way.clone()).await.expect("it is theirs already");
            assert_eq!(world.sign_in(way.clone()).await.expect("it leads somewhere").user, user);
        }
        let account = world.accounts.account(user).await.expect("it is there");
        assert_eq!(account.devices, ["device-0001", "device-0002"]);
        assert_eq!(account.custom_id.as_deref(), Some("custom-1"));
        assert_eq!(account.email.as_deref(), Some("someone@example.com"));
        for way in &further {
            world.accounts.unlink(user, way.clone()).await.expect("it is not the last");
            assert_ne!(world.sign_in(way.clone()).await.expect("it is nobody's now").user, user, "{way:?}");
        }
        let account = world.accounts.account(user).await.expect("it is there");
        assert_eq!((account.devices.len(), account.custom_id, account.email), (1, None, None));
    }
}

#[tokio::test]
async fn what_leads_to_another_account_is_not_linked() {
    for world in World::all().await {
        let user = world.user("device-0001").await;
        let taken = [
            (by_device("device-0002"), "Device ID is already in use."),
            (by_custom_id("custom-2"), "Custom ID is already in use."),
            (by_email("other@example.com", "correct horse"), "Email address is already in use."),
        ];
        for (way, sentence) in taken {
            let other = world.sign_in(way.clone()).await.expect("it is created").user;
            assert_refused(world.accounts.link(user, way.clone()).await, GrpcCode::AlreadyExists, sentence);
            assert_eq!(world.sign_in(way).await.expect("it is unchanged").user, other);
        }
    }
}

#[tokio::test]
async fn the_last_way_in_stays() {
    for world in World::all().await {
        let first =
            [by_device("device-0001"), by_custom_id("custom-1"), by_email("someone@example.com", "correct horse")];
        for way in first {
            let user = world.sign_in(way.clone()).await.expect("it is created").user;
            assert_refused(world.accounts.unlink(user, way.clone()).await, GrpcCode::PermissionDenied, LAST);
            assert_eq!(world.sign_in(way).await.expect("it is still there").user, user);
        }
    }
}

#[tokio::test]
async fn only_ones_own_ways_are_unlinked() {
    let world = World::new().await;
    let user = world.user("device-0001").await;
    world.accounts.link(user, by_custom_id("custom-1")).await.expect("it is nobody's");
    world.user("device-0002").await;
    for way in [by_device("device-0002"), by_custom_id("custom-2"), by_email("a@example.com", "")] {
        assert_refused(world.accounts.unlink(user, way).await, GrpcCode::PermissionDenied, LAST);
    }
    let nobody = world.accounts.link(Uuid::from_u128(1), by_device("device-0003")).await;
    assert_refused(nobody, GrpcCode::NotFound, "User account not found.");
}

#[tokio::test]
async fn two_ways_unlinked_at_once_leave_one() {
    for world in World::all().await {
        for round in 0..10 {
            let (device, custom) = (format!("device-{round:04}"), format!("custom-{round}"));
            let user = world.user(&device).await;
            world.accounts.link(user, SignInMethod::Custom(custom.clone())).await.expect("it is nobody's");
            let outcomes = tokio::join!(
                world.accounts.unlink(user, SignInMethod::Device(device)),
                world.accounts.unlink(user, SignInMethod::Custom(custom))
            );
            assert!(outcomes.0.is_ok() != outcomes.1.is_ok(), "{}: {outcomes:?}", world.name);
        }
    }
}

#[tokio::test]
async fn one_id_linked_by_many_at_once_is_one_accounts() {
    for world in World::all().await {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..10 {
            let user = world.user(&format!("device-{number:04}")).await;
            let accounts = world.accounts.clone();
            let way = if number % 2 == 0 { by_custom_id("the same") } else { by_device("the same device") };
            tasks.spawn(async move { (number % 2, accounts.link(user, way).await.map_err(|refusal| refusal.code)) });
        }
        let outcomes = tasks.join_all().await;
        for kind in 0..2 {
            let of_kind = outcomes.iter().filter(|(number, _)| *number == kind);
            let linked = of_kind.clone().filter(|(_, outcome)| outcome.is_ok()).count();
            let taken = of_kind.filter(|(_, outcome)| *outcome == Err(GrpcCode::AlreadyExists)).count();
            assert_eq!((linked, taken), (1, 4), "{}: {outcomes:?}", world.name);
        }
    }
}

#[tokio::test]
async fn a_new_email_address_takes_the_place_of_the_old_one_with_its_password() {
    let world = World::new().await;
    let user = world.sign_in(by_email("old@example.com", "correct horse")).await.expect("it is created").user;
    world.execute("UPDATE users SET verified_at = 1").await;
    world.accounts.link(user, by_email("old@example.com", "battery staple")).await.expect("it is theirs");
    let account = world.accounts.account(user).await.expect("it is there");
    assert_eq!(account.verified_at, Some(1), "the address is the same");
    world.accounts.link(user, by_email("new@example.com", "battery staple")).await.expect("it is nobody's");
    let account = world.accounts.account(user).await.expect("it is there");
    assert_eq!((account.email.as_deref(), account.verified_at), (Some("new@example.com"), None));
    let found = world.sign_in(by_email("new@example.com", "battery staple")).await.expect("it leads there");
    assert_eq!(found.user, user);
    assert!(world.sign_in(by_email("old@example.com", "correct horse")).await.expect("it is free").created);
}

#[tokio::test]
async fn a_custom_id_and_an_email_address_are_unlinked_without_being_named() {
    let world = World::new().await;
    let user = world.user("device-0001").await;
    world.accounts.link(user, by_custom_id("custom-1")).await.expect("it is nobody's");
    world.accounts.link(user, by_email("a@example.com", "correct horse")).await.expect("it is nobody's");
    world.accounts.unlink(user, by_custom_id("")).await.expect("there is one");
    world.accounts.unlink(user, by_email("", "")).await.expect("there is one");
    let account = world.accounts.account(user).await.expect("it is there");
    assert_eq!((account.custom_id, account.email), (None, None));
    assert_refused(world.accounts.unlink(user, by_custom_id("")).await, GrpcCode::PermissionDenied, LAST);
}

#[tokio::test]
async fn an_account_has_only_so_many_devices() {
    let world = World::new().await;
    let user = world.user("device-0000").await;
    for number in 1..64 {
        world.accounts.link(user, by_device(&format!("device-{number:04}"))).await.expect("there is room");
    }
    let refusal = world.accounts.link(user, by_device("device-0064")).await.expect_err("there is none");
    assert_eq!(refusal.code, GrpcCode::FailedPrecondition);
    world.accounts.link(user, by_device("device-0063")).await.expect("it is theirs already");
    assert!(world.sign_in(by_device("device-0064")).await.expect("it is nobody's").created);
}
