//! Searches for what must stay in float32 that the user ends, at each of their steps.

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use opscope::engine::EngineSpec;
use opscope::onnx::Graph;
use opscope_job::inputs::{Data, Inputs, ShapeSpec, concrete_shapes, generate};
use opscope_job::precision::{
    Criterion, LowType, PrecisionError, PrecisionHooks, PrecisionJob, PrecisionReport, Progress,
};

const SETS: u64 = 4;

/// Searches in a small model, and ends it at this step.
fn ended_at(output: &Path, step: impl Fn(Progress) -> bool) -> Result<PrecisionReport, PrecisionError> {
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/precision/rms_norm.onnx");
    let graph = Arc::new(Graph::load(&model).unwrap());
    let shapes = concrete_shapes(&graph, &ShapeSpec::Smallest).unwrap();
    let sets = (0..SETS).map(|set| generate(&graph, &shapes, Data::Random(set)).unwrap()).collect();
    let job = PrecisionJob {
        graph,
        engine: EngineSpec::default(),
        other_engine: None,
        threads: NonZeroUsize::MIN,
        budget: Default::default(),
        to: LowType::Fp16,
        python: "python3".into(),
        inputs: Inputs::Each(sets),
        search_inputs: None,
        criterion: Criterion::Target("cosine >= 0.9999".parse().unwrap()),
        output: output.to_owned(),
        time: None,
    };
    let cancelled = AtomicBool::new(false);
    let progress = |now| cancelled.store(cancelled.load(Ordering::Relaxed) || step(now), Ordering::Relaxed);
    job.run(&PrecisionHooks { cancelled: Some(&cancelled), progress: Some(&progress) })
}

#[test]
fn before_a_set_is_found_there_is_no_result() {
    let place = tempfile::tempdir().unwrap();
    for step in [Progress::Operators(1, 2), Progress::Operators(2, 2), Progress::Noise] {
        let ended = ended_at(place.path(), |now| now == step);
        assert!(matches!(ended, Err(PrecisionError::Cancelled)), "{step:?}: {ended:?}");
    }
    let ended = ended_at(place.path(), |now| matches!(now, Progress::Trial(0, _)));
    assert!(matches!(ended, Err(PrecisionError::Cancelled)), "{ended:?}");
    assert!(!place.path().join("keep.txt").exists());
}

#[test]
fn the_measuring_of_what_was_found_ends_too_and_the_same_search_measures_it_later() {
    let place = tempfile::tempdir().unwrap();
    let report = ended_at(place.path(), |now| now == Progress::HeldOut).unwrap();
    assert_eq!((report.kept.len(), report.minimal, report.interrupted), (4, true, true));
    assert!(report.value.is_none() && report.held_out.is_none() && !report.is_complete());
    assert!(report.text().contains("measured  not yet: it was cut short"), "{}", report.text());
    assert!(place.path().join("rms_norm_fp16.onnx").exists());
    let whole = ended_at(place.path(), |_| false).unwrap();
    assert!(whole.is_complete() && whole.held_out.is_some() && !whole.interrupted);
    assert_eq!(whole.kept.len(), report.kept.len());
}
