//! Parties of players.

use super::table::{cursor_argument, non_empty, optional_boolean, optional_number};
use crate::arguments::Arguments;
use crate::function::{Function, Outcome, optional};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::party::PartyFilter;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type Party = { party_id: string, open: boolean, hidden: boolean, max_size: number, label: string }
";

pub(crate) const FUNCTIONS: &[Function] = &[Function::service("party_list", |used, args| Box::pin(list(used, args)))
    .about("Lists parties that are not hidden. Returns them with the cursor of the next page.")
    .parameters(&[
        optional("limit", "number", "Parties per page, up to 100; 10 by default."),
        optional("open", "boolean", "True for open parties, false for closed ones."),
        optional("query", "string", "Query over the label and the fields of parties, as in lists of matches."),
        optional("cursor", "string", "Cursor of the page."),
    ])
    .returns("({Party}, string?)")];

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let filter = PartyFilter {
        limit: optional_number(&args, 0, "a limit from 1")?,
        open: optional_boolean(&args, 1)?,
        query: args.optional_text(2)?.unwrap_or_default().to_owned(),
        cursor: cursor_argument(&args, 3)?,
    };
    let page = used.services.parties.list(&filter)?;
    let parties = page.parties.iter().map(|party| {
        Value::table([
            ("party_id", Value::from(party.party_id.as_str())),
            ("open", Value::from(party.open)),
            ("hidden", Value::from(party.hidden)),
            ("max_size", Value::from(party.max_size as f64)),
            ("label", Value::from(party.label.as_str())),
        ])
    });
    Ok(vec![Value::list(parties), non_empty(page.cursor)])
}
