//! Tests of the metrics: recording them and rendering them.

mod recording;
mod rendering;
