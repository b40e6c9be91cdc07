//! Movement that clients propose, in the sandbox: checked, corrected and counted, over every transport and in both
//! encodings.

mod clients;
mod entities;
mod numbers;
mod support;
mod violations;
