//! Brackets.
