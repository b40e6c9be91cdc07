//! New passwords and confirmed email addresses, by codes that a webhook passes on.

use super::world::{HOME, NOW, World, assert_refused, by_device, by_email};
use aether_metrics::Registry;
use aether_services::GrpcCode;
use aether_services::account::{Accounts, Settings};
use aether_store::{Database, Store};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

const EMAIL: &str = "someone@example.com";
const OLD: &str = "correct horse";
const NEW: &str = "battery staple";

impl World {
    async fn with_email(&self) -> Uuid {
        let user = self.sign_in(by_email(EMAIL, OLD)).await.expect("it is created").user;
        self.told().await;
        user
    }

    /// The one message of this topic.
    async fn told_one(&self, topic: &str) -> Json {
        let told = self.told().await;
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].0, topic);
        told[0].1.clone()
    }

    async fn reset_code(&self) -> String {
        self.accounts.request_password_reset(EMAIL, HOME).await.expect("it is sent");
        code(&self.told_one("account.password_reset").await)
    }
}

fn code(told: &Json) -> String {
    told["code"].as_str().expect("there is a code").to_owned()
}

#[tokio::test]
async fn a_code_sets_a_new_password_once_and_ends_all_sessions() {
    for world in World::all().await {
        let user = world.with_email().await;
        let issued_at = (NOW / 1_000) as u64;
        world.accounts.request_password_reset("Someone@Example.com", HOME).await.expect("it is sent");
        let told = world.told_one("account.password_reset").await;
        assert_eq!((told["user_id"].as_str(), told["email"].as_str()), (Some(&*user.to_string()), Some(EMAIL)));
        assert_eq!(told["expires_at"], NOW + 3_600_000);
        let code = code(&told);
        assert!(!world.revocations.is_ended(Uuid::from_u128(7), user, issued_at));
        world.accounts.reset_password(&code, NEW.to_owned()).await.expect("the code is new");
        assert!(world.revocations.is_ended(Uuid::from_u128(7), user, issued_at));
        assert_eq!(world.sign_in(by_email(EMAIL, NEW)).await.expect("it is the password").user, user);
        assert_eq!(world.sign_in(by_email(EMAIL, OLD)).await.expect_err("it was").code, GrpcCode::Unauthenticated);
        let again = world.accounts.reset_password(&code, OLD.to_owned()).await;
        assert_eq!(again.expect_err("it was used").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn only_the_hash_of_a_code_is_kept() {
    let world = World::new().await;
    world.with_email().await;
    let code = world.reset_code().await;
    let kept = world
        .store
        .read(|transaction| transaction.row("SELECT hash FROM account_codes", &[], |row| row.get::<Vec<u8>>(0)))
        .await
        .expect("it can be read")
        .expect("it is kept");
    assert_eq!(kept.len(), 32);
    assert!(!kept.windows(8).any(|part| code.as_bytes().windows(8).any(|other| part == other)));
}

#[tokio::test]
async fn a_code_expires_and_a_new_one_takes_its_place() {
    let world = World::new().await;
    world.with_email().await;
    let first = world.reset_code().await;
    let second = world.reset_code().await;
    assert!(world.accounts.reset_password(&first, NEW.to_owned()).await.is_err(), "another was sent after it");
    world.clock.advance_ms(3_600_000);
    assert!(world.accounts.reset_password(&second, NEW.to_owned()).await.is_err(), "an hour has passed");
    let third = world.reset_code().await;
    world.clock.advance_ms(3_599_999);
    world.accounts.reset_password(&third, NEW.to_owned()).await.expect("an hour has not passed");
}

#[tokio::test]
async fn of_many_who_use_a_code_at_once_one_succeeds() {
    for world in World::all().await {
        world.with_email().await;
        let code = world.reset_code().await;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..8 {
            let (accounts, code) = (world.accounts.clone(), code.clone());
            tasks.spawn(async move { accounts.reset_password(&code, format!("new password {number}")).await.is_ok() });
        }
        let succeeded = tasks.join_all().await.into_iter().filter(|success| *success).count();
        assert_eq!(succeeded, 1, "{}", world.name);
    }
}

#[tokio::test]
async fn codes_that_nobody_sent_open_nothing() {
    let world = World::new().await;
    let user = world.with_email().await;
    world.accounts.request_email_verification(user, HOME).await.expect("it is sent");
    let verification = code(&world.told_one("account.email_verification").await);
    let reset = world.reset_code().await;
    let long = "a".repeat(1_000_000);
    for wrong in ["", "a", &"A".repeat(43), &"\0".repeat(43), &long, &verification] {
        let outcome = world.accounts.reset_password(wrong, NEW.to_owned()).await;
        assert_eq!(outcome.expect_err("it is refused").code, GrpcCode::InvalidArgument);
    }
    for wrong in ["", &reset] {
        assert_eq!(
            world.accounts.verify_email(wrong).await.expect_err("it is refused").code,
            GrpcCode::InvalidArgument
        );
    }
    for password in ["short", &long] {
        let outcome = world.accounts.reset_password(&reset, password.to_owned()).await;
        assert_eq!(outcome.expect_err("it is refused").code, GrpcCode::InvalidArgument);
    }
    world.accounts.reset_password(&reset, NEW.to_owned()).await.expect("nothing has used it up");
}

#[tokio::test]
async fn an_account_that_is_not_there_answers_like_one_that_is() {
    let world = World::new().await;
    world.with_email().await;
    let banned = world.sign_in(by_email("banned@example.com", OLD)).await.expect("it is created").user;
    world.accounts.ban(vec![banned]).await.expect("it can be done");
    world.told().await;
    for (email, sent) in [(EMAIL, 1), ("nobody@example.com", 0), ("banned@example.com", 0)] {
        let began = Instant::now();
        assert_eq!(world.accounts.request_password_reset(email, HOME).await, Ok(()));
        assert!(began.elapsed() >= Duration::from_millis(250), "{email}");
        assert_eq!(world.told().await.len(), sent, "{email}");
    }
    let wrong = world.accounts.request_password_reset("no address", HOME).await;
    assert_eq!(wrong.expect_err("it is refused").code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn an_account_is_not_flooded_and_an_address_does_not_flood() {
    let world = World::new().await;
    world.with_email().await;
    let address = |number: u8| Some([203, 0, 113, number].into());
    for number in 0..5 {
        assert_eq!(world.accounts.request_password_reset(EMAIL, address(number)).await, Ok(()));
    }
    assert_eq!(world.told().await.len(), 3, "the rest are answered alike, but not sent");
    let mut refused = 0;
    for number in 0..12 {
        let email = format!("nobody-{number}@example.com");
        let outcome = world.accounts.request_password_reset(&email, address(100)).await;
        refused += usize::from(outcome.is_err_and(|refusal| refusal.code == GrpcCode::ResourceExhausted));
    }
    assert_eq!(refused, 2);
    world.clock.advance_ms(600_000);
    assert_eq!(world.accounts.request_password_reset(EMAIL, address(100)).await, Ok(()));
    assert_eq!(world.told().await.len(), 1);
}

#[tokio::test]
async fn a_code_confirms_the_address_it_was_sent_to_and_no_other() {
    for world in World::all().await {
        let user = world.with_email().await;
        world.accounts.request_email_verification(user, HOME).await.expect("it is sent");
        let first = code(&world.told_one("account.email_verification").await);
        world.accounts.link(user, by_email("new@example.com", NEW)).await.expect("it is nobody's");
        assert!(world.accounts.verify_email(&first).await.is_err(), "the address is another now");
        world.accounts.request_email_verification(user, HOME).await.expect("it is sent");
        let told = world.told_one("account.email_verification").await;
        assert_eq!(told["email"], "new@example.com");
        world.clock.advance_ms(5_000);
        world.accounts.verify_email(&code(&told)).await.expect("it is the address");
        assert_eq!(world.accounts.account(user).await.expect("it is there").verified_at, Some(NOW + 5_000));
        let again = world.accounts.request_email_verification(user, HOME).await;
        assert_refused(again, GrpcCode::FailedPrecondition, "The email address is already verified.");
    }
}

#[tokio::test]
async fn without_an_email_address_there_is_nothing_to_confirm() {
    let world = World::new().await;
    let user = world.user("device-0001").await;
    let outcome = world.accounts.request_email_verification(user, HOME).await;
    assert_refused(outcome, GrpcCode::FailedPrecondition, "The account has no email address to verify.");
}

#[tokio::test]
async fn without_webhooks_no_codes_are_offered_and_nothing_is_told() {
    let world = World::new().await;
    let store =
        Store::open(&aether_store::StoreSettings::new(Database::Memory), &Registry::new()).await.expect("memory");
    let settings = Settings { announce: false, ..Settings::default() };
    let accounts = Accounts::new(store.clone(), world.clock.clone(), Arc::clone(&world.revocations), settings);
    let signed_in =
        accounts.authenticate(super::world::sign_in(by_device("device-0001"))).await.expect("it is created");
    for outcome in [
        accounts.request_password_reset(EMAIL, HOME).await,
        accounts.request_email_verification(signed_in.user, HOME).await,
    ] {
        assert_eq!(outcome.expect_err("it is refused").code, GrpcCode::FailedPrecondition);
    }
    accounts.delete(signed_in.user).await.expect("it is there");
    let count = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.row("SELECT count(*) FROM outbox", &[], |row| row.get::<i64>(0))
    };
    assert_eq!(store.read(count).await, Ok(Some(0)));
}
