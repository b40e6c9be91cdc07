//! Queries by fields.

use crate::fixture::{World, refusal, worlds};
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

async fn filled() -> Vec<World> {
    let worlds = worlds().await;
    for world in &worlds {
        let writes = OBJECTS.iter().map(|(key, value)| write("units", key, Uuid::nil(), value)).collect();
        world.storage().write(&Caller::Server, writes).await.expect(world.name);
    }
    worlds
}

async fn keys(world: &World, query: Query) -> String {
    let page =
        world.storage().query(&Caller::Server, query).await.unwrap_or_else(|why| panic!("{}: {why}", world.name));
    page.objects.iter().map(|object| object.id.key.as_str()).collect()
}

fn units(filter: Filter) -> Query {
    Query { filter: Some(filter), ..Query::new("units") }
}

fn that(field: &str, comparison: Comparison, value: impl Into<Scalar>) -> Filter {
    Filter::compare(field, comparison, value).expect("it is a field")
}

#[tokio::test]
async fn fields_are_compared_by_type_and_alike_on_every_database() {
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
    for world in filled().await {
        for (filter, expected) in &cases {
            assert_eq!(keys(&world, units(filter.clone())).await, *expected, "{}: {filter:?}", world.name);
        }
    }
}

#[tokio::test]
async fn a_sorted_list_leaves_out_what_has_no_such_field_and_goes_on_where_it_stopped() {
    let sort = |field: &str, kind, descending| Some(Sort { field: Field::parse(field).unwrap(), kind, descending });
    let cases = [
        (sort("level", Kind::Number, false), "dabe"),
        (sort("level", Kind::Number, true), "ebad"),
        (sort("name", Kind::Text, false), "ebac"),
        (sort("name", Kind::Text, true), "cabe"),
        (sort("stats.hp", Kind::Number, false), "bac"),
        (None, "abcdef"),
    ];
    for world in filled().await {
        for (sort, expected) in &cases {
            for limit in [1, 2, 100] {
                let mut query = Query { sort: sort.clone(), limit, ..Query::new("units") };
                let mut found = String::new();
                loop {
                    let page = world.storage().query(&Caller::Server, query.clone()).await.expect(world.name);
                    found.extend(page.objects.iter().map(|object| object.id.key.as_str()));
                    if page.cursor.is_empty() {
                        break;
                    }
                    query.cursor = page.cursor;
                }
                assert_eq!(found, *expected, "{}: {sort:?}, {limit} at a time", world.name);
            }
        }
    }
}

#[tokio::test]
async fn equal_values_are_each_found_once_across_pages() {
    for world in worlds().await {
        let numbers = ["0.1", "0.30000000000000004", "0.1", "1e-7", "123456789.123456789", "0.1", "5e-324", "2"];
        let writes = numbers
            .iter()
            .enumerate()
            .map(|(key, number)| write("ties", &key.to_string(), Uuid::nil(), &format!(r#"{{"n":{number}}}"#)));
        world.storage().write(&Caller::Server, writes.collect()).await.expect(world.name);
        let sort = Sort { field: Field::parse("n").unwrap(), kind: Kind::Number, descending: true };
        let mut query = Query { sort: Some(sort), limit: 1, ..Query::new("ties") };
        let mut found = String::new();
        for _ in 0..numbers.len() {
            let page = world.storage().query(&Caller::Server, query.clone()).await.expect(world.name);
            found.extend(page.objects.iter().map(|object| object.id.key.as_str()));
            query.cursor = page.cursor;
        }
        assert_eq!((found.as_str(), query.cursor.as_str()), ("47102536", ""), "{}", world.name);
    }
}

#[tokio::test]
async fn names_and_texts_are_found_however_they_were_written() {
    for world in worlds().await {
        let value = r#"{ "l\u0065vel" : { "\u00e9 1" : "\ud83d\ude00\/" } }"#;
        world.storage().write(&Caller::Server, vec![write("units", "a", Uuid::nil(), value)]).await.expect(world.name);
        assert_eq!(keys(&world, units(that("level.é 1", Equal, "😀/"))).await, "a", "{}", world.name);
    }
}

#[tokio::test]
async fn on_behalf_of_a_user_only_what_they_may_read_is_found() {
    use Permission::{Everyone, Nobody, Owner};
    for world in worlds().await {
        let (ann, ben) = (world.user().await, world.user().await);
        for owner in [ann, ben] {
            let made = [("private", Nobody), ("own", Owner), ("public", Everyone)];
            let made = made.map(|(name, read)| write("saves", name, owner, r#"{"n":1}"#).permit(read, Owner));
            world.storage().write(&Caller::Server, made.to_vec()).await.expect(world.name);
        }
        let count = async |caller: &Caller, owner: Option<Uuid>| {
            let query = Query { owner, filter: Some(that("n", Equal, 1)), ..Query::new("saves") };
            world.storage().query(caller, query).await.expect(world.name).objects.len()
        };
        assert_eq!(count(&Caller::Server, None).await, 6);
        assert_eq!(count(&Caller::Server, Some(ann)).await, 3);
        assert_eq!(count(&by(ann), None).await, 3);
        assert_eq!(count(&by(ann), Some(ann)).await, 2);
        assert_eq!(count(&by(ann), Some(ben)).await, 1);
        assert_eq!(
            refusal(world.storage().query(&Caller::Stranger, Query::new("saves")).await).0,
            GrpcCode::Unauthenticated
        );
    }
}

#[tokio::test]
async fn filters_that_are_too_large_or_make_no_sense_are_refused() {
    let deep = |depth: usize| (1..depth).fold(that("a", Equal, 1), |inner, _| inner.negated());
    let wide = |count: usize| Filter::Or(vec![that("a", Equal, 1); count - 1]);
    for world in worlds().await {
        for filter in [deep(FILTER_DEPTH_MAX), wide(COMPARISONS_MAX)] {
            assert_eq!(keys(&world, units(filter)).await, "");
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
            let refused = refusal(world.storage().query(&Caller::Server, units(filter)).await);
            assert_eq!(refused.0, GrpcCode::InvalidArgument, "{}", world.name);
        }
        let text = |sort, cursor: String| Query { sort, cursor, ..Query::new("units") };
        let by_text = Some(Sort { field: Field::parse("n").unwrap(), kind: Kind::Text, descending: false });
        let foreign = aether_services::cursor::encode(&serde_json::json!({
            "sorted": { "Number": f64::NAN.to_bits() }, "owner": Uuid::nil(), "key": "a",
        }));
        for query in [text(by_text, foreign.clone()), text(None, foreign), text(None, "x".to_owned())] {
            assert_eq!(refusal(world.storage().query(&Caller::Server, query).await).0, GrpcCode::InvalidArgument);
        }
    }
}
