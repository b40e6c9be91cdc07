//! Builds and starts the program.

use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command as Process, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::{Command, wasm, web};
use crate::builds;
use crate::failure::{Failure, Outcome};
use crate::process;
use crate::project::{self, Project};

pub const COMMAND: Command = Command {
    name: "run",
    summary: "Builds the pages and the server, and starts it.",
    help: "
Usage: cargo xtask run [arguments]

Builds the pages and the server, and serves at http://127.0.0.1:7350/ until
Ctrl-C. Open the URL that it prints; it has the developer secret, for the
playground. All arguments are passed on to `aether serve`; `cargo xtask run --
--help` lists them.

The server is a development build: fast to compile, with debug assertions. It
reads the pages from web/dist. `cargo xtask dist` builds the program to ship and
measure.",
    run,
};

/// Time to wait for an answer to the request for the first page.
const FIRST_PAGE_TIME_MAX: Duration = Duration::from_secs(10);

fn run(project: &Project, mut arguments: Vec<OsString>) -> Outcome {
    let started = Instant::now();
    if arguments.first().is_some_and(|argument| argument == "--") {
        arguments.remove(0);
    }
    let program = build(project)?;
    let mut server = Process::new(program);
    server.arg("serve").args(arguments).stdout(Stdio::piped());
    println!("$ {}", process::line(&server));
    let unstarted = |error| Failure::new(format!("the server could not be started: {error}"));
    let mut child = server.spawn().map_err(unstarted)?;
    if let Some(output) = child.stdout.take() {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            println!("{line}");
            if let Some(address) = listening(&line)
                && fetch_first_page(&address).is_ok()
            {
                eprintln!("the first page was there after {:.1} s", started.elapsed().as_secs_f64());
            }
        }
    }
    let status = child.wait().map_err(unstarted)?;
    if status.success() { Ok(()) } else { Err(Failure::new(format!("the server ended with {status}"))) }
}

/// Builds pages and program concurrently: packages are downloaded and modules linked on one core while the program
/// compiles.
fn build(project: &Project) -> Result<std::path::PathBuf, Failure> {
    let toolchain = wasm::find_toolchain(project, None)?;
    let (program, pages) = thread::scope(|scope| {
        let packages = scope.spawn(|| web::install(project));
        let modules = scope.spawn(|| wasm::build_modules(project, toolchain));
        let program = builds::server(project);
        let join = |thread: thread::ScopedJoinHandle<'_, Outcome>| {
            thread.join().unwrap_or_else(|_| Err(Failure::new("a thread of the build panicked")))
        };
        (program, join(packages).and(join(modules)))
    });
    pages?;
    wasm::make_modules(project, toolchain)?;
    web::bundle(project)?;
    program
}

/// Reads the address from the line that says where the server listens.
fn listening(line: &str) -> Option<String> {
    project::parse(line).ok()?["listening"]["http"].as_str().map(str::to_owned)
}

/// Requests the first page and waits for the complete answer.
fn fetch_first_page(address: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(FIRST_PAGE_TIME_MAX))?;
    stream.write_all(format!("GET / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.starts_with("HTTP/1.1 200") {
        true => Ok(()),
        false => Err(std::io::Error::other("the server did not answer with a page")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_read_from_the_first_line_of_the_server() {
        let line = r#"{"listening":{"admin":"127.0.0.1:7351","http":"127.0.0.1:7350"}}"#;
        assert_eq!(listening(line).as_deref(), Some("127.0.0.1:7350"));
        assert_eq!(listening("INFO server started url=http://127.0.0.1:7350/"), None);
    }
}
