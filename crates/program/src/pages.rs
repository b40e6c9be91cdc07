//! The pages that this program shows: embedded in a release build, read from their folder in others.

use aether_server::{PageAsset, Pages};

/// The files that `build.rs` embeds: `None` unless this is a release build, empty if the pages were not built before it.
const EMBEDDED: Option<&[PageAsset]> = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// The folder where `cargo xtask web` builds the pages.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist");

/// Said by a release build without pages.
const UNBUILT: &str =
    "Its pages were not built: run `cargo xtask web`, then build the program again; `cargo xtask dist` does both.";

/// The pages of this build.
pub fn pages() -> Pages {
    match EMBEDDED {
        None => Pages::folder(FOLDER.into()),
        Some([]) => Pages::none().with_notice(UNBUILT),
        Some(assets) => Pages::embedded(assets),
    }
}
