//! Sign-in of users by server code.

use super::user::missing;
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::{Key, Value};
use aether_services::account::provider::{self, GameCenterProof, ProviderProof};
use aether_services::account::{SignIn, SignInMethod};
use aether_services::session::NewSession;
use std::collections::BTreeMap;
use tracing::debug;
use uuid::Uuid;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

/// Id of the user, username, and true if the account was created.
const SIGNED_IN: &str = "(string, string, boolean)";
const USERNAME: Parameter = optional("username", "string", "Username of a new account; default a generated one.");
const CREATE: Parameter = optional("create", "boolean", "True to create a missing account; default true.");
const IMPORT_FRIENDS: Parameter =
    optional("importFriends", "boolean", "True to make friends of the user's friends there; default true.");

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("authenticate_apple", |used, args| Box::pin(by_token(used, args, provider::APPLE)))
        .about("Signs a user in with a token of Sign in with Apple.")
        .parameters(&[required("token", "string", "Token of Apple."), USERNAME, CREATE])
        .returns(SIGNED_IN),
    Function::service("authenticate_custom", |used, args| Box::pin(by_custom_id(used, args)))
        .about("Signs a user in with a custom id.")
        .parameters(&[required("id", "string", "Custom id of 6 to 128 bytes."), USERNAME, CREATE])
        .returns(SIGNED_IN),
    Function::service("authenticate_device", |used, args| Box::pin(by_device(used, args)))
        .about("Signs a user in with the id of a device.")
        .parameters(&[required("id", "string", "Id of the device, of 10 to 128 bytes."), USERNAME, CREATE])
        .returns(SIGNED_IN),
    Function::service("authenticate_email", |used, args| Box::pin(by_email(used, args)))
        .about("Signs a user in with an email address and a password, or with the username and the password.")
        .parameters(&[
            optional("email", "string", "Email address; empty to sign in with the username."),
            required("password", "string", "Password of at least 8 bytes."),
            USERNAME,
            CREATE,
        ])
        .returns(SIGNED_IN),
    Function::service("authenticate_facebook", |used, args| Box::pin(by_facebook(used, args)))
        .about("Signs a user in with an access token of Facebook.")
        .parameters(&[required("token", "string", "Access token."), IMPORT_FRIENDS, USERNAME, CREATE])
        .returns(SIGNED_IN),
    Function::service("authenticate_facebook_instant_game", |used, args| {
        Box::pin(by_token(used, args, provider::FACEBOOK_INSTANT))
    })
    .about("Signs a user in with the signed player info of a Facebook Instant Game.")
    .parameters(&[required("playerInfo", "string", "Signed player info."), USERNAME, CREATE])
    .returns(SIGNED_IN),
    Function::service("authenticate_game_center", |used, args| Box::pin(by_game_center(used, args)))
        .about("Signs a user in with data that Game Center signed.")
        .parameters(&[
            required("playerID", "string", "Id of the player."),
            required("bundleID", "string", "Bundle id of the game."),
            required("timestamp", "number", "Time of the signature."),
            required("salt", "string", "Salt, in base64."),
            required("signature", "string", "Signature, in base64."),
            required("publicKeyURL", "string", "URL of the certificate."),
            USERNAME,
            CREATE,
        ])
        .returns(SIGNED_IN),
    Function::service("authenticate_google", |used, args| Box::pin(by_token(used, args, provider::GOOGLE)))
        .about("Signs a user in with an id token of Google.")
        .parameters(&[required("token", "string", "Id token."), USERNAME, CREATE])
        .returns(SIGNED_IN),
    Function::service("authenticate_steam", |used, args| Box::pin(by_steam(used, args)))
        .about("Signs a user in with a ticket of Steam.")
        .parameters(&[required("token", "string", "Ticket in hexadecimal."), USERNAME, IMPORT_FRIENDS, CREATE])
        .returns(SIGNED_IN),
    Function::service("authenticate_token_generate", |used, args| Box::pin(generate_token(used, args)))
        .about("Returns an access token of a new session of a user, and its expiry in seconds since 1970.")
        .parameters(&[
            required("userID", "string", "Id of the user."),
            optional("username", "string", "Username in the token; default that of the user."),
            optional(
                "exp",
                "number",
                "Expiry in seconds since 1970, at most 7 days ahead; default the usual lifetime.",
            ),
            optional("vars", "{[string]: string}", "Variables of the session."),
        ])
        .returns("(string, number)"),
];

async fn by_token(used: ScriptServices, args: Arguments, provider: &str) -> Outcome {
    let method = external(provider, args.present_text(0)?);
    let signed_in = sign_in(&used, method, args.optional_text(1)?, args.boolean_or(2, true)?).await?;
    Ok(signed_in.1)
}

async fn by_custom_id(used: ScriptServices, args: Arguments) -> Outcome {
    let method = SignInMethod::Custom(args.present_text(0)?.to_owned());
    Ok(sign_in(&used, method, args.optional_text(1)?, args.boolean_or(2, true)?).await?.1)
}

async fn by_device(used: ScriptServices, args: Arguments) -> Outcome {
    let method = SignInMethod::Device(args.present_text(0)?.to_owned());
    Ok(sign_in(&used, method, args.optional_text(1)?, args.boolean_or(2, true)?).await?.1)
}

async fn by_email(used: ScriptServices, args: Arguments) -> Outcome {
    let email = args.optional_text(0)?.unwrap_or_default().to_owned();
    let method = SignInMethod::Email { email, password: args.text(1)?.to_owned() };
    Ok(sign_in(&used, method, args.optional_text(2)?, args.boolean_or(3, true)?).await?.1)
}

async fn by_facebook(used: ScriptServices, args: Arguments) -> Outcome {
    let (token, imports) = (args.present_text(0)?, args.boolean_or(1, true)?);
    let method = external(provider::FACEBOOK, token);
    let (user, outcome) = sign_in(&used, method, args.optional_text(2)?, args.boolean_or(3, true)?).await?;
    if imports {
        import_friends(&used, user, provider::FACEBOOK, token).await;
    }
    Ok(outcome)
}

async fn by_steam(used: ScriptServices, args: Arguments) -> Outcome {
    let (token, imports) = (args.present_text(0)?, args.boolean_or(2, true)?);
    let method = external(provider::STEAM, token);
    let (user, outcome) = sign_in(&used, method, args.optional_text(1)?, args.boolean_or(3, true)?).await?;
    if imports {
        import_friends(&used, user, provider::STEAM, token).await;
    }
    Ok(outcome)
}

async fn by_game_center(used: ScriptServices, args: Arguments) -> Outcome {
    let method = game_center(&args, 0)?;
    Ok(sign_in(&used, method, args.optional_text(6)?, args.boolean_or(7, true)?).await?.1)
}

async fn generate_token(used: ScriptServices, args: Arguments) -> Outcome {
    let user = args.id(0)?;
    let expires_at = args.optional_integer(2)?.filter(|expires_at| *expires_at != 0);
    let expires_at = expires_at.map(|expires_at| u64::try_from(expires_at).map_err(|_| args.expected(2, "a time")));
    let variables = variables(&args, 3)?;
    let found = used.services.accounts.users(vec![user], Vec::new(), Vec::new()).await?;
    let found = found.into_iter().next().ok_or_else(|| missing(user))?;
    let username = args.optional_text(1)?.unwrap_or(&found.username);
    let session = NewSession { user, username, variables, address: None, method: "script" };
    let (token, expires_at) = used.services.sessions.issue(session, expires_at.transpose()?).await?;
    Ok(vec![Value::from(token), Value::Number(expires_at as f64)])
}

async fn sign_in(
    used: &ScriptServices,
    method: SignInMethod,
    username: Option<&str>,
    create: bool,
) -> Result<(Uuid, Vec<Value>), ScriptError> {
    let sign_in = SignIn { method, username: username.map(str::to_owned), create, address: None };
    let signed_in = used.services.accounts.authenticate(sign_in).await?;
    let user = signed_in.user;
    Ok((user, vec![user.to_string().into(), signed_in.username.into(), signed_in.created.into()]))
}

/// Imports the friends at a provider. The sign-in or link has succeeded, so a failure of the import does not matter.
pub(super) async fn import_friends(used: &ScriptServices, user: Uuid, provider: &'static str, token: &str) {
    let proof = ProviderProof::Token(token.to_owned());
    let services = &used.services;
    if let Err(error) = services.friends.import(&services.accounts, user, provider, &proof, false).await {
        debug!(provider, error = %error.message, "friends are not imported");
    }
}

/// Returns the sign-in method of a token of a provider.
pub(super) fn external(provider: &str, token: &str) -> SignInMethod {
    SignInMethod::External { provider: provider.to_owned(), proof: ProviderProof::Token(token.to_owned()) }
}

/// Reads the signed data of Game Center from an argument on.
pub(super) fn game_center(args: &Arguments, first: usize) -> Result<SignInMethod, ScriptError> {
    let proof = GameCenterProof {
        player_id: args.present_text(first)?.to_owned(),
        bundle_id: args.present_text(first + 1)?.to_owned(),
        timestamp: args.integer(first + 2)?,
        salt: args.present_text(first + 3)?.to_owned(),
        signature: args.present_text(first + 4)?.to_owned(),
        public_key_url: args.present_text(first + 5)?.to_owned(),
    };
    Ok(SignInMethod::External { provider: provider::GAME_CENTER.to_owned(), proof: ProviderProof::GameCenter(proof) })
}

fn variables(args: &Arguments, index: usize) -> Result<BTreeMap<String, String>, ScriptError> {
    let expected = || args.expected(index, "a table of strings");
    let entries = args.optional_map(index)?.into_iter().flatten();
    let variable = |(key, value): (&Key, &Value)| Ok((key.to_text(), value.as_str().ok_or_else(expected)?.to_owned()));
    entries.map(variable).collect()
}
