//! Reliable UDP as a state machine: bytes and time in, bytes and time out.
