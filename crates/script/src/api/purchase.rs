//! Purchases and subscriptions.

use crate::arguments::Arguments;
use crate::error::ScriptError;
use crate::function::{Function, Outcome, Parameter, optional, required};
use crate::scripts::ScriptServices;
use crate::value::Value;
use aether_services::purchase::{
    Environment, PURCHASE_LIST_MAX, Purchase, Receipt, SUBSCRIPTION_LIST_MAX, Shop, ShopCredentials, Subscription,
};

/// Luau types of this noun.
pub(crate) const TYPES: &str = "
type PurchaseValidated = {
    user_id: string,
    product_id: string,
    transaction_id: string,
    store: string,
    environment: string,
    provider_response: string,
    purchase_time: number,
    create_time: number?,
    update_time: number?,
    refund_time: number?,
    seen_before: boolean,
}
type PurchaseSubscription = {
    user_id: string,
    product_id: string,
    original_transaction_id: string,
    store: string,
    environment: string,
    provider_response: string,
    provider_notification: string,
    purchase_time: number,
    expiry_time: number,
    create_time: number?,
    update_time: number?,
    refund_time: number?,
    active: boolean,
}
";

const USER: Parameter = required("userID", "string", "Buyer.");
const RECEIPT: Parameter = required("receipt", "string", "Receipt as the shop gave it to the client.");
const PERSIST: Parameter =
    optional("persist", "boolean", "True to store it, so that no other user can claim it; default true.");
const PASSWORD: Parameter = optional("passwordOverride", "string", "Shared secret instead of the configured one.");
const EMAIL: Parameter = optional("clientEmailOverride", "string", "Service account instead of the configured one.");
const PRIVATE_KEY: Parameter = optional("privateKeyOverride", "string", "Key of the service account, in PEM.");
const CURSOR: Parameter = optional("cursor", "string", "Cursor of the former page.");
const PURCHASES: &str = "{ validated_purchases: {PurchaseValidated} }";
const SUBSCRIPTION: &str = "{ validated_subscription: PurchaseSubscription }";

pub(crate) const FUNCTIONS: &[Function] = &[
    Function::service("purchase_validate_apple", |used, args| Box::pin(apple(used, args)))
        .about("Validates a receipt of Apple's App Store.")
        .parameters(&[USER, RECEIPT, PERSIST, PASSWORD])
        .returns(PURCHASES),
    Function::service("purchase_validate_google", |used, args| Box::pin(google(used, args)))
        .about("Validates a receipt of Google Play.")
        .parameters(&[USER, RECEIPT, PERSIST, EMAIL, PRIVATE_KEY])
        .returns(PURCHASES),
    Function::service("purchase_validate_huawei", |used, args| Box::pin(huawei(used, args)))
        .about("Validates a receipt of Huawei's AppGallery.")
        .parameters(&[USER, required("signature", "string", "Signature of the receipt."), RECEIPT, PERSIST])
        .returns(PURCHASES),
    Function::service("purchase_validate_facebook_instant", |used, args| {
        Box::pin(validate(used, args, Shop::FacebookInstant))
    })
    .about("Validates a purchase in a Facebook Instant Game.")
    .parameters(&[USER, required("signedRequest", "string", "Signed request of the purchase."), PERSIST])
    .returns(PURCHASES),
    Function::service("purchase_validate_samsung", |used, args| Box::pin(validate(used, args, Shop::Samsung)))
        .about("Validates a purchase in Samsung's Galaxy Store.")
        .parameters(&[USER, required("purchaseId", "string", "Id of the purchase."), PERSIST])
        .returns(PURCHASES),
    Function::service("purchase_get_by_transaction_id", |used, args| Box::pin(by_transaction(used, args)))
        .about("Returns a stored purchase. Fails if it does not exist.")
        .parameters(&[required("transactionID", "string", "Id of the shop's transaction.")])
        .returns("PurchaseValidated"),
    Function::service("purchases_list", |used, args| Box::pin(list(used, args)))
        .about("Lists the purchases of a user, newest first. Returns them and the cursors of the next and former page.")
        .parameters(&[USER, optional("limit", "number", "Purchases per page, 1 to 100; default 100."), CURSOR])
        .returns("({PurchaseValidated}, string?, string?)"),
    Function::service("subscription_validate_apple", |used, args| Box::pin(subscription_apple(used, args)))
        .about("Validates a subscription of Apple's App Store.")
        .parameters(&[USER, RECEIPT, PERSIST, PASSWORD])
        .returns(SUBSCRIPTION),
    Function::service("subscription_validate_google", |used, args| Box::pin(subscription_google(used, args)))
        .about("Validates a subscription of Google Play.")
        .parameters(&[USER, RECEIPT, PERSIST, EMAIL, PRIVATE_KEY])
        .returns(SUBSCRIPTION),
    Function::service("subscription_get_by_product_id", |used, args| Box::pin(by_product(used, args)))
        .about("Returns a user's subscription to a product. Fails if there is none.")
        .parameters(&[USER, required("productID", "string", "Id of the product.")])
        .returns("PurchaseSubscription"),
    Function::service("subscriptions_list", |used, args| Box::pin(list_subscriptions(used, args)))
        .about("Lists the subscriptions of a user, newest first. Returns them and the cursors of the next and former page.")
        .parameters(&[USER, optional("limit", "number", "Subscriptions per page, 1 to 1,000; default 1,000."), CURSOR])
        .returns("({PurchaseSubscription}, string?, string?)"),
];

async fn apple(used: ScriptServices, args: Arguments) -> Outcome {
    let credentials = shared_secret(&args)?;
    validate_with(&used, &args, Shop::Apple, (receipt(&args)?, args.boolean_or(2, true)?), &credentials).await
}

async fn google(used: ScriptServices, args: Arguments) -> Outcome {
    let credentials = service_account(&args)?;
    validate_with(&used, &args, Shop::Google, (receipt(&args)?, args.boolean_or(2, true)?), &credentials).await
}

async fn huawei(used: ScriptServices, args: Arguments) -> Outcome {
    let receipt = Receipt { text: args.present_text(2)?.to_owned(), signature: args.present_text(1)?.to_owned() };
    let credentials = ShopCredentials::default();
    validate_with(&used, &args, Shop::Huawei, (receipt, args.boolean_or(3, true)?), &credentials).await
}

async fn validate(used: ScriptServices, args: Arguments, shop: Shop) -> Outcome {
    let credentials = ShopCredentials::default();
    validate_with(&used, &args, shop, (receipt(&args)?, args.boolean_or(2, true)?), &credentials).await
}

async fn validate_with(
    used: &ScriptServices,
    args: &Arguments,
    shop: Shop,
    (receipt, persist): (Receipt, bool),
    credentials: &ShopCredentials,
) -> Outcome {
    let purchases = used.services.purchases.with_credentials(shop, credentials)?;
    let validated = purchases.validate(args.id(0)?, shop, receipt, persist).await?;
    Ok(vec![Value::table([("validated_purchases", Value::list(validated.iter().map(purchase)))])])
}

async fn by_transaction(used: ScriptServices, args: Arguments) -> Outcome {
    Ok(vec![purchase(&used.services.purchases.purchase(args.text(0)?).await?)])
}

async fn list(used: ScriptServices, args: Arguments) -> Outcome {
    let (limit, cursor) = (args.limit(1, PURCHASE_LIST_MAX)?, args.optional_text(2)?.unwrap_or_default());
    let page = used.services.purchases.purchases(args.id(0)?, limit, cursor).await?;
    let purchases = Value::list(page.entries.iter().map(purchase));
    Ok(vec![purchases, Value::cursor(&page.cursor), Value::cursor(&page.prev_cursor)])
}

async fn subscription_apple(used: ScriptServices, args: Arguments) -> Outcome {
    let credentials = shared_secret(&args)?;
    validate_subscription(used, args, Shop::Apple, credentials).await
}

async fn subscription_google(used: ScriptServices, args: Arguments) -> Outcome {
    let credentials = service_account(&args)?;
    validate_subscription(used, args, Shop::Google, credentials).await
}

async fn validate_subscription(
    used: ScriptServices,
    args: Arguments,
    shop: Shop,
    credentials: ShopCredentials,
) -> Outcome {
    let (receipt, persist) = (receipt(&args)?, args.boolean_or(2, true)?);
    let purchases = used.services.purchases.with_credentials(shop, &credentials)?;
    let validated = purchases.validate_subscription(args.id(0)?, shop, receipt, persist).await?;
    Ok(vec![Value::table([("validated_subscription", subscription(&validated))])])
}

async fn by_product(used: ScriptServices, args: Arguments) -> Outcome {
    Ok(vec![subscription(&used.services.purchases.subscription(args.id(0)?, args.text(1)?).await?)])
}

async fn list_subscriptions(used: ScriptServices, args: Arguments) -> Outcome {
    let (limit, cursor) = (args.limit(1, SUBSCRIPTION_LIST_MAX)?, args.optional_text(2)?.unwrap_or_default());
    let page = used.services.purchases.subscriptions(args.id(0)?, limit, cursor).await?;
    let subscriptions = Value::list(page.entries.iter().map(subscription));
    Ok(vec![subscriptions, Value::cursor(&page.cursor), Value::cursor(&page.prev_cursor)])
}

fn receipt(args: &Arguments) -> Result<Receipt, ScriptError> {
    Ok(Receipt { text: args.present_text(1)?.to_owned(), signature: String::new() })
}

fn shared_secret(args: &Arguments) -> Result<ShopCredentials, ScriptError> {
    let shared_secret = args.optional_text(3)?.unwrap_or_default().to_owned();
    Ok(ShopCredentials { shared_secret, ..ShopCredentials::default() })
}

fn service_account(args: &Arguments) -> Result<ShopCredentials, ScriptError> {
    let text = |index| args.optional_text(index).map(|text| text.unwrap_or_default().to_owned());
    Ok(ShopCredentials { client_email: text(3)?, private_key: text(4)?, ..ShopCredentials::default() })
}

/// Returns the name of a shop on the wire.
fn store(shop: Shop) -> Value {
    Value::from(match shop {
        Shop::Apple => "APPLE_APP_STORE",
        Shop::Google => "GOOGLE_PLAY_STORE",
        Shop::Huawei => "HUAWEI_APP_GALLERY",
        Shop::FacebookInstant => "FACEBOOK_INSTANT_STORE",
        Shop::Samsung => "SAMSUNG_GALAXY_STORE",
    })
}

fn environment(environment: Environment) -> Value {
    Value::from(match environment {
        Environment::Unknown => "UNKNOWN",
        Environment::Sandbox => "SANDBOX",
        Environment::Production => "PRODUCTION",
    })
}

fn purchase(purchase: &Purchase) -> Value {
    let Purchase { user, shop, bought, times, seen_before } = purchase;
    Value::table([
        ("user_id", Value::from(user.to_string())),
        ("product_id", Value::from(bought.product_id.as_str())),
        ("transaction_id", Value::from(bought.transaction_id.as_str())),
        ("store", store(*shop)),
        ("environment", environment(bought.environment)),
        ("provider_response", Value::from(bought.response.as_str())),
        ("purchase_time", Value::seconds(bought.purchased_at)),
        ("create_time", times.map_or(Value::Nil, |times| Value::seconds(times.created_at))),
        ("update_time", times.map_or(Value::Nil, |times| Value::seconds(times.updated_at))),
        ("refund_time", bought.refunded_at.map_or(Value::Nil, Value::seconds)),
        ("seen_before", Value::from(*seen_before)),
    ])
}

fn subscription(subscription: &Subscription) -> Value {
    let Subscription { user, shop, subscribed, times, is_active } = subscription;
    Value::table([
        ("user_id", Value::from(user.to_string())),
        ("product_id", Value::from(subscribed.product_id.as_str())),
        ("original_transaction_id", Value::from(subscribed.original_transaction_id.as_str())),
        ("store", store(*shop)),
        ("environment", environment(subscribed.environment)),
        ("provider_response", Value::from(subscribed.response.as_str())),
        ("provider_notification", Value::from("")),
        ("purchase_time", Value::seconds(subscribed.purchased_at)),
        ("expiry_time", Value::seconds(subscribed.expires_at)),
        ("create_time", times.map_or(Value::Nil, |times| Value::seconds(times.created_at))),
        ("update_time", times.map_or(Value::Nil, |times| Value::seconds(times.updated_at))),
        ("refund_time", subscribed.refunded_at.map_or(Value::Nil, Value::seconds)),
        ("active", Value::from(*is_active)),
    ])
}
