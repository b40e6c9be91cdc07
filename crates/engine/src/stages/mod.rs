//! The five stages of a tick, one file each. A stage borrows only the parts of the room that it reads and writes.

mod apply;
mod extract;
mod receive;
mod send;
mod simulate;

pub(crate) use apply::ApplyStage;
pub(crate) use extract::{ExtractStage, Extraction};
pub(crate) use receive::ReceiveStage;
pub(crate) use send::{EncodeWorker, SendStage, Sending};
pub(crate) use simulate::simulate;
