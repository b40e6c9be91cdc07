//! A game that is known by its schema alone, against rooms in virtual time.

mod drawing;
mod hostile;
mod layout;
mod prediction;
mod support;
