//! Random changes by several users, compared with a plain model: every answer, every role and every count.

use super::*;
use aether_services::account::{Accounts, Settings};
use aether_services::group::GroupUpdate;
use aether_services::session::Revocations;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};

const USERS: u8 = 6;
const MAX_COUNT: usize = 4;

#[derive(Clone, Debug)]
enum Step {
    Join(u8),
    Leave(u8),
    Add { by: Option<u8>, users: Vec<u8> },
    Change { by: Option<u8>, change: RoleChange, users: Vec<u8> },
    SetOpen { by: Option<u8>, open: bool },
    Delete { by: Option<u8> },
    Erase(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let by = || prop_oneof![9 => (0..USERS).prop_map(Some), 1 => Just(None)];
    let users = || prop::collection::vec(0..USERS, 1..3);
    let changes = prop::sample::select(vec![
        RoleChange::Kick,
        RoleChange::Ban,
        RoleChange::Promote,
        RoleChange::Promote,
        RoleChange::Demote,
    ]);
    let step = prop_oneof![
        60 => (0..USERS).prop_map(Step::Join),
        20 => (0..USERS).prop_map(Step::Leave),
        40 => (by(), users()).prop_map(|(by, users)| Step::Add { by, users }),
        120 => (by(), changes, users()).prop_map(|(by, change, users)| Step::Change { by, change, users }),
        15 => (by(), any::<bool>()).prop_map(|(by, open)| Step::SetOpen { by, open }),
        1 => by().prop_map(|by| Step::Delete { by }),
        2 => (0..USERS).prop_map(Step::Erase),
    ];
    prop::collection::vec(step, 1..80)
}

impl Step {
    /// Returns the call of the step.
    fn name(&self) -> &'static str {
        match self {
            Step::Join(_) => "join",
            Step::Leave(_) => "leave",
            Step::Add { .. } => "add",
            Step::Change { change: RoleChange::Kick, .. } => "kick",
            Step::Change { change: RoleChange::Ban, .. } => "ban",
            Step::Change { change: RoleChange::Promote, .. } => "promote",
            Step::Change { change: RoleChange::Demote, .. } => "demote",
            Step::SetOpen { .. } => "update",
            Step::Delete { .. } => "delete",
            Step::Erase(_) => "erase",
        }
    }
}

/// Answers that random steps have to reach, or the comparison shows little.
const REACHED: [(&str, Answer); 24] = [
    ("join", Ok(())),
    ("join", Err(GrpcCode::PermissionDenied)),
    ("join", Err(GrpcCode::FailedPrecondition)),
    ("leave", Ok(())),
    ("leave", Err(GrpcCode::FailedPrecondition)),
    ("add", Ok(())),
    ("add", Err(GrpcCode::PermissionDenied)),
    ("add", Err(GrpcCode::FailedPrecondition)),
    ("kick", Ok(())),
    ("kick", Err(GrpcCode::InvalidArgument)),
    ("kick", Err(GrpcCode::PermissionDenied)),
    ("kick", Err(GrpcCode::FailedPrecondition)),
    ("ban", Ok(())),
    ("ban", Err(GrpcCode::InvalidArgument)),
    ("ban", Err(GrpcCode::PermissionDenied)),
    ("promote", Ok(())),
    ("promote", Err(GrpcCode::PermissionDenied)),
    ("promote", Err(GrpcCode::FailedPrecondition)),
    ("demote", Ok(())),
    ("demote", Err(GrpcCode::PermissionDenied)),
    ("demote", Err(GrpcCode::FailedPrecondition)),
    ("update", Ok(())),
    ("delete", Ok(())),
    ("erase", Ok(())),
];

/// The group as a table of roles.
#[derive(Clone, Debug)]
struct Model {
    exists: bool,
    open: bool,
    roles: BTreeMap<u8, i64>,
    /// Users in the order in which they became members.
    members: Vec<u8>,
    erased: BTreeSet<u8>,
}

type Answer = Result<(), GrpcCode>;

impl Model {
    fn new() -> Model {
        let roles = BTreeMap::from([(0, SUPERADMIN)]);
        Model { exists: true, open: true, roles, members: vec![0], erased: BTreeSet::new() }
    }

    fn count(&self) -> usize {
        self.members.len()
    }

    /// Runs a step on a copy, and keeps it if nothing is rejected.
    fn run(&mut self, step: &Step) -> Answer {
        let mut next = self.clone();
        next.try_run(step)?;
        *self = next;
        Ok(())
    }

    fn try_run(&mut self, step: &Step) -> Answer {
        match step {
            Step::Join(user) => {
                self.check_known(&[*user], None)?;
                match self.roles.get(user).copied() {
                    Some(BANNED) => Err(GrpcCode::PermissionDenied),
                    Some(JOIN_REQUEST) | None if self.open => self.set(*user, Some(MEMBER)),
                    None => self.set(*user, Some(JOIN_REQUEST)),
                    Some(_) => Ok(()),
                }
            }
            Step::Leave(user) => {
                self.check_known(&[*user], None)?;
                match self.roles.get(user) {
                    None | Some(&BANNED) => Ok(()),
                    Some(_) => self.set(*user, None),
                }
            }
            Step::Add { by, users } => {
                self.check_known(users, *by)?;
                self.check_admin(*by)?;
                for user in users.iter().collect::<BTreeSet<_>>() {
                    match self.roles.get(user) {
                        Some(&BANNED) => return Err(GrpcCode::FailedPrecondition),
                        Some(0..=2) => {}
                        _ => self.set(*user, Some(MEMBER))?,
                    }
                }
                Ok(())
            }
            Step::Change { by, change, users } => {
                self.check_known(users, *by)?;
                // The rights of the one who changes are those before the call.
                let own = self.check_admin(*by)?;
                for user in users.iter().collect::<BTreeSet<_>>() {
                    self.change(own, *change, *user, *by == Some(*user))?;
                }
                Ok(())
            }
            Step::SetOpen { by, open } => {
                self.check_exists()?;
                self.check_admin(*by)?;
                self.open = *open;
                Ok(())
            }
            Step::Delete { by } => {
                self.check_exists()?;
                if by.is_some_and(|by| self.roles.get(&by) != Some(&SUPERADMIN)) {
                    return Err(GrpcCode::PermissionDenied);
                }
                self.exists = false;
                Ok(())
            }
            Step::Erase(user) => self.erase(*user),
        }
    }

    fn check_exists(&self) -> Answer {
        if self.exists { Ok(()) } else { Err(GrpcCode::NotFound) }
    }

    fn check_known(&self, users: &[u8], by: Option<u8>) -> Answer {
        let is_known = users.iter().chain(&by).all(|user| !self.erased.contains(user));
        if is_known { self.check_exists() } else { Err(GrpcCode::NotFound) }
    }

    /// Returns the role of an admin; that of a superadmin for the server.
    fn check_admin(&self, by: Option<u8>) -> Result<i64, GrpcCode> {
        let own = by.map_or(Some(SUPERADMIN), |by| self.roles.get(&by).copied());
        own.filter(|own| *own <= ADMIN).ok_or(GrpcCode::PermissionDenied)
    }

    fn change(&mut self, own: i64, change: RoleChange, user: u8, is_oneself: bool) -> Answer {
        let target = self.roles.get(&user).copied();
        let is_removal = matches!(change, RoleChange::Kick | RoleChange::Ban);
        if is_removal && is_oneself {
            return Err(GrpcCode::InvalidArgument);
        }
        if own == ADMIN && target.is_some_and(|target| target <= ADMIN) {
            return Err(GrpcCode::PermissionDenied);
        }
        let to = match change {
            RoleChange::Kick => None,
            RoleChange::Ban => Some(BANNED),
            _ if target.is_none_or(|target| target > MEMBER) => return Err(GrpcCode::FailedPrecondition),
            RoleChange::Promote => target.map(|target| (target - 1).max(SUPERADMIN)),
            RoleChange::Demote => target.map(|target| (target + 1).min(MEMBER)),
        };
        if to == target { Ok(()) } else { self.set(user, to) }
    }

    fn set(&mut self, user: u8, to: Option<i64>) -> Answer {
        let from = self.roles.get(&user).copied();
        let superadmins = self.roles.values().filter(|role| **role == SUPERADMIN).count();
        if from == Some(SUPERADMIN) && superadmins == 1 {
            return Err(GrpcCode::FailedPrecondition);
        }
        let is_member = |role: Option<i64>| role.is_some_and(|role| role <= MEMBER);
        if is_member(to) && !is_member(from) {
            if self.count() == MAX_COUNT {
                return Err(GrpcCode::FailedPrecondition);
            }
            self.members.push(user);
        } else if !is_member(to) {
            self.members.retain(|member| *member != user);
        }
        match to {
            Some(role) => self.roles.insert(user, role),
            None => self.roles.remove(&user),
        };
        Ok(())
    }

    /// The group stays with the longest-serving of the highest role as superadmin, or ends without members.
    fn erase(&mut self, user: u8) -> Answer {
        if !self.erased.insert(user) {
            return Err(GrpcCode::NotFound);
        }
        if !self.exists {
            return Ok(());
        }
        let was_member = self.roles.remove(&user).is_some_and(|role| role <= MEMBER);
        self.members.retain(|member| *member != user);
        if was_member && self.members.is_empty() {
            self.exists = false;
        } else if !self.roles.values().any(|role| *role == SUPERADMIN)
            && let Some(heir) = self.members.iter().min_by_key(|member| self.roles[member]).copied()
        {
            self.roles.insert(heir, SUPERADMIN);
        }
        Ok(())
    }
}

struct Run {
    fixture: Fixture,
    accounts: Accounts,
    /// First id of the users of this case.
    first: u128,
    group: Group,
}

impl Run {
    fn id(&self, user: u8) -> Uuid {
        Uuid::from_u128(self.first + u128::from(user))
    }

    async fn step(&self, step: &Step) -> Answer {
        // Members have joined at different times.
        self.fixture.clock.advance_ms(1);
        let (groups, group) = (&self.fixture.groups, self.group.id);
        let ids = |users: &[u8]| users.iter().map(|user| self.id(*user)).collect::<Vec<Uuid>>();
        let id = |by: &Option<u8>| by.map(|by| self.id(by));
        let outcome = match step {
            Step::Join(user) => groups.join(group, self.id(*user)).await,
            Step::Leave(user) => groups.leave(group, self.id(*user)).await,
            Step::Add { by, users } => groups.add(id(by), group, ids(users)).await,
            Step::Change { by, change, users } => groups.change_roles(id(by), group, *change, ids(users)).await,
            Step::SetOpen { by, open } => {
                let update = GroupUpdate { is_open: Some(*open), ..GroupUpdate::default() };
                groups.update(id(by), group, update).await
            }
            Step::Delete { by } => groups.delete(id(by), group).await,
            Step::Erase(user) => self.accounts.delete(self.id(*user)).await,
        };
        outcome.map_err(|error| error.code)
    }

    async fn check(&self, model: &Model, step: &Step) {
        let expected: Vec<(u128, i64)> = if model.exists {
            model.roles.iter().map(|(user, role)| (self.first + u128::from(*user), *role)).collect()
        } else {
            Vec::new()
        };
        assert_eq!(self.fixture.roles(&self.group).await, expected, "{}: {step:?}", self.fixture.name);
        let found = self.fixture.find(&self.group).await;
        let (count, open) = (model.count() as i64, model.open);
        let state = found.as_ref().map(|group| (group.edge_count, group.is_open));
        assert_eq!(state, model.exists.then_some((count, open)), "{}: {step:?}", self.fixture.name);
        let superadmins = model.roles.values().filter(|role| **role == SUPERADMIN).count();
        assert!(!model.exists || superadmins > 0, "a group has a superadmin");
    }
}

/// Returns the answers that were compared.
fn groups_agree_with_a_plain_model(database: TestDatabase, cases: u32) -> Vec<(&'static str, Answer)> {
    static CASE: AtomicU64 = AtomicU64::new(1);
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let mut fixture = Some(runtime.block_on(Fixture::over(database)));
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let seed = TestRng::from_seed(RngAlgorithm::ChaCha, &[13; 32]);
    let fixture = std::cell::RefCell::new(&mut fixture);
    let answers = std::cell::RefCell::new(Vec::new());
    let outcome = TestRunner::new_with_rng(config, seed).run(&steps(), |steps| {
        let mut slot = fixture.borrow_mut();
        let taken = slot.take().expect("a failed case is the last");
        let kept = runtime.block_on(async {
            let case = u128::from(CASE.fetch_add(1, Ordering::Relaxed));
            let first = case << 16;
            taken.users(first, USERS.into()).await;
            let new = NewGroup { max_count: Some(MAX_COUNT as u32), ..new(&format!("group {case}")) };
            let group = taken.create(Uuid::from_u128(first), new).await.expect("it is valid");
            let revocations = Arc::new(Revocations::default());
            let accounts = Accounts::new(taken.store.clone(), taken.clock.clone(), revocations, Settings::default());
            let run = Run { fixture: taken, accounts, first, group };
            let mut model = Model::new();
            for step in &steps {
                let answer = run.step(step).await;
                assert_eq!(answer, model.run(step), "{step:?} {model:?}");
                answers.borrow_mut().push((step.name(), answer));
                run.check(&model, step).await;
            }
            run.fixture
        });
        **slot = Some(kept);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
    answers.into_inner()
}

#[test]
fn groups_in_memory_agree_with_a_plain_model() {
    let answers = groups_agree_with_a_plain_model(memory(), 300);
    for reached in REACHED {
        assert!(answers.contains(&reached), "{reached:?} was not reached");
    }
}

#[test]
fn groups_in_postgres_agree_with_a_plain_model() {
    if let Some(database) = aether_testkit_store::postgres() {
        groups_agree_with_a_plain_model(database, 15);
    }
}
