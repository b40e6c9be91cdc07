//! Tests of the program `aether` as a process of its own, which is started, signalled and killed.

mod commands_page;
mod durability;
mod durable_rooms;
mod lifecycle;
mod logins;
mod outage;
mod pages;
mod support;
mod unread;
