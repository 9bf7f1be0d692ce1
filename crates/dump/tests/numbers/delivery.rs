//! Pieces, queues, selections and limits in the delivery of tensors to sinks.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use opscope_dump::{
    Answer, Contents, Delivery, Details, DirectorySink, DumpError, DumpFormat, DumpInfo, DumpReport, Dumper, Estimate,
    Flow, IoSelection, KeepSink, Losses, MOST_ATTEMPTS, Piece, Policy, Request, Runs, Selection, Sink, Stream,
};
use opscope_model::testing::{FakePlan, GraphBuilder, kernels, looping};
use opscope_model::{Fidelity, RunId};
use opscope_onnx::Pattern;
use opscope_tensor::{DType, Tensor};

use crate::chain::chain_of;
use crate::{floats, giving};

#[test]
fn the_limits_and_defaults_are_those_of_the_page() {
    const MIB: usize = 1_048_576;
    assert_eq!(Flow::DEFAULT_CAP, 224 * MIB);
    assert_eq!(Flow::SMALLEST_CAP, 65_536);
    assert_eq!(Flow::DEFAULT_PATIENCE, Duration::from_secs(60));
    assert_eq!(Flow::default().cap, 224 * MIB);
    let block = Policy::Block { patience: Duration::from_secs(60) };
    assert_eq!(Flow::default().policy, block);
    assert_eq!(Policy::all(), [block, Policy::Drop, Policy::Spill { directory: std::env::temp_dir() }]);
    assert_eq!(Policy::all().map(|policy| policy.name()), ["block", "drop", "spill"]);
    assert_eq!((Request::DEFAULT_PIECE_SIZE, Request::default().piece_size), (16 * MIB, 16 * MIB));
    assert_eq!((Losses::NAMED, MOST_ATTEMPTS, Details::FIRST, Runs::MOST_PARTS), (100_000, 1000, 8, 100));
    let names: Vec<_> = DumpFormat::ALL.iter().map(|format| (format.name, format.has_histograms)).collect();
    assert_eq!(names, [("npy", true), ("ascend", false), ("statistics", true)]);
}

#[test]
fn every_sink_has_the_delivery_that_suits_it() {
    let dir = tempfile::tempdir().unwrap();
    let plan = giving("Relu", vec![floats(&[1.0])]);
    let info = DumpInfo::new(&plan.graph, Fidelity::Exact, "fake", "1.0");
    let sink = |contents, name: &str| DirectorySink::create(&dir.path().join(name), contents, &info).unwrap();
    let tensors = sink(Contents::Tensors, "tensors");
    assert!(matches!(tensors.delivery(), Delivery::Queued(Flow { cap: 234_881_024, policy: Policy::Block { .. } })));
    assert!(!tensors.reads_in_place());
    let statistics = sink(Contents::Statistics, "statistics");
    assert!(statistics.reads_in_place());
    match std::thread::available_parallelism().unwrap().get() {
        1 => assert!(matches!(statistics.delivery(), Delivery::Direct)),
        _ => assert!(matches!(statistics.delivery(), Delivery::Queued(Flow { cap: 67_108_864, .. }))),
    }
    let (kept, _) = KeepSink::new(1, dir.path().into());
    assert!(matches!(kept.delivery(), Delivery::Direct) && !kept.reads_in_place());
}

/// Returns the lengths of the pieces of a tensor of this many bytes.
fn pieces(bytes: usize, piece_size: usize, delivery: Delivery) -> Vec<usize> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let sink = move |_: &Stream, piece: Piece<'_>| {
        let mut seen = keep.lock().unwrap();
        assert_eq!(piece.offset, seen.iter().sum::<usize>() as u64);
        seen.push(piece.bytes.len());
        Answer::Continue
    };
    let dumper = Dumper::new();
    let request = Request { delivery: Some(delivery), piece_size, ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    let tensor = Tensor::new(DType::U8, vec![bytes], vec![1; bytes]).unwrap();
    giving("Relu", vec![tensor]).run_with(&dumper, 0).unwrap();
    assert!(dumper.finish().unwrap().is_complete());
    let seen = seen.lock().unwrap();
    seen.clone()
}

#[test]
fn pieces_have_the_size_that_was_asked_for_in_multiples_of_64() {
    for (asked, size) in [(0, 64), (1, 64), (63, 64), (64, 64), (127, 64), (128, 128), (200, 192)] {
        assert_eq!(pieces(size, asked, Delivery::Direct), [size]);
        assert_eq!(pieces(2 * size + 1, asked, Delivery::Direct), [size, size, 1]);
    }
    let default = Request::default().piece_size;
    assert_eq!(pieces(16_777_217, default, Delivery::Direct), [16_777_216, 1]);
}

#[test]
fn pieces_of_a_queue_are_a_quarter_of_its_cap_and_a_mib_at_most() {
    let queued = |cap, policy: Policy| Delivery::Queued(Flow { cap, policy });
    let block = || Policy::Block { patience: Duration::from_secs(60) };
    let first = |bytes, delivery| pieces(bytes, 16 << 20, delivery)[0];
    assert_eq!(first(100_000, queued(65_536, block())), 16_384);
    assert_eq!(first(100_000, queued(1, block())), 16_384, "a smaller cap is 64 KiB");
    assert_eq!(first(100_000, queued(200_000, block())), 49_984, "50,000 is no multiple of 64");
    assert_eq!(first(3 << 20, queued(64 << 20, block())), 1 << 20);
    assert_eq!(first(700_000, queued(1 << 20, Policy::Drop)), 262_144);
    let dir = tempfile::tempdir().unwrap();
    let spill = Policy::Spill { directory: dir.path().into() };
    assert_eq!(first(1 << 20, queued(1 << 20, spill)), 131_072, "half of the cap is for messages");
    // A small tensor is one piece of its own.
    assert_eq!(pieces(32_768, 16 << 20, queued(256 << 10, block())), [32_768]);
    assert_eq!(pieces(10_000, 4096, queued(256 << 10, block())), [4096, 4096, 1808]);
}

#[test]
fn a_sink_is_asked_a_thousand_times_for_the_same() {
    let asked = Arc::new(Mutex::new(0));
    let count = Arc::clone(&asked);
    let dumper = Dumper::new();
    let sink = move |_: &Stream, _: Piece<'_>| {
        *count.lock().unwrap() += 1;
        Answer::Again
    };
    dumper.subscribe(Box::new(sink), Request { delivery: Some(Delivery::Direct), ..Request::default() }).unwrap();
    giving("Relu", vec![floats(&[1.0]), floats(&[2.0])]).run_with(&dumper, 0).unwrap();
    let report = dumper.finish().unwrap();
    assert_eq!(*asked.lock().unwrap(), 1000);
    assert_eq!(report.subscriptions[0].losses.count(), 2);
    assert_eq!(report.subscriptions[0].errors, ["the sink asked 1000 times for the same piece"]);
}

fn chosen(selection: Selection, runs: u64) -> DumpReport {
    let chain = chain_of(&["a", "b", "c", "last"], &[100]);
    let dumper = Dumper::new();
    let sink = |_: &Stream, _: Piece<'_>| Answer::Continue;
    let request = Request { selection, delivery: Some(Delivery::Direct), ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    for run in 0..runs {
        chain.run_with(&dumper, run).unwrap();
    }
    dumper.finish().unwrap()
}

#[test]
fn a_budget_takes_what_fits_to_the_last_byte() {
    // Three tensors of 400 bytes.
    for (budget, tensors) in [(0, 0), (399, 0), (400, 1), (799, 1), (800, 2), (1199, 2), (1200, 3), (u64::MAX, 3)] {
        let report = chosen(Selection { byte_budget: Some(budget), ..Selection::default() }, 1);
        let subscription = &report.subscriptions[0];
        assert_eq!(
            (subscription.delivered.tensors, subscription.delivered.bytes),
            (tensors, 400 * tensors),
            "{budget}"
        );
        assert_eq!(subscription.losses.count(), 3 - tensors);
    }
    // The number of first tensors counts over all runs, and later ones are not missing.
    for (first, tensors) in [(0, 0), (1, 1), (4, 4), (6, 6), (7, 6)] {
        let report = chosen(Selection { first: Some(first), ..Selection::default() }, 2);
        assert_eq!((report.subscriptions[0].delivered.tensors, report.is_complete()), (tensors, first > 0));
    }
}

#[test]
fn only_tensors_with_elements_that_are_not_finite_are_taken_where_that_is_asked_for() {
    for (element, taken) in [(f32::NAN, 1), (f32::INFINITY, 1), (f32::NEG_INFINITY, 1), (f32::MAX, 0)] {
        let dumper = Dumper::new();
        let selection = Selection { only_non_finite: true, ..Selection::default() };
        let request = Request { selection, delivery: Some(Delivery::Direct), ..Request::default() };
        dumper.subscribe(Box::new(|_: &Stream, _: Piece<'_>| Answer::Continue), request).unwrap();
        giving("Relu", vec![floats(&[0.0, element]), floats(&[1.0])]).run_with(&dumper, 0).unwrap();
        let report = dumper.finish().unwrap();
        assert_eq!((report.subscriptions[0].delivered.tensors, report.is_complete()), (taken, true));
    }
}

#[test]
fn an_estimate_multiplies_what_comes_in_every_run() {
    let chain = chain_of(&["a", "b", "c", "last"], &[5, 7]);
    let of = |selection: Selection, runs| {
        let estimate = Estimate::of(&selection, &chain, &chain, runs).unwrap();
        (estimate.tensors, estimate.bytes, estimate.at_most)
    };
    let none = Selection::default;
    // A constant of 8 bytes once, three tensors of 140 bytes in each run.
    assert_eq!(of(none(), 4), (13, 8 + 4 * 420, false));
    assert_eq!(of(none(), 0), (1, 8, false));
    assert_eq!(of(Selection { runs: "0|2-9".parse().unwrap(), ..none() }, 4), (10, 8 + 3 * 420, false));
    assert_eq!(of(Selection { first: Some(5), ..none() }, 4), (5, 1688, true));
    assert_eq!(of(Selection { first: Some(99), ..none() }, 4), (13, 1688, true));
    assert_eq!(of(Selection { byte_budget: Some(1000), ..none() }, 4), (13, 1000, true));
    assert_eq!(of(Selection { only_non_finite: true, ..none() }, 4), (13, 1688, true));
}

#[test]
fn a_list_of_runs_has_100_parts_at_most_and_includes_both_ends() {
    let parts = |count: usize| vec!["7"; count].join("|").parse::<Runs>();
    assert!(parts(100).is_ok());
    assert!(parts(101).unwrap_err().to_string().contains("it has 101 parts, more than 100"));
    let runs: Runs = "2-2|5-7".parse().unwrap();
    let meant: Vec<u64> = (0..10).filter(|run| runs.contains(RunId(*run))).collect();
    assert_eq!(meant, [2, 5, 6, 7]);
    // This checks that one of the runs exists.
    let check = |runs: &str, count| {
        let chain = chain_of(&["a", "last"], &[1]);
        Selection { runs: runs.parse().unwrap(), ..Selection::default() }.check(&chain.graph, count).is_ok()
    };
    assert!(check("4-9", 5) && !check("4-9", 4) && check("9|0", 1) && !check("0", 0));
    // This checks that an operator has such a tensor. Each has one input and one output.
    let chain = chain_of(&["a", "b", "last"], &[1]);
    for (slots, is_there) in [(vec![0], true), (vec![1], false), (vec![1, 0], true), (vec![], false)] {
        let found = Selection { slots: Some(slots.clone()), ..Selection::default() }.check(&chain.graph, 1);
        match found {
            Ok(()) => assert!(is_there, "{slots:?}"),
            Err(errors) => {
                assert!(!is_there && matches!(errors[..], [DumpError::NothingSelected { operators: 3 }]), "{errors:?}");
            }
        }
    }
}

#[test]
fn each_plan_gives_its_own_constants_in_its_runs() {
    let graph = GraphBuilder::new("one").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]);
    let graph = Arc::new(graph.operator("c", "Constant", &[], &["k"]).output("y").build());
    let plan = |constant: f32| {
        let plan = FakePlan::new(&graph, kernels(&graph, &[&["op"]]), Fidelity::Exact, |_, inputs| Ok(inputs.to_vec()));
        plan.constant("k", floats(&[constant]))
    };
    let plans = [plan(1.0), plan(1.0), plan(2.0), plan(1.0)];
    let seen = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&seen);
    let sink = move |stream: &Stream, piece: Piece<'_>| {
        if stream.origin.value_name() == "k" {
            let number = f32::from_le_bytes(piece.bytes.try_into().unwrap());
            keep.lock().unwrap().push((stream.origin.run.unwrap().0, stream.origin.plan, number));
        }
        Answer::Continue
    };
    let dumper = Dumper::new();
    let request = Request { delivery: Some(Delivery::Direct), constants_in_runs: true, ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    for (run, plan) in plans.iter().enumerate() {
        dumper.add_plan(plan, plan).unwrap();
        plan.run_with(&dumper, run as u64).unwrap();
    }
    assert!(dumper.finish().unwrap().is_complete());
    assert_eq!(*seen.lock().unwrap(), [(0, 0, 1.0), (1, 1, 1.0), (2, 2, 2.0), (3, 3, 1.0)]);
}

#[test]
fn what_a_body_had_not_computed_when_its_run_failed_is_missing() {
    let lost = |plan: FakePlan| {
        let dumper = Dumper::new();
        let sink = |_: &Stream, _: Piece<'_>| Answer::Continue;
        let request = Request { delivery: Some(Delivery::Direct), inputs_in_flight: false, ..Request::default() };
        dumper.subscribe(Box::new(sink), request).unwrap();
        dumper.add_plan(&plan, &plan).unwrap();
        plan.run_with(&dumper, 0).unwrap_err();
        let report = dumper.finish().unwrap();
        let losses = report.subscriptions[0].losses.named();
        losses.iter().map(|missing| missing.origin.operator().name.clone()).collect::<Vec<_>>()
    };
    // The first operator ended, and the loop had begun.
    assert_eq!(lost(looping(2).fail_at(2)), ["Loop_0", "Loop_0/Add_0", "Loop_0/If_0", "Loop_0/If_0/Neg_0"]);
    assert_eq!(lost(looping(2).fail_at(4)), ["Loop_0", "Loop_0/If_0", "Loop_0/If_0/Neg_0"]);
    assert_eq!(lost(looping(2).fail_at(0))[..2], ["first", "Loop_0"]);
}

#[test]
fn constants_that_a_failed_run_did_not_reach_are_missing() {
    let graph = GraphBuilder::new("two").input("x", &[1]).operator("first", "Relu", &["x"], &["a"]);
    let graph = graph.operator("c", "Constant", &[], &["k"]).operator("second", "Add", &["a", "k"], &["y"]);
    let graph = Arc::new(graph.output("y").build());
    // The second operator is never begun, or fails with its inputs delivered.
    for (fails_at, expected) in [(0, ["a", "k", "y"].as_slice()), (1, &["y"])] {
        let kernels = kernels(&graph, &[&["first"], &["second"]]);
        let plan = FakePlan::new(&graph, kernels, Fidelity::Exact, |_, inputs| Ok(inputs[..1].to_vec()));
        let plan = plan.constant("k", floats(&[2.0])).fail_at(fails_at);
        let dumper = Dumper::new();
        let operators = vec![Pattern::Exact("second".into())];
        let request = Request {
            selection: Selection { operators, io: IoSelection::All, ..Selection::default() },
            delivery: Some(Delivery::Direct),
            constants_in_runs: true,
            inputs_in_flight: false,
            ..Request::default()
        };
        dumper.subscribe(Box::new(|_: &Stream, _: Piece<'_>| Answer::Continue), request).unwrap();
        dumper.add_plan(&plan, &plan).unwrap();
        plan.run_with(&dumper, 0).unwrap_err();
        let report = dumper.finish().unwrap();
        let losses = report.subscriptions[0].losses.named();
        let missing: Vec<_> = losses.iter().map(|missing| missing.origin.value_name()).collect();
        assert_eq!(missing, expected, "{losses:?}");
    }
}

#[test]
fn what_the_operator_in_flight_took_comes_only_where_it_is_wanted() {
    for (inputs_in_flight, delivered) in [(true, 1), (false, 0)] {
        let chain = chain_of(&["a", "b", "c", "last"], &[4]).fail_at(1);
        let dumper = Dumper::new();
        let selection = Selection { operators: vec![Pattern::Exact("c".into())], ..Selection::default() };
        let request = Request { selection, delivery: Some(Delivery::Direct), inputs_in_flight, ..Request::default() };
        dumper.subscribe(Box::new(|_: &Stream, _: Piece<'_>| Answer::Continue), request).unwrap();
        chain.run_with(&dumper, 0).unwrap_err();
        let report = dumper.finish().unwrap();
        let report = &report.subscriptions[0];
        assert_eq!((report.delivered.tensors, report.losses.count()), (delivered, 1));
    }
}

#[test]
fn a_sink_behind_a_queue_stops_the_runs_too() {
    let (told, stopped) = std::sync::mpsc::channel();
    let dumper = Dumper::new();
    let sink = move |_: &Stream, _: Piece<'_>| {
        told.send(()).unwrap();
        Answer::Stop("enough".into())
    };
    let request = Request { delivery: Some(Delivery::default()), stops_run: true, ..Request::default() };
    dumper.subscribe(Box::new(sink), request).unwrap();
    let plan = giving("Relu", vec![floats(&[1.0])]);
    let first = plan.run_with(&dumper, 0);
    stopped.recv().unwrap();
    // The answer arrives a moment later.
    let mut runs = (1..1_000_000).map(|run| plan.run_with(&dumper, run)).skip_while(Result::is_ok);
    let error = if let Err(error) = first { error } else { runs.next().unwrap().unwrap_err() };
    assert!(error.to_string().contains("enough"), "{error}");
}
