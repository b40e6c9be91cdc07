//! Messages to a player who cannot play at the moment.

/// Reason why a player cannot play at the moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Connecting for the first time.
    Connecting,
    /// The server cannot be reached, for this reason.
    Unreachable(String),
    /// The name belongs to another device.
    NameTaken,
    /// The connection was lost; the client reconnects.
    Reconnecting(Option<String>),
    /// The client has ended, for this reason.
    Closed(String),
}

impl Notice {
    /// Heading of the message.
    pub fn heading(&self) -> &'static str {
        match self {
            Notice::Connecting => "CONNECTING",
            Notice::Unreachable(_) => "NO SERVER",
            Notice::NameTaken => "NAME TAKEN",
            Notice::Reconnecting(_) => "RECONNECTING",
            Notice::Closed(_) => "DISCONNECTED",
        }
    }

    /// Lines of the message.
    pub fn lines(&self, server: &str, name: &str) -> Vec<String> {
        match self {
            Notice::Connecting => vec![format!("to {server} as {name}")],
            Notice::Unreachable(error) => vec![
                format!("Nothing answers at {server}:"),
                error.clone(),
                String::new(),
                "Start a server with `cargo xtask run` or `aether serve`,".to_owned(),
                "or give the address of another one: --server URL".to_owned(),
                String::new(),
                "Trying again. Q quits.".to_owned(),
            ],
            Notice::NameTaken => vec![
                format!("`{name}` belongs to another player at {server}."),
                "Quit with Q and start again with another name.".to_owned(),
            ],
            Notice::Reconnecting(error) => {
                let why = error.clone().unwrap_or_else(|| "the connection was lost".to_owned());
                vec![why, "Your ship drifts on meanwhile.".to_owned()]
            }
            Notice::Closed(text) => vec![text.clone(), "Press Q to quit.".to_owned()],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_server_comes_with_the_remedy() {
        let notice = Notice::Unreachable("connection refused".to_owned());
        let text = notice.lines("http://127.0.0.1:7350", "ann").join("\n");
        for part in ["http://127.0.0.1:7350", "connection refused", "cargo xtask run", "aether serve", "--server"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
