//! Forwarders: functions that the services get once, before they open, and that call the current program. Without a function
//! of the program, everything is as without scripts.

use crate::context::context_table;
use crate::error::ScriptError;
use crate::event_queue::QueuedEvent;
use crate::json::json_to_lua;
use crate::registrations::{RegistrationKind, SINGLE};
use crate::scripts::{Scripts, table};
use crate::vm::Vm;
use aether_services::event::Event;
use aether_services::leaderboard::{Board, order_number};
use aether_services::matchmaker::{Candidate, MatchPlan, MatchedAnswer, MatchedHook, MatchedUser};
use aether_services::{CallContext, ServiceError, ServicesExtensions};
use mlua::{MultiValue, Table};
use serde_json::{Value, json};
use std::sync::{Arc, Weak};

/// End of a period of a leaderboard or tournament.
struct PeriodEnd {
    kind: RegistrationKind,
    board: Arc<Board>,
    /// Times in seconds since 1970: the end of the active time of a tournament, and the expiry.
    times: Vec<i64>,
}

impl Scripts {
    /// Adds the forwarders to the extensions of the services. Call it once, before the services open.
    pub fn extend(self: &Arc<Self>, extensions: &mut ServicesExtensions) {
        let scripts = Arc::downgrade(self);
        let former = extensions.matchmaker_matched.take().map(Arc::new);
        extensions.matchmaker_matched = Some(MatchedHook::new(move |services, candidate| {
            let (scripts, former) = (scripts.clone(), former.clone());
            async move {
                match matched(&scripts, &candidate).await? {
                    Some(answer) => Ok(answer),
                    None => match former {
                        Some(former) => former.call(&services, &candidate).await,
                        None => Ok(MatchedAnswer::Default),
                    },
                }
            }
        }));
        self.extend_periods(extensions);
        let scripts = Arc::downgrade(self);
        extensions.event_handlers.push(Box::new(move |context: &CallContext, event: &Event| {
            push(&scripts, RegistrationKind::Event, || Arc::new(context.clone()), Some(event));
        }));
        let handler = |kind: RegistrationKind| {
            let scripts = Arc::downgrade(self);
            Box::new(move |context: &Arc<CallContext>| push(&scripts, kind, || Arc::clone(context), None))
        };
        extensions.session_handlers.start.push(handler(RegistrationKind::SessionStart));
        extensions.session_handlers.end.push(handler(RegistrationKind::SessionEnd));
    }

    fn extend_periods(self: &Arc<Self>, extensions: &mut ServicesExtensions) {
        let scripts = Arc::downgrade(self);
        extensions.period_hooks.on_leaderboard_reset(move |_, reset| {
            let end =
                PeriodEnd { kind: RegistrationKind::LeaderboardReset, board: reset.board, times: vec![reset.expiry] };
            period_ended(scripts.clone(), end)
        });
        let scripts = Arc::downgrade(self);
        extensions.period_hooks.on_tournament_end(move |_, end| {
            let times = vec![end.end, end.expiry];
            period_ended(
                scripts.clone(),
                PeriodEnd { kind: RegistrationKind::TournamentEnd, board: end.tournament, times },
            )
        });
        let scripts = Arc::downgrade(self);
        extensions.period_hooks.on_tournament_reset(move |_, reset| {
            let end = reset.tournament.deadlines(reset.expiry - 1).map_or(reset.expiry, |times| times.end_active);
            let times = vec![end, reset.expiry];
            period_ended(
                scripts.clone(),
                PeriodEnd { kind: RegistrationKind::TournamentReset, board: reset.tournament, times },
            )
        });
    }
}

/// Asks the program for the match of a candidate. None if it has no function for it, or names no match.
async fn matched(scripts: &Weak<Scripts>, candidate: &Candidate) -> Result<Option<MatchedAnswer>, ServiceError> {
    let Some(scripts) = scripts.upgrade() else { return Ok(None) };
    let Some((program, used)) = scripts.with_function(RegistrationKind::MatchmakerMatched) else { return Ok(None) };
    let node = scripts.settings().node.clone();
    let arguments = |vm: &Vm| {
        let context = table(context_table(vm, "matchmaker", None)?);
        let users = candidate.tickets.iter().flat_map(|ticket| &ticket.users);
        let users = Value::Array(users.map(|user| matched_user(user, &node)).collect());
        Ok(MultiValue::from_iter([context, json_to_lua(vm.lua(), &users)?]))
    };
    let answered = program.call(&used, (RegistrationKind::MatchmakerMatched, SINGLE), arguments, match_id).await;
    let id = answered.map_err(|error| scripts.failures.report("matchmaker_matched", error))?;
    Ok(id.map(|id| MatchedAnswer::Accept(MatchPlan::Running(id))))
}

fn match_id(mut results: MultiValue) -> Result<Option<String>, ScriptError> {
    match results.pop_front() {
        None | Some(mlua::Value::Nil) => Ok(None),
        Some(mlua::Value::String(id)) => Ok(Some(id.to_string_lossy())),
        Some(other) => {
            let sentence =
                format!("matchmaker_matched must return the id of a match or nil, got a {}", other.type_name());
            Err(ScriptError::invalid(sentence))
        }
    }
}

fn matched_user(user: &MatchedUser, node: &str) -> Value {
    let strings = user.properties.strings.iter().map(|(name, text)| (name.clone(), Value::from(text.as_str())));
    let numbers = user.properties.numbers.iter().map(|(name, number)| (name.clone(), Value::from(*number)));
    let properties: serde_json::Map<_, _> = strings.chain(numbers).collect();
    json!({
        "presence": {
            "user_id": user.presence.user_id,
            "session_id": user.presence.session_id,
            "username": user.presence.username,
            "node": node,
        },
        "properties": properties,
        "party_id": user.party_id,
    })
}

async fn period_ended(scripts: Weak<Scripts>, end: PeriodEnd) {
    let Some(scripts) = scripts.upgrade() else { return };
    let Some((program, used)) = scripts.with_function(end.kind) else { return };
    let mode = match end.kind {
        RegistrationKind::TournamentEnd => "tournament_end",
        RegistrationKind::TournamentReset => "tournament_reset",
        _ => "leaderboard_reset",
    };
    let now = used.now_ms() / 1_000;
    let arguments = |vm: &Vm| {
        let mut arguments = MultiValue::from_iter([table(context_table(vm, mode, None)?)]);
        arguments.push_back(table(board_table(vm, &end.board, now)?));
        arguments.extend(end.times.iter().map(|time| mlua::Value::Number(*time as f64)));
        Ok(arguments)
    };
    if let Err(error) = program.call(&used, (end.kind, SINGLE), arguments, |_| Ok(())).await {
        let _ = scripts.failures.report(mode, error);
    }
}

/// Returns a leaderboard or tournament as functions at the ends of periods get it.
fn board_table(vm: &Vm, board: &Board, now: i64) -> mlua::Result<Table> {
    let definition = &board.definition;
    let metadata: Value = serde_json::from_str(&definition.metadata).unwrap_or_default();
    let mut shown = json!({
        "id": definition.id,
        "authoritative": definition.authoritative,
        "sort_order": order_number(definition.order),
        "operator": format!("{:?}", definition.operator).to_lowercase(),
        "reset": definition.reset_schedule,
        "metadata": metadata,
        "create_time": board.created_at_ms / 1_000,
    });
    if let (Some(terms), Some(shown)) = (&definition.tournament, shown.as_object_mut()) {
        let deadlines = board.deadlines(now);
        let times = deadlines.map(|times| (times.start_active, times.end_active, times.next_reset, times.prev_reset));
        let (start_active, end_active, next_reset, prev_reset) = times.unwrap_or_default();
        let more = json!({
            "title": terms.title,
            "description": terms.description,
            "category": terms.category,
            "start_time": terms.start_time,
            "end_time": terms.end_time,
            "duration": terms.duration,
            "max_size": terms.max_size,
            "max_num_score": terms.max_num_score,
            "join_required": terms.join_required,
            "start_active": start_active,
            "end_active": end_active,
            "next_reset": next_reset,
            "prev_reset": prev_reset,
        });
        shown.extend(more.as_object().into_iter().flatten().map(|(name, value)| (name.clone(), value.clone())));
    }
    match json_to_lua(vm.lua(), &shown)? {
        mlua::Value::Table(table) => Ok(table),
        _ => vm.lua().create_table(),
    }
}

/// Queues an event, if the program has a function for its kind.
fn push(
    scripts: &Weak<Scripts>,
    kind: RegistrationKind,
    context: impl FnOnce() -> Arc<CallContext>,
    event: Option<&Event>,
) {
    let Some(scripts) = scripts.upgrade() else { return };
    if !scripts.program().is_some_and(|program| program.has(kind, SINGLE)) {
        return;
    }
    if !scripts.events.push(QueuedEvent { kind, context: context(), event: event.cloned() }) {
        scripts.failures.count_dropped();
    }
}
