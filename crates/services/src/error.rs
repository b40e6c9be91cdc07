//! What a caller gets when something is not done: a code for programs and a sentence for people.

use aether_store::StoreError;
use std::borrow::Cow;
use std::fmt;
use tracing::error;

/// What kind of refusal it is. The numbers are those of gRPC, which clients know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum GrpcCode {
    /// What was sent is wrong.
    InvalidArgument = 3,
    /// It took too long.
    DeadlineExceeded = 4,
    /// There is no such thing.
    NotFound = 5,
    /// There is one already.
    AlreadyExists = 6,
    /// It is not allowed.
    PermissionDenied = 7,
    /// Too much, too often.
    ResourceExhausted = 8,
    /// Not in this state.
    FailedPrecondition = 9,
    /// Something else came first.
    Aborted = 10,
    /// There is no such operation.
    Unimplemented = 12,
    /// A defect of the server.
    Internal = 13,
    /// It may work in a moment.
    Unavailable = 14,
    /// It is not known who asks.
    Unauthenticated = 16,
}

impl GrpcCode {
    /// Its name, as metrics tell it.
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

/// Why something was not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServiceError {
    /// What kind it is.
    pub code: GrpcCode,
    /// A sentence for people.
    pub message: Cow<'static, str>,
    /// After how many seconds it is worth trying again, where that is known.
    pub retry_after_seconds: Option<u32>,
}

impl ServiceError {
    /// A refusal.
    pub const fn new(code: GrpcCode, message: &'static str) -> ServiceError {
        ServiceError { code, message: Cow::Borrowed(message), retry_after_seconds: None }
    }

    /// A refusal with a sentence of its own.
    pub fn with(code: GrpcCode, message: impl Into<String>) -> ServiceError {
        ServiceError { code, message: Cow::Owned(message.into()), retry_after_seconds: None }
    }

    /// The same, worth trying again after so many seconds.
    #[must_use]
    pub const fn retry_after(mut self, seconds: u32) -> ServiceError {
        self.retry_after_seconds = Some(seconds);
        self
    }

    /// What was sent is wrong.
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
            StoreError::Duplicate(_) => ServiceError::new(GrpcCode::AlreadyExists, "It is there already."),
            StoreError::Failed(why) | StoreError::Refused(why) => {
                // Not the caller's doing, so it has to be seen; the caller is told nothing of the inside.
                error!(why, "an operation of the data layer failed");
                INTERNAL
            }
        }
    }
}

/// The database cannot be reached.
pub const UNAVAILABLE: ServiceError = ServiceError::new(
    GrpcCode::Unavailable,
    "The database is not available at the moment. Try again in a few seconds.",
)
.retry_after(5);
/// A defect of the server.
pub const INTERNAL: ServiceError = ServiceError::new(GrpcCode::Internal, "An internal error occurred.");
/// A token is missing.
pub const TOKEN_REQUIRED: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Auth token required");
/// A token does not count.
pub const TOKEN_INVALID: ServiceError = ServiceError::new(GrpcCode::Unauthenticated, "Auth token invalid");
/// Too often.
pub const TOO_OFTEN: ServiceError =
    ServiceError::new(GrpcCode::ResourceExhausted, "Too many requests. Try again in a moment.").retry_after(1);
/// A before hook took the request away.
pub const NOT_FOUND: ServiceError = ServiceError::new(GrpcCode::NotFound, "Requested resource was not found.");
