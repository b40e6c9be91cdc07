//! Certificates of the server, for HTTPS and QUIC.

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use sha2::{Digest, Sha256};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use wtransport::quinn::crypto::rustls::QuicServerConfig;

/// Lifetime of a generated certificate. Browsers accept a certificate by its hash only if it is at most 14 days.
pub const GENERATED_LIFETIME: Duration = Duration::from_secs(13 * 86_400);

/// Largest lag of a client's clock with which a new certificate is already valid.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(3_600);

const _: () = assert!(GENERATED_LIFETIME.as_secs() + CLOCK_TOLERANCE.as_secs() <= 14 * 86_400);

/// Certificate of the server. It can be replaced while the server runs; new connections get the new one.
#[derive(Clone, Debug)]
pub struct Certificates {
    source: Source,
    current: Arc<Current>,
}

#[derive(Clone, Debug)]
enum Source {
    Files { chain: PathBuf, key: PathBuf },
    Generated { names: Vec<String> },
}

/// Resolves the current certificate for each new connection.
#[derive(Debug)]
struct Current(RwLock<Loaded>);

#[derive(Clone, Debug)]
struct Loaded {
    key: Arc<CertifiedKey>,
    /// Expiry; only of a generated certificate.
    expires_at: Option<SystemTime>,
}

/// Reason why a certificate cannot be used.
#[derive(Debug)]
pub enum CertificateError {
    /// A file cannot be read, or is not in PEM form.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of reading or parsing.
        error: pem::Error,
    },
    /// The chain file has no certificate.
    NoCertificate(PathBuf),
    /// Certificate and key do not match, or have an unsupported type.
    Unusable(rustls::Error),
    /// The certificate cannot be generated: a name is invalid, or the system has no random numbers.
    NotGenerated(rcgen::Error),
    /// The key cannot be used for QUIC.
    NotForQuic,
}

impl Certificates {
    /// Reads a certificate chain, the server's own certificate first, and its key from PEM files.
    pub fn from_files(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Certificates, CertificateError> {
        let source = Source::Files { chain: chain.into(), key: key.into() };
        // The time matters to generated certificates only.
        Certificates::new(source, SystemTime::UNIX_EPOCH)
    }

    /// Generates a self-signed certificate for these names and addresses. Clients identify it by its hash.
    pub fn generate<N: Into<String>>(
        names: impl IntoIterator<Item = N>,
        now: SystemTime,
    ) -> Result<Certificates, CertificateError> {
        Certificates::new(Source::Generated { names: names.into_iter().map(Into::into).collect() }, now)
    }

    fn new(source: Source, now: SystemTime) -> Result<Certificates, CertificateError> {
        let current = Arc::new(Current(RwLock::new(source.load(now)?)));
        Ok(Certificates { source, current })
    }

    /// Reads the files again, or generates a new certificate. On failure the old one stays in use.
    pub fn reload(&self, now: SystemTime) -> Result<(), CertificateError> {
        let loaded = self.source.load(now)?;
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// SHA-256 of a generated certificate, for clients that accept it by its hash. None for a certificate from files,
    /// whose issuer clients have to verify.
    #[must_use]
    pub fn hash(&self) -> Option<[u8; 32]> {
        match self.source {
            Source::Files { .. } => None,
            Source::Generated { .. } => {
                self.current.loaded().key.cert.first().map(|certificate| Sha256::digest(certificate).into())
            }
        }
    }

    /// Expiry of a generated certificate. Renew it with [`reload`](Self::reload) well before.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.current.loaded().expires_at
    }

    /// Returns the configuration of HTTPS: HTTP/2, if it is enabled, or HTTP/1.1 over TLS 1.2 or 1.3.
    pub fn https_config(&self, has_http2: bool) -> Result<Arc<rustls::ServerConfig>, CertificateError> {
        let mut config = self.config(rustls::DEFAULT_VERSIONS)?;
        let protocols: &[&[u8]] = if has_http2 { &[b"h2", b"http/1.1"] } else { &[b"http/1.1"] };
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        Ok(Arc::new(config))
    }

    /// Returns the configuration of QUIC: HTTP/3 over TLS 1.3.
    pub(crate) fn quic_config(&self) -> Result<QuicServerConfig, CertificateError> {
        let mut config = self.config(&[&rustls::version::TLS13])?;
        config.alpn_protocols = vec![b"h3".to_vec()];
        QuicServerConfig::try_from(config).map_err(|_| CertificateError::NotForQuic)
    }

    fn config(
        &self,
        versions: &[&'static rustls::SupportedProtocolVersion],
    ) -> Result<rustls::ServerConfig, CertificateError> {
        let resolver: Arc<dyn ResolvesServerCert> = Arc::clone(&self.current) as _;
        let config = rustls::ServerConfig::builder_with_provider(Arc::new(provider()))
            .with_protocol_versions(versions)
            .map_err(CertificateError::Unusable)?
            .with_no_client_auth()
            .with_cert_resolver(resolver);
        Ok(config)
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CertificateError::File { path, error } => write!(f, "{} cannot be read: {error}", path.display()),
            CertificateError::NoCertificate(path) => write!(f, "{} contains no certificate", path.display()),
            CertificateError::Unusable(error) => {
                write!(f, "the certificate and its key cannot be used: {error}")
            }
            CertificateError::NotGenerated(error) => write!(f, "the certificate cannot be generated: {error}"),
            CertificateError::NotForQuic => f.write_str("the certificate cannot be used for QUIC"),
        }
    }
}

impl std::error::Error for CertificateError {}

impl Current {
    fn loaded(&self) -> Loaded {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Current {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.loaded().key)
    }
}

impl Source {
    fn load(&self, now: SystemTime) -> Result<Loaded, CertificateError> {
        match self {
            Source::Files { chain, key } => from_files(chain, key),
            Source::Generated { names } => generated(names, now),
        }
    }
}

fn from_files(chain: &Path, key: &Path) -> Result<Loaded, CertificateError> {
    let file_error = |path: &Path| {
        let path = path.to_owned();
        move |error| CertificateError::File { path, error }
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(file_error(chain))?;
    if certificates.is_empty() {
        return Err(CertificateError::NoCertificate(chain.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(file_error(key))?;
    certified(certificates, private, None)
}

fn generated(names: &[String], now: SystemTime) -> Result<Loaded, CertificateError> {
    let expires_at = now + GENERATED_LIFETIME;
    let mut parameters = rcgen::CertificateParams::new(names).map_err(CertificateError::NotGenerated)?;
    parameters.not_before = (now - CLOCK_TOLERANCE).into();
    parameters.not_after = expires_at.into();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "aether");
    // Browsers accept a certificate by its hash only with this type of key.
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256).map_err(CertificateError::NotGenerated)?;
    let certificate = parameters.self_signed(&key).map_err(CertificateError::NotGenerated)?;
    let private = PrivatePkcs8KeyDer::from(key.serialize_der());
    certified(vec![certificate.der().clone()], private.into(), Some(expires_at))
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    expires_at: Option<SystemTime>,
) -> Result<Loaded, CertificateError> {
    let key = CertifiedKey::from_der(chain, key, &provider()).map_err(CertificateError::Unusable)?;
    Ok(Loaded { key: Arc::new(key), expires_at })
}

/// Returns the crypto provider. It is passed explicitly, so that other parts of a program cannot replace it.
fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}
