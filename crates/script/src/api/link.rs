//! Links of accounts with devices, emails and identity providers.

use super::authenticate::{external, game_center, import_friends};
use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use aether_services::account::provider::{self, GameCenterProof, ProviderProof};
use aether_services::account::{Account, SignInMethod};
use uuid::Uuid;

/// Luau types of this noun.
pub(crate) const TYPES: &str = "";

const USER: Parameter = required("userID", "string", "Id of the user.");
const USERNAME: Parameter = optional("username", "string", "Accepted for existing modules; has no effect.");
const TOKEN: Parameter = required("token", "string", "Token of the provider.");
const ANY_TOKEN: Parameter = optional("token", "string", "Token of the provider; default the linked identity.");
const PLAYER_INFO: Parameter = required("playerInfo", "string", "Signed player info.");
const IMPORT_FRIENDS: Parameter =
    optional("importFriends", "boolean", "True to make friends of the user's friends there; default true.");
const GAME_CENTER: &[Parameter] = &[
    USER,
    required("playerID", "string", "Id of the player."),
    required("bundleID", "string", "Bundle id of the game."),
    required("timestamp", "number", "Time of the signature."),
    required("salt", "string", "Salt, in base64."),
    required("signature", "string", "Signature, in base64."),
    required("publicKeyURL", "string", "URL of the certificate."),
];
const ANY_GAME_CENTER: &[Parameter] = &[
    USER,
    optional("playerID", "string", "Id of the player; default the linked one, without the further arguments."),
    optional("bundleID", "string", "Bundle id of the game."),
    optional("timestamp", "number", "Time of the signature."),
    optional("salt", "string", "Salt, in base64."),
    optional("signature", "string", "Signature, in base64."),
    optional("publicKeyURL", "string", "URL of the certificate."),
];

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("link_apple", |used, args| Box::pin(link_token(used, args, provider::APPLE)))
        .about("Links an account with an identity of Apple.")
        .parameters(&[USER, TOKEN]),
    Function::service("link_custom", |used, args| Box::pin(link(used, args, custom)))
        .about("Links an account with a custom id. It replaces a former one.")
        .parameters(&[USER, required("customID", "string", "Custom id of 6 to 128 bytes.")]),
    Function::service("link_device", |used, args| Box::pin(link(used, args, device)))
        .about("Links an account with a device.")
        .parameters(&[USER, required("deviceID", "string", "Id of the device, of 10 to 128 bytes.")]),
    Function::service("link_email", |used, args| Box::pin(link(used, args, email)))
        .about("Links an account with an email address and a password. They replace former ones.")
        .parameters(&[
            USER,
            required("email", "string", "Email address."),
            required("password", "string", "Password of at least 8 bytes."),
        ]),
    Function::service("link_facebook", |used, args| Box::pin(link_with_friends(used, args, provider::FACEBOOK)))
        .about("Links an account with an identity of Facebook.")
        .parameters(&[USER, USERNAME, TOKEN, IMPORT_FRIENDS]),
    Function::service("link_facebook_instant_game", |used, args| {
        Box::pin(link_token(used, args, provider::FACEBOOK_INSTANT))
    })
    .about("Links an account with a player of a Facebook Instant Game.")
    .parameters(&[USER, PLAYER_INFO]),
    Function::service("link_gamecenter", |used, args| Box::pin(link(used, args, |args| game_center(args, 1))))
        .about("Links an account with a player of Game Center.")
        .parameters(GAME_CENTER),
    Function::service("link_google", |used, args| Box::pin(link_token(used, args, provider::GOOGLE)))
        .about("Links an account with an identity of Google.")
        .parameters(&[USER, TOKEN]),
    Function::service("link_steam", |used, args| Box::pin(link_with_friends(used, args, provider::STEAM)))
        .about("Links an account with a player of Steam.")
        .parameters(&[USER, USERNAME, TOKEN, IMPORT_FRIENDS]),
    Function::service("unlink_apple", |used, args| Box::pin(unlink_token(used, args, provider::APPLE)))
        .about("Unlinks the identity of Apple, unless it is the last login identity.")
        .parameters(&[USER, ANY_TOKEN]),
    Function::service("unlink_custom", |used, args| Box::pin(unlink(used, args, any_custom)))
        .about("Unlinks the custom id, unless it is the last login identity.")
        .parameters(&[USER, optional("customID", "string", "Custom id; default the linked one.")]),
    Function::service("unlink_device", |used, args| Box::pin(unlink(used, args, device)))
        .about("Unlinks a device, unless it is the last login identity.")
        .parameters(&[USER, required("deviceID", "string", "Id of the device.")]),
    Function::service("unlink_email", |used, args| Box::pin(unlink(used, args, any_email)))
        .about("Unlinks the email address and its password, unless it is the last login identity.")
        .parameters(&[USER, optional("email", "string", "Email address; default the linked one.")]),
    Function::service("unlink_facebook", |used, args| Box::pin(unlink_token(used, args, provider::FACEBOOK)))
        .about("Unlinks the identity of Facebook, unless it is the last login identity.")
        .parameters(&[USER, ANY_TOKEN]),
    Function::service("unlink_facebook_instant_game", |used, args| {
        Box::pin(unlink_token(used, args, provider::FACEBOOK_INSTANT))
    })
    .about("Unlinks the player of a Facebook Instant Game, unless it is the last login identity.")
    .parameters(&[USER, optional("playerInfo", "string", "Signed player info; default the linked player.")]),
    Function::service("unlink_gamecenter", |used, args| Box::pin(unlink_game_center(used, args)))
        .about("Unlinks the player of Game Center, unless it is the last login identity.")
        .parameters(ANY_GAME_CENTER),
    Function::service("unlink_google", |used, args| Box::pin(unlink_token(used, args, provider::GOOGLE)))
        .about("Unlinks the identity of Google, unless it is the last login identity.")
        .parameters(&[USER, ANY_TOKEN]),
    Function::service("unlink_steam", |used, args| Box::pin(unlink_token(used, args, provider::STEAM)))
        .about("Unlinks the player of Steam, unless it is the last login identity.")
        .parameters(&[USER, ANY_TOKEN]),
];

type ReadMethod = fn(&Arguments) -> Result<SignInMethod, ScriptError>;

async fn link(used: ScriptServices, args: Arguments, method: ReadMethod) -> Outcome {
    used.services.accounts.link(args.id(0)?, method(&args)?).await?;
    Ok(Vec::new())
}

async fn link_token(used: ScriptServices, args: Arguments, provider: &str) -> Outcome {
    used.services.accounts.link(args.id(0)?, external(provider, args.present_text(1)?)).await?;
    Ok(Vec::new())
}

async fn link_with_friends(used: ScriptServices, args: Arguments, provider: &'static str) -> Outcome {
    args.optional_text(1)?;
    let (user, token, imports) = (args.id(0)?, args.present_text(2)?, args.boolean_or(3, true)?);
    used.services.accounts.link(user, external(provider, token)).await?;
    if imports {
        import_friends(&used, user, provider, token).await;
    }
    Ok(Vec::new())
}

async fn unlink(used: ScriptServices, args: Arguments, method: ReadMethod) -> Outcome {
    used.services.accounts.unlink(args.id(0)?, method(&args)?).await?;
    Ok(Vec::new())
}

async fn unlink_token(used: ScriptServices, args: Arguments, provider: &str) -> Outcome {
    let method = external(provider, args.optional_text(1)?.unwrap_or_default());
    used.services.accounts.unlink(args.id(0)?, method).await?;
    Ok(Vec::new())
}

/// Unlinks the player of Game Center. A player id alone must be the linked one; a proof is verified.
async fn unlink_game_center(used: ScriptServices, args: Arguments) -> Outcome {
    let user = args.id(0)?;
    let method = if args.is_nil(2) { any_game_center(&used, &args, user).await? } else { game_center(&args, 1)? };
    used.services.accounts.unlink(user, method).await?;
    Ok(Vec::new())
}

async fn any_game_center(used: &ScriptServices, args: &Arguments, user: Uuid) -> Result<SignInMethod, ScriptError> {
    if let Some(player) = args.optional_text(1)? {
        let Account { user, .. } = used.services.accounts.account(user).await?;
        if user.identities.get(provider::GAME_CENTER).is_none_or(|linked| linked != player) {
            return Err(args.expected(1, "the linked player"));
        }
    }
    let proof = ProviderProof::GameCenter(GameCenterProof::default());
    Ok(SignInMethod::External { provider: provider::GAME_CENTER.to_owned(), proof })
}

fn custom(args: &Arguments) -> Result<SignInMethod, ScriptError> {
    Ok(SignInMethod::Custom(args.present_text(1)?.to_owned()))
}

fn any_custom(args: &Arguments) -> Result<SignInMethod, ScriptError> {
    Ok(SignInMethod::Custom(args.optional_text(1)?.unwrap_or_default().to_owned()))
}

fn device(args: &Arguments) -> Result<SignInMethod, ScriptError> {
    Ok(SignInMethod::Device(args.present_text(1)?.to_owned()))
}

fn email(args: &Arguments) -> Result<SignInMethod, ScriptError> {
    Ok(SignInMethod::Email { email: args.present_text(1)?.to_owned(), password: args.text(2)?.to_owned() })
}

fn any_email(args: &Arguments) -> Result<SignInMethod, ScriptError> {
    let email = args.optional_text(1)?.unwrap_or_default().to_owned();
    Ok(SignInMethod::Email { email, password: String::new() })
}
