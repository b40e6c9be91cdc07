//! Matches and the tournament of the lobby page: a private room of the game that the players want, and a daily cup.

use aether_server::services::leaderboard::{Definition, RankOrder};
use aether_server::services::matches::NewMatch;
use aether_server::services::matchmaker::{Candidate, MatchPlan, MatchedAnswer};
use aether_server::services::tournament::Terms;

/// String property of a ticket that names the game.
const GAME_PROPERTY: &str = "game";

/// Games that the matchmaker creates rooms of.
const GAMES: [&str; 3] = [aether_arena_server::NAME, aether_outpost_server::NAME, aether_sandbox_server::NAME];

/// Id of the tournament of the lobby page.
const CUP: &str = "reflex-cup";

/// Duration of a round, in seconds: a day.
const CUP_SECONDS: i64 = 24 * 60 * 60;

/// Returns the tournament of the lobby page: the shortest reaction time of the day, in milliseconds. The page measures it,
/// and nothing verifies it.
pub fn reflex_cup() -> Definition {
    let terms = Terms {
        title: "Reflex Cup".to_owned(),
        description: "The shortest reaction time of the day wins. A new round starts every day.".to_owned(),
        join_required: true,
        ..Terms::lasting(CUP_SECONDS)
    };
    let board = Definition {
        order: RankOrder::Ascending,
        reset_schedule: "0 0 * * *".to_owned(),
        metadata: r#"{"game":"reflex"}"#.to_owned(),
        ..Definition::new(CUP)
    };
    board.tournament(terms).open_to_clients()
}

/// Decides on a candidate of the matchmaker: if all players want the same game, they get a room of it that nobody else
/// finds. Other matches are those of the settings.
pub fn matched(candidate: &Candidate) -> MatchedAnswer {
    let mut wanted = candidate.tickets.iter().flat_map(|ticket| &ticket.users).map(|user| {
        let name = user.properties.strings.get(GAME_PROPERTY)?;
        GAMES.into_iter().find(|game| game == name)
    });
    let Some(Some(game)) = wanted.next() else { return MatchedAnswer::Default };
    if !wanted.all(|other| other == Some(game)) {
        return MatchedAnswer::Default;
    }
    let room = NewMatch { match_type: game.to_owned(), private: true, ..NewMatch::default() };
    MatchedAnswer::Accept(MatchPlan::Create(room))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aether_server::services::matchmaker::{CandidateId, CandidateTicket, MatchedUser, Properties, UserPresence};
    use std::sync::Arc;
    use uuid::Uuid;

    /// Returns a candidate with a player for each game.
    fn candidate(games: &[Option<&str>]) -> Candidate {
        let user = |game: &Option<&str>| {
            let strings = game.map(|game| (GAME_PROPERTY.to_owned(), game.to_owned())).into_iter().collect();
            let properties = Arc::new(Properties { strings, ..Properties::default() });
            let presence = UserPresence { user_id: Uuid::nil(), session_id: Uuid::nil(), username: String::new() };
            MatchedUser { presence, party_id: None, properties }
        };
        let users = games.iter().map(user).collect();
        Candidate {
            id: CandidateId(1),
            backfill: None,
            tickets: vec![CandidateTicket { ticket: Uuid::nil(), created_ms: 0, users }],
        }
    }

    #[test]
    fn players_of_one_game_get_a_private_room_of_it() {
        let MatchedAnswer::Accept(MatchPlan::Create(room)) = matched(&candidate(&[Some("arena"), Some("arena")]))
        else {
            panic!("no room is created");
        };
        assert_eq!((room.match_type.as_str(), room.private), ("arena", true));
    }

    #[test]
    fn other_matches_are_those_of_the_settings() {
        for games in
            [&[None, None][..], &[Some("arena"), None], &[Some("arena"), Some("outpost")], &[Some("chess")], &[]]
        {
            assert_eq!(matched(&candidate(games)), MatchedAnswer::Default, "{games:?}");
        }
    }
}
