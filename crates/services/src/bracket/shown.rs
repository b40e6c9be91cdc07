//! Messages of brackets.

use super::operation::{BracketDetail, ShownBracket, ShownEntrant, ShownMatch, ShownSide};
use super::{Bracket, Claim, Entrant, Outcome, Slot, Standing, State};
use crate::rfc3339;
use uuid::Uuid;

impl Bracket {
    /// Returns the form in answers, without entrants and matches.
    #[must_use]
    pub fn to_summary(&self) -> ShownBracket {
        shown(self)
    }

    /// Returns the form in answers, with entrants and matches.
    #[must_use]
    pub fn to_detail(&self) -> BracketDetail {
        detail(self)
    }
}

/// Returns the message of a bracket without its entrants and matches.
pub(super) fn shown(bracket: &Bracket) -> ShownBracket {
    let definition = &bracket.definition;
    let (seeding, leaderboard) = definition.seeding.write();
    ShownBracket {
        id: definition.id.clone(),
        title: definition.title.clone(),
        format: definition.rules.format.name().to_owned(),
        seeding: seeding.to_owned(),
        leaderboard_id: leaderboard.to_owned(),
        rounds: definition.rules.rounds,
        match_seconds: u32::try_from(definition.rules.match_seconds).unwrap_or(0),
        max_size: count(definition.max_size),
        size: count(bracket.size),
        metadata: definition.metadata.clone(),
        phase: bracket.phase.name().to_owned(),
        version: bracket.version,
        create_time: rfc3339(bracket.created_at_ms),
        start_time: bracket.started_at_ms.map(rfc3339).unwrap_or_default(),
        end_time: bracket.ended_at_ms.map(rfc3339).unwrap_or_default(),
        winner_id: id_text(bracket.winner().and_then(|winner| winner.user)),
    }
}

/// Returns the message of a bracket with its entrants and matches.
pub(super) fn detail(bracket: &Bracket) -> BracketDetail {
    let entrants = match &bracket.machine {
        None => bracket.entrants.iter().map(|entrant| shown_entrant(entrant, None)).collect(),
        Some(machine) => {
            let standing = |standing: Standing| Some((bracket.entrants.get(standing.seed)?, standing));
            let standings = machine.standings().into_iter().filter_map(standing);
            standings.map(|(entrant, standing)| shown_entrant(entrant, Some(standing))).collect()
        }
    };
    let games = bracket.machine.as_ref().map_or(0, |machine| machine.games().len());
    let matches = (0..games).filter_map(|number| shown_match(bracket, number)).collect();
    BracketDetail { bracket: Some(shown(bracket)), entrants, matches }
}

/// Returns the message of a match.
pub(super) fn shown_match(bracket: &Bracket, number: usize) -> Option<ShownMatch> {
    let game = bracket.machine.as_ref()?.games().get(number)?;
    let (state, deadline_ms) = match game.state {
        State::Waiting => ("waiting", 0),
        State::Ready { .. } if game.is_disputed() => ("disputed", 0),
        State::Ready { deadline_ms } => ("ready", deadline_ms),
        State::Decided { .. } => ("decided", 0),
        State::Skipped => ("skipped", 0),
    };
    let decided = match game.state {
        State::Decided { claim, reason } => Some((claim, reason)),
        _ => None,
    };
    let winner = match game.sides() {
        Some((Slot::Seed(seed), _)) => bracket.entrants.get(seed).and_then(|entrant| entrant.user),
        _ => None,
    };
    Some(ShownMatch {
        number: count(number),
        section: game.section.name().to_owned(),
        round: game.round,
        state: state.to_owned(),
        sides: game.slots.iter().zip(game.claims).map(|(slot, claim)| shown_side(bracket, *slot, claim)).collect(),
        outcome: decided.map(|(claim, _)| outcome_name(claim.outcome).to_owned()).unwrap_or_default(),
        reason: decided.map(|(_, reason)| reason.name().to_owned()).unwrap_or_default(),
        winner_id: id_text(winner),
        scores: decided.map(|(claim, _)| claim.scores.to_vec()).unwrap_or_default(),
        deadline: if deadline_ms > 0 { rfc3339(deadline_ms) } else { String::new() },
    })
}

fn shown_side(bracket: &Bracket, slot: Slot, claim: Option<Claim>) -> ShownSide {
    let seed = match slot {
        Slot::Seed(seed) => Some(seed),
        Slot::Pending | Slot::Bye => None,
    };
    let entrant = seed.and_then(|seed| bracket.entrants.get(seed));
    ShownSide {
        user_id: id_text(entrant.and_then(|entrant| entrant.user)),
        username: entrant.map(|entrant| entrant.username.clone()).unwrap_or_default(),
        seed: seed.map_or(0, |seed| count(seed + 1)),
        bye: slot == Slot::Bye,
        report: claim.map(|claim| outcome_name(claim.outcome).to_owned()).unwrap_or_default(),
        report_scores: claim.map(|claim| claim.scores.to_vec()).unwrap_or_default(),
    }
}

fn shown_entrant(entrant: &Entrant, standing: Option<Standing>) -> ShownEntrant {
    let shown =
        ShownEntrant { user_id: id_text(entrant.user), username: entrant.username.clone(), ..ShownEntrant::default() };
    let Some(standing) = standing else { return shown };
    ShownEntrant {
        seed: count(standing.seed + 1),
        rank: count(standing.rank),
        points: standing.points,
        buchholz: standing.buchholz,
        wins: standing.wins,
        losses: standing.losses,
        draws: standing.draws,
        withdrawn: standing.is_withdrawn,
        ..shown
    }
}

fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::First => "first",
        Outcome::Second => "second",
        Outcome::Draw => "draw",
        Outcome::BothLose => "both_lose",
    }
}

fn id_text(user: Option<Uuid>) -> String {
    user.map(|user| user.to_string()).unwrap_or_default()
}

/// Numbers of entrants and matches always fit.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
