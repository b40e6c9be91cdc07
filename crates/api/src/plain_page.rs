//! Pages that the server writes itself: a start page for a program without pages, and a page for unknown addresses.

use crate::page::{PageFile, ROOT, etag};
use aether_wire::{RoomTypeInfo, ServerInfo};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::HeaderValue;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;

/// Style of the pages. It is part of each page, so that a page needs no further request.
const STYLE: &str = include_str!("plain_page.css");

/// Content security policy of the pages: nothing but their own style.
static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'"
    )
});

/// Start page of a program that has no root page of its own.
pub(crate) struct StartPage<'a> {
    /// Name of the program.
    pub name: &'a str,
    /// Version, room types and transports of the server.
    pub server: &'a ServerInfo,
    /// Sentence about the pages of the program.
    pub notice: &'a str,
}

impl StartPage<'_> {
    /// Returns the page as the root file.
    pub fn file(&self) -> PageFile {
        let html = self.html();
        PageFile { path: ROOT.into(), etag: etag(html.as_bytes()).into(), bytes: html.into() }
    }

    fn html(&self) -> String {
        let StartPage { name, server, notice } = self;
        let ServerInfo { version, protocol, room_types, .. } = server;
        let rows: String = room_types.iter().map(room_type_row).collect();
        let rooms = if rows.is_empty() {
            "<p class=\"quiet\">This program has no room types. Add one with <code>.game</code> or <code>.relay</code>.</p>"
                .to_owned()
        } else {
            format!(
                "<table>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Kind</th>\
                 <th scope=\"col\">Rates</th><th scope=\"col\">Size</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
                 </table>\n{}",
                join_example(room_types)
            )
        };
        let transports = if server.web_transport.is_some() { "WebSocket and WebTransport" } else { "WebSocket" };
        let body = format!(
            "<header>\n<h1>{name}</h1>\n<p class=\"tags\"><span class=\"tag live\">running</span>\
             <span class=\"tag\">version {version}</span><span class=\"tag\">protocol {protocol}</span>\
             <span class=\"tag\">{transports}</span></p>\n</header>\n\
             <section>\n<h2>Room types</h2>\n{rooms}\n</section>\n\
             <section>\n<h2>Look around</h2>\n<ul class=\"links\">\n{links}</ul>\n</section>\n\
             <footer>\n<p>{notice}</p>\n<p>This server runs Aether; its docs are in the folder <code>docs</code> of the \
             repository.</p>\n</footer>",
            name = escaped(name),
            version = escaped(version),
            notice = escaped(notice),
            links = LINKS.map(link).concat(),
        );
        document(name, &body)
    }
}

/// Addresses that every server has, with their description.
const LINKS: [(&str, &str, &str); 4] = [
    ("/api/server", "Server", "room types and transports as JSON"),
    ("/api/rooms", "Rooms", "running rooms and their players"),
    ("/openapi.json", "Client API", "OpenAPI description of accounts, storage and leaderboards"),
    ("/readyz", "Health", "whether the server takes players"),
];

fn link((address, title, text): (&str, &str, &str)) -> String {
    format!("<li><a href=\"{address}\"><b>{title}</b> <code>{address}</code><span>{text}</span></a></li>\n")
}

fn room_type_row(room_type: &RoomTypeInfo) -> String {
    let RoomTypeInfo { name, tick_hz, snapshot_hz, players_max } = room_type;
    let (kind, rates) = match tick_hz {
        0 => ("relay", "passes messages on".to_owned()),
        _ => ("game", format!("{tick_hz} ticks/s, {snapshot_hz} snapshots/s")),
    };
    format!(
        "<tr><th scope=\"row\">{}</th><td>{kind}</td><td>{rates}</td><td>up to {players_max} players</td></tr>\n",
        escaped(name)
    )
}

/// Returns the code with which a page of this server joins its first room type.
fn join_example(room_types: &[RoomTypeInfo]) -> String {
    let Some(first) = room_types.first() else { return String::new() };
    let name = escaped(&first.name);
    format!(
        "<pre><code><span>import</span> {{ Client }} <span>from</span> \"@aether-game/client\";\n\
         <span>const</span> room = <span>await new</span> Client().join(\"{name}\");</code></pre>"
    )
}

/// Returns the page for an address at which there is nothing.
pub(crate) fn not_found() -> String {
    let body = "<header>\n<p class=\"tags\"><span class=\"tag\">404</span></p>\n<h1>There is no page here</h1>\n\
                </header>\n<p>The address may be misspelled, or the page was moved.</p>\n\
                <p><a class=\"button\" href=\"/\">Go to the start page</a></p>";
    document("Not found", body)
}

/// Returns the content security policy of these pages.
pub(crate) fn policy() -> HeaderValue {
    HeaderValue::from_str(&POLICY).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

fn document(title: &str, body: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"dark light\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n",
        escaped(title)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn html(name: &str, room_types: Vec<RoomTypeInfo>, notice: &str) -> String {
        let server = ServerInfo { version: "1.2.3".to_owned(), protocol: 2, room_types, ..ServerInfo::default() };
        StartPage { name, server: &server, notice }.html()
    }

    #[test]
    fn a_start_page_shows_the_program_and_its_room_types() {
        let game = RoomTypeInfo { name: "tag".to_owned(), tick_hz: 30, snapshot_hz: 15, players_max: 40 };
        let relay = RoomTypeInfo { name: "chat".to_owned(), tick_hz: 0, snapshot_hz: 0, players_max: 9 };
        let page = html("coins", vec![game, relay], "No pages.");
        for part in [
            "<h1>coins</h1>",
            "version 1.2.3",
            "tag</th><td>game</td><td>30 ticks/s, 15 snapshots/s</td><td>up to 40 players<",
            "chat</th><td>relay</td><td>passes messages on</td><td>up to 9 players<",
            "join(\"tag\")",
            "href=\"/api/server\"",
            "No pages.",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        for game in ["sandbox", "arena", "outpost"] {
            assert!(!page.contains(game), "{game}: {page}");
        }
        assert!(html("coins", Vec::new(), "").contains("This program has no room types."));
    }

    #[test]
    fn text_of_the_program_is_escaped() {
        let name = "<b>\"a\" & b".to_owned();
        let page = html(&name, vec![RoomTypeInfo { name: name.clone(), ..RoomTypeInfo::default() }], &name);
        assert!(!page.contains("<b>\"a\"") && page.matches("&lt;b&gt;&quot;a&quot; &amp; b").count() == 5, "{page}");
    }

    #[test]
    fn the_policy_allows_the_style_of_the_pages_alone() {
        let policy = policy();
        let policy = policy.to_str().unwrap();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-") && !policy.contains("unsafe"), "{policy}");
        assert!(not_found().contains(&format!("<style>{STYLE}</style>")));
    }
}
