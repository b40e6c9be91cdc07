//! Keys of the usernames of an older database.

use crate::error::StoreError;
use crate::transaction::Transaction;
use crate::value::SqlValue;
use crate::values;
use aether_names::NameKeys;
use std::fmt::Write as _;
use uuid::Uuid;

/// Migration that adds the keys.
pub(super) const MIGRATION: i64 = 6;

/// Users that are read and written at once: enough that round trips do not matter, within the parameters of a statement.
const BATCH: usize = 500;

/// Stores the keys of all usernames, also of those that look alike.
pub(super) fn fill(transaction: &mut Transaction<'_>) -> Result<(), StoreError> {
    let mut last = Uuid::nil();
    loop {
        let select = "SELECT id, username FROM users WHERE id > ?1 ORDER BY id LIMIT ?2";
        let users = transaction
            .rows(select, values![last, BATCH as i64], |row| Ok((row.get::<Uuid>(0)?, row.get::<String>(1)?)))?;
        let Some((newest, _)) = users.last() else { return Ok(()) };
        last = *newest;
        store(transaction, &users)?;
    }
}

fn store(transaction: &mut Transaction<'_>, users: &[(Uuid, String)]) -> Result<(), StoreError> {
    let keyed: Vec<(Uuid, NameKeys)> = users.iter().map(|(id, name)| (*id, NameKeys::of(name))).collect();
    let mut parameters: Vec<SqlValue<'_>> = Vec::with_capacity(3 * keyed.len());
    let (mut skeletons, mut folded, mut ids) = (String::new(), String::new(), String::new());
    for (id, keys) in &keyed {
        let [a, b, c] = [1, 2, 3].map(|offset| parameters.len() + offset);
        let _ = write!(skeletons, " WHEN ?{a} THEN ?{b}");
        let _ = write!(folded, " WHEN ?{a} THEN ?{c}");
        let _ = write!(ids, "{}?{a}", if ids.is_empty() { "" } else { ", " });
        parameters.extend_from_slice(values![id, &keys.skeleton, &keys.folded]);
    }
    let update = format!(
        "UPDATE users SET username_skeleton = CASE id{skeletons} END, username_folded = CASE id{folded} END
         WHERE id IN ({ids})"
    );
    transaction.execute(&update, &parameters).map(|_| ())
}
