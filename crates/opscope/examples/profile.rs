//! Profiles some runs of a model, writes a timeline, and prints where the time of a run goes.
//!
//!     cargo run --example profile -- models/digits_cnn.onnx models/digits_cnn.input.image.npy out/profile

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;

use opscope::Session;
use opscope::model::Fidelity;
use opscope::profile::{Format, Profiler, ProfilerOptions, Recording};
use opscope::tensor::npy;

/// Records 20 runs in a directory. Returns where the time of a run goes, as a table.
pub fn profile(model: &Path, input: &Path, directory: &Path) -> Result<String, Box<dyn Error>> {
    let session = Session::load(model, Fidelity::Optimised, NonZeroUsize::MIN)?;
    let inputs = [npy::read_file(input)?];
    let profiler = Profiler::create(directory, &session.recording_info(1), &ProfilerOptions::default())?;
    for _ in 0..20 {
        session.run(&inputs, &[&profiler])?;
    }
    profiler.finish()?;

    let recording = Recording::open(directory)?;
    recording.export(Format::Perfetto, directory)?; // for ui.perfetto.dev
    Ok(recording.account()?.to_text(5))
}

#[allow(dead_code, reason = "a test calls the function above")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, input, directory] = &arguments[..] else {
        return Err("usage: profile MODEL INPUT.npy DIRECTORY".into());
    };
    print!("{}", profile(model.as_ref(), input.as_ref(), directory.as_ref())?);
    Ok(())
}
