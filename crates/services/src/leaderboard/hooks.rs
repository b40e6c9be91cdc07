//! Hooks of the program at the ends of periods.

use super::reset::{HookFuture, Report, Reset, TournamentEnd, TournamentReset};
use crate::services::Services;
use std::sync::Arc;

type Hook<T> = Box<dyn Fn(Arc<Services>, T) -> HookFuture + Send + Sync>;

/// Hooks that run at resets of leaderboards, and at ends and resets of tournaments.
///
/// Each event is reported in order, including those that came while the server was off. A server that is killed while a hook
/// runs reports the event again: give rewards under a key of board and expiry.
#[derive(Default)]
pub struct PeriodHooks {
    leaderboard_resets: Vec<Hook<Reset>>,
    tournament_ends: Vec<Hook<TournamentEnd>>,
    tournament_resets: Vec<Hook<TournamentReset>>,
}

impl PeriodHooks {
    /// Adds a hook for resets of leaderboards.
    pub fn on_leaderboard_reset<F>(&mut self, hook: impl Fn(Arc<Services>, Reset) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.leaderboard_resets.push(Box::new(move |services, reset| Box::pin(hook(services, reset))));
    }

    /// Adds a hook for ends of the active time of tournaments.
    pub fn on_tournament_end<F>(&mut self, hook: impl Fn(Arc<Services>, TournamentEnd) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tournament_ends.push(Box::new(move |services, end| Box::pin(hook(services, end))));
    }

    /// Adds a hook for resets of tournaments.
    pub fn on_tournament_reset<F>(&mut self, hook: impl Fn(Arc<Services>, TournamentReset) -> F + Send + Sync + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.tournament_resets.push(Box::new(move |services, reset| Box::pin(hook(services, reset))));
    }

    /// Returns the running hooks of a report.
    pub(crate) fn start(&self, services: &Arc<Services>, report: &Report) -> Vec<HookFuture> {
        match report {
            Report::Reset(reset) => start(&self.leaderboard_resets, services, reset),
            Report::TournamentEnd(end) => start(&self.tournament_ends, services, end),
            Report::TournamentReset(reset) => start(&self.tournament_resets, services, reset),
        }
    }
}

fn start<T: Clone>(hooks: &[Hook<T>], services: &Arc<Services>, event: &T) -> Vec<HookFuture> {
    hooks.iter().map(|hook| hook(Arc::clone(services), event.clone())).collect()
}
