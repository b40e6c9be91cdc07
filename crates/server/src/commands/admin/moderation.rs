//! `aether admin report` and `aether admin mute`: decisions on reports, and mutes.

use super::{AdminCall, AnswerForm, encoded};
use serde_json::json;

/// Actions of `aether admin report`. A report is named by its id.
#[derive(clap::Subcommand, Clone, Debug)]
pub enum ReportAction {
    /// List reports, the oldest first
    List {
        /// Only reports of this state: open or resolved
        #[arg(long, default_value = "open", value_parser = ["open", "resolved"])]
        state: String,
        /// Only reports about this player, by id or username
        #[arg(long, default_value = "")]
        player: String,
        /// Number of reports, up to 100
        #[arg(long, default_value_t = 20)]
        limit: u32,
        /// Cursor of an earlier list
        #[arg(long, default_value = "")]
        cursor: String,
    },
    /// Show a report: who, about whom, state and decision
    Show {
        /// Id of the report
        report: String,
    },
    /// List the statements of a report with copies of the messages
    Statements {
        /// Id of the report
        report: String,
    },
    /// Show how often the reported player was reported, muted and banned
    History {
        /// Id of the report
        report: String,
    },
    /// Resolve a report; muted and banned act at once
    Resolve {
        /// Id of the report
        report: String,
        /// dismissed, warned, muted or banned
        #[arg(value_parser = ["dismissed", "warned", "muted", "banned"])]
        decision: String,
        /// Note for other moderators
        #[arg(long, default_value = "")]
        note: String,
        /// Reason that the player sees
        #[arg(long, default_value = "")]
        reason: String,
        /// Duration of a mute [default: without end]
        #[arg(long)]
        seconds: Option<u32>,
        /// Resolve all open reports about the player
        #[arg(long)]
        all: bool,
    },
}

/// Mute of `aether admin mute`.
#[derive(clap::Args, Clone, Debug)]
pub struct MuteArguments {
    /// Id or username of the player
    pub player: String,
    /// Duration [default: without end]
    #[arg(long)]
    pub seconds: Option<u32>,
    /// Reason that the player sees
    #[arg(long, default_value = "")]
    pub reason: String,
}

impl ReportAction {
    pub(super) fn call(&self) -> AdminCall {
        use AnswerForm::{Field, Record, Table};
        let path = |report: &str, action: &str| format!("/api/reports/{}{action}", encoded(report));
        match self {
            ReportAction::List { state, player, limit, cursor } => {
                let (player, cursor) = (encoded(player), encoded(cursor));
                let query = format!("state={state}&player={player}&limit={limit}&cursor={cursor}");
                AdminCall::get(format!("/api/reports?{query}"), Table("reports"))
            }
            ReportAction::Show { report } => AdminCall::get(path(report, ""), Field("report")),
            ReportAction::Statements { report } => AdminCall::get(path(report, ""), Table("statements")),
            ReportAction::History { report } => AdminCall::get(path(report, ""), Field("history")),
            ReportAction::Resolve { report, decision, note, reason, seconds, all } => {
                let body = json!({
                    "decision": decision, "note": note, "reason": reason, "seconds": seconds, "all": all
                });
                AdminCall::post(path(report, "/resolve"), body, Record)
            }
        }
    }
}

impl MuteArguments {
    pub(super) fn call(&self) -> AdminCall {
        let body = json!({ "seconds": self.seconds, "reason": self.reason });
        AdminCall::post(format!("/api/players/{}/mute", encoded(&self.player)), body, AnswerForm::Record)
    }
}

/// Ends the mute of a player.
pub(super) fn unmute(player: &str) -> AdminCall {
    AdminCall::post(format!("/api/players/{}/unmute", encoded(player)), json!({}), AnswerForm::Record)
}

/// Lists mutes that have not ended.
pub(super) fn mutes(limit: u32) -> AdminCall {
    AdminCall::get(format!("/api/mutes?limit={limit}"), AnswerForm::Table("mutes"))
}
