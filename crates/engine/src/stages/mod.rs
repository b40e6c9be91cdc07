//! The five stages of a tick, one file each.

mod apply;
mod extract;
mod receive;
mod send;
mod simulate;

pub(crate) use extract::Extraction;
pub(crate) use send::Sending;
