//! Search for groups by name, language, tags, members and openness.

use super::*;
use aether_services::group::{GroupFilter, limits};
use aether_store::{Dialect, StoreError};

/// Returns the names of all groups that match a filter, page by page.
async fn found(fixture: &Fixture, filter: &GroupFilter) -> Vec<String> {
    let mut names = Vec::new();
    let mut filter = filter.clone();
    loop {
        let page = fixture.groups.list(&filter).await.expect("the filter is valid");
        assert!(page.groups.len() <= filter.limit.unwrap_or(1) as usize);
        names.extend(page.groups.into_iter().map(|group| group.name));
        filter.cursor = page.cursor;
        if filter.cursor.is_empty() {
            return names;
        }
    }
}

fn by_name(name: &str) -> GroupFilter {
    GroupFilter { name: name.to_owned(), limit: Some(2), ..GroupFilter::default() }
}

fn tags(tags: &[&str]) -> Vec<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

/// Creates groups with different properties.
async fn various(fixture: &Fixture) {
    let user = fixture.user(1).await;
    let group = |name: &str, language: &str, is_open, with: &[&str]| NewGroup {
        language: language.to_owned(),
        is_open,
        tags: tags(with),
        ..new(name)
    };
    for group in [
        group("Gamma", "en", true, &["pvp", "casual"]),
        group("gulls", "de", true, &["casual"]),
        group("GIANTS", "en", false, &["pvp"]),
        group("Ünder", "fr", true, &[]),
        group("Alpha", "en", true, &["pvp", "hard"]),
    ] {
        fixture.create(user, group).await.expect("it is valid");
    }
}

#[tokio::test]
async fn a_name_is_found_exactly_or_by_its_beginning_in_any_case() {
    for fixture in Fixture::all().await {
        various(&fixture).await;
        for (name, expected) in [
            ("g%", vec!["Gamma", "GIANTS", "gulls"]),
            ("G%", vec!["Gamma", "GIANTS", "gulls"]),
            ("ga%", vec!["Gamma"]),
            ("gamma", vec!["Gamma"]),
            ("GAMMA%", vec!["Gamma"]),
            ("gamm", vec![]),
            ("gammas%", vec![]),
            ("ü%", vec!["Ünder"]),
            ("Ü%", vec!["Ünder"]),
            ("x%", vec![]),
        ] {
            assert_eq!(found(&fixture, &by_name(name)).await, expected, "{} {name}", fixture.name);
        }
        for all in ["", "%"] {
            let newest_first = ["Alpha", "Ünder", "GIANTS", "gulls", "Gamma"];
            assert_eq!(found(&fixture, &by_name(all)).await, newest_first, "{}", fixture.name);
        }
    }
}

#[tokio::test]
async fn filters_are_combined() {
    for fixture in Fixture::all().await {
        various(&fixture).await;
        let filter = GroupFilter { limit: Some(2), ..GroupFilter::default() };
        for (filter, expected) in [
            (GroupFilter { language: "en".to_owned(), ..filter.clone() }, vec!["Alpha", "GIANTS", "Gamma"]),
            (GroupFilter { is_open: Some(false), ..filter.clone() }, vec!["GIANTS"]),
            (GroupFilter { members: Some(1), ..filter.clone() }, vec!["Alpha", "Ünder", "GIANTS", "gulls", "Gamma"]),
            (GroupFilter { members: Some(0), ..filter.clone() }, vec![]),
            (GroupFilter { tags: tags(&["PvP"]), ..filter.clone() }, vec!["Alpha", "GIANTS", "Gamma"]),
            (GroupFilter { tags: tags(&["pvp", "casual"]), ..filter.clone() }, vec!["Gamma"]),
            (GroupFilter { tags: tags(&["pvp", "none"]), ..filter.clone() }, vec![]),
            (GroupFilter { tags: tags(&["pvp"]), is_open: Some(true), ..filter.clone() }, vec!["Alpha", "Gamma"]),
            (GroupFilter { tags: tags(&["casual"]), language: "de".to_owned(), ..filter.clone() }, vec!["gulls"]),
            (GroupFilter { tags: tags(&["pvp"]), ..by_name("g%") }, vec!["Gamma", "GIANTS"]),
            (GroupFilter { tags: tags(&["pvp"]), is_open: Some(true), ..by_name("g%") }, vec!["Gamma"]),
            (GroupFilter { language: "en".to_owned(), members: Some(5), ..by_name("g%") }, vec!["Gamma", "GIANTS"]),
        ] {
            assert_eq!(found(&fixture, &filter).await, expected, "{} {filter:?}", fixture.name);
        }
    }
}

#[tokio::test]
async fn members_is_the_maximum_number_of_members() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 3).await;
        for (name, count) in [("One", 1), ("Two", 2), ("Three", 3)] {
            let group = fixture.group(users[0], name).await;
            fixture.groups.add(None, group.id, users[..count].to_vec()).await.expect("the server may");
        }
        let filter = |members| GroupFilter { members: Some(members), limit: Some(10), ..GroupFilter::default() };
        assert_eq!(found(&fixture, &filter(1)).await, ["One"]);
        assert_eq!(found(&fixture, &filter(2)).await, ["Two", "One"]);
        assert_eq!(found(&fixture, &filter(3)).await, ["Three", "Two", "One"], "{}", fixture.name);
    }
}

#[tokio::test]
async fn a_cursor_stays_valid_while_groups_change() {
    for fixture in Fixture::all().await {
        let users = fixture.users(1, 2).await;
        for number in 0..6 {
            fixture.group(users[0], &format!("Owls {number}")).await;
        }
        for name in ["", "owls%"] {
            let filter = GroupFilter { name: name.to_owned(), limit: Some(3), ..GroupFilter::default() };
            let first = fixture.groups.list(&filter).await.expect("valid");
            let mut names: Vec<String> = first.groups.iter().map(|group| group.name.clone()).collect();
            // A join changes counts, a new group comes at the end or at the start, and the last listed group is deleted.
            fixture.groups.join(first.groups[1].id, users[1]).await.expect("it is open");
            let added = fixture.group(users[0], &format!("A new one {}", name.len())).await;
            let second = fixture.groups.list(&GroupFilter { cursor: first.cursor, ..filter }).await.expect("valid");
            names.extend(second.groups.into_iter().map(|group| group.name));
            names.sort();
            let expected: Vec<String> = (0..6).map(|number| format!("Owls {number}")).collect();
            assert_eq!(names, expected, "{} {name}", fixture.name);
            fixture.groups.delete(None, added.id).await.expect("the server may");
        }
    }
}

#[tokio::test]
async fn invalid_searches_are_rejected() {
    let fixture = Fixture::new().await;
    let filter = GroupFilter::default;
    let long = "x".repeat(limits::NAME_BYTES_MAX + 2);
    for (filter, part) in [
        (GroupFilter { limit: Some(0), ..filter() }, "Limit must be from 1 to 100"),
        (GroupFilter { limit: Some(101), ..filter() }, "Limit must be from 1 to 100"),
        (GroupFilter { members: Some(-1), ..filter() }, "Members must be 0 or more"),
        (GroupFilter { name: "%a%".to_owned(), ..filter() }, "% only at its end"),
        (GroupFilter { name: "a%%".to_owned(), ..filter() }, "% only at its end"),
        (GroupFilter { name: long, ..filter() }, "at most 128 bytes"),
        (GroupFilter { cursor: "x".to_owned(), ..filter() }, "Cursor is invalid"),
        (GroupFilter { tags: vec!["t".to_owned(); limits::TAGS_MAX + 1], ..filter() }, "at most 16 tags"),
        (GroupFilter { tags: vec!["t".repeat(limits::TAG_BYTES_MAX + 1)], ..filter() }, "1 to 32 bytes"),
    ] {
        assert_rejected(fixture.groups.list(&filter).await, GrpcCode::InvalidArgument, part);
    }
    various(&fixture).await;
    let page = fixture.groups.list(&by_name("g%")).await.expect("valid");
    let other = GroupFilter { cursor: page.cursor, ..filter() };
    assert_rejected(fixture.groups.list(&other).await, GrpcCode::InvalidArgument, "other filters");
}

#[tokio::test]
async fn a_search_examines_a_limited_number_of_groups() {
    let fixture = Fixture::new().await;
    let user = fixture.user(1).await;
    let first = fixture.create(user, closed("The first")).await.expect("valid");
    let fill = fixture.store.write(move |transaction| {
        let fill = "WITH RECURSIVE numbers (number) AS (
                SELECT 1 UNION ALL SELECT number + 1 FROM numbers WHERE number < 2500)
            INSERT INTO groups (id, creator, name, name_key, name_skeleton, name_folded, open, edge_count, max_count,
                created_at, updated_at)
            SELECT CAST(printf('zzzzz%011d', number) AS BLOB), ?1, 'g' || number, CAST('g' || number AS BLOB), 's' || number,
                'f' || number, TRUE, 1, 100, 1, 1 FROM numbers";
        transaction.execute(fill, values![user])
    });
    fill.await.map_err(|error: StoreError| error).expect("the rows fit");
    // The only closed group is the last that is examined.
    let mut filter = GroupFilter { is_open: Some(false), limit: Some(5), ..GroupFilter::default() };
    for page in 0..3 {
        let found = fixture.groups.list(&filter).await.expect("valid");
        if page < 2 {
            assert!(found.groups.is_empty() && !found.cursor.is_empty(), "page {page} ends early, with a cursor");
        } else {
            assert_eq!((found.groups, found.cursor.as_str()), (vec![first.clone()], ""));
        }
        filter.cursor = found.cursor;
    }
}

/// Plans of SQLite and PostgreSQL for the statements of a search name an index.
#[tokio::test]
async fn searches_use_an_index() {
    for fixture in Fixture::all().await {
        various(&fixture).await;
        let statements = [
            "SELECT g.id FROM groups g WHERE g.name_key >= 'a' AND g.name_key < 'b' ORDER BY g.name_key, g.id LIMIT 3",
            "SELECT g.id FROM group_tags d JOIN groups g ON g.id = d.group_key WHERE d.tag = 'a'
                ORDER BY d.group_key DESC LIMIT 3",
            "SELECT g.id FROM groups g WHERE g.lang_tag = 'en' ORDER BY g.id DESC LIMIT 3",
            "SELECT user_id FROM group_members WHERE group_key = (SELECT id FROM groups LIMIT 1) AND role >= 0
                AND role <= 2 ORDER BY role, since, user_id LIMIT 3",
            "SELECT group_key FROM group_members WHERE user_id = (SELECT id FROM users LIMIT 1) AND role >= 0 AND role <= 2
                ORDER BY role, group_key LIMIT 3",
        ];
        let indexes = [
            "groups_by_name",
            "group_tags_by_tag",
            "groups_by_language",
            "group_members_by_role",
            "group_members_by_user",
        ];
        for (statement, index) in statements.into_iter().zip(indexes) {
            let explain = fixture.store.write(move |transaction| match transaction.dialect() {
                Dialect::Sqlite => {
                    let plan = transaction.rows(&format!("EXPLAIN QUERY PLAN {statement}"), &[], |row| row.get(3))?;
                    Ok::<Vec<String>, StoreError>(plan)
                }
                Dialect::Postgres => {
                    // Small tables are faster without an index.
                    transaction.execute("SET LOCAL enable_seqscan = off", &[])?;
                    transaction.execute("SET LOCAL enable_sort = off", &[])?;
                    transaction.rows(&format!("EXPLAIN {statement}"), &[], |row| row.get(0))
                }
            });
            let plan = explain.await.expect("the statement can be explained").join("\n");
            assert!(plan.contains(index), "{} {statement}: {plan}", fixture.name);
            assert!(!plan.contains("TEMP B-TREE"), "{} {statement}: {plan}", fixture.name);
        }
    }
}

#[tokio::test]
async fn random_groups_are_all_of_few_and_another_part_of_many_each_time() {
    for fixture in Fixture::all().await {
        assert!(fixture.groups.random(5).await.expect("valid").is_empty(), "{}", fixture.name);
        let user = fixture.user(1).await;
        for number in 0..20 {
            fixture.create(user, new(&format!("group-{number}"))).await.expect("valid");
        }
        let mut all: Vec<String> =
            fixture.groups.random(100).await.expect("valid").into_iter().map(|group| group.name).collect();
        all.sort();
        all.dedup();
        assert_eq!(all.len(), 20, "{}", fixture.name);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..200 {
            let some = fixture.groups.random(2).await.expect("valid");
            assert!(some.len() == 2 && some[0] != some[1]);
            seen.extend(some.into_iter().map(|group| group.name));
        }
        // The chance that a group is in none of 200 pairs is below one in a billion.
        assert_eq!(seen.len(), 20, "{}", fixture.name);
        assert_rejected(fixture.groups.random(limits::GROUPS_PER_CALL_MAX + 1).await, GrpcCode::InvalidArgument, "100");
    }
}
