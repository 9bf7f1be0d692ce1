use std::time::Duration;

use opscope_clock::Ticks;
use opscope_model::{Instrument, KernelId};
use opscope_profile::{ProfilerOptions, ShownRuns, TimelineRuns};
use opscope_trace::{Bytes, Policy};

use crate::{ThreeOperators, at};

#[test]
fn the_options_of_a_profiler_that_is_asked_for_none() {
    let options = ProfilerOptions::default();
    assert_eq!(options.sample_interval, Duration::from_millis(100));
    assert_eq!(options.buffer_size, Bytes::new(8_388_608));
    assert_eq!(options.watermark, Bytes::new(1_048_576));
    assert_eq!(options.flush_interval, Duration::from_millis(1_000));
    assert_eq!(options.when_full, Policy::Lossless);
    assert_eq!(options.budget, Some(Bytes::new(1_073_741_824)));
    assert!(!options.survives_crash);
}

#[test]
fn a_timeline_shows_as_many_runs_as_have_100000_slices() {
    // A run counts as its dispatches and 6 more: 14,285 runs of one dispatch each.
    for (runs, shown) in [(14_285, None), (14_286, Some(ShownRuns { shown: 14_285, recorded: 14_286 }))] {
        let root = tempfile::tempdir().unwrap();
        let made = ThreeOperators::new();
        let mut options = ProfilerOptions::default();
        options.switches.machine_memory = false;
        let recording = made.record(&root.path().join("recording"), &options, |profiler| {
            for run in 0..runs {
                let observer = profiler.observe(&made.run_info(run));
                let at = |nanos| Ticks::from_raw(at(100 * (run + 1)).as_raw() + nanos);
                observer.timed(KernelId::new(0), &[], at(1), at(2));
                observer.finished(Ok((at(0), at(3))));
            }
        });
        assert_eq!(recording.excerpt(TimelineRuns::Fitting).unwrap().shown_runs(), shown);
    }
}
