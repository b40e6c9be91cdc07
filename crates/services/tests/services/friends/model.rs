//! Relations of three users against a model of sets.

use super::{World, ids};
use aether_services::GrpcCode;
use aether_services::friend::FriendState;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::collections::BTreeSet;

#[derive(Clone, Copy, Debug)]
enum Step {
    Add(usize, usize),
    Delete(usize, usize),
    Block(usize, usize),
}

/// Friendships as unordered pairs, invites and blocks as ordered ones.
#[derive(Default)]
struct Model {
    friends: BTreeSet<(usize, usize)>,
    invites: BTreeSet<(usize, usize)>,
    blocks: BTreeSet<(usize, usize)>,
    /// Codes of notifications by user.
    codes: [Vec<i32>; 3],
}

fn pair(a: usize, b: usize) -> (usize, usize) {
    (a.min(b), a.max(b))
}

impl Model {
    /// Runs a step. Returns false if it is refused.
    fn run(&mut self, step: Step) -> bool {
        match step {
            Step::Add(a, b) if self.blocks.contains(&(a, b)) => return false,
            Step::Add(a, b) if self.blocks.contains(&(b, a)) || self.friends.contains(&pair(a, b)) => {}
            Step::Add(a, b) => {
                if self.invites.remove(&(b, a)) {
                    self.friends.insert(pair(a, b));
                    self.codes[b].push(-3);
                } else if self.invites.insert((a, b)) {
                    self.codes[b].push(-2);
                }
            }
            Step::Delete(a, b) => {
                if !self.blocks.remove(&(a, b)) {
                    self.invites.retain(|invite| pair(invite.0, invite.1) != pair(a, b));
                    if self.friends.remove(&pair(a, b)) {
                        self.codes[b].push(-9);
                    }
                }
            }
            Step::Block(a, b) => {
                self.invites.retain(|invite| pair(invite.0, invite.1) != pair(a, b));
                self.friends.remove(&pair(a, b));
                self.blocks.insert((a, b));
            }
        }
        true
    }

    fn state(&self, a: usize, b: usize) -> Option<FriendState> {
        if self.blocks.contains(&(a, b)) {
            Some(FriendState::Blocked)
        } else if self.friends.contains(&pair(a, b)) {
            Some(FriendState::Friend)
        } else if self.invites.contains(&(a, b)) {
            Some(FriendState::InviteSent)
        } else {
            self.invites.contains(&(b, a)).then_some(FriendState::InviteReceived)
        }
    }
}

#[test]
fn relations_are_those_of_the_model() {
    let two = || (0..3_usize, 1..3_usize).prop_map(|(a, by)| (a, (a + by) % 3));
    let step = prop_oneof![
        4 => two().prop_map(|(a, b)| Step::Add(a, b)),
        2 => two().prop_map(|(a, b)| Step::Delete(a, b)),
        1 => two().prop_map(|(a, b)| Step::Block(a, b)),
    ];
    let runtime = tokio::runtime::Runtime::new().expect("a runtime starts");
    for world in runtime.block_on(World::all()) {
        let cases = if world.fixture.name == "memory" { 96 } else { 8 };
        let mut runner = TestRunner::new(Config::with_cases(cases));
        let ran = runner.run(&prop::collection::vec(step.clone(), 1..40), |steps| {
            runtime.block_on(async {
                let (users, mut model) = (world.users::<3>().await, Model::default());
                for step in steps {
                    let outcome = match step {
                        Step::Add(a, b) => world.friends.add(users[a], ids(&[users[b]]), "").await,
                        Step::Delete(a, b) => world.friends.delete(users[a], ids(&[users[b]])).await,
                        Step::Block(a, b) => world.friends.block(users[a], ids(&[users[b]])).await,
                    };
                    let code = outcome.err().map(|error| error.code);
                    prop_assert_eq!(code, (!model.run(step)).then_some(GrpcCode::FailedPrecondition), "{:?}", step);
                    for a in 0..3 {
                        let edges = world.edges(users[a]).await;
                        prop_assert_eq!(world.edge_count(users[a]).await, edges.len() as i64);
                        for b in (0..3).filter(|b| *b != a) {
                            prop_assert_eq!(edges.get(&users[b]).copied(), model.state(a, b), "{:?}", step);
                        }
                    }
                }
                for (user, codes) in users.into_iter().zip(&model.codes) {
                    prop_assert_eq!(&world.codes(user).await, codes);
                }
                Ok(())
            })
        });
        ran.expect("relations and the model agree");
    }
}
