//! Lua scripts through a running server.

mod api;
mod api_account;
mod api_authenticate;
mod api_bracket;
mod api_chat;
mod api_crypto;
mod api_event;
mod api_friend;
mod api_group;
mod api_http;
mod api_leaderboard;
mod api_logger;
mod api_matchmaker;
mod api_metrics;
mod api_moderation;
mod api_notification;
mod api_party;
mod api_provider;
mod api_purchase;
mod api_remote_value;
mod api_session;
mod api_sql;
mod api_status;
mod api_storage;
mod api_stream;
mod api_support;
mod api_tournament;
mod api_user;
mod api_utility;
mod api_wallet;
mod calls;
mod docs;
mod editor;
mod events;
#[expect(dead_code, reason = "shared with the tests of the services")]
#[path = "../../../services/tests/services/account/fake_provider.rs"]
mod fake_provider;
#[expect(dead_code, reason = "shared with the tests of the services")]
#[path = "../../../services/tests/services/purchase/fake_shop.rs"]
mod fake_shop;
mod fuzz;
mod hooks;
mod indexes;
mod lifecycle;
mod limits;
mod match_rooms;
mod matches;
mod quilt;
mod reload;
mod routes;
mod rpc;
mod schedules;
#[expect(dead_code, reason = "shared with the tests of the services")]
#[path = "../../../services/tests/services/account/signer.rs"]
mod signer;
mod support;
mod viewer;
mod world;
