//! Passwords: sign-in, and lockout after failures.

use super::fixture::{Fixture, assert_rejected, by_device, by_email, sign_in};
use aether_services::account::{SignIn, SignInMethod};
use aether_services::{GrpcCode, ServiceError};
use std::net::IpAddr;
use std::time::{Duration, Instant};

const EMAIL: &str = "someone@example.com";
const RIGHT: &str = "correct horse";
const WRONG: &str = "battery staple";
const INVALID: &str = "Invalid credentials.";

/// Returns a sign-in that creates no account.
fn attempt(email: &str, password: &str, address: Option<IpAddr>) -> SignIn {
    SignIn { create: false, address, ..sign_in(by_email(email, password)) }
}

/// Returns a sign-in with a username.
fn by_name(username: &str, password: &str) -> SignIn {
    let method = SignInMethod::Email { email: String::new(), password: password.to_owned() };
    SignIn { username: Some(username.to_owned()), ..sign_in(method) }
}

fn code<T>(outcome: Result<T, ServiceError>) -> Option<GrpcCode> {
    outcome.err().map(|error| error.code)
}

#[tokio::test]
async fn a_password_signs_in_with_email_and_with_username() {
    for fixture in Fixture::all().await {
        let created = SignIn { username: Some("alice".to_owned()), ..sign_in(by_email(EMAIL, RIGHT)) };
        let user = fixture.accounts.authenticate(created).await.expect("it is created").user;
        assert_eq!(fixture.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await.expect("it is right").user, user);
        assert_eq!(fixture.accounts.authenticate(by_name("alice", RIGHT)).await.expect("it is right").user, user);
        let wrong = fixture.accounts.authenticate(by_name("alice", WRONG)).await;
        assert_rejected(wrong, GrpcCode::Unauthenticated, INVALID);
        assert_rejected(fixture.sign_in(by_email(EMAIL, WRONG)).await, GrpcCode::Unauthenticated, INVALID);
    }
}

#[tokio::test]
async fn a_username_alone_never_creates_an_account() {
    let fixture = Fixture::new().await;
    assert_rejected(fixture.accounts.authenticate(by_name("nobody", RIGHT)).await, GrpcCode::Unauthenticated, INVALID);
    fixture.user("device-0001").await;
    let device = SignIn { username: Some("player".to_owned()), ..sign_in(by_device("device-0002")) };
    fixture.accounts.authenticate(device).await.expect("it is created");
    let without = fixture.accounts.authenticate(by_name("player", RIGHT)).await;
    assert_rejected(without, GrpcCode::Unauthenticated, INVALID);
}

#[tokio::test]
async fn a_missing_account_answers_like_an_existing_one_and_takes_as_long() {
    let fixture = Fixture::new().await;
    fixture.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let mut fastest = [Duration::MAX; 2];
    for round in 0..12 {
        // Five failures would lock the account.
        fixture.clock.advance_ms(if round % 4 == 0 { 60_000 } else { 0 });
        for (fastest, email) in fastest.iter_mut().zip([EMAIL, "nobody@example.com"]) {
            let began = Instant::now();
            let outcome = fixture.accounts.authenticate(attempt(email, WRONG, None)).await;
            assert_rejected(outcome, GrpcCode::Unauthenticated, INVALID);
            *fastest = began.elapsed().min(*fastest);
        }
    }
    let [known, unknown] = fastest;
    // Without the work for a missing account it would be a hundredth.
    assert!(unknown > known / 3 && known > unknown / 3, "known {known:?}, unknown {unknown:?}");
}

#[tokio::test]
async fn five_failures_lock_an_account_for_a_minute() {
    let fixture = Fixture::new().await;
    fixture.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    for email in [EMAIL, "nobody@example.com"] {
        for _ in 0..5 {
            assert_eq!(
                code(fixture.accounts.authenticate(attempt(email, WRONG, None)).await),
                Some(GrpcCode::Unauthenticated)
            );
        }
        for password in [WRONG, RIGHT] {
            let locked = fixture.accounts.authenticate(attempt(email, password, None)).await;
            assert_eq!(code(locked), Some(GrpcCode::ResourceExhausted), "{email}");
        }
    }
    fixture.clock.advance_ms(59_999);
    assert_eq!(
        code(fixture.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await),
        Some(GrpcCode::ResourceExhausted)
    );
    fixture.clock.advance_ms(1);
    assert_eq!(code(fixture.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await), None);
}

#[tokio::test]
async fn email_and_username_share_one_limit() {
    let fixture = Fixture::new().await;
    let created = SignIn { username: Some("alice".to_owned()), ..sign_in(by_email(EMAIL, RIGHT)) };
    fixture.accounts.authenticate(created).await.expect("it is created");
    for _ in 0..5 {
        let wrong = SignIn { address: None, ..by_name("alice", WRONG) };
        assert_eq!(code(fixture.accounts.authenticate(wrong).await), Some(GrpcCode::Unauthenticated));
    }
    assert_eq!(
        code(fixture.accounts.authenticate(attempt(EMAIL, WRONG, None)).await),
        Some(GrpcCode::ResourceExhausted)
    );
}

#[tokio::test]
async fn concurrent_guesses_are_counted_before_they_are_made() {
    let fixture = Fixture::new().await;
    fixture.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let accounts = fixture.accounts.clone();
        tasks.spawn(async move { code(accounts.authenticate(attempt(EMAIL, WRONG, None)).await) });
    }
    let outcomes = tasks.join_all().await;
    let guesses = outcomes.iter().filter(|outcome| **outcome == Some(GrpcCode::Unauthenticated)).count();
    assert_eq!(guesses, 5, "{outcomes:?}");
}

#[tokio::test]
async fn ten_failures_lock_an_address_for_ten_minutes() {
    let fixture = Fixture::new().await;
    fixture.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let address = |text: &str| Some(text.parse().expect("it is an address"));
    for number in 0..10 {
        let wrong = attempt(&format!("nobody-{number}@example.com"), WRONG, address("203.0.113.5"));
        assert_eq!(code(fixture.accounts.authenticate(wrong).await), Some(GrpcCode::Unauthenticated));
    }
    let here = || fixture.accounts.authenticate(attempt(EMAIL, RIGHT, address("203.0.113.5")));
    assert_eq!(code(here().await), Some(GrpcCode::ResourceExhausted));
    let there = fixture.accounts.authenticate(attempt(EMAIL, RIGHT, address("203.0.113.6"))).await;
    assert_eq!(code(there), None);
    fixture.clock.advance_ms(599_999);
    assert_eq!(code(here().await), Some(GrpcCode::ResourceExhausted));
    fixture.clock.advance_ms(1);
    assert_eq!(code(here().await), None);
}

/// A sprayed password: 40 accounts at once from one address, of which ten are checked.
#[tokio::test]
async fn a_password_sprayed_from_one_address_is_checked_ten_times() {
    let fixture = Fixture::new().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..40 {
        let accounts = fixture.accounts.clone();
        let email = format!("nobody-{number}@example.com");
        let address = Some(IpAddr::from([203, 0, 113, 5]));
        tasks.spawn(async move { code(accounts.authenticate(attempt(&email, WRONG, address)).await) });
    }
    let outcomes = tasks.join_all().await;
    let checked = outcomes.iter().filter(|outcome| **outcome == Some(GrpcCode::Unauthenticated)).count();
    assert_eq!(checked, 10, "{outcomes:?}");
}

#[tokio::test]
async fn a_thousand_concurrent_logins_are_answered_or_rejected() {
    let fixture = Fixture::new().await;
    fixture.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let accounts = fixture.accounts.clone();
        let email = format!("nobody-{number}@example.com");
        tasks.spawn(async move { code(accounts.authenticate(attempt(&email, WRONG, None)).await) });
    }
    let outcomes = tasks.join_all().await;
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == Some(wanted)).count();
    let (wrong, rejected) = (count(GrpcCode::Unauthenticated), count(GrpcCode::ResourceExhausted));
    assert_eq!(wrong + rejected, 1_000, "{outcomes:?}");
    assert!(wrong > 0 && rejected > 500, "{wrong} were hashed, {rejected} were rejected");
    assert_eq!(code(fixture.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await), None);
}
