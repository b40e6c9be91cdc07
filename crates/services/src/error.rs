//! Errors of the services: a code for programs and a sentence for people.

use aether_store::StoreError;
use std::borrow::Cow;
use std::fmt;
use tracing::error;

/// Kind of an error. The numbers are gRPC status codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GrpcCode {
    /// The request is invalid.
    InvalidArgument = 3,
    /// The operation exceeded its time limit.
    DeadlineExceeded = 4,
    /// The resource does not exist.
    NotFound = 5,
    /// The resource already exists.
    AlreadyExists = 6,
    /// The caller lacks permission.
    PermissionDenied = 7,
    /// A rate limit or quota is exceeded.
    ResourceExhausted = 8,
    /// The current state does not allow the operation.
    FailedPrecondition = 9,
    /// A concurrent change took precedence.
    Aborted = 10,
    /// The operation does not exist.
    Unimplemented = 12,
    /// A defect of the server.
    Internal = 13,
    /// The service is temporarily unavailable.
    Unavailable = 14,
    /// The caller is not authenticated.
    Unauthenticated = 16,
}

impl GrpcCode {
    /// Returns the label used in metrics.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            GrpcCode::InvalidArgument => "invalid_argument",
            GrpcCode::DeadlineExceeded => "deadline_exceeded",
            GrpcCode::NotFound => "not_found",
            GrpcCode::AlreadyExists => "already_exists",
            GrpcCode::PermissionDenied => "permission_denied",
            GrpcCode::ResourceExhausted => "resource_exhausted",
            GrpcCode::FailedPrecondition => "failed_precondition",
            GrpcCode::Aborted => "aborted",
            GrpcCode::Unimplemented => "unimplemented",
            GrpcCode::Internal => "internal",
            GrpcCode::Unavailable => "unavailable",
            GrpcCode::Unauthenticated => "unauthenticated",
        }
    }
}

/// Error of a service call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceError {
    /// Kind of the error.
    pub code: GrpcCode,
    /// Message for people.
    pub message: Cow<'static, str>,
    /// Seconds until a retry is worthwhile, if known.
    pub retry_after_seconds: Option<u32>,
}

impl ServiceError {
    /// Creates an error with a fixed message.
    pub const fn new(code: GrpcCode, message: &'static str) -> ServiceError {
        ServiceError { code, message: Cow::Borrowed(message), retry_after_seconds: None }
    }

    /// Creates an error with a formatted message.
    pub fn with(code: GrpcCode, message: impl Into<String>) -> ServiceError {
        ServiceError { code, message: Cow::Owned(message.into()), retry_after_seconds: None }
    }

    /// Sets the seconds after which a retry is worthwhile.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u32) -> ServiceError {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// Creates an error with [`GrpcCode::InvalidArgument`].
    pub fn invalid(message: impl Into<String>) -> ServiceError {
        ServiceError::with(GrpcCode::InvalidArgument, message)
    }
}

impl fmt::Display for ServiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServiceError {}

impl From<StoreError> for ServiceError {
    fn from(error: StoreError) -> ServiceError {
        match error {
            StoreError::Unavailable(_) => UNAVAILABLE,
            StoreError::Duplicate(_) => ServiceError::new(GrpcCode::AlreadyExists, "The resource already exists."),
            StoreError::BadValue(_) => BAD_TEXT,
            StoreError::Failed(why) | StoreError::Refused(why) => {
                // Server-side failure: log the cause, and hide it from the caller.
                error!(why, "store operation failed");
                INTERNAL
            }
        }
    }
}

/// A text cannot be stored.
pub const BAD_TEXT: ServiceError = ServiceError::new(
    GrpcCode::InvalidArgument,
    "A text of the request contains the character U+0000, which cannot be stored. Remove it.",
);

/// The database is unavailable.
pub const UNAVAILABLE: ServiceError = ServiceError::new(
    GrpcCode::Unavailable,
    "The database is not available at the moment. Try again in a few seconds.",
)
.retry_after(5);
/// A defect of the server.
pub const INTERNAL: ServiceError = ServiceError::new(GrpcCode::Internal, "An internal error occurred.");
/// The access token is missing.
pub const TOKEN_REQUIRED: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Auth token required");
/// The access token is invalid.
pub const TOKEN_INVALID: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Auth token invalid");
/// A rate limit is exceeded.
pub const TOO_OFTEN: ServiceError =
    ServiceError::new(GrpcCode::ResourceExhausted, "Too many requests. Try again in a moment.").retry_after(1);
/// A before hook discarded the request.
pub const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Requested resource was not found.");
