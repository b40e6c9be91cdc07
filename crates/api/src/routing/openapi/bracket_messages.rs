//! Descriptors of the messages of brackets.

use super::messages::{field, joined, json, message, own_message, repeated, text};
use aether_messages::prost_types::DescriptorProto;
use aether_messages::prost_types::field_descriptor_proto::Type;

pub(super) fn brackets() -> Vec<DescriptorProto> {
    let (number, whole) = (|name| field(name, Type::Uint32, ""), |name| field(name, Type::Int32, ""));
    let flag = |name| field(name, Type::Bool, "");
    let numbers = |name| repeated(number(name));
    let result = || own_message("result", "MatchResult");
    let version = field("version", Type::Int64, "");
    let names = [text("id"), text("title"), text("format"), text("seeding"), text("leaderboard_id")];
    let counts = [number("rounds"), number("match_seconds"), number("max_size"), number("size"), json("metadata")];
    let times = [text("create_time"), text("start_time"), text("end_time"), text("winner_id")];
    let bracket = joined("ShownBracket", names.clone(), counts);
    let rest = [text("phase"), version].into_iter().chain(times);
    let bracket = DescriptorProto { field: bracket.field.into_iter().chain(rest).collect(), ..bracket };
    let created = [whole("rounds"), whole("match_seconds"), whole("max_size"), json("metadata")];
    let entrant = [text("user_id"), text("username"), number("seed"), number("rank"), number("points")];
    let tally = [number("buchholz"), number("wins"), number("losses"), number("draws"), flag("withdrawn")];
    let sides = repeated(own_message("sides", "ShownSide"));
    let game = [number("number"), text("section"), number("round"), text("state"), sides];
    let outcome = [text("outcome"), text("reason"), text("winner_id"), numbers("scores"), text("deadline")];
    let side =
        [text("user_id"), text("username"), number("seed"), flag("bye"), text("report"), numbers("report_scores")];
    vec![
        bracket,
        joined("ShownEntrant", entrant, tally),
        joined("ShownMatch", game, outcome),
        message("ShownSide", side),
        message(
            "BracketDetail",
            [
                own_message("bracket", "ShownBracket"),
                repeated(own_message("entrants", "ShownEntrant")),
                repeated(own_message("matches", "ShownMatch")),
            ],
        ),
        message("BracketPage", [repeated(own_message("brackets", "ShownBracket")), text("cursor")]),
        message("ListBracketsRequest", [text("phase"), whole("limit"), text("cursor")]),
        message("BracketRequest", [text("id")]),
        joined("CreateBracketRequest", names, created),
        message("MatchResult", [text("winner_id"), flag("draw"), flag("both_lose"), numbers("scores")]),
        message("BracketMatchRequest", [text("id"), whole("number")]),
        message("BracketMatchResultRequest", [text("id"), whole("number"), result()]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::messages::tests::assert_agrees;
    use aether_services::bracket::operation::{
        BracketDetail, BracketMatchRequest, BracketMatchResultRequest, BracketPage, BracketRequest,
        CreateBracketRequest, ListBracketsRequest, MatchResult, ShownBracket, ShownEntrant, ShownMatch, ShownSide,
    };

    #[test]
    fn definitions_of_brackets_agree_with_the_messages() {
        let text = || "text".to_owned();
        assert_agrees(&ShownBracket::default());
        assert_agrees(&ShownEntrant::default());
        assert_agrees(&ShownMatch::default());
        assert_agrees(&ShownSide::default());
        assert_agrees(&BracketDetail { bracket: Some(ShownBracket::default()), ..BracketDetail::default() });
        assert_agrees(&BracketPage::default());
        assert_agrees(&ListBracketsRequest { phase: text(), limit: Some(1), cursor: text() });
        assert_agrees(&BracketRequest { id: text() });
        assert_agrees(&CreateBracketRequest {
            id: text(),
            title: text(),
            format: text(),
            seeding: text(),
            leaderboard_id: text(),
            rounds: Some(1),
            match_seconds: Some(1),
            max_size: Some(1),
            metadata: Some("{}".to_owned()),
        });
        let result = MatchResult { winner_id: text(), ..MatchResult::default() };
        assert_agrees(&result);
        assert_agrees(&BracketMatchRequest { id: text(), number: Some(1) });
        assert_agrees(&BracketMatchResultRequest { id: text(), number: Some(1), result: Some(result) });
    }
}
