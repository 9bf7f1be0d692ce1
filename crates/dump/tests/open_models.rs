//! Runs of open models, whose operators are found while they run.

use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_dump::{Dumper, Io, IoSelection, KeepSink, Request, Selection, StoredDump};
use opscope_model::testing::{GraphBuilder, kernels};
use opscope_model::{Dispatch, Instrument, Interest, KernelSet, NoLiveValues, OpenRunInfo, RunId};
use opscope_tensor::Tensor;

/// Runs `y = x + 1` as an open model, whose engine keeps inputs if the observer asks for it. Returns what the observer
/// asked for, and what was dumped of run 5 and of another one.
fn dumped(io: IoSelection) -> (Interest, StoredDump) {
    let header = Arc::new(GraphBuilder::new("open").build());
    let part = GraphBuilder::new("open").input("x", &[2]).operator("increment", "AddOne", &["x"], &["y"]);
    let part = Arc::new(part.output("y").build());
    let kernels = kernels(&part, &[&["increment"]]);
    let [x, y] = [[1.0, 5.0], [2.0, 6.0]].map(|elements| Tensor::from_f32(vec![2], &elements).unwrap());
    let dumper = Arc::new(Dumper::new());
    let (sink, keeper) = KeepSink::new(1 << 20, std::env::temp_dir());
    let selection = Selection { io, ..Selection::default() };
    dumper.subscribe(Box::new(sink), Request { selection, ..Request::default() }).unwrap();
    let run = RunId(5);
    let observer = Arc::clone(&dumper).observe_open(&OpenRunInfo { id: run, header: &header });
    let observer = observer.expect("a dumper observes every run");
    let interest = observer.interest();
    let inputs = if interest.keep_inputs.contains(kernels[0].id) { vec![x.view()] } else { Vec::new() };
    let dispatch = Dispatch { run, kernel: &kernels[0], graph: &part, path: &[], inputs: &inputs, live: &NoLiveValues };
    observer.after(&dispatch, &[y.view()]);
    observer.finished(Ok((Ticks::default(), Ticks::default())));
    drop(observer);
    let report = dumper.finish().unwrap();
    assert!(report.is_complete(), "{report:?}");
    (interest, keeper.dump())
}

#[test]
fn what_an_operator_took_and_gave_is_dumped_as_it_is_selected() {
    for (io, keeps, expected) in [
        (IoSelection::All, true, &[(Io::Input, "x", [1.0, 5.0]), (Io::Output, "y", [2.0, 6.0])][..]),
        (IoSelection::Outputs, false, &[(Io::Output, "y", [2.0, 6.0])]),
    ] {
        let (interest, dump) = dumped(io);
        assert!(matches!(interest.after, KernelSet::All));
        assert_eq!(matches!(interest.keep_inputs, KernelSet::All), keeps);
        let found = dump.tensors.iter().map(|tensor| {
            assert_eq!((tensor.place.run, tensor.place.operator.as_deref()), (Some(5), Some("increment")));
            (tensor.place.io.unwrap(), tensor.place.value.clone().unwrap(), tensor.read().unwrap().bytes().to_vec())
        });
        let expected = expected
            .iter()
            .map(|&(io, value, elements)| (io, value.to_owned(), elements.map(f32::to_le_bytes).concat()));
        assert_eq!(found.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    }
}
