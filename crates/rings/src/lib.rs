//! Rings of messages in memory that two processes share.
