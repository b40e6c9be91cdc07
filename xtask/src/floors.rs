//! Floors of the crates. Add a new crate here, and nowhere else.

/// Level of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackageLevel {
    /// A numbered floor; it may use only lower floors.
    Floor(u8),
    /// Rules of a game, which both server and browser run; they use floors 0 to 2.
    Rules,
    /// Programs and tools; they may use anything, and no floor may use them.
    Roof,
}

/// The crates by floor.
const FLOORS: &[(&str, u8)] = &[
    ("aether-bits-derive", 0),
    ("aether-bits", 0),
    ("aether-limits", 0),
    ("aether-metrics", 0),
    ("aether-names", 0),
    ("aether-wire", 1),
    ("aether-messages", 1),
    ("aether-framing", 1),
    ("aether-query", 1),
    ("aether-space", 1),
    ("aether-ranks", 1),
    (RUDP, 2),
    ("aether-world", 2),
    ("aether-replication", 3),
    ("aether-engine", 4),
    ("aether-rings", 4),
    (UDP, 4),
    (CLIENT, 4),
    (STORE, 4),
    (CLIENT_WEB, 5),
    ("aether-services", 5),
    ("aether-net", 5),
    ("aether-client-native", 5),
    ("aether-luau-interrupt", 5),
    ("aether-rooms", 6),
    ("aether-script", 7),
    ("aether-api", 8),
    ("aether-cluster", 8),
    (LOAD, 8),
    (SERVER, 9),
    (GAME, 10),
];

/// Programs and tools that are not games.
const ROOF: &[&str] = &["aether", "aether-bench", "aether-bevy", "xtask"];

/// Packages of one floor that belong together: a derive must be its own crate.
const ONE_PIECE: &[(&str, &str)] = &[("aether-bits", "aether-bits-derive")];

/// Packages that may read the environment and end the process anywhere in their sources.
const OWN_THEIR_PROCESS: &[&str] = &[
    SERVER,
    "aether-bench",
    LOAD,
    "aether-testkit-postgres",
    "aether-testkit-server",
    "aether-testkit-store",
    "xtask",
];

const CLIENT: &str = "aether-client";
const CLIENT_WEB: &str = "aether-client-web";
const GAME: &str = "aether-game";
const LOAD: &str = "aether-load";
const RUDP: &str = "aether-rudp";
const SERVER: &str = "aether-server";
const STORE: &str = "aether-store";
const UDP: &str = "aether-udp";

/// The test tools, which any crate may use in its tests.
const TESTKITS: &[&str] = &[
    "aether-testkit",
    "aether-testkit-client",
    "aether-testkit-postgres",
    "aether-testkit-server",
    "aether-testkit-store",
];

/// The highest floor where time is the tick number and map order must not matter.
const DETERMINISTIC_UP_TO: u8 = 4;

/// The highest floor that builds for the browser as a whole.
const WASM_UP_TO: u8 = 3;

/// Highest floor that the rules of a game may use.
const RULES_REST_ON: u8 = 2;

/// Returns the level of a package, by its name and its folder relative to the root.
pub fn level_of(package: &str, folder: &str) -> Option<PackageLevel> {
    if let Some((_, floor)) = FLOORS.iter().find(|(name, _)| *name == package) {
        return Some(PackageLevel::Floor(*floor));
    }
    if ROOF.contains(&package) || TESTKITS.contains(&package) {
        return Some(PackageLevel::Roof);
    }
    let mut parts = folder.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("games"), Some(_), Some("rules")) => Some(PackageLevel::Rules),
        (Some("games"), Some(_), Some(_)) => Some(PackageLevel::Roof),
        _ => None,
    }
}

/// Feature of the crate for game authors that a game's rules use.
pub const RULES_FEATURE: &str = "rules";

/// Returns true for the crate for game authors, which re-exports other crates by feature.
pub fn is_facade(package: &str) -> bool {
    package == GAME
}

/// Returns true if the rules of a game may use a package of this level.
pub fn may_rules_use(level: PackageLevel) -> bool {
    matches!(level, PackageLevel::Floor(floor) if floor <= RULES_REST_ON)
}

/// Returns true if one package may depend on another.
pub fn may_use(user: (&str, PackageLevel), used: (&str, PackageLevel)) -> bool {
    match (user.1, used.1) {
        (PackageLevel::Roof, _) => true,
        (PackageLevel::Floor(_), PackageLevel::Floor(_)) if ONE_PIECE.contains(&(user.0, used.0)) => true,
        (PackageLevel::Floor(user), PackageLevel::Floor(used)) => used < user,
        (PackageLevel::Rules, used) if may_rules_use(used) => true,
        // Tests of games use the test tools through the first; the bots of the second simulate networks with them.
        (PackageLevel::Floor(_), PackageLevel::Roof) if [GAME, LOAD].contains(&user.0) => TESTKITS.contains(&used.0),
        (PackageLevel::Floor(_), PackageLevel::Rules | PackageLevel::Roof) | (PackageLevel::Rules, _) => false,
    }
}

/// Returns true if the tests of one package may use another that its code may not use. `folder` is that of the latter.
pub fn may_use_in_tests(user: &str, used: &str, folder: &str) -> bool {
    // The server's tests play games over sockets.
    TESTKITS.contains(&used) || (user == SERVER && folder.starts_with("games/"))
}

/// Returns true if the package may not read a clock, depend on the order of a hashed map, or use an async runtime.
pub fn is_deterministic(package: &str, level: PackageLevel) -> bool {
    match level {
        // It waits for disks and other machines.
        PackageLevel::Floor(_) if package == STORE => false,
        // Its blocking calls wait for sockets, so they read the clock.
        PackageLevel::Floor(_) if package == UDP => false,
        PackageLevel::Floor(floor) => floor <= DETERMINISTIC_UP_TO,
        PackageLevel::Rules => true,
        PackageLevel::Roof => false,
    }
}

/// Returns true if the package must build for the browser.
pub fn builds_for_wasm(package: &str, level: PackageLevel) -> bool {
    match level {
        // The derive runs inside the compiler, so it is built for the host only.
        PackageLevel::Floor(_) if ONE_PIECE.iter().any(|(_, derive)| *derive == package) => false,
        // Browsers have no UDP sockets.
        PackageLevel::Floor(_) if package == RUDP => false,
        PackageLevel::Floor(floor) => floor <= WASM_UP_TO || [CLIENT, CLIENT_WEB].contains(&package),
        PackageLevel::Rules => true,
        PackageLevel::Roof => false,
    }
}

/// Returns true if the package may read the environment and end the process.
pub fn owns_its_process(package: &str) -> bool {
    OWN_THEIR_PROCESS.contains(&package)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: (&str, PackageLevel) = ("aether-sandbox-rules", PackageLevel::Rules);
    const WORLD: (&str, PackageLevel) = ("aether-world", PackageLevel::Floor(2));
    const ENGINE: (&str, PackageLevel) = ("aether-engine", PackageLevel::Floor(4));
    const KIT: (&str, PackageLevel) = ("aether-testkit", PackageLevel::Roof);

    #[test]
    fn a_floor_uses_lower_floors_only() {
        assert!(may_use(ENGINE, WORLD));
        assert!(!may_use(WORLD, ENGINE));
        assert!(!may_use(WORLD, WORLD));
        assert!(!may_use(ENGINE, KIT));
        assert!(may_use(KIT, ENGINE));
    }

    #[test]
    fn rules_rest_on_the_lowest_three_floors() {
        assert!(may_use(RULES, WORLD));
        assert!(!may_use(RULES, ("aether-replication", PackageLevel::Floor(3))));
        assert!(!may_use(ENGINE, RULES));
    }

    #[test]
    fn a_crate_may_use_its_own_derive_but_not_the_other_way() {
        let bits = ("aether-bits", PackageLevel::Floor(0));
        let derive = ("aether-bits-derive", PackageLevel::Floor(0));
        assert!(may_use(bits, derive));
        assert!(!may_use(derive, bits));
    }

    #[test]
    fn tests_use_the_test_tools_and_those_of_the_server_also_games() {
        assert!(may_use_in_tests("aether-world", "aether-testkit", "crates/testkit"));
        assert!(may_use_in_tests("aether-server", "aether-x-rules", "games/x/rules"));
        assert!(!may_use_in_tests("aether-engine", "aether-x-rules", "games/x/rules"));
        assert!(!may_use_in_tests("aether-server", "aether", "crates/program"));
    }

    #[test]
    fn places_follow_the_table_and_the_games_folder() {
        assert_eq!(level_of("aether-wire", "crates/wire"), Some(PackageLevel::Floor(1)));
        assert_eq!(level_of("aether-x-rules", "games/x/rules"), Some(PackageLevel::Rules));
        assert_eq!(level_of("aether-x-server", "games/x/server"), Some(PackageLevel::Roof));
        assert_eq!(level_of("aether-attic", "crates/attic"), None);
    }

    #[test]
    fn the_browser_gets_floors_0_to_3_the_client_and_rules() {
        assert!(builds_for_wasm("aether-replication", PackageLevel::Floor(3)));
        assert!(builds_for_wasm("aether-client", PackageLevel::Floor(4)));
        assert!(builds_for_wasm("aether-client-web", PackageLevel::Floor(5)));
        assert!(builds_for_wasm(RULES.0, RULES.1));
        assert!(!builds_for_wasm(ENGINE.0, ENGINE.1));
        assert!(!builds_for_wasm("aether-bits-derive", PackageLevel::Floor(0)));
    }
}
