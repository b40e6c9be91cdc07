//! Tests of the indexes, interest sets and slot sets.

mod index;
mod interest;
mod slot_set;
