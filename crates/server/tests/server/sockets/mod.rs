//! Tests of a whole server over real sockets.

mod admin;
mod api_limits;
mod behind_proxy;
mod failures;
mod functions;
mod handshake;
mod http_page;
mod native;
mod openapi;
mod operated_rooms;
mod operations;
mod pages;
mod platforms;
mod play;
mod queries;
mod relay;
mod requests;
mod resume;
mod room_access;
mod room_types;
mod rooms;
mod runtime_game;
mod sessions;
mod tokens;
