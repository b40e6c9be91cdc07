//! Finding the account behind a way in, or creating it.

use super::world::{World, assert_refused, by_custom_id, by_device, by_email, sign_in};
use aether_services::GrpcCode;
use aether_services::account::{SignIn, SignInMethod};
use serde_json::json;

#[tokio::test]
async fn a_device_creates_an_account_once_and_finds_it_afterwards() {
    for world in World::all().await {
        let first = world.sign_in(by_device("device-0001")).await.expect("it is created");
        assert!(first.created);
        assert!(first.username.len() == 10 && first.username.bytes().all(|byte| byte.is_ascii_alphabetic()));
        let again = world.sign_in(by_device("device-0001")).await.expect("it is found");
        assert_eq!((again.user, again.username, again.created), (first.user, first.username, false));
        let other = world.sign_in(by_device("device-0002")).await.expect("it is created");
        assert_ne!(other.user, first.user);
    }
}

#[tokio::test]
async fn a_known_device_signs_in_with_one_read_and_no_write() {
    let world = World::new().await;
    world.user("device-0001").await;
    let (reads, writes) = world.operations();
    world.sign_in(by_device("device-0001")).await.expect("it is found");
    assert_eq!(world.operations(), (reads + 1, writes));
}

#[tokio::test]
async fn every_way_leads_to_an_account_of_its_own() {
    for world in World::all().await {
        let ways =
            [by_device("device-0001"), by_custom_id("custom-1"), by_email("Someone@Example.com", "correct horse")];
        let mut users = Vec::new();
        for way in &ways {
            let first = world.sign_in(way.clone()).await.expect("it is created");
            let again = world.sign_in(way.clone()).await.expect("it is found");
            assert_eq!((first.user, first.created, again.created), (again.user, true, false));
            users.push(first.user);
        }
        users.sort();
        users.dedup();
        assert_eq!(users.len(), ways.len());
        let small = world.sign_in(by_email("someone@example.com", "correct horse")).await.expect("it is found");
        assert!(!small.created, "an email address is the same in capital letters");
    }
}

#[tokio::test]
async fn without_leave_to_create_nothing_is_created() {
    let world = World::new().await;
    let (_, writes) = world.operations();
    for method in [by_device("device-0001"), by_custom_id("custom-1")] {
        let outcome = world.accounts.authenticate(SignIn { create: false, ..sign_in(method) }).await;
        assert_refused(outcome, GrpcCode::NotFound, "User account not found.");
    }
    assert_eq!(world.operations().1, writes, "nothing was written");
}

#[tokio::test]
async fn a_chosen_username_belongs_to_one_account() {
    for world in World::all().await {
        let named = |device: &str, name: &str| {
            let username = Some(name.to_owned());
            world.accounts.authenticate(SignIn { username, ..sign_in(by_device(device)) })
        };
        assert_eq!(named("device-0001", "alice").await.expect("the name is free").username, "alice");
        let taken = named("device-0002", "alice").await;
        assert_refused(taken, GrpcCode::AlreadyExists, "Username is already in use.");
        let again = named("device-0001", "bob").await.expect("it is known");
        assert_eq!((again.username.as_str(), again.created), ("alice", false), "a known account keeps its name");
        assert!(named("device-0002", "bob").await.expect("the failure before left nothing").created);
        let email =
            SignIn { username: Some("alice".to_owned()), ..sign_in(by_email("a@example.com", "correct horse")) };
        assert_refused(
            world.accounts.authenticate(email).await,
            GrpcCode::AlreadyExists,
            "Username is already in use.",
        );
    }
}

#[tokio::test]
async fn many_at_once_with_the_same_device_get_the_same_account() {
    for world in World::all().await {
        for (round, username) in [None, Some("same name".to_owned())].into_iter().enumerate() {
            let mut tasks = tokio::task::JoinSet::new();
            for _ in 0..20 {
                let accounts = world.accounts.clone();
                let attempt =
                    SignIn { username: username.clone(), ..sign_in(by_device(&format!("device-{round:04}"))) };
                tasks.spawn(async move { accounts.authenticate(attempt).await.expect("all get in") });
            }
            let signed_in = tasks.join_all().await;
            assert!(signed_in.iter().all(|one| one.user == signed_in[0].user), "{}", world.name);
            assert_eq!(signed_in.iter().filter(|one| one.created).count(), 1, "{}", world.name);
        }
        let told = world.told().await;
        assert_eq!(told.len(), 2, "what was undone was not told: {told:?}");
    }
}

#[tokio::test]
async fn many_at_once_with_the_same_email_get_the_same_account() {
    for world in World::all().await {
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..4 {
            let accounts = world.accounts.clone();
            let attempt = sign_in(by_email("someone@example.com", "correct horse"));
            tasks.spawn(async move { accounts.authenticate(attempt).await.expect("all get in") });
        }
        let signed_in = tasks.join_all().await;
        assert!(signed_in.iter().all(|one| one.user == signed_in[0].user), "{}", world.name);
        assert_eq!(signed_in.iter().filter(|one| one.created).count(), 1, "{}", world.name);
    }
}

#[tokio::test]
async fn a_new_account_is_told_to_the_outside_and_a_known_one_is_not() {
    let world = World::new().await;
    let created = world.sign_in(by_custom_id("custom-1")).await.expect("it is created");
    world.sign_in(by_custom_id("custom-1")).await.expect("it is found");
    let told = json!({ "user_id": created.user, "username": created.username, "method": "custom" });
    assert_eq!(world.told().await, [("account.created".to_owned(), told)]);
}

#[tokio::test]
async fn whoever_is_banned_is_not_let_in_and_is_after_the_ban() {
    let world = World::new().await;
    let user = world.user("device-0001").await;
    let by_mail = world.sign_in(by_email("someone@example.com", "correct horse")).await.expect("it is created").user;
    world.accounts.ban(vec![user, by_mail]).await.expect("it can be done");
    let banned = "User account banned.";
    assert_refused(world.sign_in(by_device("device-0001")).await, GrpcCode::PermissionDenied, banned);
    let right = world.sign_in(by_email("someone@example.com", "correct horse")).await;
    assert_refused(right, GrpcCode::PermissionDenied, banned);
    let wrong = world.sign_in(by_email("someone@example.com", "wrong horse")).await;
    assert_refused(wrong, GrpcCode::Unauthenticated, "Invalid credentials.");
    assert_eq!(world.accounts.unban(vec![user, by_mail]).await.expect("it can be done").len(), 2);
    assert_eq!(world.sign_in(by_device("device-0001")).await.expect("the ban is over").user, user);
}

#[tokio::test]
async fn what_has_not_the_form_of_an_id_is_refused_before_anything_is_asked() {
    let world = World::new().await;
    let before = world.operations();
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
        let refusal = world.sign_in(method.clone()).await.expect_err("it is refused");
        assert_eq!(refusal.code, GrpcCode::InvalidArgument, "{method:?}");
    }
    for username in ["a".repeat(129), "a\0b".to_owned(), " alice".to_owned(), "alice ".to_owned()] {
        let attempt = SignIn { username: Some(username), ..sign_in(by_device("device-0001")) };
        assert_eq!(
            world.accounts.authenticate(attempt).await.expect_err("it is refused").code,
            GrpcCode::InvalidArgument
        );
    }
    assert_eq!(world.operations(), before);
}

#[tokio::test]
async fn ids_at_the_limits_of_their_lengths_are_accepted() {
    let world = World::new().await;
    let email = format!("{}@example.com", "a".repeat(243));
    for method in [
        by_device(&"d".repeat(10)),
        by_device(&"d".repeat(128)),
        by_custom_id(&"c".repeat(6)),
        by_custom_id(&"c".repeat(128)),
        by_email(&email, &"p".repeat(1_024)),
        by_email("a@example.c", "12345678"),
    ] {
        assert!(world.sign_in(method).await.expect("it is accepted").created);
    }
}

#[tokio::test]
async fn words_of_sql_in_an_id_are_an_id() {
    for world in World::all().await {
        let ids = ["'; DROP TABLE users; --", "\" OR 1=1 OR \"", "?1 $1 %s {}"];
        for id in ids {
            assert!(world.sign_in(by_device(id)).await.expect("it is an id").created, "{id}");
            assert!(!world.sign_in(by_device(id)).await.expect("it is the same id").created, "{id}");
            let username = Some(id.to_owned());
            let named = SignIn { username, ..sign_in(SignInMethod::Custom(format!("c{id}"))) };
            assert_eq!(world.accounts.authenticate(named).await.expect("it is a name").username, id);
        }
    }
}
