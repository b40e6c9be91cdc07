//! Scratch.
#[path = "../tests/load/server.rs"]
mod server;
use clap::Parser;
#[derive(Parser)]
#[command(args_override_self = true)]
struct Program {
    #[command(flatten)]
    load: aether_load::LoadArguments,
}
fn main() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    runtime.block_on(async {
        if std::env::args().nth(1).as_deref() == Some("server") {
            let (server, address) = server::Server::start().await;
            println!("{address}");
            tokio::time::sleep(std::time::Duration::from_secs(120)).await;
            println!("{:?}", server.inputs);
        } else {
            let report = aether_load::run(Program::parse().load).await.unwrap();
            println!("{}", report.render(false));
        }
    });
}
