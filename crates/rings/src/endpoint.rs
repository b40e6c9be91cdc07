//! One side's ends of both rings.

use crate::bell::{Bell, BellEvent};
use crate::cursor::{Consumer, Producer};
use crate::error::{RingError, TrySendError};
use crate::layout::Side;
use crate::region::Region;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Most looks for a message before a receiver sleeps: some ten microseconds, about what a sleep and a wake-up cost.
const SPINS_MAX: u32 = 512;
/// Fewest looks. Each sleep halves the number, and each message that was found in time doubles it: on a busy machine, the
/// other process cannot run while this one looks.
const SPINS_MIN: u32 = 8;

/// Both ends that one process has. The sender and the receiver may move to different threads.
#[derive(Debug)]
pub struct RingEndpoint {
    /// Sends messages to the other process.
    pub sender: RingSender,
    /// Receives messages of the other process.
    pub receiver: RingReceiver,
}

/// Sends messages to the other process.
pub struct RingSender {
    producer: Producer<Arc<Region>>,
    bell: Arc<Bell>,
}

/// Receives messages of the other process.
pub struct RingReceiver {
    consumer: Consumer<Arc<Region>>,
    bell: Arc<Bell>,
    /// Looks for a message before the next sleep.
    spins: u32,
    spins_max: u32,
}

impl RingEndpoint {
    pub(crate) fn new(region: Region, bell: Bell, side: Side) -> RingEndpoint {
        let (region, bell) = (Arc::new(region), Arc::new(bell));
        let ring_words = region.ring_words();
        // On one core, the other process cannot send while this one looks.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let spins_max = if cores > 1 { SPINS_MAX } else { SPINS_MIN };
        RingEndpoint {
            sender: RingSender {
                producer: Producer::new(Arc::clone(&region), side, ring_words),
                bell: Arc::clone(&bell),
            },
            receiver: RingReceiver {
                consumer: Consumer::new(region, side, ring_words),
                bell,
                spins: spins_max,
                spins_max,
            },
        }
    }
}

impl RingSender {
    /// Longest message, in bytes.
    #[must_use]
    pub fn message_bytes_max(&self) -> usize {
        self.producer.message_bytes_max()
    }

    /// Sends a message, given in parts that are joined. Never waits. The other process sees the whole message or nothing.
    /// It is woken if it sleeps; otherwise there is no system call.
    ///
    /// # Errors
    /// [`TrySendError::Full`] if there is no space: see [`RingSender::wait_for_space`].
    pub fn try_send(&mut self, parts: &[&[u8]]) -> Result<(), TrySendError> {
        if self.producer.try_send(parts)? {
            self.bell.ring();
        }
        Ok(())
    }

    /// Asks the other process to ring the bell when it has read something, so that [`RingReceiver::wait`] ends. Returns
    /// false if a message of this many bytes fits by now.
    pub fn wait_for_space(&mut self, bytes: usize) -> Result<bool, RingError> {
        self.producer.wait_for_space(bytes)
    }

    /// Returns the bell.
    #[must_use]
    pub fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }
}

impl RingReceiver {
    /// Replaces the content of `message` with the next message. Returns false if there is none. Never waits.
    pub fn receive(&mut self, message: &mut Vec<u8>) -> Result<bool, RingError> {
        match self.consumer.receive(message)? {
            None => Ok(false),
            Some(wakes) => {
                if wakes {
                    self.bell.ring();
                }
                Ok(true)
            }
        }
    }

    /// Waits until there is a message, the other side rings because it has read something, it ends, or the time has
    /// passed. Looks for a message for a moment before it sleeps.
    pub fn wait(&mut self, time_max: Option<Duration>) -> Result<BellEvent, RingError> {
        for _ in 0..self.spins {
            if self.consumer.available()? > 0 {
                self.spins = (self.spins * 2).min(self.spins_max);
                return Ok(BellEvent::Rung);
            }
            std::hint::spin_loop();
        }
        self.spins = (self.spins / 2).max(SPINS_MIN);
        let event = if self.consumer.prepare_sleep()? { self.bell.wait(time_max) } else { BellEvent::Rung };
        self.consumer.end_sleep();
        Ok(event)
    }

    /// Returns the bell.
    #[must_use]
    pub fn bell(&self) -> &Arc<Bell> {
        &self.bell
    }
}

impl fmt::Debug for RingSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingSender").finish_non_exhaustive()
    }
}

impl fmt::Debug for RingReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingReceiver").finish_non_exhaustive()
    }
}
