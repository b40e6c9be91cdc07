//! Tests of the program `aether` as a process of its own, which is started, signalled and killed.

mod admin;
mod commands;
mod commands_page;
mod developer;
#[cfg(target_os = "linux")]
mod driver;
mod durability;
mod durable_rooms;
mod forgery;
mod lifecycle;
mod logins;
mod lost_database;
mod lua_matches;
mod moderation;
mod outage;
mod pages;
mod private_files;
mod recording;
mod script;
mod stolen_resume;
mod support;
mod unread;
