//! Brackets: listing, joining and playing them. The protocol has no brackets; these operations and their messages are
//! extensions of Aether, in [`operation`](aether_services::bracket::operation). Operators create, start and resolve
//! them by the admin API.
//!
//! | route | body | answer |
//! | --- | --- | --- |
//! | `GET /v2/bracket` | | `{"brackets": [bracket, …], "cursor": text}`, the newest first |
//! | `GET /v2/bracket/{id}` | | `{"bracket": bracket, "entrants": [entrant, …], "matches": [match, …]}` |
//! | `POST /v2/bracket/{id}/join` | | the bracket |
//! | `POST /v2/bracket/{id}/leave` | | the bracket |
//! | `POST /v2/bracket/{id}/match/{number}/report` | `{"winner_id": id, "scores": [number, number]}`, or `{"draw": true}` | the match |
//! | `POST /v2/bracket/{id}/match/{number}/confirm` | | the match |

use super::ClientApi;
use crate::routing::Routes;
use aether_services::bracket::operation::{
    ConfirmBracketMatch, GetBracket, JoinBracket, LeaveBracket, ListBrackets, ReportBracketMatch,
};
use http::Method;

pub(super) fn routes(routes: Routes<ClientApi>) -> Routes<ClientApi> {
    routes
        .address::<ListBrackets>(Method::GET, "/v2/bracket")
        .address::<GetBracket>(Method::GET, "/v2/bracket/{id}")
        .address::<JoinBracket>(Method::POST, "/v2/bracket/{id}/join")
        .address::<LeaveBracket>(Method::POST, "/v2/bracket/{id}/leave")
        .field::<ReportBracketMatch, _>(Method::POST, "/v2/bracket/{id}/match/{number}/report", |to, body| {
            to.result = Some(body);
        })
        .address::<ConfirmBracketMatch>(Method::POST, "/v2/bracket/{id}/match/{number}/confirm")
}
