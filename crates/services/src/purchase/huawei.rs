//! Huawei's AppGallery: a signed purchase, which is also queried, because it may have been refunded since.

use super::provider::{
    Environment, INVALID, MALFORMED, NOT_BOUGHT, PurchaseProvider, Receipt, Shop, ValidateFuture, ValidatedPurchase,
    number, text,
};
use super::remote::{Remote, encoded};
use crate::clock::WallClock;
use crate::error::ServiceError;
use crate::http_client::HttpClient;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};
use serde_json::{Value, json};
use std::sync::Arc;
use x509_parser::prelude::{FromDer, SubjectPublicKeyInfo};

/// State of a paid purchase.
const STATE_PURCHASED: i64 = 0;
/// Type of a sandbox purchase.
const TYPE_SANDBOX: i64 = 0;

/// Settings of AppGallery.
#[derive(Clone)]
pub struct HuaweiSettings {
    /// Package names of the game.
    pub package_names: Vec<String>,
    /// Client id of the game.
    pub client_id: String,
    /// Client secret of the game.
    pub client_secret: String,
    /// Public key of purchases, in base64, as shown in the AppGallery console.
    pub public_key: String,
    /// URL for access tokens.
    pub token_url: String,
    /// URL of the orders API. Each region has a site, and each knows all purchases.
    pub orders_url: String,
}

/// AppGallery provider.
pub struct Huawei {
    settings: HuaweiSettings,
    key: Vec<u8>,
    remote: Remote,
}

impl HuaweiSettings {
    /// Settings of a game, with the URLs for Europe.
    #[must_use]
    pub fn new(package_name: String, client_id: String, client_secret: String, public_key: String) -> HuaweiSettings {
        HuaweiSettings {
            package_names: vec![package_name],
            client_id,
            client_secret,
            public_key,
            token_url: "https://oauth-login.cloud.huawei.com/oauth2/v3/token".to_owned(),
            orders_url: "https://orders-dre.iap.hicloud.com".to_owned(),
        }
    }
}

impl std::fmt::Debug for HuaweiSettings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HuaweiSettings").field("client_id", &self.client_id).finish_non_exhaustive()
    }
}

impl Huawei {
    /// Creates the provider. Fails if the key cannot be read.
    pub fn new(
        settings: HuaweiSettings,
        http_client: HttpClient,
        clock: Arc<dyn WallClock>,
    ) -> Result<Huawei, ServiceError> {
        let key = STANDARD.decode(&settings.public_key).ok();
        let key = key.and_then(|der| {
            let (_, key) = SubjectPublicKeyInfo::from_der(&der).ok()?;
            Some(key.subject_public_key.data.to_vec())
        });
        let key = key.ok_or_else(|| {
            ServiceError::invalid("The key of Huawei's purchases is not valid: copy it from the AppGallery console.")
        })?;
        Ok(Huawei { settings, key, remote: Remote::new(Shop::Huawei, http_client, clock) })
    }

    async fn bought(&self, receipt: &Receipt) -> Result<Vec<ValidatedPurchase>, ServiceError> {
        let claimed = self.signed(&receipt.text, &receipt.signature)?;
        let is_own_package = text(&claimed, "packageName").is_some_and(|name| self.is_own_package(name));
        let product_id = text(&claimed, "productId").ok_or(MALFORMED)?;
        let purchase_token = text(&claimed, "purchaseToken").ok_or(MALFORMED)?;
        if !is_own_package {
            return Err(INVALID);
        }
        let answer = self.query(product_id, purchase_token).await?;
        // 0 is success. Other codes concern the token or the product.
        if text(&answer, "responseCode") != Some("0") {
            return Err(INVALID);
        }
        let data = text(&answer, "purchaseTokenData").ok_or(INVALID)?;
        let confirmed = self.signed(data, text(&answer, "dataSignature").unwrap_or_default())?;
        let same = text(&confirmed, "productId") == Some(product_id)
            && text(&confirmed, "purchaseToken") == Some(purchase_token);
        if !same {
            return Err(INVALID);
        }
        if number(&confirmed, "purchaseState") != Some(STATE_PURCHASED) {
            return Err(NOT_BOUGHT);
        }
        let is_sandbox = number(&confirmed, "purchaseType") == Some(TYPE_SANDBOX);
        Ok(vec![ValidatedPurchase {
            product_id: product_id.to_owned(),
            transaction_id: purchase_token.to_owned(),
            purchased_at: number(&confirmed, "purchaseTime").ok_or(INVALID)?,
            refunded_at: None,
            environment: if is_sandbox { Environment::Sandbox } else { Environment::Production },
            response: confirmed.to_string(),
        }])
    }

    /// Parses a text, if Huawei signed it for this game.
    fn signed(&self, text: &str, signature: &str) -> Result<Value, ServiceError> {
        let signature = STANDARD.decode(signature).map_err(|_| MALFORMED)?;
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, &self.key);
        key.verify(text.as_bytes(), &signature).map_err(|_| INVALID)?;
        serde_json::from_str(text).map_err(|_| MALFORMED)
    }

    fn is_own_package(&self, package_name: &str) -> bool {
        self.settings.package_names.iter().any(|own| own == package_name)
    }

    async fn query(&self, product_id: &str, purchase_token: &str) -> Result<Value, ServiceError> {
        let HuaweiSettings { client_id, client_secret, token_url, orders_url, .. } = &self.settings;
        let token = self.remote.access_token(token_url, || async {
            let (id, secret) = (encoded(client_id), encoded(client_secret));
            Ok(format!("grant_type=client_credentials&client_id={id}&client_secret={secret}"))
        });
        let authorization = format!("Basic {}", STANDARD.encode(format!("APPAT:{}", token.await?)));
        let url = format!("{orders_url}/applications/purchases/tokens/verify");
        let request = json!({ "purchaseToken": purchase_token, "productId": product_id });
        self.remote.post_json(&url, &[("authorization", &authorization)], &request).await
    }
}

impl PurchaseProvider for Huawei {
    fn shop(&self) -> Shop {
        Shop::Huawei
    }

    fn purchases<'a>(&'a self, receipt: &'a Receipt) -> ValidateFuture<'a, Vec<ValidatedPurchase>> {
        Box::pin(self.bought(receipt))
    }
}
