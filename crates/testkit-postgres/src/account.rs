//! User account of PostgreSQL, which refuses to run as root.

use crate::ClusterError;
use std::path::Path;
use std::process::{Command, Stdio};

/// User that the Debian package creates.
const NAME: &str = "postgres";

/// User and group of the PostgreSQL programs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    user: u32,
    group: u32,
}

/// Returns true if the user of PostgreSQL may enter this folder.
#[must_use]
pub fn can_enter(folder: &Path) -> bool {
    let Ok(account) = Account::needed() else { return false };
    let mut test = Command::new("test");
    test.arg("-x").arg(folder).stdin(Stdio::null()).stderr(Stdio::null());
    Account::apply(account, &mut test);
    test.status().is_ok_and(|status| status.success())
}

impl Account {
    /// Returns the account to switch to, or `None` unless the process runs as root.
    pub fn needed() -> Result<Option<Account>, ClusterError> {
        if id(&["-u"]) != Some(0) {
            return Ok(None);
        }
        match (id(&["-u", NAME]), id(&["-g", NAME])) {
            (Some(user), Some(group)) => Ok(Some(Account { user, group })),
            _ => Err(ClusterError::new(format!(
                "PostgreSQL does not run as root, and the user `{NAME}` does not exist; install the package, or run as \
                 another user"
            ))),
        }
    }

    /// Makes a command run as the account.
    pub fn apply(account: Option<Account>, command: &mut Command) {
        #[cfg(unix)]
        if let Some(Account { user, group }) = account {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(group);
        }
        #[cfg(not(unix))]
        let _ = (account, command);
    }

    /// Makes the account the owner of a file or folder.
    pub fn change_owner(account: Option<Account>, folder: &Path) -> Result<(), ClusterError> {
        #[cfg(unix)]
        if let Some(Account { user, group }) = account {
            let changed = std::os::unix::fs::chown(folder, Some(user), Some(group));
            return changed.map_err(|error| ClusterError::new(format!("{}: {error}", folder.display())));
        }
        #[cfg(not(unix))]
        let _ = (account, folder);
        Ok(())
    }
}

fn id(arguments: &[&str]) -> Option<u32> {
    let output = Command::new("id").args(arguments).stdin(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()?.trim().parse().ok()
}
