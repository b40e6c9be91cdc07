//! Supervisor of a room: carries the output of the room to the services and the store.

use crate::members::MatchMembers;
use crate::places::RoomPlaces;
use crate::requests::RoomRequests;
use crate::writer::RoomWriter;
use aether_engine::{Request, RoomHandle};
use aether_wire::{RequestId, RoomId};
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Carries requests, departures, journal entries and checkpoints out of one room.
pub(crate) struct RoomSupervisor {
    pub room: RoomId,
    pub handle: RoomHandle,
    pub requests: Arc<RoomRequests>,
    pub places: Arc<RoomPlaces>,
    pub members: Arc<MatchMembers>,
}

impl RoomSupervisor {
    /// Runs until the room has ended, all requests are answered and all output is stored. A durable room has a writer.
    pub async fn run(self, writer: Option<RoomWriter>) {
        let queue = writer.as_ref().map(|writer| Arc::clone(&writer.queue));
        let writer = writer.map(|writer| tokio::spawn(writer.run()));
        let mut requests = None;
        loop {
            wait_for_output(&self.handle).await;
            // Read first: output before the end of the room is taken in this turn.
            let is_open = self.handle.is_open();
            while let Some(request) = self.handle.next_request() {
                let (sender, _) = requests.get_or_insert_with(|| self.serve_requests());
                // Cannot fail: the receiving task outlives this loop.
                let _ = sender.send(request);
            }
            while let Some((player, reason)) = self.handle.next_departure() {
                self.requests.services().rooms.note_leave(&self.room.0, player.0, reason.name());
                self.places.leave(player.0);
                self.members.forget(player);
                self.requests.presence.left(&self.room, player, reason);
                if let Some(queue) = &queue {
                    queue.push_departure(player.0);
                }
            }
            if let Some(queue) = &queue {
                while let Some((number, entry)) = self.handle.next_entry() {
                    queue.push_entry(number, entry);
                }
                if let Some(checkpoint) = self.handle.take_checkpoint() {
                    queue.push_checkpoint(checkpoint);
                }
            }
            if !is_open {
                break;
            }
        }
        self.requests.presence.room_ended(&self.room);
        if let Some(queue) = queue {
            queue.end(self.handle.has_ended_for_good());
        }
        if let Some((sender, task)) = requests {
            drop(sender);
            let _ = task.await;
        }
        if let Some(writer) = writer {
            let _ = writer.await;
        }
    }

    /// Starts the task that answers requests. Most rooms send none, so it starts with the first request. The room
    /// limits the number of pending requests.
    fn serve_requests(&self) -> (Requests, JoinHandle<()>) {
        let (sender, receiver) = unbounded_channel();
        (sender, tokio::spawn(Arc::clone(&self.requests).serve(self.handle.clone(), receiver)))
    }
}

type Requests = UnboundedSender<(RequestId, Request)>;

/// Waits until the room has output or has ended.
async fn wait_for_output(handle: &RoomHandle) {
    poll_fn(|cx| {
        handle.register_waker(cx.waker());
        if handle.has_output() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
