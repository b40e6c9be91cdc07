pub fn serve(_: aether_server::commands::serve::ServeArguments) -> std::process::ExitCode { std::process::ExitCode::SUCCESS }
