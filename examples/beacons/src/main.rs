//! Server program of Beacons.

use aether::prelude::*;
use beacons::Beacons;
use std::process::ExitCode;

fn main() -> ExitCode {
    Server::new("beacons", env!("CARGO_PKG_VERSION")).game("beacons", beacons::settings(), || Beacons).main()
}
