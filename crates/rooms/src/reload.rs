//! Reload: passes new code to the running rooms of some types.

use crate::host::RoomHost;
use aether_engine::ReloadError;
use std::sync::Arc;

/// Outcome of a reload.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReloadReport {
    /// Rooms that take the code over at their next tick.
    pub rooms: usize,
    /// Rooms whose mailbox is full. They keep the code that they have.
    pub rooms_full: usize,
}

impl RoomHost {
    /// Passes new code to all running rooms of these types. Each takes it over at its next tick. Fails without an effect
    /// if the code is too large.
    pub fn reload(&self, room_types: &[&str], code: &Arc<[u8]>) -> Result<ReloadReport, ReloadError> {
        if code.len() > aether_engine::RELOAD_BYTES_MAX {
            return Err(ReloadError::TooLarge);
        }
        let mut report = ReloadReport::default();
        self.directory.for_each(|room| {
            if !room.is_open() || !room_types.contains(&room.room_type.name()) {
                return;
            }
            let Some(handle) = room.room.signal_handle() else { return };
            match handle.reload(Arc::clone(code)) {
                Ok(()) => report.rooms += 1,
                Err(_) => report.rooms_full += 1,
            }
        });
        Ok(report)
    }
}
