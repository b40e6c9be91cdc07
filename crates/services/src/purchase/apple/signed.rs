//! Transaction signed by Apple: a header with the certificates, the payload, and the signature, joined by dots. No
//! request is needed.

use super::super::provider::{INVALID, MALFORMED, ValidatedPurchase, ValidatedSubscription, number, text};
use super::environment;
use crate::error::ServiceError;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

/// SHA-256 hash of the certificate "Apple Root CA - G3", as published by Apple.
pub(super) const ROOT_G3: [u8; 32] = [
    0x63, 0x34, 0x3A, 0xBF, 0xB8, 0x9A, 0x6A, 0x03, 0xEB, 0xB5, 0x7E, 0x9B, 0x3F, 0x5F, 0xA7, 0xBE, 0x7C, 0x4F, 0x5C,
    0x75, 0x6F, 0x30, 0x17, 0xB3, 0xA8, 0xC4, 0x88, 0xC3, 0x65, 0x3E, 0x91, 0x79,
];

/// Extension of certificates that sign receipts. Other certificates of Apple prove no purchase.
const RECEIPT_SIGNING: &str = "1.2.840.113635.100.6.11.1";
/// Extension of the authority of such certificates.
const DEVELOPER_RELATIONS: &str = "1.2.840.113635.100.6.2.1";

/// Signed transaction of Apple.
pub(super) struct Transaction {
    payload: Value,
}

impl Transaction {
    /// Reads a transaction, if Apple signed it for one of these games.
    pub fn verify(signed: &str, root_hashes: &[[u8; 32]], bundle_ids: &[String]) -> Result<Transaction, ServiceError> {
        let (message, signature) = signed.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = message.split_once('.').ok_or(MALFORMED)?;
        let (header, payload) = (json(header)?, json(payload)?);
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| MALFORMED)?;
        if text(&header, "alg") != Some("ES256") {
            return Err(INVALID);
        }
        let signed_at_ms = number(&payload, "signedDate").ok_or(INVALID)?;
        let certificates = header["x5c"].as_array().filter(|chain| chain.len() == 3).ok_or(INVALID)?;
        let certificates = certificates.iter().map(|one| STANDARD.decode(one.as_str()?).ok());
        let certificates = certificates.collect::<Option<Vec<_>>>().ok_or(MALFORMED)?;
        let key = signing_key(&certificates, root_hashes, signed_at_ms).ok_or(INVALID)?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
        key.verify(message.as_bytes(), &signature).map_err(|_| INVALID)?;
        let is_ours = text(&payload, "bundleId").is_some_and(|id| bundle_ids.iter().any(|own| own == id));
        if is_ours { Ok(Transaction { payload }) } else { Err(INVALID) }
    }

    /// Returns the purchase, unless it is a subscription.
    pub fn bought(&self) -> Option<ValidatedPurchase> {
        if self.payload.get("expiresDate").is_some() {
            return None;
        }
        Some(ValidatedPurchase {
            product_id: text(&self.payload, "productId")?.to_owned(),
            transaction_id: text(&self.payload, "transactionId")?.to_owned(),
            purchased_at: number(&self.payload, "purchaseDate")?,
            refunded_at: number(&self.payload, "revocationDate"),
            environment: environment(&self.payload, "environment"),
            response: self.payload.to_string(),
        })
    }

    /// Returns the subscription, if it is one.
    pub fn subscribed(&self) -> Option<ValidatedSubscription> {
        Some(ValidatedSubscription {
            product_id: text(&self.payload, "productId")?.to_owned(),
            original_transaction_id: text(&self.payload, "originalTransactionId")?.to_owned(),
            purchased_at: number(&self.payload, "purchaseDate")?,
            expires_at: number(&self.payload, "expiresDate")?,
            refunded_at: number(&self.payload, "revocationDate"),
            environment: environment(&self.payload, "environment"),
            response: self.payload.to_string(),
        })
    }
}

fn json(encoded: &str) -> Result<Value, ServiceError> {
    let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| MALFORMED)?;
    serde_json::from_slice(&bytes).map_err(|_| MALFORMED)
}

/// Returns the key of the first of three certificates, if each is signed by the next, the root is trusted, all were
/// valid at the time of signing, and they are for receipts.
fn signing_key(certificates: &[Vec<u8>], root_hashes: &[[u8; 32]], at_ms: i64) -> Option<Vec<u8>> {
    let [signer, authority, root] = certificates else { return None };
    if !root_hashes.contains(&Sha256::digest(root).into()) {
        return None;
    }
    let read = |der| X509Certificate::from_der(der).ok().filter(|(rest, _)| rest.is_empty()).map(|(_, read)| read);
    let (signer, authority, root) = (read(signer)?, read(authority)?, read(root)?);
    let at = ASN1Time::from_timestamp(at_ms.div_euclid(1_000)).ok()?;
    let are_valid = [&signer, &authority, &root].iter().all(|one| one.validity().is_valid_at(at));
    let are_signed = signer.verify_signature(Some(authority.public_key())).is_ok()
        && authority.verify_signature(Some(root.public_key())).is_ok();
    let may_sign = authority.basic_constraints().ok()?.is_some_and(|constraints| constraints.value.ca);
    let are_for_receipts = has_extension(&signer, RECEIPT_SIGNING) && has_extension(&authority, DEVELOPER_RELATIONS);
    let key = signer.public_key().subject_public_key.data.to_vec();
    (are_valid && are_signed && may_sign && are_for_receipts).then_some(key)
}

fn has_extension(certificate: &X509Certificate<'_>, oid: &str) -> bool {
    certificate.extensions().iter().any(|extension| extension.oid.to_id_string() == oid)
}
