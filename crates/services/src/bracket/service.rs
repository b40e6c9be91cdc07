//! The service: stores brackets and the actions on them.

use super::cache::Cache;
use super::definition::{Bracket, Definition, Entrant, Phase, Seeding};
use super::game::{Claim, Outcome, Slot};
use super::limits::{ENTRANTS_MAX, ENTRANTS_MIN, EXPIRED_PER_TICK_MAX};
use super::machine::{Action, Change, Machine};
use super::rows::{self, NOT_FOUND};
use super::{events, list};
use crate::account::for_presence;
use crate::clock::WallClock;
use crate::error::{GrpcCode, ServiceError};
use crate::leaderboard::{Leaderboards, ListLimits, RecordQuery};
use crate::notification::Notifications;
use crate::router::Router;
use aether_store::{Store, StoreError, Transaction, values};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use uuid::Uuid;

const NOT_IN_REGISTRATION: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The bracket has started already.");
const NOT_RUNNING: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The bracket is not running: it has not started, or it has ended.");
const FULL: ServiceError = ServiceError::new(GrpcCode::FailedPrecondition, "The bracket is full.");
const NOT_ENTERED: ServiceError =
    ServiceError::new(GrpcCode::PermissionDenied, "Only entrants of the bracket may do this.");
const NOT_REPORTED: ServiceError =
    ServiceError::new(GrpcCode::FailedPrecondition, "The opponent has not reported a result yet. Report it yourself.");
const WINNER_NOT_IN_GAME: ServiceError =
    ServiceError::new(GrpcCode::InvalidArgument, "The winner must be one of the two entrants of the match.");
const USER_NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "User account not found.");

/// Result of a match, by the users in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This user won.
    Winner(Uuid),
    /// Draw.
    Draw,
    /// Both lost. Only the operator can decide so.
    BothLose,
}

/// Dependencies of the service.
pub(crate) struct Parts {
    pub store: Store,
    pub clock: Arc<dyn WallClock>,
    pub boards: Arc<Leaderboards>,
    pub notifications: Arc<Notifications>,
    pub router: Arc<Router>,
}

/// All brackets.
pub struct Brackets {
    pub(super) parts: Parts,
    cache: Mutex<Cache>,
}

impl Brackets {
    /// Creates the service.
    pub(crate) fn new(parts: Parts) -> Brackets {
        Brackets { parts, cache: Mutex::default() }
    }

    /// Creates a bracket that users can join. Fails with [`GrpcCode::AlreadyExists`] if the id is taken.
    pub async fn create(self: &Arc<Self>, definition: Definition) -> Result<Arc<Bracket>, ServiceError> {
        definition.check()?;
        let bracket = Bracket {
            definition,
            phase: Phase::Registration,
            entrants: Vec::new(),
            size: 0,
            machine: None,
            // Random, so that a bracket is not mistaken for a deleted one of the same id. JSON numbers hold it exactly.
            version: i64::from(Uuid::new_v4().as_fields().0) << 16,
            created_at_ms: self.parts.clock.now_ms(),
            started_at_ms: None,
            ended_at_ms: None,
            actions: 0,
        };
        let bracket = Arc::new(bracket);
        let new = Arc::clone(&bracket);
        let inserted = self.parts.store.write(move |transaction| rows::insert(transaction, &new));
        match inserted.await.map_err(|error: StoreError| ServiceError::from(error))? {
            true => Ok(bracket),
            false => {
                let why = format!("Bracket \"{}\" already exists. Choose another id.", bracket.definition.id);
                Err(ServiceError::with(GrpcCode::AlreadyExists, why))
            }
        }
    }

    /// Deletes a bracket with all its matches, in any phase. Returns true if it existed.
    pub async fn delete(&self, id: &str) -> Result<bool, ServiceError> {
        let id = id.to_owned();
        let deleted = self.parts.store.write(move |transaction| {
            Ok::<_, StoreError>(transaction.execute("DELETE FROM brackets WHERE id = ?1", values![&id])? > 0)
        });
        Ok(deleted.await?)
    }

    /// Returns a bracket with its entrants and matches.
    pub async fn find(self: &Arc<Self>, id: &str) -> Result<Arc<Bracket>, ServiceError> {
        let (this, id) = (Arc::clone(self), id.to_owned());
        let found = self.parts.store.snapshot(move |transaction| {
            let bracket = this.load(transaction, &id, false)?;
            this.cache().put(&bracket);
            Ok(bracket)
        });
        found.await
    }

    /// Lists brackets without entrants and matches, the newest first.
    pub async fn list(&self, query: &list::BracketQuery) -> Result<list::BracketList, ServiceError> {
        list::list(&self.parts.store, query).await
    }

    /// Adds a user to a bracket that has not started. The rating is for the seeding. A user who is in it already stays as is.
    pub async fn join(self: &Arc<Self>, id: &str, user: Uuid, rating: i64) -> Result<Arc<Bracket>, ServiceError> {
        self.change(id, move |transaction, bracket, now_ms| {
            if bracket.seed_of(user).is_some() {
                return Ok(Vec::new());
            }
            if bracket.phase != Phase::Registration {
                return Err(NOT_IN_REGISTRATION);
            }
            if bracket.size >= bracket.definition.max_size {
                return Err(FULL);
            }
            // The account cannot be erased until the commit.
            let select = format!("SELECT username FROM users WHERE id = ?1{}", for_presence(transaction.dialect()));
            let username = transaction.row(&select, values![user], |row| row.get::<String>(0))?;
            let username = username.ok_or(USER_NOT_FOUND)?;
            transaction.execute(
                "INSERT INTO bracket_entrants (bracket, user_id, username, rating, joined_at) \
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                values![&bracket.definition.id, user, &username, rating, now_ms],
            )?;
            bracket.entrants.push(Entrant { user: Some(user), username, rating, joined_at_ms: now_ms });
            bracket.entrants.sort_by_key(|entrant| (entrant.joined_at_ms, entrant.user));
            bracket.size += 1;
            Ok(Vec::new())
        })
        .await
    }

    /// Removes a user from a bracket that has not started. Withdraws the user from a running one: all further matches are lost.
    pub async fn leave(self: &Arc<Self>, id: &str, user: Uuid) -> Result<Arc<Bracket>, ServiceError> {
        self.change(id, move |transaction, bracket, now_ms| {
            let seed = bracket.seed_of(user).ok_or(NOT_ENTERED)?;
            if bracket.phase != Phase::Registration {
                return act(transaction, bracket, &Action::Withdraw { seed }, now_ms);
            }
            transaction.execute(
                "DELETE FROM bracket_entrants WHERE bracket = ?1 AND user_id = ?2",
                values![&bracket.definition.id, user],
            )?;
            bracket.entrants.remove(seed);
            bracket.size -= 1;
            Ok(Vec::new())
        })
        .await
    }

    /// Starts a bracket: seeds the entrants, and opens the first matches.
    pub async fn start(self: &Arc<Self>, id: &str) -> Result<Arc<Bracket>, ServiceError> {
        let ranks = self.ranks(&*self.find(id).await?).await?;
        self.change(id, move |transaction, bracket, now_ms| {
            if bracket.phase != Phase::Registration {
                return Err(NOT_IN_REGISTRATION);
            }
            if bracket.size < ENTRANTS_MIN {
                let why = format!("A bracket needs {ENTRANTS_MIN} entrants to start.");
                return Err(ServiceError::with(GrpcCode::FailedPrecondition, why));
            }
            match &bracket.definition.seeding {
                Seeding::Order => {}
                Seeding::Rating => bracket.entrants.sort_by_key(|entrant| std::cmp::Reverse(entrant.rating)),
                Seeding::Leaderboard(_) => bracket
                    .entrants
                    .sort_by_key(|entrant| entrant.user.and_then(|user| ranks.get(&user).copied()).unwrap_or(u64::MAX)),
            }
            for (seed, entrant) in bracket.entrants.iter().enumerate() {
                transaction.execute(
                    "UPDATE bracket_entrants SET seed = ?3 WHERE bracket = ?1 AND user_id = ?2",
                    values![&bracket.definition.id, entrant.user, seed as i64],
                )?;
            }
            let (machine, changes) = Machine::start(bracket.definition.rules, bracket.size, now_ms);
            bracket.machine = Some(machine);
            (bracket.phase, bracket.started_at_ms) = (Phase::Running, Some(now_ms));
            Ok(changes)
        })
        .await
    }

    /// Reports the result of a match, as one of its entrants. `scores` are those of its first and second side.
    pub async fn report(
        self: &Arc<Self>,
        id: &str,
        user: Uuid,
        game: usize,
        verdict: Verdict,
        scores: [u32; 2],
    ) -> Result<Arc<Bracket>, ServiceError> {
        self.change(id, move |transaction, bracket, now_ms| {
            let seed = bracket.seed_of(user).ok_or(NOT_ENTERED)?;
            let claim = Claim { outcome: outcome(bracket, game, verdict)?, scores };
            act(transaction, bracket, &Action::Report { game, seed, claim }, now_ms)
        })
        .await
    }

    /// Confirms the report of the opponent.
    pub async fn confirm(self: &Arc<Self>, id: &str, user: Uuid, game: usize) -> Result<Arc<Bracket>, ServiceError> {
        self.change(id, move |transaction, bracket, now_ms| {
            let seed = bracket.seed_of(user).ok_or(NOT_ENTERED)?;
            let found = running(bracket)?.games().get(game).ok_or(NOT_FOUND_GAME)?;
            let side = found.side_of(seed).ok_or(NOT_ENTERED)?;
            let claim = found.claims[1 - side].ok_or(NOT_REPORTED)?;
            act(transaction, bracket, &Action::Report { game, seed, claim }, now_ms)
        })
        .await
    }

    /// Decides a match, disputed or not.
    pub async fn resolve(
        self: &Arc<Self>,
        id: &str,
        game: usize,
        verdict: Verdict,
        scores: [u32; 2],
    ) -> Result<Arc<Bracket>, ServiceError> {
        self.change(id, move |transaction, bracket, now_ms| {
            let claim = Claim { outcome: outcome(bracket, game, verdict)?, scores };
            act(transaction, bracket, &Action::Resolve { game, claim }, now_ms)
        })
        .await
    }

    /// Decides matches whose deadline is over, and withdraws deleted accounts. Call it every second.
    pub async fn tick(self: &Arc<Self>) -> Result<(), ServiceError> {
        let now_ms = self.parts.clock.now_ms();
        let due = self.parts.store.read(move |transaction| {
            transaction.rows(
                "SELECT id FROM brackets WHERE deadline <= ?1 ORDER BY deadline LIMIT ?2",
                values![now_ms, EXPIRED_PER_TICK_MAX],
                |row| row.get::<String>(0),
            )
        });
        let due = due.await.map_err(|error: StoreError| ServiceError::from(error))?;
        let mut outcome = Ok(());
        for id in due {
            // One that fails does not hold up the others.
            outcome = match self.change(&id, expire).await {
                Err(error) if error.code != GrpcCode::NotFound => Err(error),
                _ => outcome,
            };
        }
        outcome
    }

    /// Removes a user from all brackets, in the transaction that erases the account. Running ones go on without the user: the
    /// next [`Brackets::tick`] withdraws the entrant.
    pub fn forget_within(&self, transaction: &mut Transaction<'_>, user: Uuid) -> Result<(), StoreError> {
        let entered = transaction.rows(
            "DELETE FROM bracket_entrants WHERE user_id = ?1 RETURNING bracket",
            values![user],
            |row| row.get::<String>(0),
        )?;
        for id in entered {
            transaction.execute(
                "UPDATE brackets SET version = version + 1, \
                 size = CASE WHEN phase = 'registration' THEN size - 1 ELSE size END, \
                 deadline = CASE WHEN phase = 'running' THEN 0 ELSE deadline END WHERE id = ?1",
                values![&id],
            )?;
        }
        Ok(())
    }

    /// Runs a change in a transaction. Then it notifies the entrants.
    async fn change(
        self: &Arc<Self>,
        id: &str,
        change: impl Fn(&mut Transaction<'_>, &mut Bracket, i64) -> Result<Vec<Change>, ServiceError> + Send + 'static,
    ) -> Result<Arc<Bracket>, ServiceError> {
        let (this, id) = (Arc::clone(self), id.to_owned());
        let changed = self.parts.store.write(move |transaction| {
            let now_ms = this.parts.clock.now_ms();
            let before = this.load(transaction, &id, true)?;
            let mut bracket = Bracket::clone(&before);
            let changes = change(transaction, &mut bracket, now_ms)?;
            if bracket == *before && changes.is_empty() {
                return Ok(before);
            }
            bracket.version += 1;
            rows::update(transaction, &bracket)?;
            let new = events::notifications(&bracket, &changes);
            let stored = new.iter().map(|new| this.parts.notifications.store(transaction, new, now_ms));
            let stored = stored.collect::<Result<Vec<_>, StoreError>>()?;
            let (this, bracket) = (Arc::clone(&this), Arc::new(bracket));
            let committed = Arc::clone(&bracket);
            transaction.after_commit(move || {
                this.cache().put(&committed);
                this.parts.notifications.deliver(stored);
                let update = events::update(&committed, &changes);
                for user in committed.entrants.iter().filter_map(|entrant| entrant.user) {
                    this.parts.router.send_to_user(user, update.clone());
                }
            });
            Ok(bracket)
        });
        changed.await
    }

    /// Reads a bracket. With `is_locked`, nobody else changes it until the commit.
    fn load(&self, transaction: &mut Transaction<'_>, id: &str, is_locked: bool) -> Result<Arc<Bracket>, ServiceError> {
        let lock = if is_locked { transaction.for_update() } else { "" };
        let head = transaction.row(&rows::select(lock), values![id], rows::read_head)?.ok_or(NOT_FOUND)?;
        if let Some(cached) = self.cache().find(id, head.version) {
            return Ok(cached);
        }
        rows::complete(transaction, head).map(Arc::new)
    }

    /// Returns the ranks of the entrants in the leaderboard of the seeding.
    async fn ranks(&self, bracket: &Bracket) -> Result<HashMap<Uuid, u64>, ServiceError> {
        let Seeding::Leaderboard(board_id) = &bracket.definition.seeding else { return Ok(HashMap::new()) };
        let missing = || {
            let why = format!("Leaderboard \"{board_id}\" of the seeding was not found. Create it first.");
            ServiceError::with(GrpcCode::NotFound, why)
        };
        let boards = &self.parts.boards;
        let board = boards.any_board(board_id).ok_or_else(missing)?;
        let now = self.parts.clock.now_seconds();
        let current = board.deadlines(now).map_or_else(|| board.expiry(now), |deadlines| deadlines.expiry);
        let users: Vec<Uuid> = bracket.entrants.iter().filter_map(|entrant| entrant.user).collect();
        if users.is_empty() {
            return Ok(HashMap::new());
        }
        let limits = ListLimits { default: 1, max: ENTRANTS_MAX };
        let list = boards.page(&board, current, &users, &RecordQuery::default(), limits).await?;
        Ok(list.owner_records.into_iter().map(|record| (record.owner, record.rank)).collect())
    }

    fn cache(&self) -> std::sync::MutexGuard<'_, Cache> {
        // A panic cannot leave it inconsistent: an entry is complete.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const NOT_FOUND_GAME: ServiceError = ServiceError::new(GrpcCode::NotFound, "The bracket has no match of this number.");

fn running(bracket: &Bracket) -> Result<&Machine, ServiceError> {
    bracket.machine.as_ref().filter(|_| bracket.phase == Phase::Running).ok_or(NOT_RUNNING)
}

/// Applies an action, and stores it if it changes anything.
fn act(
    transaction: &mut Transaction<'_>,
    bracket: &mut Bracket,
    action: &Action,
    now_ms: i64,
) -> Result<Vec<Change>, ServiceError> {
    let mut machine = running(bracket)?.clone();
    let changes = machine.apply(action, now_ms)?;
    if bracket.machine.as_ref() == Some(&machine) {
        return Ok(changes);
    }
    rows::insert_action(transaction, bracket, action, now_ms)?;
    bracket.actions += 1;
    if machine.is_finished() {
        (bracket.phase, bracket.ended_at_ms) = (Phase::Finished, Some(now_ms));
    }
    bracket.machine = Some(machine);
    Ok(changes)
}

/// Withdraws deleted accounts, and decides matches whose deadline is over.
fn expire(transaction: &mut Transaction<'_>, bracket: &mut Bracket, now_ms: i64) -> Result<Vec<Change>, ServiceError> {
    let is_gone = |seed: &usize| bracket.entrants[*seed].user.is_none();
    let gone: Vec<usize> = (0..bracket.entrants.len()).filter(is_gone).collect();
    let withdrawals = gone.into_iter().map(|seed| Action::Withdraw { seed });
    let mut changes = Vec::new();
    for action in withdrawals.chain([Action::Expire]) {
        if bracket.phase == Phase::Running {
            changes.extend(act(transaction, bracket, &action, now_ms)?);
        }
    }
    // The deadline in the row is updated even if nothing else is.
    rows::update(transaction, bracket)?;
    Ok(changes)
}

/// Returns the result of a match by its sides.
fn outcome(bracket: &Bracket, game: usize, verdict: Verdict) -> Result<Outcome, ServiceError> {
    let winner = match verdict {
        Verdict::Draw => return Ok(Outcome::Draw),
        Verdict::BothLose => return Ok(Outcome::BothLose),
        Verdict::Winner(user) => user,
    };
    let found = running(bracket)?.games().get(game).ok_or(NOT_FOUND_GAME)?;
    let seed = bracket.seed_of(winner).ok_or(WINNER_NOT_IN_GAME)?;
    match found.slots {
        [Slot::Seed(one), _] if one == seed => Ok(Outcome::First),
        [_, Slot::Seed(other)] if other == seed => Ok(Outcome::Second),
        _ => Err(WINNER_NOT_IN_GAME),
    }
}
