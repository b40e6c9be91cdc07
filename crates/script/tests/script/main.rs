//! Lua scripts through a running server.

mod api;
mod api_bracket;
mod api_chat;
mod api_event;
mod api_friend;
mod api_group;
mod api_leaderboard;
mod api_logger;
mod api_matchmaker;
mod api_metrics;
mod api_moderation;
mod api_notification;
mod api_party;
mod api_remote_value;
mod api_session;
mod api_status;
mod api_stream;
mod api_tournament;
mod calls;
mod match_rooms;
mod matches;
mod support;
mod viewer;
mod world;
