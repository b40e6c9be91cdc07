//! Requests made from the description of the API, right and wrong ones, against the real server.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command as Process, Stdio};

use lexopt::Arg::Long;
use lexopt::ValueExt;

use super::{Command, browser, postgres};
use crate::failure::{Failure, Outcome};
use crate::packages::{self, Package};
use crate::process::{find_program, run, succeeds};
use crate::project::{Project, parse};
use crate::steps::{Lane, Step};

pub const COMMAND: Command = Command {
    name: "schemathesis",
    summary: "Sends requests generated from the OpenAPI description and checks the answers.",
    help: "
Usage: cargo xtask schemathesis [--examples N] [--seed N] [--program FILE]

  --examples N     requests per operation; default: 200
  --seed N         repeats a run
  --program FILE   tests this server instead of building one

Installs schemathesis from PyPI into the build folder and tests all operations of
/openapi.json, on SQLite and on PostgreSQL. The command fails if an answer is an
internal error (500) or does not match its description.",
    run: run_command,
};

/// The short form for `cargo xtask test`.
pub const SHORT_SCHEMATHESIS: Step = Step {
    name: "schemathesis",
    what: "requests generated from the OpenAPI description find no defect, in a short form",
    run: |project| test(project, None, EXAMPLES_IN_TEST, SEED_IN_TEST),
    lane: Lane::Test,
    after: &["setup", "build"],
};

/// Enough to make every field of every request invalid once.
const EXAMPLES_IN_TEST: u32 = 25;
/// Fixed, so that every test run is the same.
const SEED_IN_TEST: u64 = 1;
const EXAMPLES_DEFAULT: u32 = 200;

const VERSION: &str = "schemathesis==4.32.5";

/// Checks of each answer. The server may reject a request that matches its schema, so that is not checked.
const CHECKS: &str =
    "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,ignored_auth";

/// Excluded check: the protocol requires 501 for an unsupported method, which would count as a defect.
const SETTINGS: &str = "[phases.coverage]\nunexpected-methods = []\n";

/// Operations that take the server key and no session.
const BY_SERVER_KEY: &str = "^(Authenticate.*|SessionRefresh|RequestPasswordReset|ResetPassword|VerifyEmail)$";

/// The same, and operations that end the session that all others need. Tests of the server cover them.
const NOT_BY_SESSION: &str = "^(Authenticate.*|SessionRefresh|RequestPasswordReset|ResetPassword|VerifyEmail\
    |DeleteAccount|SessionLogout)$";

const PACKAGES: &[Package] = &[Package {
    debian: "python3-venv",
    purpose: "Python 3.10 or newer with venv, which schemathesis runs in",
    present: || {
        find_program("python3").is_some() && succeeds(Process::new("python3").args(["-c", "import venv, ensurepip"]))
    },
}];

fn run_command(project: &Project, arguments: Vec<OsString>) -> Outcome {
    let mut parser = lexopt::Parser::from_args(arguments);
    let (mut examples, mut seed, mut program) = (EXAMPLES_DEFAULT, SEED_IN_TEST, None);
    while let Some(argument) = parser.next()? {
        match argument {
            Long("examples") => examples = parser.value()?.parse()?,
            Long("seed") => seed = parser.value()?.parse()?,
            Long("program") => program = Some(PathBuf::from(parser.value()?)),
            other => return Err(other.unexpected().into()),
        }
    }
    test(project, program, examples, seed)
}

fn test(project: &Project, program: Option<PathBuf>, examples: u32, seed: u64) -> Outcome {
    packages::ensure(postgres::PACKAGES)?;
    let schemathesis = install(project)?;
    let program = browser::program(project, program)?;
    let on_sqlite = ask(&schemathesis, &Server::start(&program, None)?, examples, seed);
    let database = postgres::temporary()?;
    let on_postgres = ask(&schemathesis, &Server::start(&program, Some(&database.url()))?, examples, seed);
    on_sqlite.and(on_postgres)
}

/// Returns the path of schemathesis, in its own folder of Python packages.
pub fn install(project: &Project) -> Result<PathBuf, Failure> {
    packages::ensure(PACKAGES)?;
    let folder = project.target.join("schemathesis");
    let (python, installed) = (folder.join("bin/python"), folder.join("bin/schemathesis"));
    let stamp = folder.join(VERSION);
    if !stamp.is_file() {
        run(Process::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        run(Process::new(python).args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", VERSION]))?;
        std::fs::write(&stamp, "").map_err(|error| Failure::new(format!("{}: {error}", stamp.display())))?;
    }
    Ok(installed)
}

fn ask(schemathesis: &Path, server: &Server, examples: u32, seed: u64) -> Outcome {
    let (url, examples, seed) =
        (format!("http://{}/openapi.json", server.http), examples.to_string(), seed.to_string());
    let command = || {
        let mut command = Process::new(schemathesis);
        command.args(["run", &url, "--checks", CHECKS, "--max-examples", &examples, "--seed", &seed]);
        command.args(["--phases", "examples,coverage,fuzzing", "--warnings", "off"]);
        command.args(["--suppress-health-check", "all", "--no-color"]);
        // Results of one run must not affect the next.
        command.args(["--generation-database", "none"]);
        command.current_dir(&server.folder);
        command
    };
    let signed_in = server.sign_in()?;
    let mut by_session = command();
    by_session.args(["--exclude-operation-id-regex", NOT_BY_SESSION]);
    by_session.args(["--header", &format!("Authorization: Bearer {signed_in}")]);
    let mut by_server_key = command();
    by_server_key.args(["--include-operation-id-regex", BY_SERVER_KEY]);
    by_server_key.args(["--auth", "defaultkey:"]);
    let asked = run(&mut by_session).and(run(&mut by_server_key));
    // Without a session, all requests would be rejected and nothing tested.
    if server.ask("GET", "/v2/account", &format!("Bearer {signed_in}"), "")?.starts_with("HTTP/1.1 200") {
        asked
    } else {
        Err(Failure::new("the session ended in the middle of the run"))
    }
}

/// A server with an empty data folder. Both are removed on drop.
struct Server {
    child: Child,
    http: String,
    folder: PathBuf,
}

impl Server {
    fn start(program: &Path, database: Option<&str>) -> Result<Server, Failure> {
        let folder = std::env::temp_dir().join(format!("aether-schemathesis-{}", std::process::id()));
        let trouble = |error: std::io::Error| Failure::new(format!("{}: {error}", program.display()));
        std::fs::create_dir_all(&folder).map_err(trouble)?;
        std::fs::write(folder.join("schemathesis.toml"), SETTINGS).map_err(trouble)?;
        let mut command = Process::new(program);
        command
            .args(["serve", "--address", "127.0.0.1:0", "--admin-address", "127.0.0.1:0", "--data-dir"])
            .arg(&folder);
        // The token must be valid for the whole run.
        command.args(["--set", "tokens.access_seconds=86400", "--set", "log.filter=warn"]);
        if let Some(url) = database {
            command.args(["--set", &format!("database.url={url}")]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(trouble)?;
        let mut server = Server { child, http: String::new(), folder };
        let mut line = String::new();
        let output = server.child.stdout.take().ok_or_else(|| Failure::new("the server has no output"))?;
        BufReader::new(output).read_line(&mut line).map_err(trouble)?;
        let listening = parse(&line).map_err(|_| Failure::new("the server did not start"))?;
        server.http = listening["listening"]["http"].as_str().unwrap_or_default().to_owned();
        Ok(server)
    }

    /// Returns the token of a new user.
    fn sign_in(&self) -> Result<String, Failure> {
        let key = "Basic ZGVmYXVsdGtleTo="; // The server key, as it is sent.
        let path = "/v2/account/authenticate/device?create=true";
        let answer = self.ask("POST", path, key, r#"{"id":"device of schemathesis"}"#)?;
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        let session = parse(body).map_err(|_| Failure::new(format!("the server did not let us in: {answer}")))?;
        session["token"].as_str().map(str::to_owned).ok_or_else(|| Failure::new(format!("there is no token: {answer}")))
    }

    /// Returns the answer to a request, including the status line.
    fn ask(&self, method: &str, path: &str, authorization: &str, body: &str) -> Result<String, Failure> {
        let trouble = |error: std::io::Error| Failure::new(format!("{}: {error}", self.http));
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: {authorization}\r\ncontent-length: {}\r\n\
             connection: close\r\n\r\n{body}",
            self.http,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.http).map_err(trouble)?;
        stream.write_all(request.as_bytes()).map_err(trouble)?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(trouble)?;
        Ok(answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may already have exited; its folder can be removed in either case.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
