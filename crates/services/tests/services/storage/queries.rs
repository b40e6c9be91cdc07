//! Queries by fields.

use crate::fixture::{Fixture, error_of, fixtures};
use crate::objects::{by, write};
use aether_services::storage::query::{
    COMPARISONS_MAX, Comparison, FILTER_DEPTH_MAX, Field, Filter, Kind, Scalar, Sort,
};
use aether_services::storage::{Permission, Query};
use aether_services::{Caller, GrpcCode};
use uuid::Uuid;

use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};

const OBJECTS: &[(&str, &str)] = &[
    ("a", r#"{"level":1,"name":"ann","tags":["x","y"],"alive":true,"stats":{"hp":10.5}}"#),
    ("b", r#"{"level":2.5,"name":"Ben","tags":[],"alive":false,"stats":{"hp":-3}}"#),
    ("c", r#"{"level":"2","name":"zoë","tags":["x"],"alive":null,"stats":{"hp":9007199254740993}}"#),
    ("d", r#"{"level":-7,"name":7,"tags":{"0":"x","1":2},"alive":1,"stats":[{"hp":10.5}]}"#),
    ("e", r#"{"level":1e2,"name":"","stats":null,"1001":{"x":1}}"#),
    ("f", r#"{}"#),
];

async fn filled() -> Vec<Fixture> {
    let fixtures = fixtures().await;
    for fixture in &fixtures {
        let writes = OBJECTS.iter().map(|(key, value)| write("units", key, Uuid::nil(), value)).collect();
        fixture.storage().write(&Caller::Server, writes).await.expect(fixture.name);
    }
    fixtures
}

async fn keys(fixture: &Fixture, query: Query) -> String {
    let page =
        fixture.storage().query(&Caller::Server, query).await.unwrap_or_else(|why| panic!("{}: {why}", fixture.name));
    page.objects.iter().map(|object| object.id.key.as_str()).collect()
}

fn units(filter: Filter) -> Query {
    Query { filter: Some(filter), ..Query::new("units") }
}

fn that(field: &str, comparison: Comparison, value: impl Into<Scalar>) -> Filter {
    Filter::compare(field, comparison, value).expect("it is a field")
}

#[tokio::test]
async fn fields_are_compared_by_type_on_every_database() {
    let big = 9_007_199_254_740_993_i64;
    let cases: Vec<(Filter, &str)> = vec![
        (that("level", Equal, 1), "a"),
        (that("level", Equal, 1.0), "a"),
        (that("level", Equal, 100), "e"),
        (that("level", Equal, "2"), "c"),
        (that("level", Equal, 2), ""),
        (that("level", Less, 2), "ad"),
        (that("level", LessOrEqual, 2.5), "abd"),
        (that("level", Greater, 1), "be"),
        (that("level", GreaterOrEqual, 1), "abe"),
        (that("level", NotEqual, 1), "bcdef"),
        (that("name", Less, "a"), "be"),
        (that("name", GreaterOrEqual, "ann"), "ac"),
        (that("name", Equal, "zoë"), "c"),
        (that("name", Equal, "'; DROP TABLE users; --"), ""),
        (that("alive", Equal, true), "a"),
        (that("alive", Equal, false), "b"),
        (that("alive", NotEqual, true), "bcdef"),
        (that("alive", Equal, Scalar::Null), "c"),
        (that("stats", Equal, Scalar::Null), "e"),
        (that("stats.hp", GreaterOrEqual, 10.5), "ac"),
        (that("stats.hp", Equal, big), "c"),
        (that("stats.hp", Equal, big - 1), ""),
        (that("stats.hp", Greater, big - 1), "c"),
        (that("stats.hp", Less, 0), "b"),
        (that("stats[0].hp", Equal, 10.5), "d"),
        (that("tags[0]", Equal, "x"), "ac"),
        (that("tags.0", Equal, "x"), "d"),
        (that("1001.x", Equal, 1), "e"),
        (Filter::exists("tags").unwrap(), "abcd"),
        (Filter::exists("tags[1]").unwrap(), "a"),
        (Filter::exists("alive").unwrap(), "abcd"),
        (Filter::exists("name.x").unwrap(), ""),
        (Filter::exists("level").unwrap().negated(), "f"),
        (that("level", Less, 2).negated(), "bcef"),
        (Filter::And(vec![that("level", Greater, 0), that("alive", Equal, true)]), "a"),
        (Filter::Or(vec![that("level", Equal, 1), that("alive", Equal, false)]), "ab"),
        (Filter::And(Vec::new()), "abcdef"),
        (Filter::Or(Vec::new()), ""),
        (Filter::Or(vec![that("level", Equal, 1), that("level", Equal, -7)]).negated(), "bcef"),
    ];
    for fixture in filled().await {
        for (filter, expected) in &cases {
            assert_eq!(keys(&fixture, units(filter.clone())).await, *expected, "{}: {filter:?}", fixture.name);
        }
    }
}

#[tokio::test]
async fn a_sorted_list_omits_objects_without_the_field_and_is_paged() {
    let sort = |field: &str, kind, descending| Some(Sort { field: Field::parse(field).unwrap(), kind, descending });
    let cases = [
        (sort("level", Kind::Number, false), "dabe"),
        (sort("level", Kind::Number, true), "ebad"),
        (sort("name", Kind::Text, false), "ebac"),
        (sort("name", Kind::Text, true), "cabe"),
        (sort("stats.hp", Kind::Number, false), "bac"),
        (None, "abcdef"),
    ];
    for fixture in filled().await {
        for (sort, expected) in &cases {
            for limit in [1, 2, 100] {
                let mut query = Query { sort: sort.clone(), limit, ..Query::new("units") };
                let mut found = String::new();
                loop {
                    let page = fixture.storage().query(&Caller::Server, query.clone()).await.expect(fixture.name);
                    found.extend(page.objects.iter().map(|object| object.id.key.as_str()));
                    if page.cursor.is_empty() {
                        break;
                    }
                    query.cursor = page.cursor;
                }
                assert_eq!(found, *expected, "{}: {sort:?}, {limit} at a time", fixture.name);
            }
        }
    }
}

#[tokio::test]
async fn equal_values_are_found_once_across_pages() {
    for fixture in fixtures().await {
        let numbers = ["0.1", "0.30000000000000004", "0.1", "1e-7", "123456789.123456789", "0.1", "5e-324", "2"];
        let writes = numbers
            .iter()
            .enumerate()
            .map(|(key, number)| write("ties", &key.to_string(), Uuid::nil(), &format!(r#"{{"n":{number}}}"#)));
        fixture.storage().write(&Caller::Server, writes.collect()).await.expect(fixture.name);
        let sort = Sort { field: Field::parse("n").unwrap(), kind: Kind::Number, descending: true };
        let mut query = Query { sort: Some(sort), limit: 1, ..Query::new("ties") };
        let mut found = String::new();
        for _ in 0..numbers.len() {
            let page = fixture.storage().query(&Caller::Server, query.clone()).await.expect(fixture.name);
            found.extend(page.objects.iter().map(|object| object.id.key.as_str()));
            query.cursor = page.cursor;
        }
        assert_eq!((found.as_str(), query.cursor.as_str()), ("47102536", ""), "{}", fixture.name);
    }
}

#[tokio::test]
async fn escaped_names_and_texts_are_found() {
    for fixture in fixtures().await {
        let value = r#"{ "l\u0065vel" : { "\u00e9 1" : "\ud83d\ude00\/" } }"#;
        fixture
            .storage()
            .write(&Caller::Server, vec![write("units", "a", Uuid::nil(), value)])
            .await
            .expect(fixture.name);
        assert_eq!(keys(&fixture, units(that("level.é 1", Equal, "😀/"))).await, "a", "{}", fixture.name);
    }
}

#[tokio::test]
async fn users_find_only_readable_objects() {
    use Permission::{Everyone, Nobody, Owner};
    for fixture in fixtures().await {
        let (ann, ben) = (fixture.user().await, fixture.user().await);
        for owner in [ann, ben] {
            let made = [("private", Nobody), ("own", Owner), ("public", Everyone)];
            let made = made.map(|(name, read)| write("saves", name, owner, r#"{"n":1}"#).permit(read, Owner));
            fixture.storage().write(&Caller::Server, made.to_vec()).await.expect(fixture.name);
        }
        let count = async |caller: &Caller, owner: Option<Uuid>| {
            let query = Query { owner, filter: Some(that("n", Equal, 1)), ..Query::new("saves") };
            fixture.storage().query(caller, query).await.expect(fixture.name).objects.len()
        };
        assert_eq!(count(&Caller::Server, None).await, 6);
        assert_eq!(count(&Caller::Server, Some(ann)).await, 3);
        assert_eq!(count(&by(ann), None).await, 3);
        assert_eq!(count(&by(ann), Some(ann)).await, 2);
        assert_eq!(count(&by(ann), Some(ben)).await, 1);
        assert_eq!(
            error_of(fixture.storage().query(&Caller::Anonymous, Query::new("saves")).await).0,
            GrpcCode::Unauthenticated
        );
    }
}

#[tokio::test]
async fn invalid_filters_are_rejected() {
    let deep = |depth: usize| (1..depth).fold(that("a", Equal, 1), |inner, _| inner.negated());
    let wide = |count: usize| Filter::Or(vec![that("a", Equal, 1); count - 1]);
    for fixture in fixtures().await {
        for filter in [deep(FILTER_DEPTH_MAX), wide(COMPARISONS_MAX)] {
            assert_eq!(keys(&fixture, units(filter)).await, "");
        }
        let wrong = [
            deep(FILTER_DEPTH_MAX + 1),
            wide(COMPARISONS_MAX + 1),
            that("a", Less, true),
            that("a", Greater, Scalar::Null),
            that("a", Equal, f64::NAN),
            that("a", Less, f64::INFINITY),
            that("a", Equal, "x\0"),
            that("a", Equal, "x".repeat(1_025)),
        ];
        for filter in wrong {
            let rejected = error_of(fixture.storage().query(&Caller::Server, units(filter)).await);
            assert_eq!(rejected.0, GrpcCode::InvalidArgument, "{}", fixture.name);
        }
        let text = |sort, cursor: String| Query { sort, cursor, ..Query::new("units") };
        let by_text = Some(Sort { field: Field::parse("n").unwrap(), kind: Kind::Text, descending: false });
        let foreign = aether_services::cursor::encode(&serde_json::json!({
            "sorted": { "Number": f64::NAN.to_bits() }, "owner": Uuid::nil(), "key": "a",
        }));
        for query in [text(by_text, foreign.clone()), text(None, foreign), text(None, "x".to_owned())] {
            assert_eq!(error_of(fixture.storage().query(&Caller::Server, query).await).0, GrpcCode::InvalidArgument);
        }
    }
}
