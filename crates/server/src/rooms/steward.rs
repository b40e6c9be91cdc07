//! Looking after one room: what it hands out is taken to where it belongs.

use super::bridge::Bridge;
use super::keeper::{Keeper, Writer};
use aether_engine::RoomHandle;
use aether_wire::RoomId;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use tokio::task::JoinHandle;

/// Looks after a room until it has ended and everything of it is answered and stored.
pub(super) async fn look_after(
    (id, handle): (RoomId, RoomHandle),
    bridge: Arc<Bridge>,
    durable: Option<(Arc<Keeper>, Writer)>,
) {
    let (keeper, writer) = match durable {
        Some((keeper, writer)) => (Some(keeper), Some(tokio::spawn(writer.run()))),
        None => (None, None),
    };
    let mut requests = None;
    loop {
        news(&handle).await;
        // Asked first: what the room hands out before its end is taken in this turn.
        let is_open = handle.is_open();
        while let Some(request) = handle.next_request() {
            let (sender, _) = requests.get_or_insert_with(|| serve_requests(&bridge, &handle));
            // Whoever answers has not gone before this ends.
            let _ = sender.send(request);
        }
        while let Some((player, reason)) = handle.next_departure() {
            bridge.services().rooms.note_leave(&id.0, player.0, reason.name());
            if let Some(keeper) = &keeper {
                keeper.left(player.0);
            }
        }
        if let Some(keeper) = &keeper {
            while let Some((number, entry)) = handle.next_entry() {
                keeper.entry(number, entry);
            }
            if let Some(kept) = handle.take_kept() {
                keeper.state(kept);
            }
        }
        if !is_open {
            break;
        }
    }
    if let Some(keeper) = keeper {
        keeper.end(handle.is_over());
    }
    if let Some((sender, served)) = requests {
        drop(sender);
        let _ = served.await;
    }
    if let Some(writer) = writer {
        let _ = writer.await;
    }
}

type Requests = UnboundedSender<(aether_wire::RequestId, aether_engine::Request)>;

/// Most rooms ask for nothing, so whoever answers comes with the first request. The room itself limits how many wait.
fn serve_requests(bridge: &Arc<Bridge>, handle: &RoomHandle) -> (Requests, JoinHandle<()>) {
    let (sender, receiver) = unbounded_channel();
    (sender, tokio::spawn(Arc::clone(bridge).serve(handle.clone(), receiver)))
}

/// Waits until the room has something to be taken, or has ended.
async fn news(handle: &RoomHandle) {
    poll_fn(|cx| {
        handle.wake_by(cx.waker());
        if handle.has_news() { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}
