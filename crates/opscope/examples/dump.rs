//! Writes the outputs of every convolution of a model as `.npy` files, and reads the dump back.
//!
//!     cargo run --example dump -- models/digits_cnn.onnx models/digits_cnn.input.image.npy out/dump

use std::error::Error;
use std::num::NonZeroUsize;
use std::path::Path;

use opscope::Session;
use opscope::dump::{Contents, DirectorySink, DumpInfo, Dumper, Pattern, Request, Selection, StoredDump};
use opscope::model::Fidelity;
use opscope::tensor::npy;

/// Dumps a run to a directory. Returns a line for each tensor, with its value and shape.
pub fn dump(model: &Path, input: &Path, directory: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    // At exact fidelity every operator is executed as in the file, and none is fused.
    let session = Session::load(model, Fidelity::Exact, NonZeroUsize::MIN)?;
    let engine = session.engine();
    let info = DumpInfo::new(session.graph(), Fidelity::Exact, engine.name(), engine.version());
    let sink = DirectorySink::create(directory, Contents::Tensors, &info)?;
    let selection = Selection { op_types: vec![Pattern::parse("Conv")?], ..Selection::default() };
    let dumper = Dumper::new();
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() })?;
    session.run(&[npy::read_file(input)?], &[&dumper])?;
    assert!(dumper.finish()?.is_complete(), "every tensor that was selected is in the dump");

    let stored = StoredDump::open(directory)?;
    let line =
        |tensor: &opscope::dump::StoredTensor| Ok(format!("{} {:?}", tensor.place.label(), tensor.read()?.shape()));
    stored.tensors.iter().map(line).collect()
}

#[allow(dead_code, reason = "a test calls the function above")]
fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [model, input, directory] = &arguments[..] else { return Err("usage: dump MODEL INPUT.npy DIRECTORY".into()) };
    dump(model.as_ref(), input.as_ref(), directory.as_ref())?.iter().for_each(|line| println!("{line}"));
    Ok(())
}
