//! A server with functions that clients call: `echo` returns what the function was called with, `fail` fails, and `private`
//! is for users only. Others create tournaments and brackets for tests.

use aether_server::services::bracket::{self, Format, Rules};
use aether_server::services::leaderboard::Definition;
use aether_server::services::tournament::Terms;
use aether_server::services::{GrpcCode, ServiceError};
use aether_server::{RelaySettings, Server};
use serde_json::Value;
use std::process::ExitCode;

fn main() -> ExitCode {
    Server::new("functions", env!("CARGO_PKG_VERSION"))
        .relay("relay", RelaySettings::default())
        .rpc("Echo", |_, context, payload| async move {
            let user = context.caller.user().map(|identity| identity.user);
            let socket = context.socket.is_some();
            let called =
                serde_json::json!({ "payload": payload, "query": context.query, "user": user, "socket": socket });
            Ok(called.to_string())
        })
        .rpc("fail", |_, _, payload| async move { Err(ServiceError::with(GrpcCode::FailedPrecondition, payload)) })
        .rpc("private", |_, context, _| async move {
            let identity =
                context.caller.user().ok_or(ServiceError::new(GrpcCode::PermissionDenied, "Sign in first."))?;
            Ok(identity.username.clone())
        })
        .rpc("create_tournament", |services, _, payload| async move {
            let created = services.tournaments.create(tournament(&parse(&payload)?)).await?;
            Ok(created.deadlines.start_active.to_string())
        })
        .rpc("add_attempt", |services, context, id| async move {
            let user = context.caller.user().ok_or(ServiceError::new(GrpcCode::PermissionDenied, "Sign in first."))?;
            Ok(services.tournaments.add_attempt(&id, user.user, 1).await?.to_string())
        })
        .rpc(
            "delete_tournament",
            |services, _, id| async move { Ok(services.tournaments.delete(&id).await?.to_string()) },
        )
        .rpc("create_bracket", |services, _, payload| async move {
            let payload = parse(&payload)?;
            let format = Format::from_name(text(&payload, "format"));
            let format = format.ok_or(ServiceError::new(GrpcCode::InvalidArgument, "Name a format."))?;
            let rules = Rules { format, rounds: 0, match_seconds: number(&payload, "match_seconds") };
            let definition = bracket::Definition { rules, ..bracket::Definition::new(text(&payload, "id"), format) };
            services.brackets.create(definition).await?;
            Ok(String::new())
        })
        .rpc("start_bracket", |services, _, id| async move {
            services.brackets.start(&id).await?;
            Ok(String::new())
        })
        .main()
}

fn tournament(payload: &Value) -> Definition {
    let terms = Terms {
        title: text(payload, "title").to_owned(),
        description: text(payload, "description").to_owned(),
        category: u32::try_from(number(payload, "category")).unwrap_or(0),
        start_time: number(payload, "start_time"),
        end_time: number(payload, "end_time"),
        max_size: number(payload, "max_size"),
        max_num_score: number(payload, "max_num_score"),
        join_required: payload["join_required"] == true,
        ..Terms::lasting(number(payload, "duration"))
    };
    Definition {
        authoritative: payload["authoritative"] == true,
        reset_schedule: text(payload, "reset_schedule").to_owned(),
        ..Definition::new(text(payload, "id")).tournament(terms)
    }
}

fn parse(payload: &str) -> Result<Value, ServiceError> {
    serde_json::from_str(payload).map_err(|_| ServiceError::new(GrpcCode::InvalidArgument, "Send JSON."))
}

fn text<'a>(payload: &'a Value, field: &str) -> &'a str {
    payload[field].as_str().unwrap_or_default()
}

fn number(payload: &Value, field: &str) -> i64 {
    payload[field].as_i64().unwrap_or(0)
}
