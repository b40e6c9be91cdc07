//! Codes for new passwords and for verifying email addresses.

use super::fixture::{Fixture, HOME, NOW, assert_rejected, by_device, by_email};
use aether_metrics::Registry;
use aether_services::account::{Accounts, Settings};
use aether_services::{GrpcCode, ServiceError};
use aether_store::{Database, Store};
use serde_json::Value as Json;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

const EMAIL: &str = "someone@example.com";
const OLD: &str = "correct horse";
const NEW: &str = "battery staple";

impl Fixture {
    async fn with_email(&self) -> Uuid {
        let user = self.sign_in(by_email(EMAIL, OLD)).await.expect("it is created").user;
        self.take_messages().await;
        user
    }

    /// Takes the only message, of this topic.
    async fn only_message(&self, topic: &str) -> Json {
        let message = self.take_messages().await;
        assert_eq!(message.len(), 1, "{message:?}");
        assert_eq!(message[0].0, topic);
        message[0].1.clone()
    }

    async fn reset_code(&self) -> String {
        self.accounts.request_password_reset(EMAIL, HOME).await.expect("it is sent");
        code(&self.only_message("account.password_reset").await)
    }
}

fn code(message: &Json) -> String {
    message["code"].as_str().expect("there is a code").to_owned()
}

/// Asserts that a code is rejected as such, and not because of the request around it.
#[track_caller]
fn assert_code_rejected<T: std::fmt::Debug>(outcome: Result<T, ServiceError>, why: &str) {
    let error = outcome.expect_err(why);
    let sentence = "The code is invalid, already used, or expired. Request a new one.";
    assert_eq!((error.code, &*error.message), (GrpcCode::InvalidArgument, sentence), "{why}");
}

#[tokio::test]
async fn a_code_sets_a_new_password_once_and_ends_all_sessions() {
    for fixture in Fixture::all().await {
        let user = fixture.with_email().await;
        let issued_at = (NOW / 1_000) as u64;
        fixture.accounts.request_password_reset("Someone@Example.com", HOME).await.expect("it is sent");
        let message = fixture.only_message("account.password_reset").await;
        assert_eq!((message["user_id"].as_str(), message["email"].as_str()), (Some(&*user.to_string()), Some(EMAIL)));
        assert_eq!(message["expires_at"], NOW + 3_600_000);
        let code = code(&message);
        assert!(!fixture.revocations.is_ended(Uuid::from_u128(7), user, issued_at));
        fixture.accounts.reset_password(&code, NEW.to_owned()).await.expect("the code is new");
        assert!(fixture.revocations.is_ended(Uuid::from_u128(7), user, issued_at));
        assert_eq!(fixture.sign_in(by_email(EMAIL, NEW)).await.expect("it is the password").user, user);
        assert_eq!(fixture.sign_in(by_email(EMAIL, OLD)).await.expect_err("it was").code, GrpcCode::Unauthenticated);
        let again = fixture.accounts.reset_password(&code, OLD.to_owned()).await;
        assert_eq!(again.expect_err("it was used").code, GrpcCode::InvalidArgument);
    }
}

#[tokio::test]
async fn only_the_hash_of_a_code_is_stored() {
    let fixture = Fixture::new().await;
    fixture.with_email().await;
    let code = fixture.reset_code().await;
    let stored = fixture
        .store
        .read(|transaction| transaction.row("SELECT hash FROM account_codes", &[], |row| row.get::<Vec<u8>>(0)))
        .await
        .expect("it can be read")
        .expect("it is stored");
    assert_eq!(stored.len(), 32);
    assert!(!stored.windows(8).any(|part| code.as_bytes().windows(8).any(|other| part == other)));
}

#[tokio::test]
async fn a_code_expires_and_a_new_one_replaces_it() {
    let fixture = Fixture::new().await;
    fixture.with_email().await;
    let first = fixture.reset_code().await;
    let second = fixture.reset_code().await;
    assert_code_rejected(fixture.accounts.reset_password(&first, NEW.to_owned()).await, "another was sent after it");
    fixture.clock.advance_ms(3_600_000);
    assert_code_rejected(fixture.accounts.reset_password(&second, NEW.to_owned()).await, "an hour has passed");
    let third = fixture.reset_code().await;
    fixture.clock.advance_ms(3_599_999);
    fixture.accounts.reset_password(&third, NEW.to_owned()).await.expect("an hour has not passed");
}

#[tokio::test]
async fn one_of_many_concurrent_uses_of_a_code_succeeds() {
    for fixture in Fixture::all().await {
        fixture.with_email().await;
        let code = fixture.reset_code().await;
        let mut tasks = tokio::task::JoinSet::new();
        for number in 0..8 {
            let (accounts, code) = (fixture.accounts.clone(), code.clone());
            tasks.spawn(async move { accounts.reset_password(&code, format!("new password {number}")).await.is_ok() });
        }
        let succeeded = tasks.join_all().await.into_iter().filter(|success| *success).count();
        assert_eq!(succeeded, 1, "{}", fixture.name);
    }
}

#[tokio::test]
async fn unknown_codes_are_rejected() {
    let fixture = Fixture::new().await;
    let user = fixture.with_email().await;
    fixture.accounts.request_email_verification(user, HOME).await.expect("it is sent");
    let verification = code(&fixture.only_message("account.email_verification").await);
    let reset = fixture.reset_code().await;
    let long = "a".repeat(1_000_000);
    for wrong in ["", "a", &"A".repeat(43), &"\0".repeat(43), &long, &verification] {
        let outcome = fixture.accounts.reset_password(wrong, NEW.to_owned()).await;
        assert_eq!(outcome.expect_err("it is rejected").code, GrpcCode::InvalidArgument);
    }
    for wrong in ["", &reset] {
        assert_eq!(
            fixture.accounts.verify_email(wrong).await.expect_err("it is rejected").code,
            GrpcCode::InvalidArgument
        );
    }
    for password in ["short", &long] {
        let outcome = fixture.accounts.reset_password(&reset, password.to_owned()).await;
        assert_eq!(outcome.expect_err("it is rejected").code, GrpcCode::InvalidArgument);
    }
    fixture.accounts.reset_password(&reset, NEW.to_owned()).await.expect("nothing has used it up");
}

#[tokio::test]
async fn a_missing_account_answers_like_an_existing_one() {
    let fixture = Fixture::new().await;
    fixture.with_email().await;
    let banned = fixture.sign_in(by_email("banned@example.com", OLD)).await.expect("it is created").user;
    fixture.accounts.ban(vec![banned]).await.expect("it can be done");
    fixture.take_messages().await;
    for (email, sent) in [(EMAIL, 1), ("nobody@example.com", 0), ("banned@example.com", 0)] {
        let began = Instant::now();
        assert_eq!(fixture.accounts.request_password_reset(email, HOME).await, Ok(()));
        assert!(began.elapsed() >= Duration::from_millis(250), "{email}");
        assert_eq!(fixture.take_messages().await.len(), sent, "{email}");
    }
    let wrong = fixture.accounts.request_password_reset("no address", HOME).await;
    assert_eq!(wrong.expect_err("it is rejected").code, GrpcCode::InvalidArgument);
}

#[tokio::test]
async fn codes_are_limited_by_account_and_address() {
    let fixture = Fixture::new().await;
    fixture.with_email().await;
    let address = |number: u8| Some([203, 0, 113, number].into());
    for number in 0..5 {
        assert_eq!(fixture.accounts.request_password_reset(EMAIL, address(number)).await, Ok(()));
    }
    assert_eq!(fixture.take_messages().await.len(), 3, "the rest get the same answer, but are not sent");
    let mut rejected = 0;
    for number in 0..12 {
        let email = format!("nobody-{number}@example.com");
        let outcome = fixture.accounts.request_password_reset(&email, address(100)).await;
        rejected += usize::from(outcome.is_err_and(|error| error.code == GrpcCode::ResourceExhausted));
    }
    assert_eq!(rejected, 2);
    fixture.clock.advance_ms(600_000);
    assert_eq!(fixture.accounts.request_password_reset(EMAIL, address(100)).await, Ok(()));
    assert_eq!(fixture.take_messages().await.len(), 1);
}

#[tokio::test]
async fn a_code_verifies_only_the_address_it_was_sent_to() {
    for fixture in Fixture::all().await {
        let user = fixture.with_email().await;
        fixture.accounts.request_email_verification(user, HOME).await.expect("it is sent");
        let first = code(&fixture.only_message("account.email_verification").await);
        fixture.accounts.link(user, by_email("new@example.com", NEW)).await.expect("it is nobody's");
        assert_code_rejected(fixture.accounts.verify_email(&first).await, "the address is another now");
        fixture.accounts.request_email_verification(user, HOME).await.expect("it is sent");
        let message = fixture.only_message("account.email_verification").await;
        assert_eq!(message["email"], "new@example.com");
        fixture.clock.advance_ms(5_000);
        fixture.accounts.verify_email(&code(&message)).await.expect("it is the address");
        assert_eq!(fixture.accounts.account(user).await.expect("it is there").verified_at, Some(NOW + 5_000));
        let again = fixture.accounts.request_email_verification(user, HOME).await;
        assert_rejected(again, GrpcCode::FailedPrecondition, "The email address is already verified.");
    }
}

#[tokio::test]
async fn verification_needs_an_email_address() {
    let fixture = Fixture::new().await;
    let user = fixture.user("device-0001").await;
    let outcome = fixture.accounts.request_email_verification(user, HOME).await;
    assert_rejected(outcome, GrpcCode::FailedPrecondition, "The account has no email address to verify.");
}

#[tokio::test]
async fn without_webhooks_there_are_no_codes_and_no_messages() {
    let fixture = Fixture::new().await;
    let store =
        Store::open(&aether_store::StoreSettings::new(Database::Memory), &Registry::new()).await.expect("memory");
    let settings = Settings { announce: false, ..Settings::default() };
    let accounts = Accounts::new(store.clone(), fixture.clock.clone(), Arc::clone(&fixture.revocations), settings);
    let signed_in =
        accounts.authenticate(super::fixture::sign_in(by_device("device-0001"))).await.expect("it is created");
    for outcome in [
        accounts.request_password_reset(EMAIL, HOME).await,
        accounts.request_email_verification(signed_in.user, HOME).await,
    ] {
        assert_eq!(outcome.expect_err("it is rejected").code, GrpcCode::FailedPrecondition);
    }
    accounts.delete(signed_in.user).await.expect("it is there");
    let count = |transaction: &mut aether_store::Transaction<'_>| {
        transaction.row("SELECT count(*) FROM outbox", &[], |row| row.get::<i64>(0))
    };
    assert_eq!(store.read(count).await, Ok(Some(0)));
}
