//! Status of users: `status_follow`, `status_unfollow`, `status_update`.

use super::{Dispatched, Origin};
use aether_messages::{realtime, socket};

pub(super) fn follow(origin: &Origin<'_>, request: realtime::StatusFollow) -> Dispatched {
    origin.ordered::<socket::StatusFollow>(request)
}

pub(super) fn unfollow(origin: &Origin<'_>, request: realtime::StatusUnfollow) -> Dispatched {
    origin.ordered::<socket::StatusUnfollow>(request)
}

pub(super) fn update(origin: &Origin<'_>, request: realtime::StatusUpdate) -> Dispatched {
    origin.ordered::<socket::StatusUpdate>(request)
}
