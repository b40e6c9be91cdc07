//! Operations of brackets for operators.

use super::operation::{
    BracketDetail, BracketMatchResultRequest, BracketRequest, CreateBracketRequest, ShownBracket, ShownMatch,
};
use crate::declare::operations;
use aether_messages::Empty;

operations! {
    /// Creates a bracket.
    CreateBracket: CreateBracketRequest => ShownBracket,
    /// Starts a bracket.
    StartBracket: BracketRequest => BracketDetail,
    /// Decides a match.
    ResolveBracketMatch: BracketMatchResultRequest => ShownMatch,
    /// Deletes a bracket.
    DeleteBracket: BracketRequest => Empty,
}
