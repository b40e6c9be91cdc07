//! Whom a client believes to be the server.

use std::fmt::{self, Display, Formatter};
use std::sync::{Arc, OnceLock};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore, SupportedProtocolVersion};

/// The authorities whose certificates are believed: those of the system, and what is added.
#[derive(Clone, Debug, Default)]
pub struct TrustStore {
    added: Vec<CertificateDer<'static>>,
    /// Reading the system's takes some milliseconds, so it is done when the first are needed, and once.
    roots: OnceLock<Arc<RootCertStore>>,
}

impl TrustStore {
    /// The authorities that this system trusts.
    #[must_use]
    pub fn system() -> Self {
        Self::default()
    }

    /// Believes these authorities too, in PEM form: for a server in development or within a company. A certificate that
    /// vouches for itself stands for its authority.
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

    /// What TLS over TCP needs.
    pub(crate) fn https_config(&self) -> Arc<ClientConfig> {
        let mut config = self.config(rustls::DEFAULT_VERSIONS);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Arc::new(config)
    }

    /// What QUIC needs.
    pub(crate) fn quic_config(&self) -> ClientConfig {
        let mut config = self.config(&[&rustls::version::TLS13]);
        config.alpn_protocols = vec![wtransport::tls::WEBTRANSPORT_ALPN.to_vec()];
        config
    }

    fn config(&self, versions: &[&'static SupportedProtocolVersion]) -> ClientConfig {
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_protocol_versions(versions)
            .expect("the provider knows both versions of TLS")
            .with_root_certificates(Arc::clone(self.roots.get_or_init(|| Arc::new(self.load()))))
            .with_no_client_auth()
    }

    /// What the system has that cannot be read vouches for nobody.
    fn load(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        roots.add_parsable_certificates(self.added.iter().cloned());
        roots
    }
}

/// Why an authority cannot be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrustStoreError {
    /// There is no certificate in PEM form.
    NotPem,
    /// What is in PEM form is no certificate.
    NotACertificate,
}

impl Display for TrustStoreError {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::NotPem => "there is no certificate in PEM form; it begins with -----BEGIN CERTIFICATE-----",
            Self::NotACertificate => "what is in PEM form is no certificate that can vouch for a server",
        })
    }
}

impl std::error::Error for TrustStoreError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_is_refused() {
        assert_eq!(TrustStore::system().with_root(b"nothing of the kind").err(), Some(TrustStoreError::NotPem));
        let broken = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
        assert_eq!(TrustStore::system().with_root(broken).err(), Some(TrustStoreError::NotACertificate));
    }
}
