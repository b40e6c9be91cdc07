//! Linking and unlinking of login identities.

use super::fixture::{Fixture, assert_rejected, by_custom_id, by_device, by_email};
use aether_services::GrpcCode;
use aether_services::account::SignInMethod;
use uuid::Uuid;

const LAST: &str = "Cannot unlink last account identifier. Check profile exists and is not last link.";

#[tokio::test]
async fn a_linked_identity_finds_the_account_until_it_is_unlinked() {
    for fixture in Fixture::all().await {
        let user = fixture.user("device-0001").await;
        let further =
            [by_device("device-0002"), by_custom_id("custom-1"), by_email("someone@example.com", "correct horse")];
        for method in &further {
            fixture.accounts.link(user, method.clone()).await.expect("it is nobody's");
            fixture.accounts.link(user, method.clone()).await.expect("it is theirs already");
            assert_eq!(fixture.sign_in(method.clone()).await.expect("it leads somewhere").user, user);
        }
        let account = fixture.accounts.account(user).await.expect("it is there");
        assert_eq!(account.devices, ["device-0001", "device-0002"]);
        assert_eq!(account.custom_id.as_deref(), Some("custom-1"));
        assert_eq!(account.email.as_deref(), Some("someone@example.com"));
        for method in &further {
            fixture.accounts.unlink(user, method.clone()).await.expect("it is not the last");
            assert_ne!(fixture.sign_in(method.clone()).await.expect("it is nobody's now").user, user, "{method:?}");
        }
        let account = fixture.accounts.account(user).await.expect("it is there");
        assert_eq!((account.devices.len(), account.custom_id, account.email), (1, None, None));
    }
}

#[tokio::test]
async fn an_identity_of_another_account_is_not_linked() {
    for fixture in Fixture::all().await {
        let user = fixture.user("device-0001").await;
        let taken = [
            (by_device("device-0002"), "Device ID is already in use."),
            (by_custom_id("custom-2"), "Custom ID is already in use."),
            (by_email("other@example.com", "correct horse"), "Email address is already in use."),
        ];
        for (method, sentence) in taken {
            let other = fixture.sign_in(method.clone()).await.expect("it is created").user;
            assert_rejected(fixture.accounts.link(user, method.clone()).await, GrpcCode::AlreadyExists, sentence);
            assert_eq!(fixture.sign_in(method).await.expect("it is unchanged").user, other);
        }
    }
}

#[tokio::test]
async fn the_last_identity_stays() {
    for fixture in Fixture::all().await {
        let first =
            [by_device("device-0001"), by_custom_id("custom-1"), by_email("someone@example.com", "correct horse")];
        for method in first {
            let user = fixture.sign_in(method.clone()).await.expect("it is created").user;
            assert_rejected(fixture.accounts.unlink(user, method.clone()).await, GrpcCode::PermissionDenied, LAST);
            assert_eq!(fixture.sign_in(method).await.expect("it is still there").user, user);
        }
    }
}

#[tokio::test]
async fn only_own_identities_are_unlinked() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0001").await;
    fixture.accounts.link(user, by_custom_id("custom-1")).await.expect("it is nobody's");
    fixture.user("device-0002").await;
    for method in [by_device("device-0002"), by_custom_id("custom-2"), by_email("a@example.com", "")] {
        assert_rejected(fixture.accounts.unlink(user, method).await, GrpcCode::PermissionDenied, LAST);
    }
    let nobody = fixture.accounts.link(Uuid::from_u128(1), by_device("device-0003")).await;
    assert_rejected(nobody, GrpcCode::NotFound, "User account not found.");
}

#[tokio::test]
async fn two_concurrent_unlinks_leave_one_identity() {
    for fixture in Fixture::all().await {
        for round in 0..10 {
            let (device, custom) = (format!("device-{round:04}"), format!("custom-{round}"));
            let user = fixture.user(&device).await;
            fixture.accounts.link(user, SignInMethod::Custom(custom.clone())).await.expect("it is nobody's");
            let outcomes = tokio::join!(
                fixture.accounts.unlink(user, SignInMethod::Device(device)),
                fixture.accounts.unlink(user, SignInMethod::Custom(custom))
            );
            assert!(outcomes.0.is_ok() != outcomes.1.is_ok(), "{}: {outcomes:?}", fixture.name);
        }
    }
}

#[tokio::test]
async fn an_id_linked_by_many_at_once_belongs_to_one_account() {
    for fixture in Fixture::all().await {
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..10 {
            let user = fixture.user(&format!("device-{number:04}")).await;
            let accounts = fixture.accounts.clone();
            let method = if number % 2 == 0 { by_custom_id("the same") } else { by_device("the same device") };
            tasks.spawn(async move { (number % 2, accounts.link(user, method).await.map_err(|error| error.code)) });
        }
        let outcomes = tasks.join_all().await;
        for kind in 0..2 {
            let of_kind = outcomes.iter().filter(|(number, _)| *number == kind);
            let linked = of_kind.clone().filter(|(_, outcome)| outcome.is_ok()).count();
            let taken = of_kind.filter(|(_, outcome)| *outcome == Err(GrpcCode::AlreadyExists)).count();
            assert_eq!((linked, taken), (1, 4), "{}: {outcomes:?}", fixture.name);
        }
    }
}

#[tokio::test]
async fn a_new_email_address_replaces_the_old_one_with_its_password() {
    let fixture = Fixture::new().await;
    let user = fixture.sign_in(by_email("old@example.com", "correct horse")).await.expect("it is created").user;
    fixture.execute("UPDATE users SET verified_at = 1").await;
    fixture.accounts.link(user, by_email("old@example.com", "battery staple")).await.expect("it is theirs");
    let account = fixture.accounts.account(user).await.expect("it is there");
    assert_eq!(account.verified_at, Some(1), "the address is the same");
    fixture.accounts.link(user, by_email("new@example.com", "battery staple")).await.expect("it is nobody's");
    let account = fixture.accounts.account(user).await.expect("it is there");
    assert_eq!((account.email.as_deref(), account.verified_at), (Some("new@example.com"), None));
    let found = fixture.sign_in(by_email("new@example.com", "battery staple")).await.expect("it leads there");
    assert_eq!(found.user, user);
    assert!(fixture.sign_in(by_email("old@example.com", "correct horse")).await.expect("it is free").created);
}

#[tokio::test]
async fn a_custom_id_and_an_email_address_are_unlinked_if_left_empty() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0001").await;
    fixture.accounts.link(user, by_custom_id("custom-1")).await.expect("it is nobody's");
    fixture.accounts.link(user, by_email("a@example.com", "correct horse")).await.expect("it is nobody's");
    fixture.accounts.unlink(user, by_custom_id("")).await.expect("there is one");
    fixture.accounts.unlink(user, by_email("", "")).await.expect("there is one");
    let account = fixture.accounts.account(user).await.expect("it is there");
    assert_eq!((account.custom_id, account.email), (None, None));
    assert_rejected(fixture.accounts.unlink(user, by_custom_id("")).await, GrpcCode::PermissionDenied, LAST);
}

#[tokio::test]
async fn the_number_of_devices_is_limited() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0000").await;
    for number in 1..64 {
        fixture.accounts.link(user, by_device(&format!("device-{number:04}"))).await.expect("there is room");
    }
    let error = fixture.accounts.link(user, by_device("device-0064")).await.expect_err("there is none");
    assert_eq!(error.code, GrpcCode::FailedPrecondition);
    fixture.accounts.link(user, by_device("device-0063")).await.expect("it is theirs already");
    assert!(fixture.sign_in(by_device("device-0064")).await.expect("it is nobody's").created);
}
