use opscope_model::Instrument;
use opscope_profile::{Fact, ProfilerOptions, RunKind, Share, UntimedRuns};

use crate::{ThreeOperators, at};

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{found} is not {expected}");
}

/// Checks total, mean, median and percent.
fn share(found: Share, total: f64, mean: f64, median: f64, percent: f64) {
    near(found.total_ns, total);
    near(found.mean_ns, mean);
    near(found.median_ns, median);
    near(found.percent, percent);
}

#[test]
fn the_time_of_runs_is_that_of_their_parts() {
    let root = tempfile::tempdir().unwrap();
    let account = ThreeOperators::new().recorded(&root.path().join("recording")).account().unwrap();
    assert_eq!((account.runs.measured, account.runs.warm_up, account.runs.failed, account.runs.partial), (11, 1, 0, 0));
    // 138, 149, ... 248.
    near(account.run.total_ns, 2_123.0);
    near(account.run.mean_ns, 193.0);
    near(account.run.median_ns, 193.0);
    near(account.run.min_ns, 138.0);
    near(account.run.max_ns, 248.0);
    let shares = account.shares.unwrap();
    share(shares.operators, 1_936.0, 176.0, 176.0, 100.0 * 1_936.0 / 2_123.0);
    share(shares.between, 77.0, 7.0, 7.0, 100.0 * 77.0 / 2_123.0);
    share(shares.in_out, 110.0, 10.0, 10.0, 100.0 * 110.0 / 2_123.0);
    share(shares.added, 0.0, 0.0, 0.0, 0.0);
    share(shares.profile, 0.0, 0.0, 0.0, 0.0);
    assert!(shares.rest.total_ns.abs() < 1e-9);
    near(shares.dispatches_per_run, 3.0);
    near(shares.between_ns_per_dispatch, 7.0 / 3.0);
    near(shares.median_between_ns_per_dispatch, 7.0 / 3.0);
    let copies: Vec<_> =
        account.copies.iter().map(|copy| (copy.direction, copy.count, copy.mean_ns, copy.mean_bytes)).collect();
    assert_eq!(copies, [("copy_in", 11, 13.0, 24.0), ("copy_out", 11, 17.0, 32.0)]);
    assert_eq!(account.untimed, None);
}

#[test]
fn operators_have_their_median_their_percentiles_and_their_share() {
    let root = tempfile::tempdir().unwrap();
    let account = ThreeOperators::new().recorded(&root.path().join("recording")).account().unwrap();
    let names: Vec<_> = account.operators.iter().map(|row| row.operator.as_str()).collect();
    assert_eq!(names, ["last", "/encoder/layer.1/Add", "/encoder/layer.0/MatMul"]);
    // The times are 100 to 200, always 20, and 1 to 11. The percentiles are those of numpy for the middles of buckets:
    // 190 is in the bucket from 190 to 192.
    let expected = [
        (1_650.0, 150.0, 150.0, 191.0, 200.0, 100.0 * 150.0 / 193.0),
        (220.0, 20.0, 20.0, 20.5, 20.5, 100.0 * 20.0 / 193.0),
        (66.0, 6.0, 6.0, 10.5, 11.4, 100.0 * 6.0 / 193.0),
    ];
    for (row, (total, mean, median, p90, p99, percent)) in account.operators.iter().zip(expected) {
        assert_eq!(row.dispatches, 11);
        near(row.total_ns, total);
        near(row.mean_ns, mean);
        near(row.median_ns, median);
        near(row.p90_ns, p90);
        near(row.p99_ns, p99);
        near(row.percent, percent);
    }
    let types: Vec<_> = account.op_types.iter().map(|row| (row.op_type.as_str(), row.operators)).collect();
    assert_eq!(types, [("Mystery", 1), ("Add", 1), ("MatMul", 1)]);
    for (row, (total, mean, median, _, _, percent)) in account.op_types.iter().zip(expected) {
        assert_eq!(row.dispatches, 11);
        near(row.total_ns, total);
        near(row.mean_ns, mean);
        near(row.median_ns, median);
        near(row.percent, percent);
    }
}

#[test]
fn work_has_its_rates_at_the_median_time() {
    let root = tempfile::tempdir().unwrap();
    let account = ThreeOperators::new().recorded(&root.path().join("recording")).account().unwrap();
    let work = |index: usize| account.operators[index].work.as_ref().unwrap();
    let product = work(2);
    // 8 x 4 sums of 4 products, and 32 times Relu. 48 numbers are read and 32 are written.
    assert_eq!((product.flops, product.bytes_read, product.bytes_written), (Some(288.0), Some(192.0), Some(128.0)));
    near(product.flops_per_byte.unwrap(), 0.9);
    near(product.gflops_per_s.unwrap(), 48.0);
    near(product.gbytes_per_s.unwrap(), 320.0 / 6.0);
    let sum = work(1);
    assert_eq!((sum.flops, sum.bytes_read, sum.bytes_written), (Some(32.0), Some(128.0), Some(128.0)));
    near(sum.gflops_per_s.unwrap(), 1.6);
    near(sum.gbytes_per_s.unwrap(), 12.8);
    let last = work(0);
    assert_eq!((last.flops, last.gflops_per_s, last.flops_per_byte), (None, None, None));
    near(last.gbytes_per_s.unwrap(), 256.0 / 150.0);
}

#[test]
fn layers_have_the_sums_of_their_operators() {
    let root = tempfile::tempdir().unwrap();
    let account = ThreeOperators::new().recorded(&root.path().join("recording")).account().unwrap();
    let layers = account.layers_at(1);
    assert_eq!((layers[0].path.as_str(), layers[1].path.as_str()), ("", "/encoder"));
    let encoder = &layers[1];
    assert_eq!((encoder.operators, encoder.unknown_flops), (2, 0));
    near(encoder.total_ns, 286.0);
    near(encoder.mean_ns, 26.0);
    near(encoder.median_ns, 26.0);
    near(encoder.percent, 100.0 * 26.0 / 193.0);
    near(encoder.flops, 320.0);
    near(encoder.gflops_per_s.unwrap(), 320.0 / 26.0);
}

#[test]
fn a_histogram_has_at_most_32_bins_with_these_bounds() {
    let root = tempfile::tempdir().unwrap();
    let distribution = ThreeOperators::new().recorded(&root.path().join("recording")).distributions().unwrap();
    let [last, sum, product] = &distribution.operators[..] else { panic!("there are three") };
    // A bucket is 1 ns up to 128 ns, and 2 ns from there to 256 ns. Four buckets make a bin.
    let bounds: Vec<f64> =
        (0..7).map(|bin| f64::from(100 + 4 * bin)).chain((0..11).map(|bin| f64::from(128 + 8 * bin))).collect();
    assert_eq!(last.bounds_ns, bounds);
    assert_eq!(last.counts, [1, 0, 1, 0, 0, 1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1]);
    assert_eq!((&sum.bounds_ns[..], &sum.counts[..]), (&[20.0, 21.0][..], &[11][..]));
    let bounds: Vec<f64> = (1..=12).map(f64::from).collect();
    assert_eq!((&product.bounds_ns, &product.counts[..]), (&bounds, &[1; 11][..]));
}

#[test]
fn what_times_add_is_how_much_longer_runs_with_them_take() {
    let root = tempfile::tempdir().unwrap();
    let made = ThreeOperators::new();
    let recording = made.record(&root.path().join("recording"), &ProfilerOptions::default(), |profiler| {
        (0..11).for_each(|run| made.run(profiler, run));
        profiler.set_run_kind(RunKind::Untimed);
        for (run, nanos) in [(20, 180), (21, 188), (22, 1_000)] {
            let observer = profiler.observe(&made.run_info(run));
            observer.finished(Ok((at(100_000 * run), at(100_000 * run + nanos))));
        }
    });
    let account = recording.account().unwrap();
    // 193 ns are 5 ns more than 188 ns. They are part of the 7 ns between the operators of a run.
    assert_eq!(account.untimed, Some(UntimedRuns { count: 3, median_ns: 188.0 }));
    let shares = account.shares.unwrap();
    share(shares.profile, 55.0, 5.0, 5.0, 100.0 * 55.0 / 2_123.0);
    share(shares.between, 22.0, 2.0, 2.0, 100.0 * 22.0 / 2_123.0);
    assert!(shares.rest.total_ns.abs() < 1e-9);
}

#[test]
fn a_run_has_the_moments_of_both_copies_and_its_own() {
    let root = tempfile::tempdir().unwrap();
    let recording = ThreeOperators::new().recorded(&root.path().join("recording"));
    let run = recording.facts().unwrap().find_map(|fact| match fact.unwrap() {
        Fact::Run(run) if run.run == 2 => Some(run),
        _ => None,
    });
    let run = run.unwrap();
    assert_eq!((run.span.start, run.span.end), (at(3_000), at(3_160)));
    let (upload, download) = (run.upload.unwrap(), run.download.unwrap());
    assert_eq!((upload.start, upload.end), (at(2_950), at(2_963)));
    assert_eq!((download.start, download.end), (at(3_161), at(3_178)));
}
