//! Accounts: sign-in, login identities, user data, and erasure.

mod codes;
mod erasure;
pub mod fake_provider;
pub mod fixture;
mod links;
mod open_id;
mod passwords;
mod providers;
mod races;
mod sign_in;
mod signer;
mod timing;
mod users;
