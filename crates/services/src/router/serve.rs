//! Handler of the ping of the socket.

use crate::ServiceError;
use crate::calls::{Call, Operations, RatePreset, Serve};
use aether_messages::realtime;
use aether_messages::socket::Ping;

pub(crate) fn operations(operations: Operations) -> Operations {
    operations.with::<Ping>()
}

impl Serve for Ping {
    const PRESET: RatePreset = RatePreset::Read;

    async fn serve(_: &Call<'_>, _: realtime::Ping) -> Result<realtime::Pong, ServiceError> {
        Ok(realtime::Pong {})
    }
}
