//! Access to the operations of moderation, and their audit entries.

use super::{Moderated, as_user, moderated, report};
use crate::fixture::error_of;
use aether_services::admin::moderation::{
    GetReport, ListMutes, ListMutesRequest, ListReports, ListReportsRequest, MutePlayer, MutePlayerRequest,
    ReportDecision, ReportRequest, ResolveReport, ResolveReportRequest, UnmutePlayer,
};
use aether_services::admin::operation::PlayerRequest;
use aether_services::session::tokens::Role;
use aether_services::{CallContext, GrpcCode, Services};
use serde_json::json;
use std::sync::Arc;
use uuid::Uuid;

fn resolve(report: Uuid, decision: &str) -> ResolveReportRequest {
    let decision = ReportDecision { decision: decision.to_owned(), ..ReportDecision::default() };
    ResolveReportRequest { report: report.to_string(), decision: Some(decision) }
}

/// Names and details of the audit entries about a player, the newest first.
async fn audited(services: &Services, user: Uuid) -> Vec<(String, String)> {
    let entries =
        services.audit.list(0, 100).await.expect("the audit is read").into_iter().filter(|entry| entry.user == user);
    entries.map(|entry| (entry.action, entry.detail)).collect()
}

#[tokio::test]
async fn only_moderators_admins_and_the_operator_read_and_resolve_reports() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target, actor) = (fixture.user().await, fixture.user().await, fixture.user().await);
        let filed = services.moderation.report(reporter, report(target)).await.unwrap();
        for role in [Role::Player, Role::ReadOnly, Role::Developer] {
            let context = as_user(actor, role);
            let refused = [
                error_of(services.call::<ListReports>(&context, ListReportsRequest::default()).await),
                error_of(services.call::<GetReport>(&context, ReportRequest { report: filed.id.to_string() }).await),
                error_of(services.call::<ResolveReport>(&context, resolve(filed.id, "banned")).await),
                error_of(services.call::<ListMutes>(&context, ListMutesRequest::default()).await),
                error_of(
                    services
                        .call::<MutePlayer>(&context, MutePlayerRequest { player: target.to_string(), mute: None })
                        .await,
                ),
                error_of(services.call::<UnmutePlayer>(&context, PlayerRequest { player: target.to_string() }).await),
            ];
            assert!(refused.iter().all(|(code, _)| *code == GrpcCode::PermissionDenied), "{role}: {refused:?}");
        }
        assert!(audited(&services, target).await.is_empty(), "{}: nothing was done", fixture.name);
        for context in [as_user(actor, Role::Moderator), as_user(actor, Role::Admin), Arc::new(CallContext::server())] {
            let list = services.call::<ListReports>(&context, ListReportsRequest::default()).await.unwrap();
            assert_eq!(list.reports.len(), 1);
            assert_eq!((list.reports[0].category.as_str(), list.reports[0].statements), ("harassment", 1));
        }
    }
}

#[tokio::test]
async fn a_moderator_bans_by_a_decision_and_every_action_is_audited() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target, moderator) = (fixture.user().await, fixture.user().await, fixture.user().await);
        let filed = services.moderation.report(reporter, report(target)).await.unwrap();
        let context = as_user(moderator, Role::Moderator);
        let wrong = error_of(services.call::<ResolveReport>(&context, resolve(filed.id, "shot")).await);
        assert_eq!(wrong.0, GrpcCode::InvalidArgument);
        let answer = services.call::<ResolveReport>(&context, resolve(filed.id, "banned")).await.unwrap();
        assert_eq!((answer.resolved, answer.decision.as_str()), (1, "banned"));
        assert!(services.accounts.account(target).await.unwrap().disabled_at.is_some(), "{}", fixture.name);
        let again = error_of(services.call::<ResolveReport>(&context, resolve(filed.id, "banned")).await);
        assert_eq!(again.0, GrpcCode::FailedPrecondition);
        let detail = services.call::<GetReport>(&context, ReportRequest { report: filed.id.to_string() }).await;
        let detail = detail.unwrap();
        assert_eq!(detail.history.as_ref().map(|history| (history.bans, history.resolved)), Some((1, 1)));
        assert_eq!(detail.report.unwrap().resolver, moderator.to_string());

        let mute = json!({ "player": target.to_string(), "mute": { "seconds": 60, "reason": "insults" } });
        let muted = services.call_json("MutePlayer", &context, mute).await.unwrap();
        assert_eq!((&muted["muted"], &muted["end_time"]), (&json!(true), &json!("2023-11-14T22:14:20Z")));
        fixture.clock.advance_ms(1);
        services.call::<UnmutePlayer>(&context, PlayerRequest { player: target.to_string() }).await.unwrap();
        assert!(!services.moderation.is_muted(target));
        let actions: Vec<String> = audited(&services, target).await.into_iter().map(|(action, _)| action).collect();
        let expected = ["UnmutePlayer", "BanPlayer", "MutePlayer", "ResolveReport"];
        assert_eq!(actions.len(), expected.len(), "{actions:?}");
        assert!(expected.iter().all(|action| actions.iter().any(|known| known == action)), "{actions:?}");
    }
}

#[tokio::test]
async fn a_moderator_cannot_act_on_accounts_with_a_role() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target, moderator) = (fixture.user().await, fixture.user().await, fixture.user().await);
        services.accounts.set_role(target, Role::Admin).await.unwrap();
        let filed = services.moderation.report(reporter, report(target)).await.unwrap();
        let mute = || MutePlayerRequest { player: target.to_string(), mute: None };
        let context = as_user(moderator, Role::Moderator);
        for decision in ["muted", "banned"] {
            let refused = error_of(services.call::<ResolveReport>(&context, resolve(filed.id, decision)).await);
            assert_eq!(refused.0, GrpcCode::PermissionDenied, "{}: {decision}", fixture.name);
        }
        assert_eq!(error_of(services.call::<MutePlayer>(&context, mute()).await).0, GrpcCode::PermissionDenied);
        assert!(!services.moderation.is_muted(target));
        let admin = as_user(moderator, Role::Admin);
        assert!(services.call::<MutePlayer>(&admin, mute()).await.is_ok());
    }
}

#[tokio::test]
async fn muted_and_warned_players_are_told() {
    for Moderated { services, fixture, .. } in moderated().await {
        let (reporter, target) = (fixture.user().await, fixture.user().await);
        let context = Arc::new(CallContext::server());
        let filed = services.moderation.report(reporter, report(target)).await.unwrap();
        let decision = json!({ "decision": "warned", "reason": "insults" });
        let request = json!({ "report": filed.id.to_string(), "decision": decision });
        services.call_json("ResolveReport", &context, request).await.unwrap();
        let mute = json!({ "player": target.to_string(), "mute": { "seconds": 60, "reason": "more insults" } });
        services.call_json("MutePlayer", &context, mute).await.unwrap();
        let told = services.notifications.list(target, Some(10), "").await.unwrap().notifications;
        let told: Vec<_> = told.iter().map(|notice| (notice.code, notice.subject.as_str())).collect();
        let expected = [
            (aether_services::notification::code::WARNED, "You are warned"),
            (aether_services::notification::code::MUTED, "You are muted until 2023-11-14T22:14:20Z"),
        ];
        assert_eq!(told, expected, "{}", fixture.name);
    }
}
