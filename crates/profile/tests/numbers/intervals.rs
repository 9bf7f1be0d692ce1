use opscope_profile::{MedianEstimate, Rank, median_interval};

fn near(found: f64, expected: f64) {
    assert!((found / expected - 1.0).abs() < 1e-12, "{found} is not {expected}");
}

/// 400 samples in groups of five equal ones. The numbers were computed with numpy and the formulas in `interval.rs`.
#[test]
fn an_interval_of_samples_that_depend_on_one_another() {
    let samples: Vec<f64> = (0..400).map(|index| f64::from((index / 5) * 37 % 41)).collect();
    let estimate = MedianEstimate::of(&samples, 1.0).unwrap();
    assert_eq!((estimate.median, estimate.samples), (20.5, 400));
    // The correlation time is 11.887 samples.
    near(estimate.independent, 33.650_080_784_292_24);
    assert_eq!(estimate.interval, Some((14.0, 27.0)));
    assert_eq!(median_interval(&samples), estimate.interval);
}

/// Groups of 48 successive samples are close to one another. The variance needs at least eight sums, here of 32 samples
/// each.
#[test]
fn the_longest_sums_of_which_there_are_eight_tell_how_long_samples_are_correlated() {
    let samples: Vec<f64> = (0..256).map(|index| f64::from((index / 48) * 5 % 7 * 10 + index * 3 % 10)).collect();
    let estimate = MedianEstimate::of(&samples, 1.0).unwrap();
    assert_eq!((estimate.median, estimate.interval), (36.0, None));
    near(estimate.independent, 5.559_791_692_520_837);
}

#[test]
fn six_independent_samples_have_an_interval_and_fewer_have_none() {
    let samples = [1.0, 6.0, 2.0, 5.0, 3.0, 4.0];
    assert_eq!(median_interval(&samples), Some((1.0, 6.0)));
    assert_eq!(MedianEstimate::of(&samples, 1.01).unwrap().interval, None);
}

#[test]
fn a_ratio_has_the_interval_of_the_difference_of_logarithms() {
    let estimate = |median, interval| MedianEstimate { median, interval: Some(interval), samples: 9, independent: 9.0 };
    let (a, b) = (estimate(10.0, (6.0, 13.0)), estimate(20.0, (16.0, 32.0)));
    let (low, high) = a.ratio_to(&b).unwrap();
    near(low, 1.417_256_482_637_112_6);
    near(high, 4.004_019_077_849_985);
    let (low, high) = a.difference_to(&b).unwrap();
    // The root of the squares of 3 and 4 is 5, and that of 4 and 12 is the root of 160.
    near(low, 5.0);
    near(high, 10.0 + 160.0_f64.sqrt());
}

#[test]
fn runs_within_100_ms_count_as_one() {
    // 40 runs of 25 ms are a second: ten independent runs.
    let times: Vec<f64> = (0..40).map(|index| f64::from(index * 17 % 40 + 1)).collect();
    let estimate = MedianEstimate::of_runs(&times, &[25e6; 40], 1).unwrap();
    near(estimate.independent, 10.0);
    // Each run represents four.
    let estimate = MedianEstimate::of_runs(&times, &[6.25e6; 40], 4).unwrap();
    near(estimate.independent, 10.0);
}

#[test]
fn the_rank_of_a_percentile_is_numpys() {
    assert_eq!(Rank::of(90.0, 11), Rank { below: 9, fraction: 0.0 });
    assert_eq!(Rank::of(25.0, 11), Rank { below: 2, fraction: 0.5 });
    assert_eq!(Rank::of(50.0, 0), Rank { below: 0, fraction: 0.0 });
}
