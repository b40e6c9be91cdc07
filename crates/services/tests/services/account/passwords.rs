//! Passwords: the right one, the wrong one, and too many of those.

use super::world::{World, assert_refused, by_device, by_email, sign_in};
use aether_services::account::{SignIn, SignInMethod};
use aether_services::{GrpcCode, ServiceError};
use std::net::IpAddr;
use std::time::{Duration, Instant};

const EMAIL: &str = "someone@example.com";
const RIGHT: &str = "correct horse";
const WRONG: &str = "battery staple";
const INVALID: &str = "Invalid credentials.";

/// An attempt that creates nothing.
fn attempt(email: &str, password: &str, address: Option<IpAddr>) -> SignIn {
    SignIn { create: false, address, ..sign_in(by_email(email, password)) }
}

/// An attempt by username.
fn by_name(username: &str, password: &str) -> SignIn {
    let method = SignInMethod::Email { email: String::new(), password: password.to_owned() };
    SignIn { username: Some(username.to_owned()), ..sign_in(method) }
}

fn code<T>(outcome: Result<T, ServiceError>) -> Option<GrpcCode> {
    outcome.err().map(|refusal| refusal.code)
}

#[tokio::test]
async fn a_password_opens_its_account_by_email_and_by_username() {
    for world in World::all().await {
        let created = SignIn { username: Some("alice".to_owned()), ..sign_in(by_email(EMAIL, RIGHT)) };
        let user = world.accounts.authenticate(created).await.expect("it is created").user;
        assert_eq!(world.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await.expect("it is right").user, user);
        assert_eq!(world.accounts.authenticate(by_name("alice", RIGHT)).await.expect("it is right").user, user);
        let wrong = world.accounts.authenticate(by_name("alice", WRONG)).await;
        assert_refused(wrong, GrpcCode::Unauthenticated, INVALID);
        assert_refused(world.sign_in(by_email(EMAIL, WRONG)).await, GrpcCode::Unauthenticated, INVALID);
    }
}

#[tokio::test]
async fn a_username_alone_never_creates_an_account() {
    let world = World::new().await;
    assert_refused(world.accounts.authenticate(by_name("nobody", RIGHT)).await, GrpcCode::Unauthenticated, INVALID);
    world.user("device-0001").await;
    let device = SignIn { username: Some("player".to_owned()), ..sign_in(by_device("device-0002")) };
    world.accounts.authenticate(device).await.expect("it is created");
    let without = world.accounts.authenticate(by_name("player", RIGHT)).await;
    assert_refused(without, GrpcCode::Unauthenticated, INVALID);
}

#[tokio::test]
async fn an_account_that_is_not_there_answers_like_one_that_is_and_takes_as_long() {
    let world = World::new().await;
    world.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let mut fastest = [Duration::MAX; 2];
    for _ in 0..4 {
        for (fastest, email) in fastest.iter_mut().zip([EMAIL, "nobody@example.com"]) {
            let began = Instant::now();
            let outcome = world.accounts.authenticate(attempt(email, WRONG, None)).await;
            assert_refused(outcome, GrpcCode::Unauthenticated, INVALID);
            *fastest = began.elapsed().min(*fastest);
        }
    }
    let [known, unknown] = fastest;
    // Without the work for an account that is not there it would be a hundredth.
    assert!(unknown > known / 3 && known > unknown / 3, "known {known:?}, unknown {unknown:?}");
}

#[tokio::test]
async fn after_five_failures_an_account_is_closed_for_a_minute_even_for_the_right_password() {
    let world = World::new().await;
    world.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    for email in [EMAIL, "nobody@example.com"] {
        for _ in 0..5 {
            assert_eq!(
                code(world.accounts.authenticate(attempt(email, WRONG, None)).await),
                Some(GrpcCode::Unauthenticated)
            );
        }
        for password in [WRONG, RIGHT] {
            let locked = world.accounts.authenticate(attempt(email, password, None)).await;
            assert_eq!(code(locked), Some(GrpcCode::ResourceExhausted), "{email}");
        }
    }
    world.clock.advance_ms(59_999);
    assert_eq!(code(world.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await), Some(GrpcCode::ResourceExhausted));
    world.clock.advance_ms(1);
    assert_eq!(code(world.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await), None);
}

#[tokio::test]
async fn email_and_username_are_not_two_chances() {
    let world = World::new().await;
    let created = SignIn { username: Some("alice".to_owned()), ..sign_in(by_email(EMAIL, RIGHT)) };
    world.accounts.authenticate(created).await.expect("it is created");
    for _ in 0..5 {
        let wrong = SignIn { address: None, ..by_name("alice", WRONG) };
        assert_eq!(code(world.accounts.authenticate(wrong).await), Some(GrpcCode::Unauthenticated));
    }
    assert_eq!(code(world.accounts.authenticate(attempt(EMAIL, WRONG, None)).await), Some(GrpcCode::ResourceExhausted));
}

#[tokio::test]
async fn guesses_at_the_same_time_are_counted_before_they_are_made() {
    let world = World::new().await;
    world.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let mut tasks = tokio::task::JoinSet::new();
    for _ in 0..30 {
        let accounts = world.accounts.clone();
        tasks.spawn(async move { code(accounts.authenticate(attempt(EMAIL, WRONG, None)).await) });
    }
    let outcomes = tasks.join_all().await;
    let guesses = outcomes.iter().filter(|outcome| **outcome == Some(GrpcCode::Unauthenticated)).count();
    assert_eq!(guesses, 5, "{outcomes:?}");
}

#[tokio::test]
async fn after_ten_failures_an_address_is_closed_for_ten_minutes_and_others_are_not() {
    let world = World::new().await;
    world.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let address = |text: &str| Some(text.parse().expect("it is an address"));
    for number in 0..10 {
        let wrong = attempt(&format!("nobody-{number}@example.com"), WRONG, address("203.0.113.5"));
        assert_eq!(code(world.accounts.authenticate(wrong).await), Some(GrpcCode::Unauthenticated));
    }
    let here = || world.accounts.authenticate(attempt(EMAIL, RIGHT, address("203.0.113.5")));
    assert_eq!(code(here().await), Some(GrpcCode::ResourceExhausted));
    let there = world.accounts.authenticate(attempt(EMAIL, RIGHT, address("203.0.113.6"))).await;
    assert_eq!(code(there), None);
    world.clock.advance_ms(599_999);
    assert_eq!(code(here().await), Some(GrpcCode::ResourceExhausted));
    world.clock.advance_ms(1);
    assert_eq!(code(here().await), None);
}

#[tokio::test]
async fn a_thousand_logins_at_once_are_answered_or_refused_and_then_all_is_well() {
    let world = World::new().await;
    world.sign_in(by_email(EMAIL, RIGHT)).await.expect("it is created");
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..1_000 {
        let accounts = world.accounts.clone();
        let email = format!("nobody-{number}@example.com");
        tasks.spawn(async move { code(accounts.authenticate(attempt(&email, WRONG, None)).await) });
    }
    let outcomes = tasks.join_all().await;
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == Some(wanted)).count();
    let (wrong, refused) = (count(GrpcCode::Unauthenticated), count(GrpcCode::ResourceExhausted));
    assert_eq!(wrong + refused, 1_000, "{outcomes:?}");
    assert!(wrong > 0 && refused > 500, "{wrong} were hashed, {refused} were refused");
    assert_eq!(code(world.accounts.authenticate(attempt(EMAIL, RIGHT, None)).await), None);
}
