//! A server whose clients move coins by events: `mint` gives coins to the caller, `transfer` moves some to another user.
//!
//! Only server code can change wallets, so a hook does it. The answer to the event acknowledges the change.

use aether_server::services::operation::Event;
use aether_server::services::wallet::{Amounts, WalletUpdate};
use aether_server::services::{GrpcCode, ServiceError, Services};
use aether_server::{RelaySettings, Server};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, OnceLock};
use uuid::Uuid;

fn main() -> ExitCode {
    let services: Arc<OnceLock<Arc<Services>>> = Arc::default();
    let opened = Arc::clone(&services);
    Server::new("bank", env!("CARGO_PKG_VERSION"))
        .relay("tellers", RelaySettings::default())
        .on_start(async move |services| {
            let _ = opened.set(services);
            Ok(())
        })
        .before::<Event, _>(move |context, event| {
            let services = Arc::clone(services.get().expect("clients connect after the start"));
            async move {
                let caller = context.caller.user().map(|identity| identity.user);
                let caller = caller.ok_or(ServiceError::new(GrpcCode::Unauthenticated, "Sign in first."))?;
                let updates = updates(caller, &event.name, &event.properties)?;
                services.wallets.update(updates, true).await?;
                Ok(Some(event))
            }
        })
        .main()
}

fn updates(caller: Uuid, name: &str, properties: &BTreeMap<String, String>) -> Result<Vec<WalletUpdate>, ServiceError> {
    let property =
        |name: &str| properties.get(name).ok_or_else(|| ServiceError::invalid(format!("{name} is missing.")));
    let coins: i64 = property("coins")?.parse().map_err(|_| ServiceError::invalid("coins is not a number."))?;
    let metadata = serde_json::json!({ "id": property("id")? }).to_string();
    let update = |user: Uuid, coins: i64| WalletUpdate {
        user,
        changes: Amounts::from([("coins".to_owned(), coins)]),
        metadata: metadata.clone(),
    };
    match name {
        "mint" => Ok(vec![update(caller, coins)]),
        "transfer" => {
            let to = Uuid::try_parse(property("to")?).map_err(|_| ServiceError::invalid("to is not an id."))?;
            Ok(vec![update(caller, -coins), update(to, coins)])
        }
        _ => Err(ServiceError::invalid("The event is not mint or transfer.")),
    }
}
