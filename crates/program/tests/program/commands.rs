//! Commands on a database, run by the program: `migrate`, `seed`, `backup`, `restore` and `rooms`.

use crate::support::{ServerSetup, metric, program, until_metric};
use aether_store::Database;
use aether_testkit_server::seeing_player::{SeeingPlayer, account, hello, of_type, outpost};
use aether_testkit_server::{ApiClient, DEADLINE, Process, command};
use aether_testkit_store::{TestDatabase, file, postgres};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use tokio::time::timeout;

/// A database, and the program that works on it with a data folder of its own.
struct Program {
    database: TestDatabase,
    folder: PathBuf,
}

impl Program {
    fn on(database: TestDatabase) -> Program {
        let folder = std::env::temp_dir().join(format!("aether-commands-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&folder).expect("the folder can be created");
        Program { database, folder }
    }

    /// Returns a program for each kind of database that survives a process.
    fn on_each() -> Vec<Program> {
        [Some(file()), postgres()].into_iter().flatten().map(Program::on).collect()
    }

    fn url(&self) -> String {
        match &self.database.database {
            Database::Memory => "memory".to_owned(),
            Database::File(path) => format!("sqlite:{}", path.display()),
            Database::Postgres(url) => url.clone(),
        }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).to_str().expect("the path is UTF-8").to_owned()
    }

    /// Runs a command. Returns true if it succeeded, its output and its errors.
    async fn run(&self, arguments: &[&str]) -> (bool, String, String) {
        let (url, data) = (format!("database.url={}", self.url()), self.path("data"));
        let arguments = [arguments, &["--data-dir", &data, "--set", &url]].concat();
        let output = command(program(), &arguments).output();
        let output = timeout(DEADLINE, output).await.expect("the command ends").expect("the program runs");
        let text = |bytes| String::from_utf8(bytes).expect("the output is text");
        (output.status.success(), text(output.stdout), text(output.stderr))
    }

    /// Runs a command that succeeds without a word on standard error. Returns its output.
    async fn succeed(&self, arguments: &[&str]) -> String {
        let (succeeded, output, errors) = self.run(arguments).await;
        assert!(succeeded && errors.is_empty(), "{} {arguments:?}: {output}{errors}", self.database.name);
        output
    }

    /// Runs a command that fails. Returns its error.
    async fn fail(&self, arguments: &[&str]) -> String {
        let (succeeded, output, errors) = self.run(arguments).await;
        assert!(!succeeded && output.is_empty(), "{} {arguments:?}: {output}{errors}", self.database.name);
        errors
    }

    async fn serve(&self) -> Process {
        let url = format!("database.url={}", self.url());
        Process::serve(program(), Path::new(&self.path("data")), &[&url, "log.filter=warn"]).await
    }

    /// Everything that the sample player Amber sees: account, wallet, storage, leaderboard, groups, friends, notifications
    /// and competitions.
    async fn amber(&self) -> [Value; 9] {
        let server = self.serve().await;
        let mut amber = ApiClient::sign_in(server.http, "seed-device-amber").await.expect("the player signs in");
        let mut read = Vec::new();
        let own_groups = format!("/v2/user/{}/group", amber.user);
        for path in [
            "/v2/account",
            "/v2/storage/saves",
            "/v2/leaderboard/weekly?limit=100",
            &own_groups,
            "/v2/friend",
            "/v2/notification?limit=100",
            "/v2/tournament",
            "/v2/bracket",
        ] {
            read.push(amber.get(path).await.expect("the server answers").json());
        }
        server.kill().await;
        let [account, saves, board, groups, friends, notifications, tournaments, brackets] =
            read.try_into().expect("there are eight answers");
        let user = account["user"].clone();
        let wallet = serde_json::from_str(account["wallet"].as_str().expect("there is a wallet")).expect("it is JSON");
        [
            user,
            wallet,
            saves["objects"].clone(),
            board["records"].clone(),
            groups["user_groups"].clone(),
            friends["friends"].clone(),
            notifications["notifications"].clone(),
            tournaments["tournaments"].clone(),
            brackets["brackets"].clone(),
        ]
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Numbers and states of the migrations that `migrate --status` lists.
fn states(listed: &str) -> Vec<(u32, &str)> {
    let state = |line: &'_ str| line.rsplit(' ').next().map(|state| state.len()).unwrap_or(0);
    listed.lines().map(|line| (line[..4].parse().expect("a number"), &line[line.len() - state(line)..])).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn migrate_lists_pending_migrations_and_then_applies_them() {
    for program in Program::on_each() {
        let listed = program.succeed(&["migrate", "--status"]).await;
        let pending = states(&listed);
        assert!(pending.len() >= 5 && pending.iter().all(|(_, state)| *state == "pending"), "{listed}");
        if let Database::File(path) = &program.database.database {
            assert!(!path.exists(), "listing creates no database");
        }
        let count = pending.len();
        let expected = format!("The database is up to date: {count} migrations applied.\n");
        for _ in 0..2 {
            assert_eq!(program.succeed(&["migrate"]).await, expected, "{}", program.database.name);
        }
        let listed = program.succeed(&["migrate", "--status"]).await;
        let applied: Vec<(u32, &str)> = pending.iter().map(|(number, _)| (*number, "applied")).collect();
        assert_eq!(states(&listed), applied, "{}", program.database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn seed_adds_players_with_data_once() {
    for program in Program::on_each() {
        for (added, friends, groups) in [(10, 6, 3), (0, 0, 0)] {
            let expected = format!(
                "{added} of 10 sample players added, {friends} friendships, {groups} groups, 2 leaderboards, a tournament \
                 and a bracket. Sign in with a device id such as seed-device-amber.\n"
            );
            assert_eq!(program.succeed(&["seed"]).await, expected, "{}", program.database.name);
            if let Database::File(path) = &program.database.database {
                let journal = path.with_extension("db-wal");
                assert!(!journal.exists(), "the database is closed, so its journal is gone");
            }
        }
        let [user, wallet, saves, records, groups, friends, notifications, tournaments, brackets] =
            program.amber().await;
        let states: Vec<_> =
            friends.as_array().expect("there are friends").iter().map(|one| one["state"].clone()).collect();
        assert_eq!(states.iter().filter(|state| **state == json!(0)).count(), 3, "{friends}");
        assert_eq!(states.iter().filter(|state| **state == json!(2)).count(), 2, "{friends}");
        let codes: BTreeSet<_> = notifications
            .as_array()
            .expect("there are notifications")
            .iter()
            .map(|one| one["code"].to_string())
            .collect();
        assert!(codes.contains("-2") && codes.contains("1"), "{notifications}");
        let ids: Vec<_> = tournaments.as_array().expect("there are tournaments").iter().map(|one| &one["id"]).collect();
        assert!(ids.contains(&&json!("daily")), "{tournaments}");
        assert_eq!(brackets[0]["phase"], json!("running"), "{brackets}");
        let shown =
            |one: &Value| (one["group"]["name"].clone(), one["state"].clone(), one["group"]["edge_count"].clone());
        let groups: Vec<_> = groups.as_array().expect("there are groups").iter().map(shown).collect();
        let expected = [(json!("Night Owls"), json!(0), json!(5)), (json!("Sternwarte"), json!(2), json!(3))];
        assert_eq!(groups, expected, "{}", program.database.name);
        assert_eq!((&user["username"], &user["display_name"]), (&json!("amber"), &json!("AMBER")));
        assert_eq!(wallet, json!({ "coins": 100 }));
        let save: Value = serde_json::from_str(saves[0]["value"].as_str().expect("there is a value")).expect("JSON");
        assert_eq!((saves.as_array().map(Vec::len), save), (Some(1), json!({ "level": 1, "colour": 0 })));
        let scores = records.as_array().expect("there are records").iter().map(|record| record["score"].as_str());
        let scores: BTreeSet<&str> = scores.map(|score| score.expect("a record has a score")).collect();
        let expected: Vec<String> = (0..10).map(|index| (1_000 - 97 * index).to_string()).collect();
        assert_eq!(scores, expected.iter().map(String::as_str).collect(), "{}", program.database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_restored_into_either_kind_of_database() {
    for source in Program::on_each() {
        source.succeed(&["seed"]).await;
        let before = source.amber().await;
        let backup = source.path("monday.backup");
        let written = source.succeed(&["backup", &backup]).await;
        let rows = written.strip_suffix(&format!(" rows written to {backup}.\n")).expect("it says how many rows");
        assert!(rows.parse::<u32>().is_ok_and(|rows| rows >= 50), "{written}");
        for target in Program::on_each() {
            let restored = target.succeed(&["restore", &backup]).await;
            assert_eq!(restored, format!("{rows} rows restored.\n"));
            assert_eq!(target.amber().await, before, "{} to {}", source.database.name, target.database.name);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn restore_replaces_a_database_only_with_its_flag() {
    for program in Program::on_each() {
        let (empty, seeded) = (program.path("empty.backup"), program.path("seeded.backup"));
        program.succeed(&["migrate"]).await;
        program.succeed(&["backup", &empty]).await;
        program.succeed(&["seed"]).await;
        let before = program.amber().await;
        program.succeed(&["backup", &seeded]).await;
        let refused = program.fail(&["restore", &empty]).await;
        assert_eq!(refused, "The database is not empty. Restore into a new database, or use --replace.\n");
        let mut damaged = std::fs::read(&empty).expect("the backup is readable");
        damaged.truncate(damaged.len() - 10);
        std::fs::write(program.path("damaged.backup"), &damaged).expect("files can be written");
        let refused = program.fail(&["restore", &program.path("damaged.backup"), "--replace"]).await;
        assert!(refused.to_lowercase().contains("backup"), "{refused}");
        assert_eq!(program.amber().await, before, "{}: a refused restore changes nothing", program.database.name);
        program.succeed(&["restore", &seeded, "--replace"]).await;
        assert_eq!(program.amber().await, before, "{}", program.database.name);
        program.succeed(&["restore", &empty, "--replace"]).await;
        let added = program.succeed(&["seed"]).await;
        assert!(added.starts_with("10 of 10 sample players added"), "{}: {added}", program.database.name);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_name_the_file_that_is_missing_or_in_the_way() {
    let program = Program::on(file());
    let Database::File(database) = &program.database.database else { unreachable!() };
    let (missing, database) = (program.path("missing.backup"), database.display().to_string());
    let absent = format!("The database {database} does not exist. Check data_dir and database.url.\n");
    assert_eq!(program.fail(&["backup", &missing]).await, absent);
    assert_eq!(program.fail(&["rooms"]).await, absent);
    let unreadable = program.fail(&["restore", &missing]).await;
    assert!(unreadable.starts_with(&format!("Cannot read {missing}: ")), "{unreadable}");
    assert!(!Path::new(&database).exists() && !Path::new(&missing).exists(), "nothing was created");
    program.succeed(&["migrate"]).await;
    std::fs::write(&missing, "mine").expect("files can be written");
    assert_eq!(program.fail(&["backup", &missing]).await, format!("{missing} exists. Choose another file.\n"));
    assert_eq!(std::fs::read(&missing).expect("it is there"), b"mine");
}

#[tokio::test(flavor = "multi_thread")]
async fn rooms_lists_stored_rooms_and_exports_their_states() {
    for database in [Some(file()), postgres()].into_iter().flatten() {
        let setup = ServerSetup::new(&database, &["rooms.snapshot_seconds=1"]);
        let server = setup.serve().await;
        let program = Program::on(database);
        assert_eq!(program.succeed(&["rooms"]).await, HEADING);
        let (token, _) = account(server.http).await;
        let joined = SeeingPlayer::join(server.http, &hello(token, of_type("outpost")), outpost()).await;
        let ann = joined.expect("the join is accepted");
        let (room, code) = (ann.player.welcome.room.0.clone(), ann.player.welcome.room_code.clone());
        let stored = metric(&server, "aether_checkpoint_bytes_total").await;
        until_metric(&server, "aether_checkpoint_bytes_total", stored).await;

        let listed = program.succeed(&["rooms"]).await;
        let rows: Vec<&str> = listed.strip_prefix(HEADING).expect("it begins with the columns").lines().collect();
        let cells: Vec<&str> = rows[0].split('\t').collect();
        assert_eq!((rows.len(), cells.len(), &cells[..3]), (1, 7, &[&*room, &*code, "outpost"][..]), "{listed}");
        let states = program.succeed(&["rooms", &room]).await;
        let states =
            states.strip_prefix("number\ttaken_at\tplayers\tentities\tbytes\n").expect("it begins with columns");
        let newest = states.lines().find(|line| line.starts_with("0\t")).expect("there is a newest state");
        assert_eq!(newest.split('\t').nth(2), Some("1"), "it has one player: {states}");

        let export = program.path("room.state");
        let written = program.succeed(&["rooms", &room, "--export", &export]).await;
        let bytes = std::fs::metadata(&export).expect("the state is written").len();
        assert!(bytes > 0, "the state has content");
        assert_eq!(written, format!("{bytes} bytes written to {export}.\n"));
        let unknown = program.fail(&["rooms", "nowhere"]).await;
        assert_eq!(unknown, "Room nowhere has no stored state. `aether rooms` lists the durable rooms.\n");
        let unknown = program.fail(&["rooms", &room, "--number", "999", "--export", &program.path("x")]).await;
        assert_eq!(unknown, format!("Room {room} has no stored state 999. `aether rooms {room}` lists them.\n"));
        server.kill().await;
    }
}

/// First line of `rooms`.
const HEADING: &str = "id\tcode\ttype\tlabel\tplayers\tcreated_at\tupdated_at\n";
