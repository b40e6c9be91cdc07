//! `aether seed`: adds sample players, friends, groups, a tournament and a bracket to try out. A second run adds nothing.

mod competitions;
mod friends;
mod groups;

use crate::clock::unix_seconds;
use crate::config::{Config, ConfigArguments};
use crate::data;
use crate::keys::KeyRing;
use crate::tokens::Tokens;
use aether_metrics::Registry;
use aether_services::account::{SignIn, SignInMethod, SignedIn, Update};
use aether_services::leaderboard::{Definition, RecordWrite, Score};
use aether_services::storage::{Condition, ObjectId, Permission, Write};
use aether_services::wallet::WalletUpdate;
use aether_services::{Caller, GrpcCode, ServiceError, Services, ServicesExtensions};
use indicatif::ProgressBar;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use uuid::Uuid;

/// Names of the sample players. Their device ids are made of them.
const PLAYERS: [&str; 10] =
    ["amber", "basalt", "cobalt", "dune", "ember", "fjord", "garnet", "harbor", "indigo", "juniper"];
/// Names and reset schedules of the leaderboards: that of the sandbox, and one that is reset each Monday.
const LEADERBOARDS: [(&str, &str); 2] = [("sandbox", ""), ("weekly", "0 0 * * 1")];
const COINS: i64 = 100;
/// Longest time until the database is closed.
const STORE_CLOSE_TIME_MAX: Duration = Duration::from_secs(10);

/// Flags of `aether seed`.
#[derive(clap::Args, Clone, Debug)]
pub struct SeedArguments {
    /// Configuration file and flags.
    #[command(flatten)]
    pub config: ConfigArguments,
}

/// Result of seeding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seeded {
    /// Number of new players.
    pub players: usize,
    /// Number of sample leaderboards.
    pub leaderboards: usize,
    /// Number of new groups.
    pub groups: usize,
    /// Number of new friendships.
    pub friends: usize,
}

impl SeedArguments {
    /// Adds the samples to the configured database.
    pub async fn run(&self) -> Result<String, String> {
        let config = self.config.load().map_err(|error| error.to_string())?;
        let seeded = seed_configured(&config).await?;
        Ok(format!(
            "{} of {} sample players added, {} friendships, {} groups, {} leaderboards, a tournament and a bracket. Sign in with a device id such as seed-device-{}.\n",
            seeded.players,
            PLAYERS.len(),
            seeded.friends,
            seeded.groups,
            seeded.leaderboards,
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
    let store = services.store.clone();
    drop(services);
    // Operations that were just answered may use the database for a moment.
    if !store.close_within(STORE_CLOSE_TIME_MAX).await {
        return Err("The database was not closed in time. It recovers when it is opened again.".to_owned());
    }
    seeded.map_err(|error| error.to_string())
}

/// Adds the sample players, their data, their groups, a tournament and a bracket. Calls `on_player` after each player.
pub async fn seed(services: &Services, on_player: &dyn Fn()) -> Result<Seeded, ServiceError> {
    for (leaderboard, schedule) in LEADERBOARDS {
        let definition = Definition { reset_schedule: schedule.to_owned(), ..Definition::new(leaderboard) };
        services.leaderboards.create(definition).await?;
    }
    let mut players = Vec::with_capacity(PLAYERS.len());
    for (index, name) in PLAYERS.into_iter().enumerate() {
        players.push(add_player(services, index as i64, name).await?);
        on_player();
    }
    competitions::add_tournament(services, &players).await?;
    competitions::add_bracket(services, &players).await?;
    Ok(Seeded {
        players: players.iter().filter(|player| player.created).count(),
        leaderboards: LEADERBOARDS.len(),
        friends: friends::add_friends(services, &players).await?,
        groups: groups::add_groups(services, &players).await?,
    })
}

/// Adds one player.
async fn add_player(services: &Services, index: i64, name: &'static str) -> Result<SignedIn, ServiceError> {
    let sign_in = SignIn {
        method: SignInMethod::Device(format!("seed-device-{name}")),
        username: Some(name.to_owned()),
        create: true,
        address: None,
    };
    let signed_in = match services.accounts.authenticate(sign_in).await {
        // The username is taken; the player gets a random one.
        Err(error) if error.code == GrpcCode::AlreadyExists => {
            let method = SignInMethod::Device(format!("seed-device-{name}"));
            let sign_in = SignIn { method, username: None, create: true, address: None };
            services.accounts.authenticate(sign_in).await?
        }
        outcome => outcome?,
    };
    if signed_in.created {
        add_player_data(services, signed_in.user, index, name).await?;
    }
    Ok(signed_in)
}

async fn add_player_data(services: &Services, user: Uuid, index: i64, name: &'static str) -> Result<(), ServiceError> {
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
    for (leaderboard, _) in LEADERBOARDS {
        let score = Score { score: 1_000 - 97 * index, subscore: index };
        let (username, operator, metadata) = (name.to_owned(), None, None);
        let record = RecordWrite { owner: user, username, score, operator, metadata };
        services.leaderboards.write(&Caller::Server, leaderboard, record).await?;
    }
    Ok(())
}
