//! Errors of socket requests: a code of the protocol and a sentence.

use aether_messages::operation::{Operation as _, RpcFunc};
use aether_messages::realtime;
use aether_messages::realtime::error::Code;
use aether_messages::socket::{MatchDataSend, MatchJoin, MatchLeave};
use aether_services::calls::{FUNCTION_NAME_MISSING, FUNCTION_NOT_FOUND};
use aether_services::{GrpcCode, ServiceError, error};

/// Error of a request.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SocketError {
    pub code: Code,
    pub message: String,
}

impl SocketError {
    pub fn new(code: Code, message: impl Into<String>) -> SocketError {
        SocketError { code, message: message.into() }
    }

    /// Converts the error of an operation.
    pub fn of(operation: &str, error: ServiceError) -> SocketError {
        let code = match error.code {
            // A before hook has discarded the request.
            _ if error == error::NOT_FOUND => Code::UnrecognizedPayload,
            _ if error == FUNCTION_NOT_FOUND => Code::RuntimeFunctionNotFound,
            _ if error == FUNCTION_NAME_MISSING => Code::BadInput,
            GrpcCode::ResourceExhausted if error.retry_after_seconds.is_some() => Code::RuntimeException,
            _ if operation == RpcFunc::NAME => Code::RuntimeFunctionException,
            GrpcCode::InvalidArgument => Code::BadInput,
            GrpcCode::NotFound if [MatchJoin::NAME, MatchLeave::NAME, MatchDataSend::NAME].contains(&operation) => {
                Code::MatchNotFound
            }
            GrpcCode::PermissionDenied if operation == MatchJoin::NAME => Code::MatchJoinRejected,
            _ => Code::RuntimeException,
        };
        SocketError { code, message: error.message.into_owned() }
    }

    /// Returns true if the connection is closed after the error.
    pub fn closes(&self) -> bool {
        matches!(self.code, Code::UnrecognizedPayload | Code::MissingPayload)
    }

    pub fn into_message(self) -> realtime::envelope::Message {
        let error = realtime::Error { code: self.code.into(), message: self.message, ..Default::default() };
        realtime::envelope::Message::Error(error)
    }
}
