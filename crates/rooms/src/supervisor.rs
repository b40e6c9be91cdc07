//! The supervisor of one room: takes what the room hands out to where it belongs.

use crate::requests::RoomRequests;
use crate::writer::RoomWriter;
use aether_engine::{Request, RoomHandle};
use aether_wire::{RequestId, RoomId};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Takes requests, departures, entries and states out of one room.
pub(crate) struct RoomSupervisor {
    pub room: RoomId,
    pub handle: RoomHandle,
    pub requests: Arc<RoomRequests>,
}

impl RoomSupervisor {
    /// Runs until the room has ended and everything of it is answered and stored. A durable room has a writer.
    pub async fn run(self, writer: Option<RoomWriter>) {
        let queue = writer.as_ref().map(|writer| Arc::clone(&writer.queue));
        let writer = writer.map(|writer| tokio::spawn(writer.run()));
        let mut requests = None;
        loop {
            has_output(&self.handle).await;
            // Asked first: what the room hands out before its end is taken in this turn.
            let is_open = self.handle.is_open();
            while let Some(request) = self.handle.next_request() {
                let (sender, _) = requests.get_or_insert_with(|| self.serve_requests());
                // The task that answers does not end before this one.
                let _ = sender.send(request);
            }
            while let Some((player, reason)) = self.handle.next_departure() {
                self.requests.services().rooms.note_leave(&self.room.0, player.0, reason.name());
                if let Some(queue) = &queue {
                    queue.note_left(player.0);
                }
            }
            if let Some(queue) = &queue {
                while let Some((number, entry)) = self.handle.next_entry() {
                    queue.push_entry(number, entry);
                }
                if let Some(kept) = self.handle.take_checkpoint() {
                    queue.push_state(kept);
                }
            }
            if !is_open {
                break;
            }
        }
        if let Some(queue) = queue {
            queue.end(self.handle.has_ended_for_good());
        }
        if let Some((sender, served)) = requests {
            drop(sender);
            let _ = served.await;
        }
        if let Some(writer) = writer {
            let _ = writer.await;
        }
    }

    /// Starts the task that answers requests. Most rooms ask for nothing, so it is started with the first request. The room
    /// itself limits how many wait.
    fn serve_requests(&self) -> (Requests, JoinHandle<()>) {
        let (sender, receiver) = unbounded_channel();
        (sender, tokio::spawn(Arc::clone(&self.requests).serve(self.handle.clone(), receiver)))
    }
}

type Requests = UnboundedSender<(RequestId, Request)>;

/// Waits until the room has something to be taken, or has ended.
async fn has_output(handle: &RoomHandle) {
    poll_fn(|cx| {
        handle.register_waker(cx.waker());
        if handle.has_output() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
