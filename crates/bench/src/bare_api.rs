//! Minimal server of the client API as a baseline: it reads a request without looking at it, runs the statements of its
//! kind on PostgreSQL, and sends an answer of the same length.
//!
//! Callers share connections, and statements are prepared and pipelined. Every write is a transaction of its own, on disk
//! before the answer.

use crate::Outcome;
use crate::api::ACCOUNTS;
use std::cell::Cell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::LocalSet;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, NoTls, Statement};
use uuid::Uuid;

/// Connections that reads share.
const READ_CONNECTIONS: usize = 2;
/// Connections that writes share. Each waits for its own commit, and PostgreSQL groups them.
const WRITE_CONNECTIONS: usize = 16;
const REQUEST_BYTES_MAX: usize = 65_536;

/// Kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum BareKind {
    Login,
    NewAccount,
    StorageWrite,
    StorageRead,
    LeaderboardWrite,
    Account,
}

/// Arguments of the minimal server.
#[derive(clap::Args)]
pub struct BareApiArguments {
    /// Kind of request
    #[arg(long)]
    kind: BareKind,
    /// Connection string of PostgreSQL
    #[arg(long)]
    url: String,
    /// Length of the answer
    #[arg(long)]
    answer_bytes: usize,
}

impl BareKind {
    /// Returns the arguments that start the minimal server.
    pub fn arguments(self, url: &str, answer_bytes: usize) -> Vec<String> {
        let kind = clap::ValueEnum::to_possible_value(&self).map(|value| value.get_name().to_owned());
        ["bare-api", "--kind", &kind.unwrap_or_default(), "--url", url, "--answer-bytes", &answer_bytes.to_string()]
            .map(str::to_owned)
            .to_vec()
    }

    fn connections(self) -> usize {
        match self {
            BareKind::Login | BareKind::StorageRead | BareKind::Account => READ_CONNECTIONS,
            BareKind::NewAccount | BareKind::StorageWrite | BareKind::LeaderboardWrite => WRITE_CONNECTIONS,
        }
    }

    /// Returns the statements, as the server runs them. More than one are a transaction.
    fn statements(self) -> &'static [&'static str] {
        match self {
            BareKind::Login => &["SELECT u.id, u.username, u.disabled_at, u.password
                FROM user_devices d JOIN users u ON u.id = d.user_id WHERE d.id = $1"],
            BareKind::NewAccount => &[
                "BEGIN",
                "INSERT INTO users (id, username, display_name, email, password, custom_id, created_at, updated_at)
                    SELECT $1, $2, '', NULL, NULL, NULL, 1, 1
                    WHERE NOT EXISTS (SELECT 1 FROM user_devices WHERE id = $3) ON CONFLICT DO NOTHING",
                "INSERT INTO user_devices (id, user_id, created_at) SELECT $1, id, 1 FROM users WHERE id = $2",
                "COMMIT",
            ],
            BareKind::StorageWrite => &["INSERT INTO storage_objects
                    (collection, key, user_id, value, version, permission_read, permission_write, created_at, updated_at)
                SELECT 'saves', $1, $2, $3, '0123456789abcdef0123456789abcdef', 1, 1, 1, 1
                WHERE EXISTS (SELECT 1 FROM users WHERE id = $2 FOR NO KEY UPDATE)
                ON CONFLICT (collection, user_id, key)
                DO UPDATE SET value = excluded.value, version = excluded.version,
                    permission_read = excluded.permission_read, permission_write = excluded.permission_write,
                    updated_at = excluded.updated_at
                WHERE storage_objects.permission_write >= 1 RETURNING created_at"],
            BareKind::StorageRead => &["SELECT collection, key, user_id, value, version, permission_read,
                    permission_write, created_at, updated_at
                FROM storage_objects WHERE (collection = 'saves' AND user_id = $2 AND key = $1)"],
            BareKind::LeaderboardWrite => &["INSERT INTO leaderboard_records AS r (leaderboard_id, expiry, owner_id,
                    username, score, subscore, num_score, metadata, created_at, updated_at)
                SELECT 'open', 0, $1, '', $2, 0, 1, '{}', 1, 1
                WHERE NOT EXISTS (SELECT 1 FROM erasures WHERE user_id = $1)
                ON CONFLICT (leaderboard_id, expiry, owner_id) DO UPDATE SET score = excluded.score,
                    subscore = excluded.subscore, num_score = r.num_score + 1, updated_at = excluded.updated_at
                WHERE excluded.score <> r.score
                RETURNING owner_id, username, score, subscore, num_score, max_num_score, metadata, created_at,
                    updated_at, expiry"],
            BareKind::Account => &["SELECT u.id, u.username, u.display_name, u.avatar_url, u.lang_tag, u.location,
                    u.timezone, u.metadata, u.edge_count, u.created_at, u.updated_at,
                    (SELECT string_agg(i.provider || ' ' || i.subject, '\n') FROM user_identities i
                        WHERE i.user_id = u.id),
                    u.wallet, u.email, u.custom_id, u.role, u.verified_at, u.disabled_at,
                    (SELECT string_agg(d.id, '\n' ORDER BY d.created_at, d.id) FROM user_devices d
                        WHERE d.user_id = u.id)
                FROM users u WHERE u.id IN ($1)"],
        }
    }
}

/// State that all requests share.
struct Bare {
    kind: BareKind,
    connections: Vec<(Client, Vec<Statement>)>,
    users: Vec<Uuid>,
    answer: Vec<u8>,
    requests: Cell<u64>,
}

/// Serves until the process is ended.
pub fn run(arguments: &BareApiArguments) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(LocalSet::new().run_until(serve(arguments)))
}

async fn serve(arguments: &BareApiArguments) -> Outcome {
    let kind = arguments.kind;
    let mut connections = Vec::new();
    for _ in 0..kind.connections() {
        let (client, connection) = tokio_postgres::connect(&arguments.url, NoTls).await?;
        tokio::task::spawn_local(async move { drop(connection.await) });
        client.batch_execute("SET plan_cache_mode = force_generic_plan").await?;
        let mut statements = Vec::new();
        for sql in kind.statements() {
            statements.push(client.prepare(sql).await?);
        }
        connections.push((client, statements));
    }
    let users = "SELECT user_id FROM user_devices WHERE id LIKE 'bench-device-%' ORDER BY id";
    let users = connections[0].0.query(users, &[]).await?.iter().map(|row| row.get(0)).collect();
    let body = "x".repeat(arguments.answer_bytes);
    let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes();
    let bare = Rc::new(Bare { kind, connections, users, answer, requests: Cell::new(0) });
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", serde_json::json!({ "listening": { "http": listener.local_addr()?.to_string() } }));
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let bare = Rc::clone(&bare);
        tokio::task::spawn_local(async move {
            // The connection ends with an error, which the load counts.
            let _ = bare.connection(stream).await;
        });
    }
}

impl Bare {
    async fn connection(&self, mut stream: TcpStream) -> Outcome {
        let mut buffer = Vec::with_capacity(4_096);
        loop {
            while !is_complete(&buffer) {
                if buffer.len() > REQUEST_BYTES_MAX || stream.read_buf(&mut buffer).await? == 0 {
                    return Ok(());
                }
            }
            buffer.clear();
            self.work().await?;
            stream.write_all(&self.answer).await?;
        }
    }

    /// Runs the statements of a request.
    async fn work(&self) -> Result<(), tokio_postgres::Error> {
        let number = self.requests.replace(self.requests.get() + 1);
        let (client, statements) = &self.connections[number as usize % self.connections.len()];
        let user = self.users[number as usize % self.users.len()];
        let key = format!("slot{}", number % 8);
        match self.kind {
            BareKind::Login => {
                let device = format!("bench-device-{:06}", number as usize % ACCOUNTS);
                query(client, &statements[0], &[&device]).await
            }
            BareKind::NewAccount => {
                let (user, name) = (Uuid::now_v7(), Uuid::new_v4().simple().to_string());
                let device = format!("bare-{name}");
                let account: [&(dyn ToSql + Sync); 3] = [&user, &name, &device];
                let link: [&(dyn ToSql + Sync); 2] = [&device, &user];
                // `join!` polls in this order, and the first poll sends the statement.
                let (begun, created, linked, committed) = tokio::join!(
                    biased;
                    query(client, &statements[0], &[]),
                    query(client, &statements[1], &account),
                    query(client, &statements[2], &link),
                    query(client, &statements[3], &[])
                );
                begun.and(created).and(linked).and(committed)
            }
            BareKind::StorageWrite => {
                let value = format!("{{\"level\":{number},\"name\":\"a save of some length\"}}");
                query(client, &statements[0], &[&key, &user, &value]).await
            }
            BareKind::StorageRead => query(client, &statements[0], &[&key, &user]).await,
            BareKind::LeaderboardWrite => {
                let score = (number.wrapping_mul(2_654_435_761) % 1_000_000) as i64;
                query(client, &statements[0], &[&user, &score]).await
            }
            BareKind::Account => query(client, &statements[0], &[&user]).await,
        }
    }
}

async fn query(
    client: &Client,
    statement: &Statement,
    parameters: &[&(dyn ToSql + Sync)],
) -> Result<(), tokio_postgres::Error> {
    client.query(statement, parameters).await.map(drop)
}

/// Returns true if the buffer has a whole request.
fn is_complete(request: &[u8]) -> bool {
    let Some(start) = request.windows(4).position(|window| window == b"\r\n\r\n") else { return false };
    let head = String::from_utf8_lossy(&request[..start]);
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse::<usize>().ok());
    request.len() >= start + 4 + length.unwrap_or(0)
}
