//! Sign-in: finding the account of an identity, or creating it.

use super::fixture::{Fixture, assert_rejected, by_custom_id, by_device, by_email, sign_in};
use aether_services::GrpcCode;
use aether_services::account::{SignIn, SignInMethod};
use serde_json::json;

#[tokio::test]
async fn a_device_creates_an_account_once_and_finds_it_afterwards() {
    for fixture in Fixture::all().await {
        let first = fixture.sign_in(by_device("device-0001")).await.expect("it is created");
        assert!(first.created);
        assert!(first.username.len() == 10 && first.username.bytes().all(|byte| byte.is_ascii_alphabetic()));
        let again = fixture.sign_in(by_device("device-0001")).await.expect("it is found");
        assert_eq!((again.user, again.username, again.created), (first.user, first.username, false));
        let other = fixture.sign_in(by_device("device-0002")).await.expect("it is created");
        assert_ne!(other.user, first.user);
    }
}

#[tokio::test]
async fn a_known_device_signs_in_with_one_read_and_no_write() {
    let fixture = Fixture::new().await;
    fixture.user("device-0001").await;
    let (reads, writes) = fixture.operations();
    fixture.sign_in(by_device("device-0001")).await.expect("it is found");
    assert_eq!(fixture.operations(), (reads + 1, writes));
}

#[tokio::test]
async fn every_identity_has_its_own_account() {
    for fixture in Fixture::all().await {
        let ways =
            [by_device("device-0001"), by_custom_id("custom-1"), by_email("Someone@Example.com", "correct horse")];
        let mut users = Vec::new();
        for way in &ways {
            let first = fixture.sign_in(way.clone()).await.expect("it is created");
            let again = fixture.sign_in(way.clone()).await.expect("it is found");
            assert_eq!((first.user, first.created, again.created), (again.user, true, false));
            users.push(first.user);
        }
        users.sort();
        users.dedup();
        assert_eq!(users.len(), ways.len());
        let small = fixture.sign_in(by_email("someone@example.com", "correct horse")).await.expect("it is found");
        assert!(!small.created, "an email address is the same in capital letters");
    }
}

#[tokio::test]
async fn no_account_is_created_without_permission() {
    let fixture = Fixture::new().await;
    let (_, writes) = fixture.operations();
    for method in [by_device("device-0001"), by_custom_id("custom-1")] {
        let outcome = fixture.accounts.authenticate(SignIn { create: false, ..sign_in(method) }).await;
        assert_rejected(outcome, GrpcCode::NotFound, "User account not found.");
    }
    assert_eq!(fixture.operations().1, writes, "nothing was written");
}

#[tokio::test]
async fn a_chosen_username_belongs_to_one_account() {
    for fixture in Fixture::all().await {
        let named = |device: &str, name: &str| {
            let username = Some(name.to_owned());
            fixture.accounts.authenticate(SignIn { username, ..sign_in(by_device(device)) })
        };
        assert_eq!(named("device-0001", "alice").await.expect("the name is free").username, "alice");
        let taken = named("device-0002", "alice").await;
        assert_rejected(taken, GrpcCode::AlreadyExists, "Username is already in use.");
        let again = named("device-0001", "bob").await.expect("it is known");
        assert_eq!((again.username.as_str(), again.created), ("alice", false), "a known account keeps its name");
        assert!(named("device-0002", "bob").await.expect("the failure before left nothing").created);
        let email =
            SignIn { username: Some("alice".to_owned()), ..sign_in(by_email("a@example.com", "correct horse")) };
        assert_rejected(
            fixture.accounts.authenticate(email).await,
            GrpcCode::AlreadyExists,
            "Username is already in use.",
        );
    }
}

#[tokio::test]
async fn concurrent_sign_ins_with_one_device_get_one_account() {
    for fixture in Fixture::all().await {
        for (round, username) in [None, Some("same name".to_owned())].into_iter().enumerate() {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..20 {
                let accounts = fixture.accounts.clone();
                let attempt =
                    SignIn { username: username.clone(), ..sign_in(by_device(&format!("device-{round:04}"))) };
                tasks.spawn(async move { accounts.authenticate(attempt).await.expect("all get in") });
            }
            let signed_in = tasks.join_all().await;
            assert!(signed_in.iter().all(|one| one.user == signed_in[0].user), "{}", fixture.name);
            assert_eq!(signed_in.iter().filter(|one| one.created).count(), 1, "{}", fixture.name);
        }
        let message = fixture.take_messages().await;
        assert_eq!(message.len(), 2, "what was undone was not message: {message:?}");
    }
}

#[tokio::test]
async fn concurrent_sign_ins_with_one_email_get_one_account() {
    for fixture in Fixture::all().await {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let accounts = fixture.accounts.clone();
            let attempt = sign_in(by_email("someone@example.com", "correct horse"));
            tasks.spawn(async move { accounts.authenticate(attempt).await.expect("all get in") });
        }
        let signed_in = tasks.join_all().await;
        assert!(signed_in.iter().all(|one| one.user == signed_in[0].user), "{}", fixture.name);
        assert_eq!(signed_in.iter().filter(|one| one.created).count(), 1, "{}", fixture.name);
    }
}

#[tokio::test]
async fn only_new_accounts_are_announced() {
    let fixture = Fixture::new().await;
    let created = fixture.sign_in(by_custom_id("custom-1")).await.expect("it is created");
    fixture.sign_in(by_custom_id("custom-1")).await.expect("it is found");
    let message = json!({ "user_id": created.user, "username": created.username, "method": "custom" });
    assert_eq!(fixture.take_messages().await, [("account.created".to_owned(), message)]);
}

#[tokio::test]
async fn a_banned_user_cannot_sign_in_until_unbanned() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0001").await;
    let by_mail = fixture.sign_in(by_email("someone@example.com", "correct horse")).await.expect("it is created").user;
    fixture.accounts.ban(vec![user, by_mail]).await.expect("it can be done");
    let banned = "User account banned.";
    assert_rejected(fixture.sign_in(by_device("device-0001")).await, GrpcCode::PermissionDenied, banned);
    let right = fixture.sign_in(by_email("someone@example.com", "correct horse")).await;
    assert_rejected(right, GrpcCode::PermissionDenied, banned);
    let wrong = fixture.sign_in(by_email("someone@example.com", "wrong horse")).await;
    assert_rejected(wrong, GrpcCode::Unauthenticated, "Invalid credentials.");
    assert_eq!(fixture.accounts.unban(vec![user, by_mail]).await.expect("it can be done").len(), 2);
    assert_eq!(fixture.sign_in(by_device("device-0001")).await.expect("the ban is over").user, user);
}

#[tokio::test]
async fn malformed_ids_are_rejected_without_reads() {
    let fixture = Fixture::new().await;
    let before = fixture.operations();
    let wrong = [
        by_device(""),
        by_device("123456789"),
        by_device(&"d".repeat(129)),
        by_device("device\0-0001"),
        by_device("device\n-0001"),
        by_custom_id(""),
        by_custom_id("12345"),
        by_custom_id(&"c".repeat(129)),
        by_email("someone.example.com", "correct horse"),
        by_email("a@b.c", "correct horse"),
        by_email(&format!("{}@example.com", "a".repeat(244)), "correct horse"),
        by_email("someone\0@example.com", "correct horse"),
        by_email("someone@example.com", "seven77"),
        by_email("someone@example.com", &"x".repeat(1_048_576)),
        by_email("", "correct horse"),
    ];
    for method in wrong {
        let error = fixture.sign_in(method.clone()).await.expect_err("it is rejected");
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{method:?}");
    }
    for username in ["a".repeat(129), "a\0b".to_owned(), " alice".to_owned(), "alice ".to_owned()] {
        let attempt = SignIn { username: Some(username), ..sign_in(by_device("device-0001")) };
        assert_eq!(
            fixture.accounts.authenticate(attempt).await.expect_err("it is rejected").code,
            GrpcCode::InvalidArgument
        );
    }
    assert_eq!(fixture.operations(), before);
}

#[tokio::test]
async fn ids_at_the_limits_of_their_lengths_are_accepted() {
    let fixture = Fixture::new().await;
    let email = format!("{}@example.com", "a".repeat(243));
    for method in [
        by_device(&"d".repeat(10)),
        by_device(&"d".repeat(128)),
        by_custom_id(&"c".repeat(6)),
        by_custom_id(&"c".repeat(128)),
        by_email(&email, &"p".repeat(1_024)),
        by_email("a@example.c", "12345678"),
    ] {
        assert!(fixture.sign_in(method).await.expect("it is accepted").created);
    }
}

#[tokio::test]
async fn sql_in_an_id_is_harmless() {
    for fixture in Fixture::all().await {
        let ids = ["'; DROP TABLE users; --", "\" OR 1=1 OR \"", "?1 $1 %s {}"];
        for id in ids {
            assert!(fixture.sign_in(by_device(id)).await.expect("it is an id").created, "{id}");
            assert!(!fixture.sign_in(by_device(id)).await.expect("it is the same id").created, "{id}");
            let username = Some(id.to_owned());
            let named = SignIn { username, ..sign_in(SignInMethod::Custom(format!("c{id}"))) };
            assert_eq!(fixture.accounts.authenticate(named).await.expect("it is a name").username, id);
        }
    }
}
