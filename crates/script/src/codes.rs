//! Codes of errors that scripts raise: `error({"text", code})` with a gRPC status code.

use aether_services::GrpcCode;

const CODES: [GrpcCode; 12] = [
    GrpcCode::InvalidArgument,
    GrpcCode::DeadlineExceeded,
    GrpcCode::NotFound,
    GrpcCode::AlreadyExists,
    GrpcCode::PermissionDenied,
    GrpcCode::ResourceExhausted,
    GrpcCode::FailedPrecondition,
    GrpcCode::Aborted,
    GrpcCode::Unimplemented,
    GrpcCode::Internal,
    GrpcCode::Unavailable,
    GrpcCode::Unauthenticated,
];

/// Returns the code with a number.
pub(crate) fn code_of(number: i64) -> Option<GrpcCode> {
    CODES.into_iter().find(|code| i64::from(*code as u8) == number)
}
