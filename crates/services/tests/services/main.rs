//! Tests of the services through their public interface.

mod account;
mod audit;
mod competitions;
mod fixture;
mod friends;
mod group;
mod hooks;
mod http_client;
mod matchmaker;
mod moderation;
mod notifications;
mod objects;
mod party;
mod purchase;
mod remote_values;
mod rooms;
mod round_trips;
mod router;
mod sessions;
mod sql;
mod storage;
mod wallet;
mod webhooks;
