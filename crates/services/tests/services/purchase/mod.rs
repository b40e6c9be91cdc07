//! Purchases: requests to shops, their answers, and storing.

mod apple;
mod fake_shop;
mod google;
mod huawei;
mod samsung;
mod signed;
mod stored;
