//! Matches: `match_create`, `match_join`, `match_leave`, `match_data_send`.

use super::{Dispatched, Origin};
use aether_messages::{realtime, socket};

pub(super) fn create(origin: &Origin<'_>, request: realtime::MatchCreate) -> Dispatched {
    origin.ordered::<socket::MatchCreate>(request)
}

pub(super) fn join(origin: &Origin<'_>, request: realtime::MatchJoin) -> Dispatched {
    origin.ordered::<socket::MatchJoin>(request)
}

pub(super) fn leave(origin: &Origin<'_>, request: realtime::MatchLeave) -> Dispatched {
    origin.ordered::<socket::MatchLeave>(request)
}

pub(super) fn send(origin: &Origin<'_>, request: realtime::MatchDataSend) -> Dispatched {
    origin.frequent::<socket::MatchDataSend>(request)
}
