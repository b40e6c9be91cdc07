//! Handlers for lost passwords and email verification.

use crate::ServiceError;
use crate::account::operation::{
    RequestEmailVerification, RequestPasswordReset, RequestPasswordResetRequest, ResetPassword, ResetPasswordRequest,
    VerifyEmail, VerifyEmailRequest,
};
use crate::calls::{Access, Call, Operations, RatePreset, Serve};
use aether_messages::Empty;

pub(super) fn operations(operations: Operations) -> Operations {
    operations
        .with::<RequestPasswordReset>()
        .with::<ResetPassword>()
        .with::<RequestEmailVerification>()
        .with::<VerifyEmail>()
}

impl Serve for RequestPasswordReset {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: RatePreset = RatePreset::Login;

    async fn serve(call: &Call<'_>, request: RequestPasswordResetRequest) -> Result<Empty, ServiceError> {
        call.services.accounts.request_password_reset(&request.email, call.context.address).await?;
        Ok(Empty::default())
    }
}

impl Serve for ResetPassword {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: RatePreset = RatePreset::Login;

    async fn serve(call: &Call<'_>, request: ResetPasswordRequest) -> Result<Empty, ServiceError> {
        call.services.accounts.reset_password(&request.code, request.password).await?;
        Ok(Empty::default())
    }
}

impl Serve for RequestEmailVerification {
    const PRESET: RatePreset = RatePreset::Expensive;

    async fn serve(call: &Call<'_>, _: Empty) -> Result<Empty, ServiceError> {
        let user = call.identity()?.user;
        call.services.accounts.request_email_verification(user, call.context.address).await?;
        Ok(Empty::default())
    }
}

impl Serve for VerifyEmail {
    const ACCESS: Access = Access::ServerKey;
    const PRESET: RatePreset = RatePreset::Login;

    async fn serve(call: &Call<'_>, request: VerifyEmailRequest) -> Result<Empty, ServiceError> {
        call.services.accounts.verify_email(&request.code).await?;
        Ok(Empty::default())
    }
}
