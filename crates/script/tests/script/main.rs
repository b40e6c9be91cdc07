//! Lua scripts through a running server.

mod api_account;
mod api_authenticate;
mod api_crypto;
mod api_http;
mod api_provider;
mod api_purchase;
mod api_sql;
mod api_storage;
mod api_support;
mod api_user;
mod api_utility;
mod api_wallet;
mod calls;
#[expect(dead_code, reason = "shared with the tests of the services")]
#[path = "../../../services/tests/services/account/fake_provider.rs"]
mod fake_provider;
#[expect(dead_code, reason = "shared with the tests of the services")]
#[path = "../../../services/tests/services/purchase/fake_shop.rs"]
mod fake_shop;
mod match_rooms;
mod matches;
#[expect(dead_code, reason = "shared with the tests of the services")]
#[path = "../../../services/tests/services/account/signer.rs"]
mod signer;
mod support;
mod viewer;
mod world;
