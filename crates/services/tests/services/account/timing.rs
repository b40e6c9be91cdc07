//! Costs of signing in; run with `--ignored --nocapture`.

use super::fixture::{Fixture, by_device, by_email, sign_in};
use std::time::Instant;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it takes some seconds and prints timings"]
async fn costs_of_signing_in() {
    const LOGINS: usize = 2_000;
    const AT_ONCE: usize = 50;
    for fixture in Fixture::all().await {
        let began = Instant::now();
        for number in 0..LOGINS / 10 {
            fixture.user(&format!("device-{number:06}")).await;
        }
        let created = began.elapsed().as_secs_f64() * 1e6 / (LOGINS / 10) as f64;
        let began = Instant::now();
        for _ in 0..LOGINS {
            fixture.sign_in(by_device("device-000007")).await.expect("it is known");
        }
        let known = began.elapsed().as_secs_f64() * 1e6 / LOGINS as f64;
        let began = Instant::now();
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..AT_ONCE {
            let accounts = fixture.accounts.clone();
            tasks.spawn(async move {
                for number in 0..LOGINS / AT_ONCE * 5 {
                    let device = format!("device-{:06}", number % (LOGINS / 10));
                    accounts.authenticate(sign_in(by_device(&device))).await.expect("it is known");
                }
            });
        }
        tasks.join_all().await;
        let together = (LOGINS * 5) as f64 / began.elapsed().as_secs_f64();
        println!(
            "{}: a new device {created:.0} µs, a known one {known:.0} µs; {AT_ONCE} at once {together:.0} a second",
            fixture.name
        );
    }
    let fixture = Fixture::new().await;
    fixture.sign_in(by_email("someone@example.com", "correct horse")).await.expect("it is created");
    let began = Instant::now();
    for _ in 0..20 {
        fixture.sign_in(by_email("someone@example.com", "correct horse")).await.expect("it is right");
    }
    println!("a password {:.1} ms", began.elapsed().as_secs_f64() * 1e3 / 20.0);
}
