use super::{Moderated, moderated, report};
use crate::fixture::error_of;
use aether_services::GrpcCode;
use aether_services::moderation::{
    CATEGORY_BYTES_MAX, CONTEXT_ID_BYTES_MAX, Decision, MESSAGES_MAX, NOTE_BYTES_MAX, NewReport,
    REPORTS_PER_PERIOD_MAX, REPORTS_PERIOD_MS, ReportFilter, Resolution, STATEMENTS_MAX, TEXT_BYTES_MAX,
};
use std::collections::BTreeSet;
use std::sync::Arc;
use uuid::Uuid;

fn filter(target: Option<Uuid>, is_resolved: bool) -> ReportFilter {
    ReportFilter { is_resolved, target, limit: 100, cursor: String::new() }
}

fn resolution(report: Uuid, decision: Decision) -> Resolution {
    Resolution { report, decision, note: "seen".to_owned(), all: false, resolver: Uuid::nil(), mute: None }
}

#[tokio::test]
async fn a_report_is_in_the_queue_with_its_context_until_it_is_resolved() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target) = (fixture.user().await, fixture.user().await);
        let moderation = &services.moderation;
        let new = NewReport { match_id: "m1".to_owned(), ..report(target) };
        let filed = moderation.report(reporter, new).await.unwrap();
        assert!(filed.is_added);
        let queue = moderation.list_reports(filter(None, false)).await.unwrap().reports;
        assert_eq!(queue.len(), 1, "{}", fixture.name);
        let found = &queue[0];
        assert_eq!((found.id, found.reporter, found.target, found.is_open), (filed.id, reporter, target, true));
        assert_eq!((found.target_username.as_str(), found.decision), (target.to_string().as_str(), None));
        let statement = &found.statements[0];
        assert_eq!((statement.category.as_str(), statement.match_id.as_str()), ("harassment", "m1"));
        assert_eq!(statement.text, "insults in the lobby");

        fixture.clock.advance_ms(5);
        let resolved = moderation.resolve(target, resolution(filed.id, Decision::Warned)).await.unwrap();
        assert_eq!((resolved.reports, resolved.mute), (1, None));
        assert!(moderation.list_reports(filter(None, false)).await.unwrap().reports.is_empty());
        let done = moderation.list_reports(filter(Some(target), true)).await.unwrap().reports;
        assert_eq!((done[0].decision, done[0].note.as_str()), (Some(Decision::Warned), "seen"));
        assert_eq!(done[0].resolved_at, Some(done[0].created_at + 5));
        let again = error_of(moderation.resolve(target, resolution(filed.id, Decision::Dismissed)).await);
        assert_eq!(again.0, GrpcCode::FailedPrecondition);
        let (_, history) = moderation.find_report(filed.id).await.unwrap();
        assert_eq!((history.open, history.resolved, history.dismissed, history.mutes), (0, 1, 0, 0));
    }
}

#[tokio::test]
async fn further_reports_about_the_same_player_are_added_to_the_open_one() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target) = (fixture.user().await, fixture.user().await);
        let first = services.moderation.report(reporter, report(target)).await.unwrap();
        for number in 2..=STATEMENTS_MAX {
            let next = NewReport { text: format!("statement {number}"), ..report(target) };
            assert_eq!(services.moderation.report(reporter, next).await.unwrap(), first, "{number}");
        }
        let full = services.moderation.report(reporter, report(target)).await.unwrap();
        assert_eq!((full.id, full.is_added), (first.id, false), "{}: it has no place", fixture.name);
        let (found, history) = services.moderation.find_report(first.id).await.unwrap();
        assert_eq!((found.statements.len(), history.open), (STATEMENTS_MAX, 1));
        assert_eq!(found.statements[1].text, "statement 2");
        services.moderation.resolve(target, resolution(first.id, Decision::Dismissed)).await.unwrap();
        let new = services.moderation.report(reporter, report(target)).await.unwrap();
        assert_ne!(new.id, first.id, "a resolved report stays as it is");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_reports_are_one_report_and_within_the_limit_of_a_day() {
    for Moderated { services, fixture, .. } in moderated().await {
        let reporter = fixture.user().await;
        let mut targets = Vec::new();
        for _ in 0..REPORTS_PER_PERIOD_MAX + 5 {
            targets.push(fixture.user().await);
        }
        let file = |target: Uuid| {
            let moderation = Arc::clone(&services.moderation);
            tokio::spawn(async move { moderation.report(reporter, report(target)).await })
        };
        let same: Vec<_> = (0..4).map(|_| file(targets[0])).collect();
        let mut ids = BTreeSet::new();
        for filed in same {
            ids.insert(filed.await.unwrap().unwrap().id);
        }
        assert_eq!(ids.len(), 1, "{}", fixture.name);
        let others: Vec<_> = targets[1..].iter().map(|target| file(*target)).collect();
        let mut filed = 1;
        for outcome in others {
            match outcome.await.unwrap() {
                Ok(_) => filed += 1,
                Err(error) => {
                    assert_eq!(error.code, GrpcCode::ResourceExhausted, "{error}");
                    assert!(error.retry_after_seconds.is_some());
                }
            }
        }
        assert_eq!(filed, REPORTS_PER_PERIOD_MAX, "{}", fixture.name);
        fixture.clock.advance_ms(REPORTS_PERIOD_MS);
        let last = *targets.last().unwrap();
        assert!(services.moderation.report(reporter, report(last)).await.is_ok(), "a day later");
        let other = fixture.user().await;
        assert!(services.moderation.report(other, report(last)).await.is_ok(), "others have their own limit");
    }
}

#[tokio::test]
async fn bad_reports_are_rejected_and_store_nothing() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target) = (fixture.user().await, fixture.user().await);
        let channel = || "2...lobby".to_owned();
        let wrong = [
            NewReport { target: reporter, ..report(target) },
            NewReport { category: String::new(), ..report(target) },
            NewReport { category: "x".repeat(CATEGORY_BYTES_MAX + 1), ..report(target) },
            NewReport { category: "two words".to_owned(), ..report(target) },
            NewReport { text: "x".repeat(TEXT_BYTES_MAX + 1), ..report(target) },
            NewReport { text: "nul\0".to_owned(), ..report(target) },
            NewReport { messages: vec!["1".to_owned()], ..report(target) },
            NewReport { channel: channel(), messages: vec!["1".to_owned(); MESSAGES_MAX + 1], ..report(target) },
            NewReport { channel: "x".repeat(CONTEXT_ID_BYTES_MAX + 1), ..report(target) },
            NewReport { match_id: "x".repeat(CONTEXT_ID_BYTES_MAX + 1), ..report(target) },
        ];
        for new in wrong {
            let (code, _) = error_of(services.moderation.report(reporter, new.clone()).await);
            assert_eq!(code, GrpcCode::InvalidArgument, "{}: {new:?}", fixture.name);
        }
        let nobody = error_of(services.moderation.report(reporter, report(Uuid::from_u128(9))).await);
        assert_eq!(nobody.0, GrpcCode::NotFound);
        let guest = error_of(services.moderation.report(Uuid::from_u128(9), report(target)).await);
        assert_eq!(guest.0, GrpcCode::NotFound);
        assert_eq!(fixture.count("SELECT COUNT(*) FROM reports").await, 0);
        let largest = NewReport {
            category: "x".repeat(CATEGORY_BYTES_MAX),
            text: "x".repeat(TEXT_BYTES_MAX),
            match_id: "x".repeat(CONTEXT_ID_BYTES_MAX),
            ..report(target)
        };
        assert!(services.moderation.report(reporter, largest).await.is_ok());
    }
}

#[tokio::test]
async fn the_queue_is_read_in_pages_and_by_player() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (one, other) = (fixture.user().await, fixture.user().await);
        let mut filed = Vec::new();
        for number in 0..7 {
            let reporter = fixture.user().await;
            fixture.clock.advance_ms(1);
            let target = if number == 3 { other } else { one };
            filed.push(services.moderation.report(reporter, report(target)).await.unwrap().id);
        }
        let pages = async |target: Option<Uuid>| {
            let (mut ids, mut cursor) = (Vec::new(), String::new());
            loop {
                let filter = ReportFilter { is_resolved: false, target, limit: 2, cursor };
                let page = services.moderation.list_reports(filter).await.unwrap();
                assert!(page.reports.len() <= 2);
                ids.extend(page.reports.iter().map(|report| report.id));
                cursor = page.cursor;
                if cursor.is_empty() {
                    return ids;
                }
            }
        };
        assert_eq!(pages(None).await, filed, "{}: the oldest first", fixture.name);
        assert_eq!(pages(Some(other)).await, [filed[3]]);
        let bad = ReportFilter { cursor: "???".to_owned(), ..filter(None, false) };
        assert_eq!(error_of(services.moderation.list_reports(bad).await).0, GrpcCode::InvalidArgument);

        let all = Resolution { all: true, ..resolution(filed[0], Decision::Dismissed) };
        assert_eq!(services.moderation.resolve(one, all).await.unwrap().reports, 6);
        assert_eq!(pages(None).await, [filed[3]], "reports about others stay open");
        let long = Resolution { note: "x".repeat(NOTE_BYTES_MAX + 1), ..resolution(filed[3], Decision::Warned) };
        assert_eq!(error_of(services.moderation.resolve(other, long).await).0, GrpcCode::InvalidArgument);
        let wrong = error_of(services.moderation.resolve(one, resolution(filed[3], Decision::Warned)).await);
        assert_eq!(wrong.0, GrpcCode::NotFound, "it is about another player");
    }
}

#[tokio::test]
async fn an_erased_account_takes_its_reports_along_and_old_ones_are_removed() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target, other) = (fixture.user().await, fixture.user().await, fixture.user().await);
        services.moderation.report(reporter, report(target)).await.unwrap();
        services.moderation.report(target, report(other)).await.unwrap();
        let kept = services.moderation.report(reporter, report(other)).await.unwrap();
        services.accounts.delete(target).await.unwrap();
        let left = services.moderation.list_reports(filter(None, false)).await.unwrap().reports;
        assert_eq!(left.iter().map(|report| report.id).collect::<Vec<_>>(), [kept.id], "{}", fixture.name);
        services.moderation.resolve(other, resolution(kept.id, Decision::Dismissed)).await.unwrap();
        fixture.clock.advance_ms(10);
        let before = aether_services::clock::WallClock::now_ms(&*fixture.clock);
        assert_eq!(services.moderation.prune(before - 10).await.unwrap(), 0);
        assert_eq!(services.moderation.prune(before).await.unwrap(), 1);
    }
}
