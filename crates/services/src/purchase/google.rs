//! Google Play: purchases are queried by their purchase token, with a service account.

use super::provider::{
    Environment, INVALID, MALFORMED, NOT_BOUGHT, PurchaseProvider, Receipt, Shop, ShopCredentials, ValidateFuture,
    ValidatedPurchase, ValidatedSubscription, number, text,
};
use super::remote::{Remote, encoded};
use crate::clock::WallClock;
use crate::error::{INTERNAL, ServiceError};
use crate::http_client::HttpClient;
use aether_messages::{Timestamp, timestamp_ms};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RsaKeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};
use std::sync::Arc;

/// OAuth scope of the service account.
const SCOPE: &str = "https://www.googleapis.com/auth/androidpublisher";
/// Lifetime of an assertion of the service account, in seconds. Google allows an hour.
const ASSERTION_SECONDS: i64 = 600;
/// State of a paid purchase.
const STATE_PURCHASED: i64 = 0;
/// Type of a test purchase.
const TYPE_TEST: i64 = 0;

/// Settings of Google Play.
#[derive(Clone)]
pub struct GoogleSettings {
    /// Package names of the game.
    pub package_names: Vec<String>,
    /// Service account: `client_email` in its key file.
    pub client_email: String,
    /// Key of the service account: `private_key` in its key file, in PEM.
    pub private_key: String,
    /// URL for access tokens.
    pub token_url: String,
    /// URL of the purchases API.
    pub api_url: String,
}

/// Google Play provider.
pub struct Google {
    settings: GoogleSettings,
    key: RsaKeyPair,
    remote: Remote,
}

/// Purchase as claimed by a client.
struct Claim {
    package_name: String,
    product_id: String,
    purchase_token: String,
}

impl GoogleSettings {
    /// Settings of a game with these package names and a service account, with Google's URLs.
    #[must_use]
    pub fn new(package_names: Vec<String>, client_email: String, private_key: String) -> GoogleSettings {
        GoogleSettings {
            package_names,
            client_email,
            private_key,
            token_url: "https://oauth2.googleapis.com/token".to_owned(),
            api_url: "https://androidpublisher.googleapis.com/androidpublisher/v3".to_owned(),
        }
    }
}

impl std::fmt::Debug for GoogleSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GoogleSettings").field("package_names", &self.package_names).finish_non_exhaustive()
    }
}

impl Google {
    /// Creates the provider. Fails if the key cannot be read.
    pub fn new(
        settings: GoogleSettings,
        http_client: HttpClient,
        clock: Arc<dyn WallClock>,
    ) -> Result<Google, ServiceError> {
        Google::with_remote(settings, Remote::new(Shop::Google, http_client, clock))
    }

    fn with_remote(settings: GoogleSettings, remote: Remote) -> Result<Google, ServiceError> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(settings.private_key.as_bytes()).ok();
        let key = key.and_then(|key| RsaKeyPair::from_pkcs8(key.secret_pkcs8_der()).ok()).ok_or_else(|| {
            ServiceError::invalid(
                "The key of Google's service account is not valid: copy private_key from its key file.",
            )
        })?;
        Ok(Google { settings, key, remote })
    }

    async fn validate_purchase(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        let Claim { package_name, product_id, purchase_token } = self.claim(receipt)?;
        let path = format!("products/{}/tokens/{}", encoded(&product_id), encoded(&purchase_token));
        let answer = self.query(&package_name, &path).await?;
        if number(&answer, "purchaseState") != Some(STATE_PURCHASED) {
            return Err(NOT_BOUGHT);
        }
        let is_test = number(&answer, "purchaseType") == Some(TYPE_TEST);
        Ok(vec![ValidatedPurchase {
            product_id,
            transaction_id: purchase_token,
            purchased_at: number(&answer, "purchaseTimeMillis").ok_or(INVALID)?,
            refunded_at: None,
            environment: if is_test { Environment::Sandbox } else { Environment::Production },
            response: answer.to_string(),
        }])
    }

    async fn validate_subscription(&self, receipt: &Receipt) -> Result<ValidatedSubscription, ServiceError> {
        let Claim { package_name, product_id, purchase_token } = self.claim(receipt)?;
        let path = format!("subscriptionsv2/tokens/{}", encoded(&purchase_token));
        let answer = self.query(&package_name, &path).await?;
        // Not paid yet, or canceled before payment.
        let state = text(&answer, "subscriptionState").unwrap_or_default();
        if matches!(state, "SUBSCRIPTION_STATE_PENDING" | "SUBSCRIPTION_STATE_PENDING_PURCHASE_CANCELED") {
            return Err(NOT_BOUGHT);
        }
        let items = answer["lineItems"].as_array().into_iter().flatten();
        let items = items.filter(|item| text(item, "productId") == Some(&product_id));
        let expires_at = items.filter_map(|item| time_ms(item, "expiryTime")).max().ok_or(INVALID)?;
        let is_test = answer.get("testPurchase").is_some();
        Ok(ValidatedSubscription {
            product_id,
            original_transaction_id: purchase_token,
            purchased_at: time_ms(&answer, "startTime").ok_or(INVALID)?,
            expires_at,
            refunded_at: None,
            environment: if is_test { Environment::Sandbox } else { Environment::Production },
            response: answer.to_string(),
        })
    }

    /// Reads the claimed purchase, if it is for this game.
    fn claim(&self, receipt: &Receipt) -> Result<Claim, ServiceError> {
        let claimed: Value = serde_json::from_str(&receipt.text).map_err(|_| MALFORMED)?;
        let part = |name| text(&claimed, name).map(str::to_owned).ok_or(MALFORMED);
        let claim = Claim {
            package_name: part("packageName")?,
            product_id: part("productId")?,
            purchase_token: part("purchaseToken")?,
        };
        if self.settings.package_names.contains(&claim.package_name) { Ok(claim) } else { Err(INVALID) }
    }

    async fn query(&self, package_name: &str, path: &str) -> Result<Value, ServiceError> {
        let GoogleSettings { token_url, api_url, .. } = &self.settings;
        let token = self.remote.access_token(token_url, || async {
            let assertion = self.assertion()?;
            Ok(format!("grant_type={}&assertion={assertion}", encoded("urn:ietf:params:oauth:grant-type:jwt-bearer")))
        });
        let authorization = format!("Bearer {}", token.await?);
        let url = format!("{api_url}/applications/{}/purchases/{path}", encoded(package_name));
        self.remote.get(&url, &[("authorization", &authorization)]).await
    }

    /// Returns the signed assertion of the service account.
    fn assertion(&self) -> Result<String, ServiceError> {
        let GoogleSettings { client_email, token_url, .. } = &self.settings;
        let now = self.remote.now_ms().div_euclid(1_000);
        let header = json!({ "alg": "RS256", "typ": "JWT" });
        let claims = json!({
            "iss": client_email, "scope": SCOPE, "aud": token_url, "iat": now, "exp": now + ASSERTION_SECONDS,
        });
        let [header, claims] = [header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        let message = format!("{header}.{claims}");
        let mut signature = vec![0; self.key.public().modulus_len()];
        let signed = self.key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message.as_bytes(), &mut signature);
        signed.map_err(|_| INTERNAL)?;
        Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
    }
}

impl PurchaseProvider for Google {
    fn shop(&self) -> Shop {
        Shop::Google
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        Box::pin(self.validate_purchase(receipt))
    }

    fn subscription<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, ValidatedSubscription> {
        Box::pin(self.validate_subscription(receipt))
    }

    fn with_credentials(&self, credentials: &ShopCredentials) -> Result<Arc<dyn PurchaseProvider>, ServiceError> {
        let mut settings = self.settings.clone();
        if !credentials.client_email.is_empty() {
            settings.client_email.clone_from(&credentials.client_email);
        }
        if !credentials.private_key.is_empty() {
            settings.private_key.clone_from(&credentials.private_key);
        }
        Ok(Arc::new(Google::with_remote(settings, self.remote.fresh())?))
    }
}

/// Reads an RFC 3339 time.
fn time_ms(value: &Value, name: &str) -> Option<i64> {
    text(value, name)?.parse::<Timestamp>().ok().map(|time| timestamp_ms(&time))
}
