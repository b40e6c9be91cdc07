//! Import of an exported document into an account.

use super::Update;
use crate::caller::Caller;
use crate::error::ServiceError;
use crate::multi_update::Changes;
use crate::services::Services;
use crate::storage::{self, ObjectId, Permission, Write};
use crate::wallet::{Amounts, WalletUpdate};
use serde::Deserialize;
use serde_json::value::RawValue;
use uuid::Uuid;

/// Maximum bytes of a document. It is in memory as a whole.
pub const IMPORT_BYTES_MAX: usize = 8 << 20;

/// Parts of an exported document that are imported.
#[derive(Deserialize)]
struct Document {
    account: ExportedAccount,
    #[serde(default)]
    storage_objects: Vec<ExportedObject>,
}

#[derive(Deserialize)]
struct ExportedAccount {
    id: Uuid,
    display_name: Option<String>,
    avatar_url: Option<String>,
    lang_tag: Option<String>,
    location: Option<String>,
    timezone: Option<String>,
    metadata: Option<Box<RawValue>>,
    #[serde(default)]
    wallet: Amounts,
}

#[derive(Deserialize)]
struct ExportedObject {
    collection: String,
    key: String,
    value: Box<RawValue>,
    permission_read: i64,
    permission_write: i64,
}

impl Services {
    /// Imports a document of [`Accounts::export`](super::Accounts::export) into an existing account: that of `user`, or the
    /// exported one. Sets its public data, the amounts of its wallet, and the exported objects; username, login identities
    /// and relations to others stay as they are. Returns the user.
    ///
    /// Public data and wallet change together; objects are written in batches after them.
    pub async fn import_account(&self, user: Option<Uuid>, document: &str) -> Result<Uuid, ServiceError> {
        if document.len() > IMPORT_BYTES_MAX {
            return Err(ServiceError::invalid(format!("A document must have at most {IMPORT_BYTES_MAX} bytes.")));
        }
        let parsed: Document = serde_json::from_str(document)
            .map_err(|error| ServiceError::invalid(format!("The text is no exported account: {error}.")))?;
        let user = user.unwrap_or(parsed.account.id);
        let objects = parsed.storage_objects.into_iter().map(|object| object.write(user));
        let objects = objects.collect::<Result<Vec<_>, _>>()?;
        let update = parsed.account.update();
        let present = self.wallets.amounts(user).await?;
        let changes = difference(&present, &parsed.account.wallet);
        let wallets = if changes.is_empty() { Vec::new() } else { vec![wallet_update(user, changes)] };
        let changes = Changes { accounts: vec![(user, update)], wallets, ledger: true, ..Changes::default() };
        self.multi_updates.apply(changes).await?;
        for batch in objects.chunks(storage::BATCH_MAX) {
            self.storage.write(&Caller::Server, batch.to_vec()).await?;
        }
        Ok(user)
    }
}

impl ExportedAccount {
    fn update(&self) -> Update {
        Update {
            username: None,
            display_name: self.display_name.clone(),
            avatar_url: self.avatar_url.clone(),
            language: self.lang_tag.clone(),
            location: self.location.clone(),
            timezone: self.timezone.clone(),
            metadata: self.metadata.as_ref().map(|json| json.get().to_owned()),
        }
    }
}

impl ExportedObject {
    fn write(self, user: Uuid) -> Result<Write, ServiceError> {
        let (read, write) =
            (Permission::from_number(self.permission_read)?, Permission::from_number(self.permission_write)?);
        let id = ObjectId::new(self.collection, self.key, user);
        Ok(Write::new(id, self.value.get()).permit(read, write))
    }
}

fn wallet_update(user: Uuid, changes: Amounts) -> WalletUpdate {
    WalletUpdate { user, changes, metadata: r#"{"imported":true}"#.to_owned() }
}

/// Returns the changes that lead from some amounts to others.
fn difference(present: &Amounts, wanted: &Amounts) -> Amounts {
    let names = present.keys().chain(wanted.keys());
    let amount = |amounts: &Amounts, name: &String| amounts.get(name).copied().unwrap_or(0);
    let changes = names.map(|name| (name.clone(), amount(wanted, name).saturating_sub(amount(present, name))));
    changes.filter(|(_, change)| *change != 0).collect()
}
