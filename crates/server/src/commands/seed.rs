//! `aether seed`: sample players and what they have, to look around in. Doing it again adds nothing.

use crate::clock::unix_seconds;
use crate::config::{Config, ConfigArguments};
use crate::data;
use crate::keys::KeyRing;
use crate::tokens::Tokens;
use aether_metrics::Registry;
use aether_services::account::{SignIn, SignInMethod, Update};
use aether_services::leaderboard::{Definition, RecordWrite, Score};
use aether_services::storage::{Condition, ObjectId, Permission, Write};
use aether_services::wallet::WalletUpdate;
use aether_services::{Caller, GrpcCode, ServiceError, Services, ServicesExtensions};
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::sync::Arc;
use uuid::Uuid;

/// The names of the sample players; their devices are called after them.
const PLAYERS: [&str; 10] =
    ["amber", "basalt", "cobalt", "dune", "ember", "fjord", "garnet", "harbor", "indigo", "juniper"];
/// A board for each built-in game, and one that begins anew each Monday.
const BOARDS: [(&str, &str); 2] = [("sandbox", ""), ("weekly", "0 0 * * 1")];
const COINS: i64 = 100;

/// The flags of `aether seed`.
#[derive(clap::Args, Clone, Debug)]
pub struct SeedArguments {
    /// How to configure.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// What was made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seeded {
    /// Players that were not there before.
    pub players: usize,
    /// Boards that are there now.
    pub boards: usize,
}

impl SeedArguments {
    /// Fills the database that is configured.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let seeded = seed_configured(&config).await?;
        Ok(format!(
            "{} new players of {}, {} leaderboards. Sign in as one by its device id, such as seed-device-{}.\n",
            seeded.players,
            PLAYERS.len(),
            seeded.boards,
            PLAYERS[0]
        ))
    }
}

async fn seed_configured(config: &Config) -> Result<Seeded, String> {
    let keys = KeyRing::open(&config.data_dir, unix_seconds()).map_err(|error| error.to_string())?;
    let tokens = Arc::new(Tokens::new(keys, &config.tokens.audience));
    let opened = data::open(config, ServicesExtensions::default(), &tokens, &Registry::new()).await;
    let services = opened.map_err(|error| error.to_string())?;
    let progress = ProgressBar::new(PLAYERS.len() as u64);
    let seeded = seed(&services, &|| progress.inc(1)).await;
    progress.finish_and_clear();
    seeded.map_err(|refusal| refusal.to_string())
}

/// Makes the sample players and what they have. `made` is called after each player.
pub async fn seed(services: &Services, made: &dyn Fn()) -> Result<Seeded, ServiceError> {
    for (board, schedule) in BOARDS {
        let definition = Definition { reset_schedule: schedule.to_owned(), ..Definition::new(board) };
        services.leaderboards.create(definition).await?;
    }
    let mut seeded = Seeded { players: 0, boards: BOARDS.len() };
    for (index, name) in PLAYERS.into_iter().enumerate() {
        if player(services, index as i64, name).await? {
            seeded.players += 1;
        }
        made();
    }
    Ok(seeded)
}

/// Makes one player; tells whether it is new.
async fn player(services: &Services, index: i64, name: &'static str) -> Result<bool, ServiceError> {
    let sign_in = SignIn {
        method: SignInMethod::Device(format!("seed-device-{name}")),
        username: Some(name.to_owned()),
        create: true,
        address: None,
    };
    let signed_in = match services.accounts.authenticate(sign_in).await {
        // Someone else has the name; the player gets a random one.
        Err(refusal) if refusal.code == GrpcCode::AlreadyExists => {
            let method = SignInMethod::Device(format!("seed-device-{name}"));
            let sign_in = SignIn { method, username: None, create: true, address: None };
            services.accounts.authenticate(sign_in).await?
        }
        outcome => outcome?,
    };
    if signed_in.created {
        belongings(services, signed_in.user, index, name).await?;
    }
    Ok(signed_in.created)
}

async fn belongings(services: &Services, user: Uuid, index: i64, name: &'static str) -> Result<(), ServiceError> {
    let display_name = Some(name.to_uppercase());
    services.accounts.update(user, Update { display_name, ..Update::default() }).await?;
    let coins = BTreeMap::from([("coins".to_owned(), COINS * (index + 1))]);
    let gift = WalletUpdate { user, changes: coins, metadata: "{\"reason\":\"seed\"}".to_owned() };
    services.wallets.update(vec![gift], true).await?;
    let save = Write {
        id: ObjectId { collection: "saves".to_owned(), owner: user, key: "progress".to_owned() },
        value: format!("{{\"level\":{},\"colour\":{}}}", index + 1, index * 25),
        condition: Condition::Always,
        read: Permission::Everyone,
        write: Permission::Owner,
    };
    services.storage.write(&Caller::Server, vec![save]).await?;
    services.profiles.active(user).await?;
    for (board, _) in BOARDS {
        let score = Score { score: 1_000 - 97 * index, subscore: index };
        let (username, operator, metadata) = (name.to_owned(), None, None);
        let record = RecordWrite { owner: user, username, score, operator, metadata };
        services.leaderboards.write(&Caller::Server, board, record).await?;
    }
    Ok(())
}
