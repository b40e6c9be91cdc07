//! The reference page.

use super::load;
use aether_server::config::{Config, reference};

/// Returns the rows of the page: section, key, environment variable, default.
fn rows() -> Vec<(String, String, String, String)> {
    let mut section = String::new();
    let mut rows = Vec::new();
    for line in reference().lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            section = heading.trim_matches(['`', '[', ']']).to_owned();
        } else if line.starts_with("| `") {
            let cells: Vec<&str> = line.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`'])).collect();
            rows.push((section.clone(), cells[0].to_owned(), cells[1].to_owned(), cells[2].to_owned()));
        }
    }
    rows
}

#[test]
fn the_committed_page_is_the_generated_one() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/configuration.md");
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        committed == reference(),
        "docs/configuration.md is outdated: run `aether check --reference > docs/configuration.md`"
    );
}

#[test]
fn the_page_has_every_section() {
    let rows = rows();
    let sections = ["http", "webtransport", "connections", "rooms", "apple", "google", "steam", "facebook", "huawei"];
    let others = ["tokens", "guests", "shutdown", "log", "room.<type>", "provider.<name>"];
    for section in sections.into_iter().chain(others) {
        assert!(rows.iter().any(|row| row.0 == section), "{section}");
    }
    assert!(rows.iter().any(|row| row.1 == "data_dir" && row.2 == "AETHER_DATA_DIR"));
    assert!(rows.iter().any(|row| row.2 == "AETHER_PROVIDER_<NAME>_KEYS_URL"));
    assert!(rows.len() > 40);
}

#[test]
fn every_default_of_the_page_is_valid_in_the_file_and_in_its_variable() {
    for (section, key, variable, default) in rows() {
        if default == "not set" || section.contains('<') {
            continue;
        }
        let heading = if section.starts_with("Outside") { String::new() } else { format!("[{section}]\n") };
        let from_file = load(&format!("{heading}{key} = {default}\n"), &[], &[]).unwrap();
        let loose = default.trim_matches(['"', '[', ']']);
        let from_variable = load("", &[(&variable, loose)], &[]).unwrap();
        for config in [from_file, from_variable] {
            assert_eq!(config.effective().len(), 1, "{key}");
            assert!(config.effective()[0].key.ends_with(&key));
            assert_eq!(config.http, Config::default().http);
            assert_eq!(config.connections, Config::default().connections);
            assert_eq!(config.rooms, Config::default().rooms);
        }
    }
}
