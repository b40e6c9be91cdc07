//! Cost of hooks in Lua: an operation without hooks, with 100 hooks of other operations, and with a hook of its own.
//!
//! The operation reports an event, which needs no database. It is called in this process, so that only the call, its hooks
//! and the conversion of the request count.

use crate::result::print_result;
use crate::{Length, Outcome};
use aether_script::{ScriptSettings, Scripts};
use aether_server::Server;
use aether_server::config::Config;
use aether_server::services::operation::{Event, Operation as _};
use aether_server::services::session::tokens::Role;
use aether_server::services::{CallContext, Caller, Services, UserIdentity, api};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use uuid::Uuid;

/// Most microseconds that a hook may add.
const HOOK_MICROSECONDS_MAX: f64 = 20.0;
/// Most microseconds that hooks of other operations may add: the spread of equal runs.
const OTHERS_MICROSECONDS_MAX: f64 = 0.2;
/// Number of hooks of other operations.
const OTHERS: usize = 100;

/// Measures the cost of hooks.
pub fn run(length: Length) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let folder = std::env::temp_dir().join(format!("aether-bench-lua-{}", Uuid::new_v4().simple()));
    let outcome = runtime.block_on(measure(length, &folder));
    // A folder that cannot be removed stays in the system's temporary folder.
    let _ = std::fs::remove_dir_all(&folder);
    outcome
}

async fn measure(length: Length, folder: &Path) -> Outcome {
    let mut config = Config::default();
    config.data_dir = folder.join("data");
    config.http.address = ([127, 0, 0, 1], 0).into();
    config.http.admin_address = ([127, 0, 0, 1], 0).into();
    let server = Server::new("bench", "0.0.0").start(config).await?;
    let services = Arc::clone(server.services());
    let time = length.measured() / 6;
    let mut least = [f64::MAX; 3];
    // In turns, so that a slow moment of the machine does not count for one of them only.
    for _ in 0..3 {
        let scripts = load(&services, folder, "").await?;
        least[0] = least[0].min(time_per_call(&services, time).await?);
        scripts.stop(&services);
        let scripts = load(&services, folder, &other_hooks()).await?;
        least[1] = least[1].min(time_per_call(&services, time).await?);
        scripts.stop(&services);
        let scripts = load(&services, folder, OWN_HOOK).await?;
        least[2] = least[2].min(time_per_call(&services, time).await?);
        scripts.stop(&services);
    }
    drop(services);
    server.stop(Duration::ZERO).await;
    let [without, others, own] = least;
    let (others_added, hook) = (others - without, own - without);
    println!("a call: {without:.2} µs without hooks, {others:.2} µs with {OTHERS} of others, {own:.2} µs with its own");
    let others_aim = format!("at most {OTHERS_MICROSECONDS_MAX}");
    let is_free = others_added <= OTHERS_MICROSECONDS_MAX;
    print_result("lua-hooks-others", others_added, "µs", &others_aim, is_free);
    let is_fast = hook <= HOOK_MICROSECONDS_MAX;
    print_result("lua-hooks", hook, "µs", &format!("at most {HOOK_MICROSECONDS_MAX}"), is_fast);
    Ok(())
}

const OWN_HOOK: &str = "
local nk = require('nakama')
nk.register_req_before(function(context, payload)
    payload.properties.user = context.user_id
    return payload
end, 'Event')
";

/// Returns a module with hooks of operations other than that of the benchmark.
fn other_hooks() -> String {
    let names = aether_server::services::calls::operation_names().filter(|name| *name != Event::NAME);
    names.take(OTHERS).map(|name| format!("aether.register_hook('before:{name}', function() end)\n")).collect()
}

async fn load(services: &Arc<Services>, folder: &Path, text: &str) -> Outcome<Arc<Scripts>> {
    let modules = folder.join("modules");
    std::fs::create_dir_all(&modules)?;
    std::fs::write(modules.join("hooks.lua"), text)?;
    let scripts = Scripts::new(ScriptSettings { folder: modules, ..ScriptSettings::default() });
    scripts.load(services).await?;
    Ok(scripts)
}

/// Returns the microseconds of a call.
async fn time_per_call(services: &Arc<Services>, time: Duration) -> Outcome<f64> {
    let identity = UserIdentity {
        user: Uuid::new_v4(),
        username: "bench".to_owned(),
        session: Uuid::new_v4(),
        variables: BTreeMap::new(),
        role: Role::Player,
        issued_at: 0,
        expires_at: 0,
    };
    let caller = Caller::User(Arc::new(identity));
    let context = Arc::new(CallContext::from_address(caller, [127, 0, 0, 1].into()));
    let properties = [("level", "12"), ("weapon", "longbow"), ("seconds", "318.5")];
    let properties = properties.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let request = api::Event { name: "level_done".to_owned(), properties, ..api::Event::default() };
    let (mut calls, began) = (0_u32, Instant::now());
    while began.elapsed() < time {
        for _ in 0..100 {
            services.call::<Event>(&context, request.clone()).await?;
        }
        calls += 100;
    }
    Ok(began.elapsed().as_secs_f64() * 1e6 / f64::from(calls))
}
