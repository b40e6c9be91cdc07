//! Client of a game that is known only by its schema, with rooms in virtual time.

mod drawing;
mod hostile;
mod layout;
mod prediction;
mod support;
