//! From a message of a client to its operation in the call table.

mod rpc;
mod status;

use super::SocketServer;
use super::error::SocketError;
use super::requests::AnswerFuture;
use crate::routing::Calls as _;
use aether_messages::Empty;
use aether_messages::realtime::envelope::Message;
use aether_messages::socket::{self, Ping, SocketAnswer};
use aether_net::MessageClass;
use aether_services::calls::Serve;
use aether_services::{CallContext, GrpcCode, ServiceError};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

/// Handling of a message.
pub(super) enum Dispatched {
    /// Runs after the requests before it.
    Ordered(AnswerFuture),
    /// Runs at once.
    Function(AnswerFuture),
    /// Needs no answer.
    Ignored,
    /// Clients do not send this message.
    Unrecognized,
}

/// Connection that a request came from.
pub(super) struct Origin<'a> {
    pub server: &'a SocketServer,
    pub context: &'a Arc<CallContext>,
}

/// Returns the rate that a message counts against.
pub(super) fn class_of(message: Option<&Message>) -> MessageClass {
    match message {
        Some(Message::MatchDataSend(_) | Message::PartyDataSend(_)) => MessageClass::Frequent,
        // They start costly work, or their events are sent to many sessions.
        Some(
            Message::ChannelJoin(_)
            | Message::MatchCreate(_)
            | Message::MatchmakerAdd(_)
            | Message::PartyCreate(_)
            | Message::PartyJoin(_)
            | Message::PartyMatchmakerAdd(_)
            | Message::PartyPromote(_)
            | Message::StatusUpdate(_),
        ) => MessageClass::Costly,
        _ => MessageClass::Usual,
    }
}

/// Starts the request of a message.
pub(super) fn dispatch(origin: &Origin<'_>, message: Message) -> Dispatched {
    match message {
        Message::ChannelJoin(request) => origin.ordered::<socket::ChannelJoin>(request),
        Message::ChannelLeave(request) => origin.ordered::<socket::ChannelLeave>(request),
        Message::ChannelMessageSend(request) => origin.ordered::<socket::ChannelMessageSend>(request),
        Message::ChannelMessageUpdate(request) => origin.ordered::<socket::ChannelMessageUpdate>(request),
        Message::ChannelMessageRemove(request) => origin.ordered::<socket::ChannelMessageRemove>(request),
        Message::MatchCreate(request) => origin.ordered::<socket::MatchCreate>(request),
        Message::MatchDataSend(request) => origin.frequent::<socket::MatchDataSend>(request),
        Message::MatchJoin(request) => origin.ordered::<socket::MatchJoin>(request),
        Message::MatchLeave(request) => origin.ordered::<socket::MatchLeave>(request),
        Message::Ping(request) => origin.ordered::<Ping>(request),
        Message::Rpc(request) => rpc::call(origin, request),
        Message::StatusFollow(request) => status::follow(origin, request),
        Message::StatusUnfollow(request) => status::unfollow(origin, request),
        Message::StatusUpdate(request) => status::update(origin, request),
        Message::MatchmakerAdd(request) => origin.ordered::<socket::MatchmakerAdd>(request),
        Message::MatchmakerRemove(request) => origin.ordered::<socket::MatchmakerRemove>(request),
        Message::PartyCreate(request) => origin.ordered::<socket::PartyCreate>(request),
        Message::PartyJoin(request) => origin.ordered::<socket::PartyJoin>(request),
        Message::PartyLeave(request) => origin.ordered::<socket::PartyLeave>(request),
        Message::PartyPromote(request) => origin.ordered::<socket::PartyPromote>(request),
        Message::PartyAccept(request) => origin.ordered::<socket::PartyAccept>(request),
        Message::PartyRemove(request) => origin.ordered::<socket::PartyRemove>(request),
        Message::PartyClose(request) => origin.ordered::<socket::PartyClose>(request),
        Message::PartyUpdate(request) => origin.ordered::<socket::PartyUpdate>(request),
        Message::PartyJoinRequestList(request) => origin.ordered::<socket::PartyJoinRequestList>(request),
        Message::PartyMatchmakerAdd(request) => origin.ordered::<socket::PartyMatchmakerAdd>(request),
        Message::PartyMatchmakerRemove(request) => origin.ordered::<socket::PartyMatchmakerRemove>(request),
        Message::PartyDataSend(request) => origin.frequent::<socket::PartyDataSend>(request),
        // Only an answer to a ping of the server, which sends none.
        Message::Pong(_) => Dispatched::Ignored,
        // Messages of the server.
        _ => Dispatched::Unrecognized,
    }
}

impl Origin<'_> {
    /// Calls an operation in the order of the requests.
    fn ordered<O: Serve>(&self, request: O::Request) -> Dispatched
    where
        O::Answer: SocketAnswer,
    {
        Dispatched::Ordered(self.call::<O>(request, <O::Answer as SocketAnswer>::into_message))
    }

    /// Calls an operation that a client may send in every tick, with its hooks and without a time limit: it does not wait.
    /// The rate of the connection limits it, and not those of the account.
    fn frequent<O: Serve<Answer = Empty>>(&self, request: O::Request) -> Dispatched {
        let (services, context) = (Arc::clone(self.server.services()), Arc::clone(self.context));
        Dispatched::Ordered(Box::pin(async move {
            let called = services.call::<O>(&context, request).await;
            called.map(|_| None).map_err(|error| SocketError::of(O::NAME, error))
        }))
    }

    /// Calls an operation with its hooks, under the rate limits of the account.
    fn call<O: Serve>(&self, request: O::Request, answer: fn(O::Answer) -> Option<Message>) -> AnswerFuture {
        let (server, context) = (self.server.clone(), Arc::clone(self.context));
        Box::pin(async move {
            let address = context.address.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            let rates = server.client_api.rates();
            rates
                .take(&context.caller, address, (O::NAME, O::PRESET))
                .map_err(|error| SocketError::of(O::NAME, error))?;
            let called = server.services().call::<O>(&context, request);
            match tokio::time::timeout(server.settings.request_time_max, called).await {
                Ok(Ok(answered)) => Ok(answer(answered)),
                Ok(Err(error)) => Err(SocketError::of(O::NAME, error)),
                Err(_) => Err(SocketError::of(O::NAME, TOO_LONG)),
            }
        })
    }
}

const TOO_LONG: ServiceError =
    ServiceError::new(GrpcCode::DeadlineExceeded, "The request took too long and was stopped. Try again later.");
