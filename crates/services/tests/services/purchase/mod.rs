//! Purchases: what shops are asked, what their answers lead to, and what is kept.

mod apple;
mod google;
mod huawei;
mod keeping;
mod signed;
mod stand_in;
