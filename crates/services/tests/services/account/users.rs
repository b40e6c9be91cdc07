//! User data and its changes.

use super::fixture::{Fixture, NOW, assert_rejected, by_custom_id, by_device, sign_in};
use aether_services::GrpcCode;
use aether_services::account::{RANDOM_USERS_MAX, SignIn, USERS_MAX, Update};
use aether_services::session::tokens::Role;
use uuid::Uuid;

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn an_account_shows_the_data_of_its_owner() {
    for fixture in Fixture::all().await {
        let attempt = SignIn { username: text("alice"), ..sign_in(by_device("device-0001")) };
        let user = fixture.accounts.authenticate(attempt).await.expect("it is created").user;
        let account = fixture.accounts.account(user).await.expect("it is there");
        assert_eq!((account.user.id, account.user.username.as_str()), (user, "alice"));
        assert_eq!((account.user.language.as_str(), account.user.metadata.as_str()), ("en", "{}"));
        assert_eq!((account.user.created_at, account.user.updated_at), (NOW, NOW));
        assert_eq!((account.wallet.as_str(), account.role), ("{}", Role::Player));
        assert_eq!(account.devices, ["device-0001"]);
        assert_eq!((account.email, account.custom_id), (None, None));
        assert_eq!((account.verified_at, account.disabled_at), (None, None));
        let missing = fixture.accounts.account(Uuid::from_u128(1)).await;
        assert_rejected(missing, GrpcCode::NotFound, "User account not found.");
    }
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_nothing_else() {
    for fixture in Fixture::all().await {
        let user = fixture.user("device-0001").await;
        let update = Update {
            username: text("bob"),
            display_name: text("Bob"),
            avatar_url: text("https://example.com/bob.png"),
            language: text("de"),
            location: text("Köln"),
            timezone: text("Europe/Berlin"),
            metadata: text(r#"{"level":3}"#),
        };
        fixture.clock.advance_ms(1_000);
        fixture.accounts.update(user, update).await.expect("all of it fits");
        let changed = fixture.accounts.account(user).await.expect("it is there").user;
        assert_eq!((changed.username.as_str(), changed.display_name.as_str()), ("bob", "Bob"));
        assert_eq!(changed.avatar_url, "https://example.com/bob.png");
        assert_eq!((changed.language.as_str(), changed.location.as_str()), ("de", "Köln"));
        assert_eq!((changed.timezone.as_str(), changed.metadata.as_str()), ("Europe/Berlin", r#"{"level":3}"#));
        assert_eq!((changed.created_at, changed.updated_at), (NOW, NOW + 1_000));
        let update = Update { display_name: text(""), ..Update::default() };
        fixture.accounts.update(user, update).await.expect("it may be empty");
        let again = fixture.accounts.account(user).await.expect("it is there").user;
        assert_eq!(again.display_name, "");
        assert_eq!((again.username, again.location), (changed.username, changed.location));
        let found = fixture.sign_in(by_device("device-0001")).await.expect("it leads there");
        assert_eq!(found.username, "bob");
    }
}

#[tokio::test]
async fn a_username_that_is_taken_stays_with_its_owner() {
    for fixture in Fixture::all().await {
        let named = |device: &str, name: &str| SignIn { username: text(name), ..sign_in(by_device(device)) };
        fixture.accounts.authenticate(named("device-0001", "alice")).await.expect("the name is free");
        let other = fixture.accounts.authenticate(named("device-0002", "bob")).await.expect("the name is free").user;
        let update = Update { username: text("alice"), location: text("here"), ..Update::default() };
        let taken = fixture.accounts.update(other, update).await;
        assert_rejected(taken, GrpcCode::AlreadyExists, "Username is already in use.");
        let unchanged = fixture.accounts.account(other).await.expect("it is there").user;
        assert_eq!((unchanged.username.as_str(), unchanged.location.as_str()), ("bob", ""));
    }
}

#[tokio::test]
async fn invalid_updates_are_rejected() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0001").await;
    let wrong = [
        Update { username: text(""), ..Update::default() },
        Update { username: text(&"a".repeat(129)), ..Update::default() },
        Update { display_name: text(&"a".repeat(256)), ..Update::default() },
        Update { display_name: text("a\0b"), ..Update::default() },
        Update { avatar_url: text(&"a".repeat(513)), ..Update::default() },
        Update { language: text(&"a".repeat(19)), ..Update::default() },
        Update { location: text(&"a".repeat(256)), ..Update::default() },
        Update { timezone: text(&"a".repeat(256)), ..Update::default() },
        Update { metadata: text("[]"), ..Update::default() },
        Update { metadata: text("{"), ..Update::default() },
        Update { metadata: text(&"{\"a\":".repeat(10_000)), ..Update::default() },
        Update { metadata: Some(format!("{{\"a\":\"{}\"}}", "a".repeat(65_536))), ..Update::default() },
    ];
    for update in wrong {
        let error = fixture.accounts.update(user, update.clone()).await.expect_err("it is rejected");
        assert_eq!(error.code, GrpcCode::InvalidArgument, "{update:?}");
    }
    let nobody = fixture.accounts.update(Uuid::from_u128(1), Update::default()).await;
    assert_rejected(nobody, GrpcCode::NotFound, "User account not found.");
}

#[tokio::test]
async fn users_are_found_once_by_id_and_name() {
    for fixture in Fixture::all().await {
        let mut ids = Vec::new();
        for number in 0..20 {
            let username = Some(format!("user-{number}"));
            let attempt = SignIn { username, ..sign_in(by_custom_id(&format!("custom-{number}"))) };
            ids.push(fixture.accounts.authenticate(attempt).await.expect("it is created").user);
        }
        let missing = Uuid::from_u128(1);
        for count in [1, 2, 8, 9, 20] {
            let mut asked = ids[..count].to_vec();
            asked.push(missing);
            let names = vec!["user-0".to_owned(), "user-19".to_owned(), "nobody".to_owned()];
            let users = fixture.accounts.users(asked, names, vec!["unknown".to_owned()]).await.expect("these are few");
            let mut found: Vec<Uuid> = users.iter().map(|user| user.id).collect();
            found.sort();
            let mut expected = ids[..count].to_vec();
            expected.extend((count < 20).then_some(ids[19]));
            expected.sort();
            assert_eq!(found, expected, "{}", fixture.name);
        }
        assert_eq!(fixture.accounts.users(vec![], vec![], vec![]).await, Ok(vec![]));
        let accounts = fixture.accounts.accounts(vec![ids[3], missing, ids[4]]).await.expect("these are few");
        assert_eq!(accounts.len(), 2);
    }
}

#[tokio::test]
async fn the_number_of_requested_users_is_limited() {
    let fixture = Fixture::new().await;
    let many = |count| (0..count as u128).map(Uuid::from_u128).collect::<Vec<_>>();
    assert_eq!(fixture.accounts.users(many(USERS_MAX), vec![], vec![]).await, Ok(vec![]));
    for outcome in [
        fixture.accounts.users(many(USERS_MAX + 1), vec![], vec![]).await,
        fixture.accounts.users(vec![], vec![String::new(); USERS_MAX + 1], vec![]).await,
        fixture.accounts.users(vec![], vec![], vec![String::new(); USERS_MAX + 1]).await,
        fixture.accounts.users(vec![], vec!["a\0".to_owned()], vec![]).await,
    ] {
        assert_eq!(outcome.expect_err("it is rejected").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn a_role_is_given_by_the_server() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0001").await;
    fixture.accounts.set_role(user, Role::Developer).await.expect("they are there");
    assert_eq!(fixture.accounts.account(user).await.expect("it is there").role, Role::Developer);
    fixture.execute("UPDATE users SET role = 'emperor'").await;
    assert_eq!(
        fixture.accounts.account(user).await.expect("it is there").role,
        Role::Player,
        "an unknown role is none"
    );
    let nobody = fixture.accounts.set_role(Uuid::from_u128(1), Role::Admin).await;
    assert_rejected(nobody, GrpcCode::NotFound, "User account not found.");
}

#[tokio::test]
async fn a_ban_ends_sessions_and_returns_the_banned_users() {
    for fixture in Fixture::all().await {
        let (one, other) = (fixture.user("device-0001").await, fixture.user("device-0002").await);
        let issued_at = (NOW / 1_000) as u64;
        let session = Uuid::from_u128(7);
        assert!(!fixture.revocations.is_ended(session, one, issued_at));
        let banned = fixture.accounts.ban(vec![one, Uuid::from_u128(1), one]).await.expect("it can be done");
        assert_eq!(banned, [one]);
        assert!(fixture.revocations.is_ended(session, one, issued_at));
        assert!(!fixture.revocations.is_ended(session, other, issued_at));
        assert_eq!(fixture.accounts.ban(vec![one]).await, Ok(vec![]), "they were banned before");
        assert_eq!(fixture.accounts.account(one).await.expect("it is there").disabled_at, Some(NOW));
        let ended = fixture.count("SELECT sessions_valid_from FROM users WHERE id = ?1".to_owned(), one).await;
        assert_eq!(ended, NOW, "it lasts beyond a restart");
        assert_eq!(fixture.accounts.unban(vec![one, other]).await, Ok(vec![one]));
        let many = (0..1_025).map(Uuid::from_u128).collect();
        assert_eq!(fixture.accounts.ban(many).await.expect_err("these are many").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn accounts_are_found_by_user_and_by_device() {
    for fixture in Fixture::all().await {
        let ann = fixture.accounts.authenticate(sign_in(by_device("device-0001"))).await.expect("it is created").user;
        let bob = fixture.accounts.authenticate(sign_in(by_device("device-0002"))).await.expect("it is created").user;
        let devices = ["device-0002", "device-0001", "device-0009"].map(str::to_owned).to_vec();
        let found = fixture.accounts.accounts_with(vec![ann], devices).await.expect("these are few");
        let mut users: Vec<Uuid> = found.iter().map(|account| account.user.id).collect();
        users.sort();
        let mut expected = [ann, bob];
        expected.sort();
        assert_eq!(users, expected, "{}", fixture.name);
        let many = fixture.accounts.accounts_with(Vec::new(), vec![String::new(); USERS_MAX + 1]).await;
        assert_rejected(many, GrpcCode::InvalidArgument, "At most 256 users can be requested at once.");
    }
}

#[tokio::test]
async fn random_users_are_distinct_and_reach_everyone() {
    for fixture in Fixture::all().await {
        assert_eq!(fixture.accounts.random_users(5).await, Ok(Vec::new()));
        let mut all = std::collections::BTreeSet::new();
        for number in 0..40 {
            let attempt = sign_in(by_device(&format!("device-of-{number:04}")));
            all.insert(fixture.accounts.authenticate(attempt).await.expect("it is created").user);
        }
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let users = fixture.accounts.random_users(3).await.expect("these are few");
            let distinct: std::collections::BTreeSet<Uuid> = users.iter().map(|user| user.id).collect();
            assert_eq!((users.len(), distinct.len()), (3, 3), "{}", fixture.name);
            seen.extend(distinct);
        }
        assert!(seen.is_subset(&all));
        let everyone = fixture.accounts.random_users(RANDOM_USERS_MAX).await.expect("these are few");
        assert_eq!(everyone.iter().map(|user| user.id).collect::<std::collections::BTreeSet<_>>(), all);
        let many = fixture.accounts.random_users(RANDOM_USERS_MAX + 1).await;
        assert_rejected(many, GrpcCode::InvalidArgument, "At most 1000 random users can be requested.");
    }
}
