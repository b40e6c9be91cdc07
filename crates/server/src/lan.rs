//! The server on the local network: multicast, and the key that signs its packets.

use crate::admin_key::is_exposed;
use crate::config::Config;
use crate::running::StartError;
use aether_metrics::Registry;
use aether_net::multicast::{MulticastServer, ServerSigner};
use aether_rooms::RoomHost;
use aether_store::{PrivateFile, private_file};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tracing::info;

/// File in the data folder that holds the secret key.
const FILE: &str = "lan.key";
/// Bytes of a secret key.
const KEY_BYTES: usize = 32;

/// Starts multicast if it is enabled. `program` is its name and version.
pub(crate) fn serve(
    config: &Config,
    http: SocketAddr,
    program: (&str, &str),
    rooms: &Arc<RoomHost>,
    registry: &Registry,
) -> Result<Option<JoinHandle<()>>, StartError> {
    if !config.multicast.enabled {
        return Ok(None);
    }
    let settings = config.multicast_settings(program, http.port());
    let (group, interface) = (settings.group, settings.interface);
    let signer = signer(config).map_err(StartError::Config)?;
    info!(%group, %interface, key = %signer.key(), "multicast enabled");
    let server = MulticastServer::bind(settings, signer, Arc::clone(rooms) as _, registry).map_err(|error| {
        StartError::Config(format!(
            "Cannot join the multicast group {group} on {interface}: {error}. Set multicast.interface to the address of a \
             network interface, or multicast.enabled to false."
        ))
    })?;
    Ok(Some(tokio::spawn(server.run())))
}

/// Returns the signer with the key of the data folder, which is created if there is none.
fn signer(config: &Config) -> Result<ServerSigner, String> {
    let failed = |error: &dyn std::fmt::Display| format!("Cannot use the key in {}: {error}.", path(config).display());
    if let Some(secret) = read_file(config)? {
        return Ok(ServerSigner::from_secret(&secret));
    }
    let mut secret = [0; KEY_BYTES];
    getrandom::fill(&mut secret).map_err(|error| failed(&error))?;
    private_file::create_folder(&config.data_dir).map_err(|error| failed(&error))?;
    PrivateFile::write(&path(config), &secret).map_err(|error| failed(&error))?;
    Ok(ServerSigner::from_secret(&secret))
}

fn read_file(config: &Config) -> Result<Option<[u8; KEY_BYTES]>, String> {
    let path = path(config);
    let failed = |error: &dyn std::fmt::Display| format!("Cannot use the key in {}: {error}.", path.display());
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(&error)),
    };
    if is_exposed(&file) {
        let path = path.display();
        return Err(format!("{path} is open to others than its owner: run `chmod 600 {path}`."));
    }
    let mut bytes = Vec::new();
    file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
    let secret = bytes.try_into();
    secret.map(Some).map_err(|_| failed(&"it contains no key; remove it to get a new one at the next start"))
}

fn path(config: &Config) -> PathBuf {
    config.data_dir.join(FILE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_created_once_and_is_private() {
        let data_dir = std::env::temp_dir().join(format!("aether-lan-{}", uuid::Uuid::new_v4().simple()));
        let config = Config { data_dir, ..Config::default() };
        let key = signer(&config).unwrap().key();
        assert_eq!(signer(&config).unwrap().key(), key);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let permissions = |mode| std::fs::Permissions::from_mode(mode);
            assert_eq!(std::fs::metadata(path(&config)).unwrap().permissions().mode() & 0o777, 0o600);
            std::fs::set_permissions(path(&config), permissions(0o644)).unwrap();
            assert!(signer(&config).unwrap_err().contains("chmod 600"));
            std::fs::set_permissions(path(&config), permissions(0o600)).unwrap();
        }
        std::fs::write(path(&config), "short").unwrap();
        assert!(signer(&config).unwrap_err().contains("remove it"));
        std::fs::remove_dir_all(&config.data_dir).unwrap();
    }
}
