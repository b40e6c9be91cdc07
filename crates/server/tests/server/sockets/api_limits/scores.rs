//! Scores that are not numbers, or too large.

use super::servers;
use aether_server::services::leaderboard::Definition;
use aether_testkit_server::ApiClient;
use serde_json::json;

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_whole_number_of_64_bits_is_no_score() {
    for (server, database) in servers(|_| {}).await {
        server
            .services()
            .leaderboards
            .create(Definition::new("board").open_to_clients())
            .await
            .expect("the leaderboard can be created");
        let mut client = ApiClient::new_user(server.http).await;
        let path = "/v2/leaderboard/board";
        for score in [
            "NaN",
            "\"NaN\"",
            "Infinity",
            "\"Infinity\"",
            "-Infinity",
            "1e400",
            "1.5",
            "\"1.5\"",
            "\"\"",
            "\"one\"",
            "{}",
            "[]",
            "true",
            "9223372036854775808",
            "\"9223372036854775808\"",
            "-9223372036854775809",
            "1e19",
            "\"0x10\"",
            "\" 1\"",
        ] {
            for field in ["score", "subscore"] {
                let body = format!("{{\"{field}\":{score}}}");
                let answer = client.send("POST", path, body.clone()).await.expect("the server answers");
                assert_eq!(answer.status, 400, "{body}: {}", answer.body);
                assert_eq!(answer.json()["code"], 3, "{body}");
            }
        }
        for score in [i64::MAX, i64::MIN] {
            let body = json!({ "score": score.to_string(), "subscore": score.to_string(), "operator": 2 });
            let answer = client.post(path, &body).await.expect("the server answers");
            assert_eq!(answer.status, 200, "{}", answer.body);
            assert_eq!(answer.json()["score"], score.to_string(), "{}", database.name);
            // One above the limit.
            let body = json!({ "score": score.signum().to_string(), "operator": 3 });
            let answer = client.post(path, &body).await.expect("the server answers");
            assert_eq!((answer.status, answer.json()["code"].as_u64()), (400, Some(3)), "{}", answer.body);
        }
        let lowest = json!({ "score": i64::MIN.to_string(), "operator": 4 });
        let answer = client.post(path, &lowest).await.expect("the server answers");
        assert_eq!(answer.status, 400, "its opposite does not exist: {}", answer.body);
        server.stop().await;
    }
}
