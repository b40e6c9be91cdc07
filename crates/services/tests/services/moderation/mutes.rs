use super::{Moderated, moderated, reopened, report};
use crate::fixture::error_of;
use aether_services::GrpcCode;
use aether_services::moderation::{Decision, MUTE_SECONDS_MAX, NOTE_BYTES_MAX, NewMute, Resolution};
use std::sync::Arc;
use uuid::Uuid;

fn mute(user: Uuid, seconds: Option<i64>) -> NewMute {
    NewMute { user, seconds, reason: "insults".to_owned(), muted_by: Uuid::nil() }
}

#[tokio::test]
async fn a_mute_ends_by_time_and_is_known_after_a_restart() {
    for moderated in moderated().await {
        let Moderated { services, fixture, registry } = &moderated;
        let (short, long, free) = (fixture.user().await, fixture.user().await, fixture.user().await);
        let moderation = &services.moderation;
        moderation.mute(mute(short, Some(60))).await.unwrap();
        moderation.mute(mute(long, None)).await.unwrap();
        assert!(moderation.is_muted(short) && moderation.is_muted(long) && !moderation.is_muted(free));
        let (code, text) = error_of(moderation.check_not_muted(short));
        assert_eq!((code, text.as_str()), (GrpcCode::PermissionDenied, "You are muted until 2023-11-14T22:14:20Z."));
        assert_eq!(error_of(moderation.check_not_muted(long)).1, "You are muted.");
        assert!(moderation.check_not_muted(free).is_ok());
        assert!(registry.render().contains("aether_muted_players 2\n"));

        fixture.clock.advance_ms(59_999);
        let again = reopened(&moderated).await;
        assert!(again.moderation.is_muted(short) && again.moderation.is_muted(long), "{}", fixture.name);
        fixture.clock.advance_ms(1);
        assert!(!moderation.is_muted(short) && !again.moderation.is_muted(short), "{}", fixture.name);
        assert!(!reopened(&moderated).await.moderation.is_muted(short));
        assert!(moderation.is_muted(long));
        let listed = moderation.list_mutes(10, "").await.unwrap();
        assert_eq!(listed.mutes.iter().map(|mute| (mute.user, mute.expires_at)).collect::<Vec<_>>(), [(long, None)]);
        assert_eq!(moderation.history(short).await.unwrap().mutes, 1, "past mutes count");
    }
}

#[tokio::test]
async fn a_mute_is_replaced_lifted_and_listed_in_pages() {
    for Moderated { services, fixture, .. } in moderated().await {
        let moderation = &services.moderation;
        let mut users = Vec::new();
        for seconds in [300, 100, 200] {
            let user = fixture.user().await;
            moderation.mute(mute(user, Some(seconds))).await.unwrap();
            users.push(user);
        }
        let listed = async || {
            let (mut users, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = moderation.list_mutes(1, &cursor).await.unwrap();
                users.extend(page.mutes.iter().map(|mute| mute.user));
                cursor = page.cursor;
                if cursor.is_empty() {
                    return users;
                }
            }
        };
        assert_eq!(listed().await, [users[1], users[2], users[0]], "{}: the first to end first", fixture.name);
        moderation.mute(mute(users[1], None)).await.unwrap();
        assert_eq!(listed().await, [users[2], users[0], users[1]], "one mute of a player at a time");
        assert_eq!(moderation.find_mute(users[1]).await.unwrap().unwrap().expires_at, None);
        assert!(moderation.unmute(users[1]).await.unwrap());
        assert!(!moderation.is_muted(users[1]));
        assert!(!moderation.unmute(users[1]).await.unwrap(), "there is none");
        assert_eq!(moderation.find_mute(users[1]).await.unwrap(), None);
        services.accounts.delete(users[0]).await.unwrap();
        assert!(!moderation.is_muted(users[0]), "an erased account is in no table");
        assert_eq!(listed().await, [users[2]]);
    }
}

#[tokio::test]
async fn a_decision_mutes_and_resolves_together_or_not_at_all() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target) = (fixture.user().await, fixture.user().await);
        let moderation = &services.moderation;
        let filed = moderation.report(reporter, report(target)).await.unwrap();
        let decided = |seconds| Resolution {
            report: filed.id,
            decision: Decision::Muted,
            note: String::new(),
            all: false,
            resolver: reporter,
            mute: Some(mute(target, seconds)),
        };
        assert_eq!(error_of(moderation.resolve(target, decided(Some(0))).await).0, GrpcCode::InvalidArgument);
        assert!(!moderation.is_muted(target));
        let resolved = moderation.resolve(target, decided(Some(60))).await.unwrap();
        assert_eq!(resolved.mute.map(|mute| mute.user), Some(target), "{}", fixture.name);
        assert!(moderation.is_muted(target));
        moderation.unmute(target).await.unwrap();
        assert_eq!(error_of(moderation.resolve(target, decided(Some(60))).await).0, GrpcCode::FailedPrecondition);
        assert!(!moderation.is_muted(target), "a resolved report mutes nobody again");
    }
}

#[tokio::test]
async fn durations_and_reasons_have_limits() {
    for Moderated { services, fixture, .. } in moderated().await {
        let user = fixture.user().await;
        for seconds in [-1, 0, MUTE_SECONDS_MAX + 1, i64::MAX] {
            let (code, _) = error_of(services.moderation.mute(mute(user, Some(seconds))).await);
            assert_eq!(code, GrpcCode::InvalidArgument, "{seconds}");
        }
        let long = NewMute { reason: "x".repeat(NOTE_BYTES_MAX + 1), ..mute(user, None) };
        assert_eq!(error_of(services.moderation.mute(long).await).0, GrpcCode::InvalidArgument);
        assert_eq!(error_of(services.moderation.mute(mute(Uuid::from_u128(9), None)).await).0, GrpcCode::NotFound);
        assert!(!services.moderation.is_muted(user));
        assert!(services.moderation.mute(mute(user, Some(MUTE_SECONDS_MAX))).await.is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_changes_leave_memory_as_the_database() {
    for moderated in moderated().await {
        let Moderated { services, fixture, .. } = &moderated;
        let user = fixture.user().await;
        for _ in 0..10 {
            let change = |number: usize| {
                let moderation = Arc::clone(&services.moderation);
                tokio::spawn(async move {
                    match number % 2 {
                        0 => moderation.mute(mute(user, Some(60))).await.map(|_| ()),
                        _ => moderation.unmute(user).await.map(|_| ()),
                    }
                })
            };
            let changes: Vec<_> = (0..6).map(change).collect();
            for changed in changes {
                changed.await.unwrap().unwrap();
            }
            let stored = reopened(&moderated).await.moderation.is_muted(user);
            assert_eq!(services.moderation.is_muted(user), stored, "{}", fixture.name);
        }
    }
}
