//! Handlers of the operations of moderation for operators and moderators.

use super::moderation::{
    GetReport, ListMutes, ListMutesRequest, ListReports, ListReportsRequest, MuteList, MutePlayer, MutePlayerRequest,
    PlayerHistory, ReportDetail, ReportList, ReportRequest, ResolveReport, ResolveReportRequest, ResolvedReports,
    ShownMute, ShownReport, ShownReportedMessage, ShownStatement, UnmutePlayer,
};
use super::operation::{BanPlayer, PlayerRequest};
use super::serve::{ban, find, limit, time};
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use crate::error::{GrpcCode, ServiceError};
use crate::moderation::{
    self, ALREADY_RESOLVED, Decision, History, Mute, NOTE_BYTES_MAX, NewMute, Report, ReportFilter, Resolution,
    Statement,
};
use crate::session::tokens::Role;
use aether_messages::Operation;
use uuid::Uuid;

/// A moderator acts on players; only an admin acts on other roles.
const ABOVE_MODERATORS: ServiceError = ServiceError::new(
    GrpcCode::PermissionDenied,
    "A moderator cannot mute or ban an account with a role. Ask an admin.",
);

pub(crate) fn operations(operations: Operations) -> Operations {
    operations
        .with::<ListReports>()
        .with::<GetReport>()
        .with::<ResolveReport>()
        .with::<MutePlayer>()
        .with::<UnmutePlayer>()
        .with::<ListMutes>()
}

impl Serve for ListReports {
    const ACCESS: Access = Access::Moderate;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: ListReportsRequest) -> Result<ReportList, ServiceError> {
        let is_resolved = match request.state.as_str() {
            "" | "open" => false,
            "resolved" => true,
            _ => return Err(ServiceError::invalid("`state` must be `open` or `resolved`.")),
        };
        let target = match request.player.as_str() {
            "" => None,
            player => Some(find(call, player).await?.user.id),
        };
        let filter = ReportFilter { is_resolved, target, limit: limit(request.limit)?, cursor: request.cursor };
        let page = call.services.moderation.list_reports(filter).await?;
        Ok(ReportList { reports: page.reports.iter().map(shown_report).collect(), cursor: page.cursor })
    }
}

impl Serve for GetReport {
    const ACCESS: Access = Access::Moderate;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: ReportRequest) -> Result<ReportDetail, ServiceError> {
        let (report, history) = call.services.moderation.find_report(report_id(&request.report)?).await?;
        Ok(ReportDetail {
            report: Some(shown_report(&report)),
            statements: report.statements.into_iter().map(shown_statement).collect(),
            history: Some(shown_history(history)),
        })
    }
}

impl Serve for ResolveReport {
    const ACCESS: Access = Access::Moderate;

    async fn serve(call: &Call<'_>, request: ResolveReportRequest) -> Result<ResolvedReports, ServiceError> {
        let id = report_id(&request.report)?;
        let given = request.decision.unwrap_or_default();
        let decision = Decision::from_name(&given.decision)
            .ok_or_else(|| ServiceError::invalid("`decision` must be `dismissed`, `warned`, `muted` or `banned`."))?;
        if given.reason.len() > NOTE_BYTES_MAX {
            return Err(ServiceError::invalid(format!("`reason` must have at most {NOTE_BYTES_MAX} bytes.")));
        }
        let (report, _) = call.services.moderation.find_report(id).await?;
        if !report.is_open {
            return Err(ALREADY_RESOLVED);
        }
        let target = report.target;
        if matches!(decision, Decision::Muted | Decision::Banned) {
            check_target(call, call.services.accounts.account(target).await?.role)?;
        }
        let resolver = actor(call);
        let mute = (decision == Decision::Muted).then(|| NewMute {
            user: target,
            seconds: given.seconds.map(i64::from),
            reason: given.reason.clone(),
            muted_by: resolver,
        });
        let resolution = Resolution { report: id, decision, note: given.note, all: given.all, resolver, mute };
        resolution.check()?;
        let audit = &call.services.audit;
        audit.write(call.caller(), target, ResolveReport::NAME, decision.name()).await?;
        if decision == Decision::Banned {
            audit.write(call.caller(), target, BanPlayer::NAME, "").await?;
            ban(call, target).await?;
        }
        let resolved = call.services.moderation.resolve(target, resolution).await?;
        if let Some(mute) = &resolved.mute {
            moderation::tell_muted(call.services, mute).await;
        }
        if decision == Decision::Warned {
            moderation::tell_warned(call.services, target, &given.reason).await;
        }
        Ok(ResolvedReports { resolved: count(resolved.reports as i64), decision: decision.name().to_owned() })
    }
}

impl Serve for MutePlayer {
    const ACCESS: Access = Access::Moderate;

    async fn serve(call: &Call<'_>, request: MutePlayerRequest) -> Result<ShownMute, ServiceError> {
        let fields = request.mute.unwrap_or_default();
        let account = find(call, &request.player).await?;
        check_target(call, account.role)?;
        let detail = fields.seconds.map_or_else(|| "without end".to_owned(), |seconds| format!("{seconds} s"));
        call.services.audit.write(call.caller(), account.user.id, MutePlayer::NAME, &detail).await?;
        let new = NewMute {
            user: account.user.id,
            seconds: fields.seconds.map(i64::from),
            reason: fields.reason,
            muted_by: actor(call),
        };
        let mute = call.services.moderation.mute(new).await?;
        moderation::tell_muted(call.services, &mute).await;
        Ok(shown_mute(mute))
    }
}

impl Serve for UnmutePlayer {
    const ACCESS: Access = Access::Moderate;

    async fn serve(call: &Call<'_>, request: PlayerRequest) -> Result<ShownMute, ServiceError> {
        let user = find(call, &request.player).await?.user;
        call.services.audit.write(call.caller(), user.id, UnmutePlayer::NAME, "").await?;
        call.services.moderation.unmute(user.id).await?;
        Ok(ShownMute { player: user.id.to_string(), username: user.username, ..ShownMute::default() })
    }
}

impl Serve for ListMutes {
    const ACCESS: Access = Access::Moderate;
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(call: &Call<'_>, request: ListMutesRequest) -> Result<MuteList, ServiceError> {
        let page = call.services.moderation.list_mutes(limit(request.limit)?, &request.cursor).await?;
        Ok(MuteList { mutes: page.mutes.into_iter().map(shown_mute).collect(), cursor: page.cursor })
    }
}

/// Rejects a moderator who acts on an account with a role.
fn check_target(call: &Call<'_>, target: Role) -> Result<(), ServiceError> {
    let is_moderator = call.caller().user().is_some_and(|identity| identity.role != Role::Admin);
    match is_moderator && target != Role::Player {
        true => Err(ABOVE_MODERATORS),
        false => Ok(()),
    }
}

/// Returns the account that acts; the nil id for the operator.
fn actor(call: &Call<'_>) -> Uuid {
    call.caller().user().map_or(Uuid::nil(), |identity| identity.user)
}

fn report_id(text: &str) -> Result<Uuid, ServiceError> {
    text.parse().map_err(|_| ServiceError::invalid("The id of a report must be a UUID."))
}

fn shown_report(report: &Report) -> ShownReport {
    let first = report.statements.first().cloned().unwrap_or_default();
    ShownReport {
        id: report.id.to_string(),
        state: if report.is_open { "open" } else { "resolved" }.to_owned(),
        player: report.target.to_string(),
        username: report.target_username.clone(),
        reporter: report.reporter.to_string(),
        reporter_username: report.reporter_username.clone(),
        category: first.category,
        text: first.text,
        statements: count(report.statements.len() as i64),
        decision: report.decision.map_or("", Decision::name).to_owned(),
        note: report.note.clone(),
        resolver: shown_id(report.resolver),
        create_time: time(Some(report.created_at)),
        update_time: time(Some(report.updated_at)),
        resolve_time: time(report.resolved_at),
    }
}

fn shown_statement(statement: Statement) -> ShownStatement {
    let messages = statement.messages.into_iter().map(|message| ShownReportedMessage {
        id: message.id,
        sender: shown_id(message.sender),
        text: message.text,
        create_time: time(Some(message.created_at).filter(|at| *at > 0)),
    });
    ShownStatement {
        category: statement.category,
        text: statement.text,
        channel_id: statement.channel,
        messages: messages.collect(),
        match_id: statement.match_id,
        create_time: time(Some(statement.created_at)),
    }
}

fn shown_history(history: History) -> PlayerHistory {
    PlayerHistory {
        open: count(history.open),
        resolved: count(history.resolved),
        dismissed: count(history.dismissed),
        mutes: count(history.mutes),
        bans: count(history.bans),
    }
}

fn shown_mute(mute: Mute) -> ShownMute {
    ShownMute {
        player: mute.user.to_string(),
        username: mute.username,
        muted: true,
        reason: mute.reason,
        muted_by: shown_id(mute.muted_by),
        create_time: time(Some(mute.created_at)),
        end_time: time(mute.expires_at),
    }
}

fn shown_id(id: Uuid) -> String {
    if id.is_nil() { String::new() } else { id.to_string() }
}

fn count(number: i64) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}
