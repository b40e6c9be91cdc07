//! Who runs PostgreSQL: it refuses to be root.

use crate::ClusterError;
use std::path::Path;
use std::process::{Command, Stdio};

/// The account that Debian's package makes.
const NAME: &str = "postgres";

/// Whom the programs of PostgreSQL run as, if not as ourselves.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Account {
    user: u32,
    group: u32,
}

/// Whether the one who runs PostgreSQL may look into this folder.
#[must_use]
pub fn can_enter(folder: &Path) -> bool {
    let Ok(account) = Account::needed() else { return false };
    let mut test = Command::new("test");
    test.arg("-x").arg(folder).stdin(Stdio::null()).stderr(Stdio::null());
    Account::apply(account, &mut test);
    test.status().is_ok_and(|status| status.success())
}

impl Account {
    /// The account to change to: none, unless we are root.
    pub fn needed() -> Result<Option<Account>, ClusterError> {
        if id(&["-u"]) != Some(0) {
            return Ok(None);
        }
        match (id(&["-u", NAME]), id(&["-g", NAME])) {
            (Some(user), Some(group)) => Ok(Some(Account { user, group })),
            _ => Err(ClusterError::new(format!(
                "PostgreSQL does not run as root, and there is no user `{NAME}`; install the package, or run as \
                 another user"
            ))),
        }
    }

    /// Has a program run as the account.
    pub fn apply(account: Option<Account>, command: &mut Command) {
        #[cfg(unix)]
        if let Some(Account { user, group }) = account {
            use std::os::unix::process::CommandExt as _;
            command.uid(user).gid(group);
        }
        #[cfg(not(unix))]
        let _ = (account, command);
    }

    /// Gives a folder to the account.
    pub fn own(account: Option<Account>, folder: &Path) -> Result<(), ClusterError> {
        #[cfg(unix)]
        if let Some(Account { user, group }) = account {
            let given = std::os::unix::fs::chown(folder, Some(user), Some(group));
            return given.map_err(|error| ClusterError::new(format!("{}: {error}", folder.display())));
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
