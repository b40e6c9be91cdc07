//! Scheduled functions.

use crate::support::{ScriptServer, rpc};
use aether_script::{ScriptSettings, Scripts};
use serde_json::json;

/// A schedule that is not due while a test runs: the first of January.
const SCHEDULE: &str = r#"
local nk = require("nakama")
local times = {}
aether.register_schedule("0 0 1 1 *", function(context, time)
    table.insert(times, { context.execution_mode, time })
end, "yearly")
nk.register_rpc(function() return nk.json_encode(times) end, "times")
"#;
/// 2096-01-01, and the same day of the next two years.
const FIRST: i64 = 3_976_214_400;
const SECOND: i64 = FIRST + 366 * 86_400;
const THIRD: i64 = SECOND + 365 * 86_400;

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_function_runs_once_for_each_time_over_all_servers() {
    // The server itself does not run them, with its own time.
    let scripts = ScriptServer::start(&[]).await;
    scripts.write("schedule", SCHEDULE);
    let services = scripts.server.services().clone();
    let settings = || ScriptSettings { folder: scripts.folder().to_owned(), ..ScriptSettings::default() };
    let nodes = [Scripts::new(settings()), Scripts::new(settings())];
    for node in &nodes {
        node.load(&services).await.expect("the scripts load");
    }
    let mut runs = Vec::new();
    // The first time of a schedule that is not known is only noted. A time is not due before it is reached.
    for (now, expected) in [(FIRST + 5, 0), (SECOND - 1, 0), (SECOND, 1), (SECOND + 1, 0), (THIRD + 400 * 86_400, 1)] {
        let mut claimed = 0;
        for node in &nodes {
            for due in node.claim_due(&services, now).await.expect("the database answers") {
                assert_eq!(due.name(), "yearly");
                due.run().await;
                claimed += 1;
            }
        }
        assert_eq!(claimed, expected, "{now}");
        runs.push(claimed);
    }
    assert_eq!(runs.iter().sum::<usize>(), 2);
    drop(services);
    scripts.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scheduled_function_gets_its_time_and_claims_race() {
    // The server itself does not run them, with its own time.
    let scripts = ScriptServer::start(&[]).await;
    scripts.write("schedule", SCHEDULE);
    let services = scripts.server.services().clone();
    let settings = || ScriptSettings { folder: scripts.folder().to_owned(), ..ScriptSettings::default() };
    let (one, two) = (Scripts::new(settings()), Scripts::new(settings()));
    one.load(&services).await.expect("the scripts load");
    two.load(&services).await.expect("the scripts load");
    let count = async |now: i64| {
        let (of_one, of_two) = tokio::join!(one.claim_due(&services, now), two.claim_due(&services, now));
        let due: Vec<_> = of_one.into_iter().flatten().chain(of_two.into_iter().flatten()).collect();
        due.len()
    };
    assert_eq!(count(FIRST).await, 0);
    assert_eq!((count(SECOND).await, count(THIRD).await), (1, 1));
    let due = two.claim_due(&services, THIRD + 366 * 86_400).await.expect("the database answers");
    for due in due {
        due.run().await;
    }
    let mut user = scripts.user().await;
    // The last loaded scripts serve the calls.
    let (_, times) = rpc(&mut user, "times", &json!({})).await;
    assert_eq!(times, json!([["schedule", THIRD + 365 * 86_400]]));
    drop(services);
    scripts.stop().await;
}
