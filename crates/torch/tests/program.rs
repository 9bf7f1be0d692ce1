//! Programs without Python: what the dumper and the watch see of them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use opscope_dump::{Contents, Coverage, DirectorySink, DumpInfo, Dumper, Request, Selection, StoredDump};
use opscope_model::{Fidelity, Instrument};
use opscope_onnx::{Module, Pattern, SourceLine};
use opscope_tensor::DType;
use opscope_torch::{
    Execution, Found, ModulePath, NonFinite, Phase, Place, Program, Shown, Stopped, Strided, Taken, Watch,
};

fn place(phase: Phase, operator: &str) -> Place {
    let module = Module { path: "layers.1".to_owned(), class: "net.Block".to_owned() };
    Place {
        module: Some(Arc::new(ModulePath { name: "layers.1".to_owned(), modules: vec![module] })),
        call: 0,
        phase,
        operator: Some(Arc::from(operator)),
        class: Arc::from("Block"),
        source: Some(Arc::new(SourceLine { file: "train.py".to_owned(), line: 8, code: Some("y = x + 1".to_owned()) })),
    }
}

fn bytes(numbers: &[f32]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Executes an operator that takes the tensor at one address and writes its numbers to another one.
fn execute(program: &mut Program, place: &Place, from: usize, to: usize, numbers: &[f32]) -> Result<(), Stopped> {
    let (taken, given) = (bytes(&[1.0, 2.0]), bytes(numbers));
    let tensor = |bytes| Strided::new(DType::F32, vec![numbers.len()], vec![1], bytes).unwrap();
    let inputs =
        [Taken { parameter: None, version: None, region: from..from + taken.len(), tensor: Some(tensor(&taken)) }];
    let outputs = [Shown::Tensor { tensor: tensor(&given), region: to..to + given.len() }];
    program.executed(&Execution { place, inputs: &inputs, written: &[], outputs: &outputs }).map(drop)
}

fn program(steps: &str) -> Program {
    Program::new(PathBuf::from("train.py"), 5, "2.15", steps.parse().unwrap())
}

fn dumper(program: &mut Program, root: &Path, select: &[&str]) -> Arc<Dumper> {
    let info = DumpInfo::new(program.header(), Fidelity::Exact, "torch", "2.15");
    let sink = DirectorySink::create(root, Contents::Tensors, &info).unwrap();
    let operators = select.iter().map(|text| Pattern::parse(text).unwrap()).collect();
    let selection = Selection { operators, ..Selection::default() };
    let dumper = Arc::new(Dumper::new());
    let request = Request { selection, inputs_in_flight: false, ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    program.add(Arc::clone(&dumper) as Arc<dyn Instrument>).unwrap();
    dumper
}

#[test]
fn an_input_that_was_written_to_before_it_is_seen_is_given_without_what_it_became() {
    let mut program = program("..1");
    let directory = tempfile::tempdir().unwrap();
    let dumper = dumper(&mut program, &directory.path().join("dump"), &[]);
    let given = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&given);
    program.set_given_inputs(Box::new(move |input| {
        seen.lock().unwrap().push((input.name.to_owned(), input.view.is_some()))
    }));
    let numbers = bytes(&[1.0, 2.0]);
    let tensor = || Strided::new(DType::F32, vec![2], vec![1], &numbers).unwrap();
    let taken = |at: usize| Taken { parameter: None, version: None, region: at..at + 8, tensor: Some(tensor()) };
    let place = place(Phase::Forward, "aten.add_.Tensor");
    let outputs = [Shown::Tensor { tensor: tensor(), region: 100..108 }];
    let inputs = [taken(100), taken(200)];
    program.executed(&Execution { place: &place, inputs: &inputs, written: &[0], outputs: &outputs }).unwrap();
    program.finish(None);
    drop(dumper);
    let name = "layers.1/aten.add_.Tensor:input";
    let expected = [(format!("{name}0"), false), (format!("{name}1"), true)];
    assert_eq!(*given.lock().unwrap(), expected);
}

#[test]
fn a_dump_has_every_execution_with_its_name_its_step_and_what_it_took() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().join("dump");
    let mut program = program("..2");
    let dumper = dumper(&mut program, &root, &[]);
    let given = Arc::new(Mutex::new(Vec::new()));
    let seen = Arc::clone(&given);
    program.set_given_inputs(Box::new(move |input| seen.lock().unwrap().push(input.name.to_owned())));
    for step in 0..3u8 {
        program.root_called(1);
        let forward = place(Phase::Forward, "aten.add.Tensor");
        execute(&mut program, &forward, 100, 200, &[f32::from(step), 1.0]).unwrap();
        execute(&mut program, &forward, 200, 300, &[2.0, 3.0]).unwrap();
        execute(&mut program, &place(Phase::Backward, "aten.neg.default"), 304, 200, &[4.0, 5.0]).unwrap();
        program.optimized();
    }
    program.finish(None);
    dumper.set_coverage(&Coverage { level: "op".to_owned(), seen: program.executions(), ..Coverage::default() });
    assert!(dumper.finish().unwrap().is_complete());
    assert_eq!((program.executions(), program.operators()), (6, 3), "the last step is not wanted");

    let dump = StoredDump::open(&root).unwrap();
    assert!(dump.is_complete(), "{:?}", dump.problems);
    let rows: Vec<_> = dump
        .tensors
        .iter()
        .map(|tensor| {
            let place = &tensor.place;
            (place.run.unwrap(), place.label(), place.phase.clone().unwrap(), place.inputs[0].clone().unwrap())
        })
        .collect();
    let name = "layers.1/aten.add.Tensor";
    let row =
        |step, label: &str, phase: &str, input: &str| (step, label.to_owned(), phase.to_owned(), input.to_owned());
    let of_step = |step| {
        [
            row(step, name, "forward", "layers.1/aten.add.Tensor:input0"),
            row(step, "layers.1/aten.add.Tensor#1", "forward", name),
            row(step, "layers.1/backward/aten.neg.default", "backward", "layers.1/aten.add.Tensor#1"),
        ]
    };
    assert_eq!(rows, [of_step(0), of_step(1)].concat());
    assert_eq!(*given.lock().unwrap(), ["layers.1/aten.add.Tensor:input0"; 2], "once in each step");
    assert_eq!(dump.tensors[3].read().unwrap().bytes(), bytes(&[1.0, 1.0]));
    let code = dump.tensors[0].place.code.clone().unwrap();
    assert_eq!(code.module().unwrap().path, "layers.1");
    assert_eq!(code.source.as_ref().unwrap().to_string(), "train.py:8  y = x + 1");
    let manifest = dump.manifest.unwrap();
    assert_eq!(manifest.runs.iter().map(|run| run.run).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(manifest.coverage.map(|coverage| coverage.seen), Some(6));
}

#[test]
fn what_cannot_be_shown_is_missing_with_its_reason() {
    let directory = tempfile::tempdir().unwrap();
    let mut program = program("0");
    let dumper = dumper(&mut program, &directory.path().join("dump"), &["*mul*"]);
    for operator in ["aten.mul.Tensor", "aten.add.Tensor"] {
        let outputs = [Shown::Hidden("it is sparse".to_owned())];
        let place = place(Phase::Forward, operator);
        program.executed(&Execution { place: &place, inputs: &[], written: &[], outputs: &outputs }).unwrap();
    }
    program.finish(None);
    let report = dumper.finish().unwrap();
    let [missing] = report.subscriptions[0].losses.named() else { panic!("only one was selected") };
    assert_eq!((missing.reason.as_str(), missing.origin.value_name()), ("it is sparse", "layers.1/aten.mul.Tensor"));
    assert!(program.is_any_named(&[Pattern::parse("layers.1").unwrap()]));
    assert!(!program.is_any_named(&[Pattern::parse("layers.2").unwrap()]));
}

#[test]
fn a_watch_stops_at_nan_and_remembers_the_first_infinity() {
    let mut program = program("..");
    let watch = Watch::new(NonFinite::Nan);
    program.add(Arc::new(watch.clone())).unwrap();
    let run = |program: &mut Program, operator: &str, numbers: &[f32]| {
        execute(program, &place(Phase::Forward, operator), 100, 200, numbers)
    };
    run(&mut program, "aten.exp.default", &[1.0, f32::INFINITY]).unwrap();
    let stopped = run(&mut program, "aten.sub.Tensor", &[f32::NAN, 1.0]).unwrap_err();
    assert_eq!(stopped.0, "layers.1/aten.sub.Tensor gave NaN");
    let finding = watch.finding().unwrap();
    assert_eq!((finding.found, finding.output.nan, finding.came_in()), (Found::Nan, 1, false));
    assert_eq!(finding.first_infinity.as_deref(), Some("layers.1/aten.exp.default"));
    assert_eq!(finding.module, Some(("layers.1".to_owned(), "net.Block".to_owned())));
    assert_eq!(finding.inputs[0].statistics.max, Some(2.0));
    run(&mut program, "aten.sub.Tensor", &[f32::NAN, 1.0]).unwrap();
    assert_eq!(watch.finding(), Some(finding), "the first stays");
}
