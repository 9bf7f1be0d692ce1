//! Runs that are compared while they run, with the embedded engine: what belongs to which side, and what is compared.

// The embedded engine's tests make their models with it, too.
#[allow(dead_code)]
#[path = "../../engine-tract/tests/engine/builder.rs"]
mod builder;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;

use builder::{Builder, D, floats};
use opscope::Session;
use opscope::dump::{
    CompareOptions, Contents, Delivery, DirectorySink, DumpInfo, Dumper, Io, IoSelection, Request, Selection,
    StoredDump,
};
use opscope::engine::EngineSpec;
use opscope::model::{Fidelity, Instrument, LoadBudget, LoadOptions, RunId, RunInfo};
use opscope::onnx::Graph;
use opscope::tensor::{Tensor, npy};
use opscope_job::compare::{CompareError, Reference, RunSpec, compare_runs};
use opscope_job::inputs::{GivenFiles, InputFiles, Inputs, ShapeSpec};
use tract_onnx::pb::tensor_proto::DataType;

/// Writes `y = max(0, x + w)`.
fn write(path: &Path, weights: [f32; 2]) {
    let model = Builder::default()
        .input("x", DataType::Float, &[D::N(2)])
        .output("y")
        .initializer(floats("w", &[2], &weights))
        .node("add", "Add", &["x", "w"], &["sum"])
        .node("relu", "Relu", &["sum"], &["y"]);
    std::fs::write(path, model.bytes()).unwrap();
}

fn spec(model: &Path, fidelity: Fidelity) -> RunSpec {
    let (engine, budget) = (EngineSpec::default(), LoadBudget::default());
    RunSpec { model: model.to_owned(), graph: None, engine, fidelity, threads: NonZeroUsize::MIN, budget }
}

fn inputs() -> Inputs {
    Inputs::Same(vec![Tensor::from_f32(vec![2], &[1.0, 2.0]).unwrap()])
}

#[test]
fn two_runs_are_named_by_their_models_engines_and_fidelities_and_differ_by_their_weights() {
    let dir = tempfile::tempdir().unwrap();
    let paths = ["one.onnx", "two.onnx"].map(|name| dir.path().join(name));
    write(&paths[0], [0.5, 0.0]);
    write(&paths[1], [0.5, 4.0]);
    let [one, two] = paths.each_ref().map(|path| spec(path, Fidelity::Exact));
    let given = Graph::load(&paths[0]).unwrap();
    let compare = |reference: &RunSpec| {
        compare_runs(&one, &Reference::Run(reference.clone()), &inputs(), &given, CompareOptions::default()).unwrap()
    };
    let same = compare(&one);
    assert!(same.is_same() && same.rows.len() == 2);
    let other = compare(&two);
    let label = |path: &Path| format!("{} (tract, exact)", path.display());
    assert_eq!((other.tensors.clone(), other.reference.clone()), (label(&paths[0]), label(&paths[1])));
    let apart = |name: &str| {
        let row = other.rows.iter().find(|row| row.place.value.as_deref() == Some(name)).unwrap();
        row.difference().unwrap().max_absolute
    };
    // 2 + 0 and 2 + 4, which the Relu passes on.
    assert_eq!((apart("sum"), apart("y")), (4.0, 4.0));
    assert!(!other.is_same());
}

/// A dump of an exact run of the model.
fn dump(model: &Path, root: &Path, io: IoSelection) -> Arc<StoredDump> {
    let session = Session::open(model, &LoadOptions::new(Fidelity::Exact, NonZeroUsize::MIN)).unwrap();
    let Inputs::Same(inputs) = inputs() else { unreachable!("they are in no file") };
    let plan = session.model().plan(&inputs).unwrap();
    let dumper = Dumper::new();
    let info = DumpInfo::new(session.graph(), Fidelity::Exact, "tract", "1");
    let sink = DirectorySink::create(root, Contents::Tensors, &info).unwrap();
    let selection = Selection { io, ..Selection::default() };
    let request = Request { selection, delivery: Some(Delivery::Direct), ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    dumper.add_plan(&**session.model(), &*plan).unwrap();
    let info = RunInfo { id: RunId(0), graph: session.graph(), kernels: plan.kernels(), fidelity: Fidelity::Exact };
    let observer = dumper.observe(&info);
    plan.run(RunId(0), &*plan.upload(&inputs).unwrap(), &*observer).unwrap();
    drop(observer);
    dumper.finish().unwrap();
    Arc::new(StoredDump::open(root).unwrap())
}

#[test]
fn inputs_of_operators_are_compared_where_the_dump_has_them() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("one.onnx");
    write(&model, [0.5, 0.0]);
    let given = Graph::load(&model).unwrap();
    for (name, io, taken) in [("all", IoSelection::All, true), ("outputs", IoSelection::Outputs, false)] {
        let dump = dump(&model, &dir.path().join(name), io);
        assert_eq!(dump.tensors.iter().any(|tensor| tensor.place.io == Some(Io::Input)), taken);
        let run = spec(&model, Fidelity::Exact);
        let reference = Reference::Dump(Arc::clone(&dump));
        let comparison = compare_runs(&run, &reference, &inputs(), &given, CompareOptions::default()).unwrap();
        let rows = |io: Io| comparison.rows.iter().filter(|row| row.place.io == Some(io)).count();
        assert_eq!((rows(Io::Input) > 0, rows(Io::Output)), (taken, 2), "{name}");
        assert!(comparison.is_same() && comparison.is_complete(), "{name}");
        assert_eq!((comparison.only_in_tensors.len(), comparison.only_in_reference.len()), (0, 0), "{name}");
    }
}

/// Writes an array of two numbers.
fn write_array(path: &Path, elements: [f32; 2]) {
    let tensor = Tensor::from_f32(vec![2], &elements).unwrap();
    npy::write(&tensor.view(), &mut std::fs::File::create_new(path).unwrap()).unwrap();
}

#[test]
fn several_sets_of_inputs_are_compared_only_with_a_dump_that_tells_runs_apart() {
    let dir = tempfile::tempdir().unwrap();
    let model = dir.path().join("one.onnx");
    write(&model, [0.5, 0.0]);
    let given = Graph::load(&model).unwrap();
    let files = ["a.npy", "b.npy"].map(|name| dir.path().join(name));
    write_array(&files[0], [1.0, 2.0]);
    write_array(&files[1], [3.0, 4.0]);
    let compare = |files: &[std::path::PathBuf], dump: &Arc<StoredDump>| {
        let files = InputFiles::find(&given, &GivenFiles::from(files.to_vec()), &ShapeSpec::Smallest, false).unwrap();
        let reference = Reference::Dump(Arc::clone(dump));
        compare_runs(
            &spec(&model, Fidelity::Exact),
            &reference,
            &Inputs::Files(files),
            &given,
            CompareOptions::default(),
        )
    };
    let with_runs = dump(&model, &dir.path().join("runs"), IoSelection::Outputs);
    assert!(compare(&files, &with_runs).is_ok());
    // Files of arrays say nothing of runs. 1 + 0.5 and 2 + 0.
    let arrays = dir.path().join("arrays");
    std::fs::create_dir(&arrays).unwrap();
    write_array(&arrays.join("y.npy"), [1.5, 2.0]);
    let without = Arc::new(StoredDump::open(&arrays).unwrap());
    match compare(&files, &without) {
        Err(CompareError::OneSet { reference, sets }) => assert_eq!((reference, sets), (arrays, 2)),
        other => panic!("{other:?}"),
    }
    assert!(compare(&files[..1], &without).unwrap().is_same(), "one set has one run");
}
