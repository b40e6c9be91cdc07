#[derive(clap::Args)]
pub struct SoakArguments {}
pub fn run(_: &SoakArguments) -> crate::Outcome {
    Ok(())
}
