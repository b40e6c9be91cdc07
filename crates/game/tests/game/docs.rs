//! Pages of the docs that show an example must equal it.

#[test]
fn the_page_on_a_first_game_shows_the_example_as_it_is() {
    let page = include_str!("../../../../docs/first-game.md");
    let example = include_str!("../../examples/tag.rs");
    assert!(page.contains(example), "docs/first-game.md and examples/tag.rs differ; copy the example into the page");
}

#[test]
fn the_page_on_games_at_run_time_shows_the_example_as_it_is() {
    let page = include_str!("../../../../docs/how-to/runtime-games.md");
    let example = include_str!("../../examples/tag_at_run_time.rs");
    let sentence =
        "docs/how-to/runtime-games.md and examples/tag_at_run_time.rs differ; copy the example into the page";
    assert!(page.contains(example), "{sentence}");
}
