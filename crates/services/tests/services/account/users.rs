//! What is known about users, and how it changes.

use super::world::{NOW, World, assert_refused, by_custom_id, by_device, sign_in};
use aether_services::GrpcCode;
use aether_services::account::{SignIn, USERS_MAX, Update};
use aether_services::session::tokens::Role;
use uuid::Uuid;

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[tokio::test]
async fn an_account_shows_what_is_known_about_its_owner() {
    for world in World::all().await {
        let attempt = SignIn { username: text("alice"), ..sign_in(by_device("device-0001")) };
        let user = world.accounts.authenticate(attempt).await.expect("it is created").user;
        let account = world.accounts.account(user).await.expect("it is there");
        assert_eq!((account.user.id, account.user.username.as_str()), (user, "alice"));
        assert_eq!((account.user.language.as_str(), account.user.metadata.as_str()), ("en", "{}"));
        assert_eq!((account.user.created_at, account.user.updated_at), (NOW, NOW));
        assert_eq!((account.wallet.as_str(), account.role), ("{}", Role::Player));
        assert_eq!(account.devices, ["device-0001"]);
        assert_eq!((account.email, account.custom_id), (None, None));
        assert_eq!((account.verified_at, account.disabled_at), (None, None));
        let missing = world.accounts.account(Uuid::from_u128(1)).await;
        assert_refused(missing, GrpcCode::NotFound, "User account not found.");
    }
}

#[tokio::test]
async fn an_update_changes_what_it_names_and_nothing_else() {
    for world in World::all().await {
        let user = world.user("device-0001").await;
        let update = Update {
            username: text("bob"),
            display_name: text("Bob"),
            avatar_url: text("https://example.com/bob.png"),
            language: text("de"),
            location: text("Köln"),
            timezone: text("Europe/Berlin"),
            metadata: text(r#"{"level":3}"#),
        };
        world.clock.advance_ms(1_000);
        world.accounts.update(user, update).await.expect("all of it fits");
        let changed = world.accounts.account(user).await.expect("it is there").user;
        assert_eq!((changed.username.as_str(), changed.display_name.as_str()), ("bob", "Bob"));
        assert_eq!(changed.avatar_url, "https://example.com/bob.png");
        assert_eq!((changed.language.as_str(), changed.location.as_str()), ("de", "Köln"));
        assert_eq!((changed.timezone.as_str(), changed.metadata.as_str()), ("Europe/Berlin", r#"{"level":3}"#));
        assert_eq!((changed.created_at, changed.updated_at), (NOW, NOW + 1_000));
        let update = Update { display_name: text(""), ..Update::default() };
        world.accounts.update(user, update).await.expect("it may be empty");
        let again = world.accounts.account(user).await.expect("it is there").user;
        assert_eq!(again.display_name, "");
        assert_eq!((again.username, again.location), (changed.username, changed.location));
        let found = world.sign_in(by_device("device-0001")).await.expect("it leads there");
        assert_eq!(found.username, "bob");
    }
}

#[tokio::test]
async fn a_username_that_is_taken_stays_with_its_owner() {
    for world in World::all().await {
        let named = |device: &str, name: &str| SignIn { username: text(name), ..sign_in(by_device(device)) };
        world.accounts.authenticate(named("device-0001", "alice")).await.expect("the name is free");
        let other = world.accounts.authenticate(named("device-0002", "bob")).await.expect("the name is free").user;
        let update = Update { username: text("alice"), location: text("here"), ..Update::default() };
        let taken = world.accounts.update(other, update).await;
        assert_refused(taken, GrpcCode::AlreadyExists, "Username is already in use.");
        let unchanged = world.accounts.account(other).await.expect("it is there").user;
        assert_eq!((unchanged.username.as_str(), unchanged.location.as_str()), ("bob", ""));
    }
}

#[tokio::test]
async fn what_an_account_cannot_hold_is_refused() {
    let world = World::new().await;
    let user = world.user("device-0001").await;
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
        let refusal = world.accounts.update(user, update.clone()).await.expect_err("it is refused");
        assert_eq!(refusal.code, GrpcCode::InvalidArgument, "{update:?}");
    }
    let nobody = world.accounts.update(Uuid::from_u128(1), Update::default()).await;
    assert_refused(nobody, GrpcCode::NotFound, "User account not found.");
}

#[tokio::test]
async fn users_are_found_by_id_and_by_name_and_each_once() {
    for world in World::all().await {
        let mut ids = Vec::new();
        for number in 0..20 {
            let username = Some(format!("user-{number}"));
            let attempt = SignIn { username, ..sign_in(by_custom_id(&format!("custom-{number}"))) };
            ids.push(world.accounts.authenticate(attempt).await.expect("it is created").user);
        }
        let missing = Uuid::from_u128(1);
        for count in [1, 2, 8, 9, 20] {
            let mut asked = ids[..count].to_vec();
            asked.push(missing);
            let names = vec!["user-0".to_owned(), "user-19".to_owned(), "nobody".to_owned()];
            let users = world.accounts.users(asked, names, vec!["unknown".to_owned()]).await.expect("these are few");
            let mut found: Vec<Uuid> = users.iter().map(|user| user.id).collect();
            found.sort();
            let mut expected = ids[..count].to_vec();
            expected.extend((count < 20).then_some(ids[19]));
            expected.sort();
            assert_eq!(found, expected, "{}", world.name);
        }
        assert_eq!(world.accounts.users(vec![], vec![], vec![]).await, Ok(vec![]));
        let accounts = world.accounts.accounts(vec![ids[3], missing, ids[4]]).await.expect("these are few");
        assert_eq!(accounts.len(), 2);
    }
}

#[tokio::test]
async fn only_so_many_users_are_asked_for_at_once() {
    let world = World::new().await;
    let many = |count| (0..count as u128).map(Uuid::from_u128).collect::<Vec<_>>();
    assert_eq!(world.accounts.users(many(USERS_MAX), vec![], vec![]).await, Ok(vec![]));
    for outcome in [
        world.accounts.users(many(USERS_MAX + 1), vec![], vec![]).await,
        world.accounts.users(vec![], vec![String::new(); USERS_MAX + 1], vec![]).await,
        world.accounts.users(vec![], vec![], vec![String::new(); USERS_MAX + 1]).await,
        world.accounts.users(vec![], vec!["a\0".to_owned()], vec![]).await,
    ] {
        assert_eq!(outcome.expect_err("it is refused").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn a_role_is_given_by_the_server() {
    let world = World::new().await;
    let user = world.user("device-0001").await;
    world.accounts.set_role(user, Role::Developer).await.expect("they are there");
    assert_eq!(world.accounts.account(user).await.expect("it is there").role, Role::Developer);
    world.execute("UPDATE users SET role = 'emperor'").await;
    assert_eq!(world.accounts.account(user).await.expect("it is there").role, Role::Player, "an unknown role is none");
    let nobody = world.accounts.set_role(Uuid::from_u128(1), Role::Admin).await;
    assert_refused(nobody, GrpcCode::NotFound, "User account not found.");
}

#[tokio::test]
async fn a_ban_ends_sessions_and_names_those_it_concerned() {
    for world in World::all().await {
        let (one, other) = (world.user("device-0001").await, world.user("device-0002").await);
        let issued_at = (NOW / 1_000) as u64;
        let session = Uuid::from_u128(7);
        assert!(!world.revocations.is_ended(session, one, issued_at));
        let banned = world.accounts.ban(vec![one, Uuid::from_u128(1), one]).await.expect("it can be done");
        assert_eq!(banned, [one]);
        assert!(world.revocations.is_ended(session, one, issued_at));
        assert!(!world.revocations.is_ended(session, other, issued_at));
        assert_eq!(world.accounts.ban(vec![one]).await, Ok(vec![]), "they were banned before");
        assert_eq!(world.accounts.account(one).await.expect("it is there").disabled_at, Some(NOW));
        let ended = world.count("SELECT sessions_valid_from FROM users WHERE id = ?1".to_owned(), one).await;
        assert_eq!(ended, NOW, "it lasts beyond a restart");
        assert_eq!(world.accounts.unban(vec![one, other]).await, Ok(vec![one]));
        let many = (0..1_025).map(Uuid::from_u128).collect();
        assert_eq!(world.accounts.ban(many).await.expect_err("these are many").code, GrpcCode::InvalidArgument);
    }
}
