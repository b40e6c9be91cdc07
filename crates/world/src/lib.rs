//! Entities and replicated components in columns.
