//! Wallets and their ledger.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, optional, required};
use crate::scripts::ScriptServices;
use crate::value::{Key, Value};
use aether_services::wallet::{Amounts, LEDGER_LIST_MAX, LedgerEntry, WalletUpdate, WalletUpdated};

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type WalletAmounts = {[string]: number}
type WalletChange = { user_id: string, changeset: WalletAmounts, metadata: {[string]: any}? }
type WalletResult = { user_id: string, updated: WalletAmounts, previous: WalletAmounts }
type WalletLedgerItem = {
    id: string,
    user_id: string,
    changeset: WalletAmounts,
    metadata: {[string]: any},
    create_time: number,
    update_time: number,
}
";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("wallet_update", |used, args| Box::pin(update(used, args)))
        .about("Adds amounts to the wallet of a user. Fails without a change if an amount would become negative.")
        .parameters(&[
            required("userID", "string", "Owner of the wallet."),
            required("changeset", "WalletAmounts", "Whole numbers to add; negative ones are subtracted."),
            optional("metadata", "{[string]: any}", "Metadata of the ledger item."),
            optional("updateLedger", "boolean", "True to record the change in the ledger; default false."),
        ])
        .returns("(WalletAmounts, WalletAmounts)"),
    Function::service("wallets_update", |used, args| Box::pin(update_all(used, args)))
        .about("Changes several wallets, all or none.")
        .parameters(&[
            required("updates", "{WalletChange}", "Changes, in the order of the results."),
            optional("updateLedger", "boolean", "True to record the changes in the ledger; default false."),
        ])
        .returns("{WalletResult}"),
    Function::service("wallet_ledger_update", |used, args| Box::pin(annotate(used, args)))
        .about("Replaces the metadata of a ledger item.")
        .parameters(&[
            required("itemID", "string", "Id of the ledger item."),
            required("metadata", "{[string]: any}", "New metadata."),
        ])
        .returns("WalletLedgerItem"),
    Function::service("wallet_ledger_list", |used, args| Box::pin(list(used, args)))
        .about("Lists the ledger of a user, newest first. Returns the items and the cursor of the next page, or nil.")
        .parameters(&[
            required("userID", "string", "Owner of the wallet."),
            optional("limit", "number", "Items per page, 1 to 100; default 100."),
            optional("cursor", "string", "Cursor of the former page."),
        ])
        .returns("({WalletLedgerItem}, string?)"),
];

async fn update(used: ScriptServices, args: Arguments) -> Outcome {
    let changes = amounts(args.value(1)).ok_or_else(|| args.expected(1, "a table of whole numbers"))?;
    let metadata = args.optional_object_text(2)?.unwrap_or_default();
    let update = WalletUpdate { user: args.id(0)?, changes, metadata };
    let done = used.services.wallets.update(vec![update], args.boolean_or(3, false)?).await?;
    let none = || ScriptError::invalid("the wallet was not changed");
    let WalletUpdated { previous, updated, .. } = done.into_iter().next().ok_or_else(none)?;
    Ok(vec![amounts_value(&updated), amounts_value(&previous)])
}

async fn update_all(used: ScriptServices, args: Arguments) -> Outcome {
    let updates = changes(&args, 0)?;
    let done = used.services.wallets.update(updates, args.boolean_or(1, false)?).await?;
    Ok(vec![Value::list(done.iter().map(result))])
}

async fn annotate(used: ScriptServices, args: Arguments) -> Outcome {
    let metadata = args.optional_object_text(1)?.ok_or_else(|| args.expected(1, "a table"))?;
    let entry = used.services.wallets.annotate(args.id(0)?, &metadata).await?;
    Ok(vec![item(&entry)])
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let limit = args.limit(1, LEDGER_LIST_MAX)?;
    let cursor = args.optional_text(2)?.unwrap_or_default();
    let page = used.services.wallets.list_ledger(args.id(0)?, limit, cursor).await?;
    Ok(vec![Value::list(page.entries.iter().map(item)), Value::cursor(&page.cursor)])
}

/// Reads a list of wallet changes.
pub(super) fn changes(args: &Arguments, index: usize) -> Result<Vec<WalletUpdate>, ScriptError> {
    args.list(index)?.iter().map(|value| change(args, index, value)).collect()
}

/// Returns the result of a change.
pub(super) fn result(updated: &WalletUpdated) -> Value {
    Value::table([
        ("user_id", Value::from(updated.user.to_string())),
        ("updated", amounts_value(&updated.updated)),
        ("previous", amounts_value(&updated.previous)),
    ])
}

fn change(args: &Arguments, index: usize, value: &Value) -> Result<WalletUpdate, ScriptError> {
    let user = value.get("user_id").as_id();
    let (Some(user), Some(changes)) = (user, amounts(value.get("changeset"))) else {
        return Err(args.expected(index, "tables with user_id (UUID) and changeset (whole numbers)"));
    };
    let metadata = match value.get("metadata") {
        Value::Nil => String::new(),
        table => table.object_text().ok_or_else(|| args.expected(index, "metadata to be a table"))?,
    };
    Ok(WalletUpdate { user, changes, metadata })
}

fn amounts(value: &Value) -> Option<Amounts> {
    let Value::Map(map) = value else { return None };
    let amount = |(key, value): (&Key, &Value)| match key {
        Key::Text(name) => Some((String::from_utf8(name.clone()).ok()?, value.as_integer()?)),
        _ => None,
    };
    map.iter().map(amount).collect()
}

fn amounts_value(amounts: &Amounts) -> Value {
    Value::Map(amounts.iter().map(|(name, amount)| (Key::from(name.as_str()), Value::from(*amount))).collect())
}

fn item(entry: &LedgerEntry) -> Value {
    Value::table([
        ("id", Value::from(entry.id.to_string())),
        ("user_id", Value::from(entry.user.to_string())),
        ("changeset", amounts_value(&entry.changes)),
        ("metadata", Value::from_json_text(&entry.metadata)),
        ("create_time", Value::seconds(entry.created_at)),
        ("update_time", Value::seconds(entry.updated_at)),
    ])
}
