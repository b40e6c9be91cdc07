//! Virtual clock, network conditioner, and clients against a room.
