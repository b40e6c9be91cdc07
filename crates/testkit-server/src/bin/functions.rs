//! A server with functions that clients call: `echo` returns what the function was called with, `fail` fails, and `private`
//! is for users only.

use aether_server::services::{GrpcCode, ServiceError};
use aether_server::{RelaySettings, Server};
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
        .main()
}
