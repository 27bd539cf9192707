//! The binary `mock5g`.

fn main() -> std::process::ExitCode {
    mock5g::cli::run()
}
