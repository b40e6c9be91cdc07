//! Files that the program writes cannot be read by other users of the machine.

use crate::support::program;
use aether_testkit_server::{ApiClient, DEADLINE, Process};
use aether_testkit_store::file;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use tokio::time::timeout;

/// A folder that is removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        let path = std::env::temp_dir().join(format!("aether-private-{}", uuid::Uuid::new_v4().simple()));
        std::fs::create_dir_all(&path).expect("the folder can be created");
        Folder(path)
    }

    fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the folder is readable");
        entries.map(|entry| entry.expect("it is readable").file_name().to_string_lossy().into_owned()).collect()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn mode(path: &Path) -> u32 {
    let metadata = std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    metadata.permissions().mode() & 0o777
}

/// Runs the program with a umask that lets everybody read new files.
async fn run(arguments: &[&str]) -> Output {
    let script = "umask 0; exec \"$0\" \"$@\"";
    let program = program().to_str().expect("the path is UTF-8");
    let mut command = aether_testkit_server::command(Path::new("/bin/sh"), &["-c", script, program]);
    timeout(DEADLINE, command.args(arguments).output()).await.expect("it ends").expect("it runs")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_readable_by_its_owner_only_and_appears_complete() {
    let (database, folder) = (file(), Folder::new());
    database.open().await.close().await;
    let aether_store::Database::File(path) = &database.database else { unreachable!() };
    let url = format!("database.url=sqlite:{}", path.display());
    let backup = folder.0.join("monday.backup");
    let name = backup.to_str().expect("the path is UTF-8");
    let output = run(&["backup", name, "--set", &url]).await;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(mode(&backup), 0o600);
    assert_eq!(folder.names(), ["monday.backup"], "no temporary file is left");
    let again = run(&["backup", name, "--set", &url]).await;
    assert!(!again.status.success(), "an existing file is not replaced");
    assert_eq!(folder.names(), ["monday.backup"]);

    // The database fails in the middle of the backup.
    let store = database.open().await;
    let broken = store.write(|transaction| transaction.execute("DROP TABLE room_visits", &[])).await;
    broken.expect("the table can be dropped");
    store.close().await;
    let failed = run(&["backup", folder.0.join("tuesday.backup").to_str().expect("UTF-8"), "--set", &url]).await;
    assert!(!failed.status.success(), "{failed:?}");
    assert_eq!(folder.names(), ["monday.backup"], "an incomplete backup is removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_in_the_data_folder_is_readable_by_its_owner_only() {
    let folder = Folder::new();
    let data = folder.0.join("data");
    // The process of a test shares one umask, so a shell sets it for the server.
    let script = folder.0.join("aether");
    let text = format!("#!/bin/sh\numask 0\nexec '{}' \"$@\"\n", program().display());
    std::fs::write(&script, text).expect("the script can be written");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).expect("it can be made executable");
    let server = Process::serve(&script, &data, &["log.filter=warn"]).await;
    let answer = ApiClient::new(server.http).get("/api/health").await.expect("the server answers");
    assert_eq!(answer.status, 200);
    assert_eq!(mode(&data), 0o700);
    let mut files = 0;
    let mut folders = vec![data];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("the folder is readable") {
            let path = entry.expect("it is readable").path();
            if path.is_dir() {
                assert_eq!(mode(&path), 0o700, "{}", path.display());
                folders.push(path);
            } else {
                assert_eq!(mode(&path), 0o600, "{}", path.display());
                files += 1;
            }
        }
    }
    assert!(files >= 5, "database, journal, lock, key and node id, not {files}");
}
