//! Trusted certificate authorities.

use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

/// Trusted certificate authorities: those of the system, and added ones.
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    added: Vec<CertificateDer<'static>>,
    /// Loaded on first use, because reading the system's certificates takes some milliseconds.
    roots: OnceLock<Arc<RootCertStore>>,
}

impl TrustStore {
    /// Trusts the authorities of the system.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Also trusts these authorities, in PEM form: for a server in development or within a company. A self-signed
    /// certificate is its own authority.
    pub fn with_root(mut self, pem: &[u8]) -> Result<Self, TrustStoreError> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(pem) {
            let certificate = certificate.map_err(|_| TrustStoreError::NotPem)?;
            roots.add(certificate.clone()).map_err(|_| TrustStoreError::NotACertificate)?;
            self.added.push(certificate);
        }
        if roots.is_empty() {
            return Err(TrustStoreError::NotPem);
        }
        self.roots = OnceLock::new();
        Ok(self)
    }

    /// TLS configuration for TCP.
    pub(crate) fn https_config(&self) -> Arc<ClientConfig> {
        let mut config = self.config(rustls::DEFAULT_VERSIONS);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }

    /// TLS configuration for QUIC.
    pub(crate) fn quic_config(&self) -> ClientConfig {
        let mut config = self.config(&[&rustls::version::TLS13]);
        config.alpn_protocols = vec![wtransport::tls::WEBTRANSPORT_ALPN.to_vec()];
        config
    }

    fn config(&self, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .expect("the provider supports these TLS versions")
            .with_root_certificates(Arc::clone(self.roots.get_or_init(|| Arc::new(self.load()))))
            .with_no_client_auth()
    }

    /// Loads the certificates. Unreadable system certificates are skipped.
    fn load(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.added.iter().cloned());
        roots
    }
}

/// Reason why an authority cannot be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustStoreError {
    /// The input contains no PEM certificate.
    NotPem,
    /// The PEM block is not a valid certificate.
    NotACertificate,
}

impl Display for TrustStoreError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotPem => "no PEM certificate found; it begins with -----BEGIN CERTIFICATE-----",
            Self::NotACertificate => "the PEM block is not a certificate that can be used as a trusted authority",
        })
    }
}

impl std::error::Error for TrustStoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_certificates_are_rejected() {
        assert_eq!(TrustStore::system().with_root(b"nothing of the kind").err(), Some(TrustStoreError::NotPem));
        let broken = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert_eq!(TrustStore::system().with_root(broken).err(), Some(TrustStoreError::NotACertificate));
    }
}
