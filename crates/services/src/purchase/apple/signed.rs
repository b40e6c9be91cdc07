//! A transaction that Apple signed: three texts joined by points, which are a header with the certificates of the key, what
//! is said, and the signature. Nobody is asked.

use super::super::provider::{INVALID, MALFORMED, ValidatedPurchase, ValidatedSubscription, number, text};
use super::environment;
use crate::error::ServiceError;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use ring::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use serde_json::Value;
use sha2::{Digest, Sha256};
use x509_parser::prelude::{ASN1Time, FromDer, X509Certificate};

/// The SHA-256 hash of the certificate "Apple Root CA - G3", as Apple publishes it.
pub(super) const ROOT_G3: [u8; 32] = [
    0x63, 0x34, 0x3A, 0xBF, 0xB8, 0x9A, 0x6A, 0x03, 0xEB, 0xB5, 0x7E, 0x9B, 0x3F, 0x5F, 0xA7, 0xBE, 0x7C, 0x4F, 0x5C,
    0x75, 0x6F, 0x30, 0x17, 0xB3, 0xA8, 0xC4, 0x88, 0xC3, 0x65, 0x3E, 0x91, 0x79,
];

/// Marks a certificate by which Apple signs receipts: any other of Apple's many certificates is no proof of a purchase.
const RECEIPT_SIGNING: &str = "1.2.840.113635.100.6.11.1";
/// Marks the authority of such certificates.
const DEVELOPER_RELATIONS: &str = "1.2.840.113635.100.6.2.1";

/// What Apple says of a purchase.
pub(super) struct Transaction {
    said: Value,
}

impl Transaction {
    /// Reads one, if Apple signed it and it is for one of these games.
    pub fn verify(signed: &str, root_hashes: &[[u8; 32]], bundle_ids: &[String]) -> Result<Transaction, ServiceError> {
        let (message, signature) = signed.rsplit_once('.').ok_or(MALFORMED)?;
        let (header, payload) = message.split_once('.').ok_or(MALFORMED)?;
        let (header, said) = (json(header)?, json(payload)?);
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| MALFORMED)?;
        if text(&header, "alg") != Some("ES256") {
            return Err(INVALID);
        }
        let signed_at_ms = number(&said, "signedDate").ok_or(INVALID)?;
        let certificates = header["x5c"].as_array().filter(|chain| chain.len() == 3).ok_or(INVALID)?;
        let certificates = certificates.iter().map(|one| STANDARD.decode(one.as_str()?).ok());
        let certificates = certificates.collect::<Option<Vec<_>>>().ok_or(MALFORMED)?;
        let key = signing_key(&certificates, root_hashes, signed_at_ms).ok_or(INVALID)?;
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
        key.verify(message.as_bytes(), &signature).map_err(|_| INVALID)?;
        let is_ours = text(&said, "bundleId").is_some_and(|id| bundle_ids.iter().any(|own| own == id));
        if is_ours { Ok(Transaction { said }) } else { Err(INVALID) }
    }

    /// What was bought, unless it is a subscription.
    pub fn bought(&self) -> Option<ValidatedPurchase> {
        if self.said.get("expiresDate").is_some() {
            return None;
        }
        Some(ValidatedPurchase {
            product_id: text(&self.said, "productId")?.to_owned(),
            transaction_id: text(&self.said, "transactionId")?.to_owned(),
            purchased_at: number(&self.said, "purchaseDate")?,
            refunded_at: number(&self.said, "revocationDate"),
            environment: environment(&self.said, "environment"),
            response: self.said.to_string(),
        })
    }

    /// What was subscribed to, if it is a subscription.
    pub fn subscribed(&self) -> Option<ValidatedSubscription> {
        Some(ValidatedSubscription {
            product_id: text(&self.said, "productId")?.to_owned(),
            original_transaction_id: text(&self.said, "originalTransactionId")?.to_owned(),
            purchased_at: number(&self.said, "purchaseDate")?,
            expires_at: number(&self.said, "expiresDate")?,
            refunded_at: number(&self.said, "revocationDate"),
            environment: environment(&self.said, "environment"),
            response: self.said.to_string(),
        })
    }
}

fn json(encoded: &str) -> Result<Value, ServiceError> {
    let bytes = URL_SAFE_NO_PAD.decode(encoded).map_err(|_| MALFORMED)?;
    serde_json::from_slice(&bytes).map_err(|_| MALFORMED)
}

/// The key of the first of three certificates, if each is signed by the next, the last is known, each was valid when it
/// was used, and they are those for receipts.
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
    let are_meant = has_mark(&signer, RECEIPT_SIGNING) && has_mark(&authority, DEVELOPER_RELATIONS);
    let key = signer.public_key().subject_public_key.data.to_vec();
    (are_valid && are_signed && may_sign && are_meant).then_some(key)
}

fn has_mark(certificate: &X509Certificate<'_>, mark: &str) -> bool {
    certificate.extensions().iter().any(|extension| extension.oid.to_id_string() == mark)
}
