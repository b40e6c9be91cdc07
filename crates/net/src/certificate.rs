//! The certificate by which clients know the server, for HTTPS and for QUIC.

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

/// How long a generated certificate is good. Browsers take one by its hash only if that is at most 14 days.
pub const GENERATED_LIFETIME: Duration = Duration::from_secs(13 * 86_400);

/// How far the clock of a client may be behind ours when a certificate is fresh.
const CLOCK_TOLERANCE: Duration = Duration::from_secs(3_600);

const _: () = assert!(GENERATED_LIFETIME.as_secs() + CLOCK_TOLERANCE.as_secs() <= 14 * 86_400);

/// The server's certificate, which can be exchanged while the server runs: connections that begin afterwards see the new
/// one.
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

/// Hands the certificate of the moment to each new connection.
#[derive(Debug)]
struct Current(RwLock<Loaded>);

#[derive(Clone, Debug)]
struct Loaded {
    key: Arc<CertifiedKey>,
    /// Known of generated ones.
    expires_at: Option<SystemTime>,
}

/// Why a certificate cannot be used.
#[derive(Debug)]
pub enum CertificateError {
    /// A file cannot be read, or is not in PEM form.
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        error: pem::Error,
    },
    /// The file of the chain holds no certificate.
    NoCertificate(PathBuf),
    /// Certificate and key do not belong together, or are of an unknown kind.
    Unusable(rustls::Error),
    /// A name cannot stand in a certificate, or there is no randomness.
    NotGenerated(rcgen::Error),
    /// The key is not good for QUIC.
    NotForQuic,
}

impl Certificates {
    /// Reads a chain of certificates, the server's own first, and its key from files in PEM form.
    pub fn from_files(chain: impl Into<PathBuf>, key: impl Into<PathBuf>) -> Result<Certificates, CertificateError> {
        let source = Source::Files { chain: chain.into(), key: key.into() };
        // The time matters to generated certificates only.
        Certificates::new(source, SystemTime::UNIX_EPOCH)
    }

    /// Makes a certificate for these names and addresses that nobody vouches for. Clients know it by its hash.
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

    /// Reads the files again, or makes a new certificate. If that fails, the old one stays.
    pub fn reload(&self, now: SystemTime) -> Result<(), CertificateError> {
        let loaded = self.source.load(now)?;
        *self.current.0.write().unwrap_or_else(PoisonError::into_inner) = loaded;
        Ok(())
    }

    /// The SHA-256 of a generated certificate, for clients that take it by its hash. One from files has none, because
    /// clients are to check who vouches for it.
    #[must_use]
    pub fn hash(&self) -> Option<[u8; 32]> {
        match self.source {
            Source::Files { .. } => None,
            Source::Generated { .. } => self.current.loaded().key.cert.first().map(|own| Sha256::digest(own).into()),
        }
    }

    /// Until when a generated certificate is good. It is to be renewed with [`reload`](Self::reload) well before.
    #[must_use]
    pub fn expires_at(&self) -> Option<SystemTime> {
        self.current.loaded().expires_at
    }

    /// What HTTPS needs: HTTP/2 or HTTP/1.1 over TLS 1.2 or 1.3.
    pub fn https_config(&self) -> Result<Arc<rustls::ServerConfig>, CertificateError> {
        let mut config = self.config(rustls::DEFAULT_VERSIONS)?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Arc::new(config))
    }

    /// What QUIC needs: HTTP/3 over TLS 1.3.
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
            CertificateError::NoCertificate(path) => write!(f, "{} holds no certificate", path.display()),
            CertificateError::Unusable(error) => write!(f, "the certificate and its key cannot be used: {error}"),
            CertificateError::NotGenerated(error) => write!(f, "no certificate could be made: {error}"),
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
    let broken = |path: &Path| {
        let path = path.to_owned();
        move |error| CertificateError::File { path, error }
    };
    let certificates =
        CertificateDer::pem_file_iter(chain).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(broken(chain))?;
    if certificates.is_empty() {
        return Err(CertificateError::NoCertificate(chain.to_owned()));
    }
    let private = PrivateKeyDer::from_pem_file(key).map_err(broken(key))?;
    certified(certificates, private, None)
}

fn generated(names: &[String], now: SystemTime) -> Result<Loaded, CertificateError> {
    let expires_at = now + GENERATED_LIFETIME;
    let mut parameters = rcgen::CertificateParams::new(names).map_err(CertificateError::NotGenerated)?;
    parameters.not_before = (now - CLOCK_TOLERANCE).into();
    parameters.not_after = expires_at.into();
    parameters.distinguished_name.push(rcgen::DnType::CommonName, "aether");
    // Browsers that take a certificate by its hash want this kind of key.
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

/// It is named wherever it is used, so that no other part of a program can exchange it.
fn provider() -> CryptoProvider {
    rustls::crypto::ring::default_provider()
}
