//! Pages of the program: embedded in a release build, read from their folder in other builds.

use aether_server::{PageAsset, Pages};

/// Files that `build.rs` embeds: `None` unless this is a release build, empty if the pages were not built before.
const EMBEDDED: Option<&[PageAsset]> = include!(concat!(env!("OUT_DIR"), "/files.rs"));

/// Folder where `cargo xtask web` builds the pages.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/dist");

/// Notice of a release build without pages.
const UNBUILT: &str =
    "The pages were not built: run `cargo xtask web`, then build the program again; `cargo xtask dist` does both.";

/// Notice of a build that reads the pages from their folder, if they are not there.
const NOT_IN_FOLDER: &str = "The pages of Aether are not built. Build them with `cargo xtask web`.";

/// Returns the pages of this build.
pub fn pages() -> Pages {
    match EMBEDDED {
        None => Pages::folder(FOLDER.into()).with_notice(NOT_IN_FOLDER),
        Some([]) => Pages::none().with_notice(UNBUILT),
        Some(assets) => Pages::embedded(assets),
    }
}
