//! Accounts: signing in, ways in, what is known about users, and their end.

mod codes;
mod ends;
mod figures;
mod links;
mod open_id;
mod passwords;
mod providers;
mod races;
mod sign_in;
mod signer;
mod stand_in;
mod users;
mod world;
