//! Device id, with which a player signs in without a password.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// File of the secret, in the data folder.
const FILE: &str = "device";
/// Length of a secret, in hexadecimal digits.
const SECRET_LEN: usize = 64;

/// Returns the device id of a player on a server. It is derived from a secret of this device, which no server gets: a
/// server cannot sign in to another one with it. Without a data folder the id is new each time.
pub fn device_id(data_dir: Option<&Path>, server: &str, name: &str) -> io::Result<String> {
    let secret = match data_dir {
        Some(folder) => stored_secret(folder)?,
        None => new_secret()?,
    };
    Ok(hexadecimal(&Sha256::digest(format!("{secret}\n{server}\n{name}"))))
}

/// Reads the secret, or creates it.
fn stored_secret(folder: &Path) -> io::Result<String> {
    let path = folder.join(FILE);
    let read = || fs::read_to_string(&path).ok().map(|text| text.trim().to_owned());
    if let Some(secret) = read().filter(|secret| is_secret(secret)) {
        return Ok(secret);
    }
    fs::create_dir_all(folder)?;
    let secret = new_secret()?;
    // Another process may create it at the same time: then its secret counts.
    let part = folder.join(format!("{FILE}.{}", &secret[..8]));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(&part)?.write_all(secret.as_bytes())?;
    let linked = if path.exists() && read().is_none_or(|secret| !is_secret(&secret)) {
        fs::rename(&part, &path)
    } else {
        fs::hard_link(&part, &path)
    };
    let _ = fs::remove_file(&part);
    match (linked, read().filter(|secret| is_secret(secret))) {
        (_, Some(secret)) => Ok(secret),
        (Err(error), None) => Err(error),
        (Ok(()), None) => Ok(secret),
    }
}

fn is_secret(text: &str) -> bool {
    text.len() == SECRET_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn new_secret() -> io::Result<String> {
    let mut bytes = [0; SECRET_LEN / 2];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    Ok(hexadecimal(&bytes))
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_stable_and_differs_by_server_and_name() {
        let secret = new_secret().expect("the system has random numbers");
        let folder = std::env::temp_dir().join(format!("aether-asteroids-{secret}"));
        let id = |server: &str, name: &str| device_id(Some(&folder), server, name).expect("it can be stored");
        let first = id("http://a", "ann");
        assert_eq!(first, id("http://a", "ann"));
        assert_ne!(first, id("http://b", "ann"));
        assert_ne!(first, id("http://a", "ben"));
        fs::write(folder.join(FILE), "damaged").expect("it can be written");
        assert_ne!(first, id("http://a", "ann"), "a damaged secret is replaced");
        fs::remove_dir_all(&folder).expect("it can be removed");
    }
}
