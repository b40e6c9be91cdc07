//! Compares parties with a plain model under random calls.

use super::*;
use aether_services::party::PartyError;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const USERS: u128 = 6;
const PARTIES: &[&str] = &["a", "b", "c"];

#[derive(Clone, Debug)]
enum Call {
    Create(usize, u128, bool, usize),
    Join(usize, u128),
    Leave(usize, u128),
    Accept(usize, u128, u128),
    Remove(usize, u128, u128),
    Promote(usize, u128, u128),
    Update(usize, u128, bool),
    Close(usize, u128),
    EndSession(u128),
}

fn calls() -> impl Strategy<Value = Vec<Call>> {
    let (party, user) = (0..PARTIES.len(), 1..=USERS);
    let call = prop_oneof![
        2 => (party.clone(), user.clone(), any::<bool>(), 1..4usize).prop_map(|(p, u, open, size)| Call::Create(p, u, open, size)),
        6 => (party.clone(), user.clone()).prop_map(|(p, u)| Call::Join(p, u)),
        2 => (party.clone(), user.clone()).prop_map(|(p, u)| Call::Leave(p, u)),
        4 => (party.clone(), user.clone(), user.clone()).prop_map(|(p, u, t)| Call::Accept(p, u, t)),
        2 => (party.clone(), user.clone(), user.clone()).prop_map(|(p, u, t)| Call::Remove(p, u, t)),
        2 => (party.clone(), user.clone(), user.clone()).prop_map(|(p, u, t)| Call::Promote(p, u, t)),
        1 => (party.clone(), user.clone(), any::<bool>()).prop_map(|(p, u, open)| Call::Update(p, u, open)),
        1 => (party, user.clone()).prop_map(|(p, u)| Call::Close(p, u)),
        1 => user.prop_map(Call::EndSession),
    ];
    prop::collection::vec(call, 1..80)
}

/// A party of the model: numbers of its users, the oldest first.
#[derive(Clone, Debug, Default)]
struct Plain {
    open: bool,
    max_size: usize,
    leader: u128,
    members: Vec<u128>,
    requests: Vec<u128>,
}

#[derive(Default)]
struct Model {
    parties: BTreeMap<&'static str, Plain>,
}

impl Model {
    /// Applies a call and returns true if it succeeds.
    fn apply(&mut self, call: &Call) -> bool {
        match *call {
            Call::Create(party, user, open, max_size) => {
                let plain = Plain { open, max_size, leader: user, members: vec![user], requests: Vec::new() };
                let is_new = !self.parties.contains_key(PARTIES[party]);
                self.parties.entry(PARTIES[party]).or_insert(plain);
                is_new
            }
            Call::Join(party, user) => self.party(party).is_some_and(|plain| plain.join(user)),
            Call::Leave(party, user) => self.take_out(PARTIES[party], user),
            Call::Accept(party, user, target) => self.led(party, user).is_some_and(|plain| plain.accept(target)),
            Call::Remove(party, user, target) => {
                self.led(party, user).is_some() && user != target && self.take_out(PARTIES[party], target)
            }
            Call::Promote(party, user, target) => self.led(party, user).is_some_and(|plain| {
                let is_member = plain.members.contains(&target);
                plain.leader = if is_member { target } else { plain.leader };
                is_member
            }),
            Call::Update(party, user, open) => self.led(party, user).map(|plain| plain.open = open).is_some(),
            Call::Close(party, user) => {
                let is_led = self.led(party, user).is_some();
                is_led && self.parties.remove(PARTIES[party]).is_some()
            }
            Call::EndSession(user) => {
                PARTIES.iter().for_each(|party| {
                    self.take_out(party, user);
                });
                true
            }
        }
    }

    fn party(&mut self, party: usize) -> Option<&mut Plain> {
        self.parties.get_mut(PARTIES[party])
    }

    fn led(&mut self, party: usize, user: u128) -> Option<&mut Plain> {
        self.party(party).filter(|plain| plain.leader == user)
    }

    fn take_out(&mut self, party: &'static str, user: u128) -> bool {
        let Some(plain) = self.parties.get_mut(party) else { return false };
        let before = plain.members.len() + plain.requests.len();
        plain.members.retain(|member| *member != user);
        plain.requests.retain(|request| *request != user);
        let is_changed = plain.members.len() + plain.requests.len() < before;
        match plain.members.first() {
            Some(oldest) if plain.leader == user => plain.leader = *oldest,
            Some(_) => {}
            None => drop(self.parties.remove(party)),
        }
        is_changed
    }
}

impl Plain {
    fn join(&mut self, user: u128) -> bool {
        if self.members.contains(&user) {
            return true;
        }
        let is_full = self.members.len() >= self.max_size;
        let cannot_ask = self.requests.contains(&user) || self.requests.len() >= self.max_size;
        if is_full || !self.open && cannot_ask {
            return false;
        }
        self.requests.retain(|request| *request != user);
        if self.open {
            self.members.push(user)
        } else {
            self.requests.push(user)
        }
        true
    }

    fn accept(&mut self, user: u128) -> bool {
        if self.members.len() >= self.max_size || !self.requests.contains(&user) {
            return false;
        }
        self.requests.retain(|request| *request != user);
        self.members.push(user);
        true
    }
}

fn apply(parties: &mut Parties, call: &Call) -> Result<Outcome, PartyError> {
    match *call {
        Call::Create(party, user, open, max_size) => {
            parties.create(new_party(PARTIES[party], open, max_size), presence(user), 0)
        }
        Call::Join(party, user) => parties.join(PARTIES[party], presence(user)),
        Call::Leave(party, user) => parties.leave(PARTIES[party], session(user)),
        Call::Accept(party, user, target) => parties.accept(PARTIES[party], session(user), &presence(target)),
        Call::Remove(party, user, target) => parties.remove(PARTIES[party], session(user), &presence(target)),
        Call::Promote(party, user, target) => parties.promote(PARTIES[party], session(user), &presence(target)),
        Call::Update(party, user, open) => {
            parties.update(PARTIES[party], session(user), update(String::new(), open, false))
        }
        Call::Close(party, user) => parties.close(PARTIES[party], session(user)),
        Call::EndSession(user) => Ok(parties.end_session(session(user))),
    }
}

/// Members of every party as the presence events of one observer add up: what clients see.
#[derive(Default)]
struct Seen {
    members: BTreeMap<String, BTreeSet<Uuid>>,
}

impl Seen {
    fn apply(&mut self, outcome: &Outcome) {
        let reply = outcome.reply.iter();
        for event in reply.chain(outcome.deliveries.iter().map(|delivery| &delivery.event)) {
            match event {
                PartyEvent::State(state) => {
                    let users = state.presences.iter().map(|presence| presence.user_id).collect();
                    self.members.insert(state.info.party_id.clone(), users);
                }
                PartyEvent::Presence { party_id, joins, leaves } => {
                    let members = self.members.entry(party_id.clone()).or_default();
                    members.extend(joins.iter().map(|presence| presence.user_id));
                    members.retain(|user| leaves.iter().all(|presence| presence.user_id != *user));
                }
                _ => {}
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_calls_do_what_the_model_does(calls in calls()) {
        let mut parties = Parties::new();
        let mut model = Model::default();
        let mut seen = Seen::default();
        for call in &calls {
            let result = apply(&mut parties, call);
            prop_assert_eq!(result.is_ok(), model.apply(call), "{:?}: {:?}", call, result);
            if let Ok(outcome) = &result {
                seen.apply(outcome);
            }
            prop_assert_eq!(parties.len(), model.parties.len());
            for (party_id, plain) in &model.parties {
                // One leader, nobody twice, sizes bounded.
                prop_assert!(plain.members.contains(&plain.leader));
                prop_assert!(plain.members.len() <= plain.max_size && plain.requests.len() <= plain.max_size);
                // Only the leader may list, and the list is that of the model.
                for user in 1..=USERS {
                    let listed = parties.join_requests(party_id, session(user));
                    prop_assert_eq!(listed.is_ok(), user == plain.leader);
                    if let Ok(Outcome { reply: Some(PartyEvent::JoinRequests { presences, .. }), .. }) = listed {
                        let asked: Vec<u128> = presences.iter().map(|one| one.user_id.as_u128()).collect();
                        prop_assert_eq!(&asked, &plain.requests);
                    }
                }
                // Data of the leader reaches all other members, in their order.
                let data = parties.send_data(party_id, session(plain.leader), 1, Vec::new()).unwrap();
                let others: Vec<u128> = plain.members.iter().copied().filter(|user| *user != plain.leader).collect();
                let sessions: Vec<Uuid> = others.iter().map(|user| session(*user)).collect();
                prop_assert_eq!(data.deliveries.first().map(|delivery| delivery.to.clone()).unwrap_or_default(), sessions);
                // Clients that follow the events know the members.
                let users: BTreeSet<Uuid> = plain.members.iter().map(|user| Uuid::from_u128(*user)).collect();
                prop_assert_eq!(&seen.members[*party_id], &users);
            }
        }
    }
}
