//! Reference pages for game authors must name everything that the code has, and nothing else.

use std::collections::BTreeSet;

const CONTEXT_PAGE: &str = include_str!("../../../../docs/reference/game-context.md");
const CONTEXT: &str = include_str!("../../../engine/src/context.rs");
const GAME: &str = include_str!("../../../engine/src/game.rs");
const WORLD: &str = include_str!("../../../world/src/world.rs");
const WORLD_QUERIES: &str = include_str!("../../../world/src/world/queries.rs");
const WORLD_RECORDS: &str = include_str!("../../../world/src/world/records.rs");
const SETTINGS_PAGE: &str = include_str!("../../../../docs/reference/room-settings.md");
const SETTINGS: &str = include_str!("../../../engine/src/settings.rs");

#[test]
fn the_page_on_the_game_context_names_every_method_of_the_context() {
    let context = CONTEXT.split_once("impl Context<'_> {").expect("the context has methods").1;
    let methods = names(context, "    pub fn ");
    assert!(methods.len() > 20, "only {methods:?} were found");
    assert_eq!(calls(CONTEXT_PAGE, "room."), methods);
}

#[test]
fn the_page_on_the_game_context_names_every_callback() {
    let game = GAME.split_once("pub trait Game").expect("the trait is declared").1;
    let game = game.split_once("\n}\n").expect("the trait ends").0;
    let section = CONTEXT_PAGE.split_once("\n## Callbacks\n").expect("there is a part on callbacks").1;
    let section = section.split_once("\n## ").expect("other parts follow").0;
    assert_eq!(calls(section, ""), names(game, "    fn "));
}

#[test]
fn the_page_on_the_game_context_names_only_methods_that_the_world_has() {
    let methods: BTreeSet<_> =
        [WORLD, WORLD_RECORDS, WORLD_QUERIES].into_iter().flat_map(|source| names(source, "    pub fn ")).collect();
    let named = calls(CONTEXT_PAGE, "world.");
    assert!(named.len() > 15, "only {named:?} were found");
    let unknown: Vec<_> = named.difference(&methods).collect();
    assert!(unknown.is_empty(), "the world has no {unknown:?}");
}

#[test]
fn the_page_on_room_settings_has_a_row_for_every_setting() {
    let settings = SETTINGS.split_once("pub struct RoomSettings {").expect("the settings are a struct").1;
    let settings = settings.split_once("\n}\n").expect("the struct ends").0;
    let fields: Vec<&str> = settings
        .lines()
        .filter_map(|line| line.strip_prefix("    pub ")?.split_once(':'))
        .map(|(field, _)| field)
        .collect();
    let table = SETTINGS_PAGE.split_once("\nAn operator can change").expect("the names in the configuration follow").0;
    let rows: Vec<&str> =
        table.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`')).map(|(row, _)| row).collect();
    assert_eq!(rows, fields);
}

/// Returns the names of the functions that are declared at the start of a line, after this prefix.
fn names<'a>(source: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    source.lines().filter_map(|line| Some(word(line.strip_prefix(prefix)?))).collect()
}

/// Returns the names of the calls in the first column of a page's tables, of those that begin with this receiver.
fn calls<'a>(page: &'a str, receiver: &str) -> BTreeSet<&'a str> {
    let columns = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    columns
        .flat_map(|column| column.split("`, `"))
        .filter_map(|call| Some(word(call.strip_prefix(receiver)?)))
        .collect()
}

fn word(text: &str) -> &str {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').next().unwrap_or_default()
}
