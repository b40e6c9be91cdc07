//! Sending and receiving world state.
