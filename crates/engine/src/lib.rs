//! Rooms, stages and the tick scheduler.
