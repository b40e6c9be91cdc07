//! Calls of the protocol that this server does not have yet. They answer 501, so that a client can tell a missing
//! feature from a wrong address.

use crate::routing::ErrorAnswer;
use aether_services::{GrpcCode, ServiceError};
use axum::Router;
use axum::routing::{MethodFilter, on};
use http::Method;

/// Method, path, operation and feature of each call. docs/reference/compatibility.md lists the same.
const UNBUILT: &[(Method, &str, &str, &str)] = &[];

/// Adds routes for all calls that are not built.
pub(super) fn with_unbuilt<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    UNBUILT.iter().cloned().fold(router, |router, (method, path, operation, feature)| {
        let filter = MethodFilter::try_from(method).unwrap_or(MethodFilter::GET);
        let sentence = format!("{operation} is not built yet: this server does not have {feature} so far.");
        router.route(path, on(filter, async move || unimplemented(sentence)))
    })
}

fn unimplemented(sentence: String) -> ErrorAnswer {
    ServiceError::with(GrpcCode::Unimplemented, sentence).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const PAGE: &str = include_str!("../../../../docs/reference/compatibility.md");

    /// Returns the rows of a table of the page, as method, path and operation.
    fn listed(heading: &str) -> BTreeSet<(String, String, String)> {
        let part = PAGE.split("\n## ").find(|part| part.starts_with(heading)).expect("the page has this heading");
        let rows = part.lines().filter_map(|line| line.strip_prefix("| `"));
        let cells = |row: &str| {
            let (request, rest) = row.split_once("` | ")?;
            let (method, path) = request.split_once(' ')?;
            let operation = rest.split([' ', '|']).next()?;
            Some((method.to_owned(), path.to_owned(), operation.to_owned()))
        };
        rows.map(|row| cells(row).unwrap_or_else(|| panic!("{row} is a row"))).collect()
    }

    #[test]
    fn the_page_lists_every_call_and_no_others() {
        let owned = |method: &Method, path: &str, id: &str| (method.to_string(), path.to_owned(), id.to_owned());
        let routes = super::super::routes();
        let built = routes.table.iter().map(|route| owned(&route.method, route.path, route.id));
        let listed_built: BTreeSet<_> = listed("Calls").union(&listed("Additions")).cloned().collect();
        assert_eq!(listed_built, built.collect());
        let unbuilt = UNBUILT.iter().map(|(method, path, id, _)| owned(method, path, id));
        assert_eq!(listed("Not built yet"), unbuilt.collect());
    }
}
