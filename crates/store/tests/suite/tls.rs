//! TLS connections to PostgreSQL.

use aether_metrics::Registry;
use aether_store::{Database, Store, StoreError, StoreSettings};
use aether_testkit_postgres::Cluster;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// Starts a cluster with a certificate. Returns it and the file of the certificate authority.
fn tls_cluster(name: &str) -> Option<(Cluster, std::path::PathBuf)> {
    let mut cluster = aether_testkit_store::cluster()?;
    let mut authority = CertificateParams::default();
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new([name.to_owned()]).unwrap().signed_by(&key, &authority).unwrap();
    cluster.enable_tls(&certificate.pem(), &key.serialize_pem()).unwrap();
    let file = cluster.folder().join("authority.pem");
    std::fs::write(&file, authority.pem()).unwrap();
    cluster.start().unwrap();
    Some((cluster, file))
}

async fn open(url: String) -> Result<Store, StoreError> {
    Store::open(&StoreSettings { connections: 1, ..StoreSettings::new(Database::Postgres(url)) }, &Registry::new())
        .await
}

/// Returns true if PostgreSQL reports the connection as encrypted.
async fn is_encrypted(store: &Store) -> bool {
    let select = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    store.read(move |transaction| transaction.row(select, &[], |row| row.get(0))).await.unwrap().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trusted_certificate_gives_an_encrypted_connection() {
    let Some((cluster, authority)) = tls_cluster("localhost") else { return };
    let url = cluster.url().replace("127.0.0.1", "localhost");
    for mode in ["require", "verify-full", "prefer"] {
        let store = open(format!("{url}?sslmode={mode}&sslrootcert={}", authority.display())).await.unwrap();
        assert!(is_encrypted(&store).await, "{mode}");
    }
    assert!(!is_encrypted(&open(format!("{url}?sslmode=disable")).await.unwrap()).await);
    assert!(!is_encrypted(&open(url).await.unwrap()).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_untrusted_certificate_or_a_wrong_name_is_an_error() {
    let Some((cluster, authority)) = tls_cluster("elsewhere.example") else { return };
    let url = cluster.url().replace("127.0.0.1", "localhost");
    let unknown = open(format!("{url}?sslmode=require")).await.err().unwrap();
    assert!(unknown.to_string().contains("sslrootcert"), "{unknown}");
    let other = open(format!("{url}?sslmode=require&sslrootcert={}", authority.display())).await.err().unwrap();
    assert!(other.to_string().contains("certificate"), "{other}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_tls_is_an_error_if_tls_is_required() {
    let Some(database) = aether_testkit_store::postgres() else { return };
    let Database::Postgres(url) = &database.database else { unreachable!() };
    let refused = open(format!("{url}?sslmode=require")).await.err().unwrap();
    assert!(refused.to_string().contains("TLS"), "{refused}");
    assert!(!is_encrypted(&open(format!("{url}?sslmode=prefer")).await.unwrap()).await);
}
