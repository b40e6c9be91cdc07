//! Messages of reports and mutes.

use super::{field, message, own_message, repeated, text};
use aether_messages::prost_types::DescriptorProto;
use aether_messages::prost_types::field_descriptor_proto::Type;

/// Returns the messages.
pub(super) fn messages() -> Vec<DescriptorProto> {
    let mut messages = reports();
    messages.extend(mutes());
    messages
}

fn reports() -> Vec<DescriptorProto> {
    let number = |name| field(name, Type::Int32, "");
    let flag = |name| field(name, Type::Bool, "");
    let context = [text("channel_id"), repeated(text("message_ids")), text("match_id")];
    let [channel, ids, of_match] = context;
    vec![
        message("ReportPlayerRequest", [text("user_id"), text("category"), text("text"), channel, ids, of_match]),
        message("FiledReport", [text("id"), flag("added")]),
        message("ListReportsRequest", [text("state"), text("player"), number("limit"), text("cursor")]),
        message("ReportRequest", [text("report")]),
        shown_report(),
        message("ReportList", [repeated(own_message("reports", "ShownReport")), text("cursor")]),
        message("ShownReportedMessage", [text("id"), text("sender"), text("text"), text("create_time")]),
        message(
            "ShownStatement",
            [
                text("category"),
                text("text"),
                text("channel_id"),
                repeated(own_message("messages", "ShownReportedMessage")),
                text("match_id"),
                text("create_time"),
            ],
        ),
        message(
            "PlayerHistory",
            [number("open"), number("resolved"), number("dismissed"), number("mutes"), number("bans")],
        ),
        message(
            "ReportDetail",
            [
                own_message("report", "ShownReport"),
                repeated(own_message("statements", "ShownStatement")),
                own_message("history", "PlayerHistory"),
            ],
        ),
        message("ReportDecision", [text("decision"), text("note"), text("reason"), number("seconds"), flag("all")]),
        message("ResolveReportRequest", [text("report"), own_message("decision", "ReportDecision")]),
        message("ResolvedReports", [number("resolved"), text("decision")]),
    ]
}

fn shown_report() -> DescriptorProto {
    message(
        "ShownReport",
        [
            text("id"),
            text("state"),
            text("player"),
            text("username"),
            text("reporter"),
            text("reporter_username"),
            text("category"),
            text("text"),
            field("statements", Type::Int32, ""),
            text("decision"),
            text("note"),
            text("resolver"),
            text("create_time"),
            text("update_time"),
            text("resolve_time"),
        ],
    )
}

fn mutes() -> Vec<DescriptorProto> {
    let number = |name| field(name, Type::Int32, "");
    vec![
        message("MuteFields", [number("seconds"), text("reason")]),
        message("MutePlayerRequest", [text("player"), own_message("mute", "MuteFields")]),
        message(
            "ShownMute",
            [
                text("player"),
                text("username"),
                field("muted", Type::Bool, ""),
                text("reason"),
                text("muted_by"),
                text("create_time"),
                text("end_time"),
            ],
        ),
        message("ListMutesRequest", [number("limit"), text("cursor")]),
        message("MuteList", [repeated(own_message("mutes", "ShownMute")), text("cursor")]),
    ]
}

#[cfg(test)]
mod tests {
    use super::super::tests::assert_agrees;
    use aether_services::admin::moderation::{
        ListMutesRequest, ListReportsRequest, MuteFields, MuteList, MutePlayerRequest, PlayerHistory, ReportDecision,
        ReportDetail, ReportList, ReportRequest, ResolveReportRequest, ResolvedReports, ShownMute, ShownReport,
        ShownReportedMessage, ShownStatement,
    };
    use aether_services::moderation::operation::{FiledReport, ReportPlayerRequest};

    #[test]
    fn definitions_of_moderation_agree_with_the_messages() {
        let text = || "text".to_owned();
        assert_agrees(&ReportPlayerRequest {
            user_id: text(),
            category: text(),
            text: text(),
            channel_id: text(),
            message_ids: vec![text()],
            match_id: text(),
        });
        assert_agrees(&FiledReport::default());
        assert_agrees(&ListReportsRequest { state: text(), player: text(), limit: Some(1), cursor: text() });
        assert_agrees(&ReportRequest { report: text() });
        assert_agrees(&ShownReport::default());
        assert_agrees(&ReportList::default());
        assert_agrees(&ShownReportedMessage::default());
        assert_agrees(&ShownStatement::default());
        assert_agrees(&PlayerHistory::default());
        assert_agrees(&ReportDetail::default());
        let decision = ReportDecision { decision: text(), note: text(), reason: text(), seconds: Some(1), all: true };
        assert_agrees(&decision);
        assert_agrees(&ResolveReportRequest { report: text(), decision: Some(decision) });
        assert_agrees(&ResolvedReports::default());
        let mute = MuteFields { seconds: Some(1), reason: text() };
        assert_agrees(&mute);
        assert_agrees(&MutePlayerRequest { player: text(), mute: Some(mute) });
        assert_agrees(&ShownMute::default());
        assert_agrees(&ListMutesRequest { limit: Some(1), cursor: text() });
        assert_agrees(&MuteList::default());
    }
}
