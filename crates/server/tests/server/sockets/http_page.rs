//! docs/reference/http.md lists every route of both listeners, and no others.

use aether_testkit_server::TestServer;
use serde_json::Value;
use std::collections::BTreeSet;

const PAGE: &str = include_str!("../../../../../docs/reference/http.md");
/// Source of the public listener's own routes.
const PUBLIC: &str = include_str!("../../../../api/src/public.rs");
const DEVELOPMENT: &str = include_str!("../../../../api/src/development.rs");
/// The description itself, which is not described.
const DESCRIPTION: &str = "GET /openapi.json";

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_client_api_is_listed() {
    let server = TestServer::start(|_| {}).await;
    let described = routes_in(&server.get("/openapi.json").await.json());
    let described: BTreeSet<String> = described.into_iter().filter(|route| route.contains(" /v2/")).collect();
    assert!(described.len() > 60, "{} routes", described.len());
    assert_eq!(routes_on(section("## Client API")), described);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_admin_listener_is_listed() {
    let server = TestServer::start(|_| {}).await;
    let mut described = routes_in(&server.request(server.admin, "GET", "/openapi.json", &[]).await.json());
    described.insert(DESCRIPTION.to_owned());
    assert_eq!(routes_on(section("## Admin listener")), described);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_route_of_the_public_listener_is_listed() {
    let server = TestServer::start(|_| {}).await;
    let described = routes_in(&server.get("/openapi.json").await.json());
    let mut routes: BTreeSet<String> = described.into_iter().filter(|route| !route.contains(" /v2/")).collect();
    routes.extend(["GET /".to_owned(), DESCRIPTION.to_owned()]);
    let declared = [PUBLIC, DEVELOPMENT].into_iter().flat_map(|source| source.split(".route(\"").skip(1));
    let declared = declared.filter_map(|call| call.split_once("\", "));
    routes.extend(declared.map(|(path, handler)| {
        let method = handler.split('(').next().unwrap_or_default().to_ascii_uppercase();
        format!("{method} {path}")
    }));
    assert_eq!(routes_on(section("## Public listener")), routes);
    server.stop().await;
}

/// Returns the routes of an OpenAPI description.
fn routes_in(document: &Value) -> BTreeSet<String> {
    let paths = document["paths"].as_object().expect("the description has paths");
    let routes = paths.iter().flat_map(|(path, methods)| {
        let methods = methods.as_object().expect("a path has methods");
        methods.keys().map(move |method| format!("{} {path}", method.to_ascii_uppercase()))
    });
    routes.collect()
}

/// Returns the part of the page below a heading.
fn section(heading: &str) -> &'static str {
    let below = PAGE.split_once(heading).expect("the heading is there").1;
    below.split_once("\n## ").map_or(below, |(section, _)| section)
}

/// Returns the routes that the tables of a section name, such as `GET /livez`.
fn routes_on(section: &str) -> BTreeSet<String> {
    let rows = section.lines().filter(|line| line.starts_with('|'));
    let code = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    code.filter(|code| code.contains(" /")).map(str::to_owned).collect()
}
