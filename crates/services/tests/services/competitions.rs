//! Tournaments and brackets through all services: hooks, operations of operators, and erased accounts.

use crate::audit::extended_services;
use crate::fixture::{error_of, fixtures};
use crate::moderation::as_user;
use aether_services::bracket::{self, Format, Phase};
use aether_services::leaderboard::{Definition, RecordQuery, RecordWrite, Score};
use aether_services::session::tokens::Role;
use aether_services::tournament::Terms;
use aether_services::{CallContext, Caller, GrpcCode, Services, ServicesExtensions};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use uuid::Uuid;

const HOUR: i64 = 3_600;

async fn submit(services: &Services, id: &str, owner: Uuid, score: i64) {
    let score = Score { score, subscore: 0 };
    let write = RecordWrite { owner, username: "someone".to_owned(), score, operator: None, metadata: None };
    services.tournaments.write(&Caller::Server, id, write).await.expect("the tournament is active");
}

#[tokio::test]
async fn hooks_get_ends_and_resets_with_the_records_of_the_period() {
    for fixture in fixtures().await {
        let seen = Arc::new(Mutex::new(Vec::<String>::new()));
        let mut extensions = ServicesExtensions::default();
        let noted = Arc::clone(&seen);
        extensions.period_hooks.on_tournament_end(move |services: Arc<Services>, end| {
            let noted = Arc::clone(&noted);
            async move {
                let query = RecordQuery { expiry: end.expiry, ..RecordQuery::default() };
                let list = services.tournaments.records(&end.tournament.definition.id, &[], &query).await.unwrap();
                let scores: Vec<i64> = list.records.iter().map(|record| record.score.score).collect();
                noted.lock().unwrap().push(format!("end {scores:?}"));
            }
        });
        let noted = Arc::clone(&seen);
        extensions.period_hooks.on_tournament_reset(move |_, reset| {
            let noted = Arc::clone(&noted);
            async move { noted.lock().unwrap().push(format!("reset {}", reset.tournament.definition.id)) }
        });
        let noted = Arc::clone(&seen);
        extensions.period_hooks.on_leaderboard_reset(move |_, reset| {
            let noted = Arc::clone(&noted);
            async move { noted.lock().unwrap().push(format!("board {}", reset.board.definition.id)) }
        });
        let services = extended_services(fixture.store.clone(), &fixture.clock, extensions).await;
        let now = || services.clock.now_seconds();
        let hourly = |id: &str| Definition { reset_schedule: "0 * * * *".to_owned(), ..Definition::new(id) };
        services.leaderboards.create(hourly("board")).await.unwrap();
        let until_the_hour = HOUR - now().rem_euclid(HOUR);
        fixture.clock.advance_ms(until_the_hour * 1_000);
        services.report_periods(now()).await.unwrap();
        seen.lock().unwrap().clear();
        services.tournaments.create(hourly("dash").tournament(Terms::lasting(HOUR / 2))).await.unwrap();
        let owner = fixture.user().await;
        submit(&services, "dash", owner, 7).await;
        services.report_periods(now()).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), Vec::<String>::new(), "{}", fixture.name);
        fixture.clock.advance_ms(HOUR / 2 * 1_000);
        for _ in 0..2 {
            services.report_periods(now()).await.unwrap();
        }
        assert_eq!(*seen.lock().unwrap(), ["end [7]"], "{}", fixture.name);
        fixture.clock.advance_ms(HOUR / 2 * 1_000);
        services.report_periods(now()).await.unwrap();
        assert_eq!(*seen.lock().unwrap(), ["end [7]", "board board", "reset dash"], "{}", fixture.name);
    }
}

#[tokio::test]
async fn an_erased_account_leaves_tournaments_and_brackets() {
    for fixture in fixtures().await {
        let services = extended_services(fixture.store.clone(), &fixture.clock, ServicesExtensions::default()).await;
        let (one, other) = (fixture.user().await, fixture.user().await);
        services.tournaments.create(Definition::new("cup").tournament(Terms::lasting(HOUR))).await.unwrap();
        services.brackets.create(bracket::Definition::new("bracket", Format::Single)).await.unwrap();
        for user in [one, other] {
            submit(&services, "cup", user, 1).await;
            services.brackets.join("bracket", user, 0).await.unwrap();
        }
        services.brackets.start("bracket").await.unwrap();
        let (mut exporter, mut export) = (services.accounts.export(one), String::new());
        while let Some(page) = exporter.next_page().await.unwrap() {
            export.push_str(&page);
        }
        let export: Value = serde_json::from_str(&export).unwrap();
        assert_eq!(export["tournament_entrants"][0]["tournament"], "cup", "{}", fixture.name);
        assert_eq!(export["bracket_entrants"][0]["bracket"], "bracket", "{}", fixture.name);
        services.accounts.delete(one).await.unwrap();
        let cup = services.tournaments.find(&["cup".to_owned()]).await.unwrap().pop().unwrap();
        assert_eq!(cup.size, 1, "{}", fixture.name);
        services.brackets.tick().await.unwrap();
        let ended = services.brackets.find("bracket").await.unwrap();
        assert_eq!(ended.phase, Phase::Finished, "{}: the other wins by walkover", fixture.name);
        assert_eq!(ended.winner().unwrap().user, Some(other));
        let rows = fixture.count("SELECT COUNT(*) FROM bracket_entrants").await;
        assert_eq!((rows, fixture.count("SELECT COUNT(*) FROM tournament_entrants").await), (1, 1));
    }
}

#[tokio::test]
async fn only_operators_create_start_resolve_and_delete_brackets() {
    for fixture in fixtures().await {
        let services = extended_services(fixture.store.clone(), &fixture.clock, ServicesExtensions::default()).await;
        let (ann, bob) = (fixture.user().await, fixture.user().await);
        let call = async |context: &Arc<CallContext>, name: &str, request: Value| {
            services.call_json(name, context, request).await
        };
        let player = as_user(ann, Role::Player);
        let operator = as_user(bob, Role::Admin);
        let new = json!({ "id": "cup", "format": "single_elimination", "match_seconds": 60, "metadata": { "a": 1 } });
        let result = json!({ "id": "cup", "number": 0, "result": { "winner_id": bob.to_string() } });
        let id = json!({ "id": "cup" });
        let managed =
            [("CreateBracket", &new), ("StartBracket", &id), ("ResolveBracketMatch", &result), ("DeleteBracket", &id)];
        for (name, request) in managed {
            let refused = call(&player, name, request.clone()).await;
            assert_eq!(error_of(refused).0, GrpcCode::PermissionDenied, "{name}");
        }
        let created = call(&operator, "CreateBracket", new.clone()).await.unwrap();
        assert_eq!((&created["phase"], &created["metadata"]), (&json!("registration"), &json!({ "a": 1 })));
        assert_eq!(error_of(call(&operator, "CreateBracket", new).await).0, GrpcCode::AlreadyExists);
        for user in [ann, bob] {
            call(&as_user(user, Role::Player), "JoinBracket", id.clone()).await.unwrap();
        }
        let started = call(&operator, "StartBracket", id.clone()).await.unwrap();
        assert_eq!(started["matches"][0]["state"], json!("ready"), "{}", fixture.name);
        let decided = call(&operator, "ResolveBracketMatch", result).await.unwrap();
        assert_eq!((&decided["reason"], &decided["winner_id"]), (&json!("operator"), &json!(bob.to_string())));
        assert!(fixture.count("SELECT COUNT(*) FROM audit_entries WHERE action = 'ResolveBracketMatch'").await > 0);
        call(&operator, "DeleteBracket", id.clone()).await.unwrap();
        assert_eq!(error_of(call(&operator, "DeleteBracket", id).await).0, GrpcCode::NotFound);
        for wrong in [json!({}), json!({ "format": "other" }), json!({ "format": "swiss", "max_size": -1 })] {
            let refused = call(&operator, "CreateBracket", wrong.clone()).await;
            assert_eq!(error_of(refused).0, GrpcCode::InvalidArgument, "{wrong}");
        }
    }
}
