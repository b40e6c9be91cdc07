//! Purchases: what shops are asked, what their answers lead to, and what is kept.

mod apple;
#[path = "../storage/fixture.rs"]
mod fixture;
mod google;
mod huawei;
mod keeping;
mod signed;
mod stand_in;
