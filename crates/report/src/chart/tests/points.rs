//! The positions at which values and operators are drawn.

use opscope_profile::{OperatorTimes, Work};
use opscope_roofline::{Bandwidth, Bound, ComputePeak, Limit, Roofline};
use opscope_tensor::DType;

use super::{assert_drawn, assert_near, lines, numbers, places, texts};
use crate::chart::{Chart, Drawing, magnitude, roofline};
use crate::facts::{DumpFacts, ValueRow, made};

/// The smallest and the largest finite element of a value, and how many are NaN and infinite.
type Extremes = (Option<f64>, Option<f64>, u64, u64);

fn dump(values: &[Extremes]) -> DumpFacts {
    let row = |(index, (min, max, nan, inf)): (usize, &Extremes)| {
        let mut row = ValueRow::default();
        (row.value, row.min, row.max, row.nan, row.inf) = (format!("v{index}"), *min, *max, *nan, *inf);
        row
    };
    DumpFacts { rows: values.iter().enumerate().map(row).collect(), is_ordered: true, ..DumpFacts::default() }
}

/// Returns the centres of the circles of a drawing.
fn circles(drawing: &Drawing) -> Vec<(f64, f64)> {
    numbers(drawing, "circle", "cx").into_iter().zip(numbers(drawing, "circle", "cy")).collect()
}

fn magnitudes(values: &[Extremes]) -> Chart {
    magnitude(&dump(values)).unwrap().expect("a value has an element above zero")
}

#[test]
fn values_stand_at_their_largest_element_on_a_logarithmic_scale() {
    let infinite = Some(f64::INFINITY);
    let values = [
        (Some(-8.0), Some(2.0), 0, 0),
        (Some(0.5), Some(1.0), 2, 0),
        (None, None, 0, 0),
        (Some(0.0), Some(2.0), 0, 1),
        (Some(-1.0), infinite, 0, 0),
    ];
    let chart = magnitudes(&values);
    assert_near(&places(&chart), &[0.0, 0.25, 0.5, 0.75, 1.0]);
    let told: Vec<&str> = chart.hover.iter().map(|spot| spot.text.as_str()).collect();
    let expected = [
        "v0: at most 8.000",
        "v1: at most 1.000, 2 NaN, 0 infinite",
        "v2: at most 0",
        "v3: at most 2.000, 0 NaN, 1 infinite",
        "v4: at most 1.000",
    ];
    assert_eq!(told, expected);
    assert_eq!(
        chart.description,
        "The largest finite element of each of 5 values, without its sign, on a logarithmic scale from 1.000 to 8.000, in the order of execution. 2 of them have NaN or infinite elements, and are marked."
    );
    // From a third of 1 to three times 8, which is 72 times as much.
    let high = |size: f64| (size * 3.0).ln() / 72.0f64.ln();
    let heads = [(0.0, high(8.0)), (0.25, high(1.0)), (0.5, 0.0), (0.75, high(2.0)), (1.0, high(1.0))];
    for drawing in [&chart.wide, &chart.narrow] {
        assert_drawn(drawing, &circles(drawing), &heads);
        assert_eq!(numbers(drawing, "circle", "r"), [3.0, 5.0, 3.0, 5.0, 3.0], "what is not finite is larger");
        assert_eq!(drawing.content.matches("fill=\"#C62828\"").count(), 2);
        // A value without an element above zero has no stem.
        for (colour, at) in [("#A9C4EC", &[0, 4][..]), ("#C62828", &[1, 3][..])] {
            let stems = lines(drawing, colour, 2);
            assert_eq!(stems.len(), at.len());
            for (stem, at) in stems.iter().zip(at) {
                assert_drawn(drawing, stem, &[(heads[*at].0, 0.0), heads[*at]]);
            }
        }
        let labels = texts(drawing);
        assert!(["1", "10"].iter().all(|label| labels.contains(label)), "{labels:?}");
    }
    let finite = magnitudes(&values[..1]);
    assert!(finite.description.ends_with(" All are finite."), "{}", finite.description);
}

#[test]
fn values_are_numbered_from_one_and_only_whole_numbers_are_written() {
    let chart = magnitudes(&[(Some(1.0), Some(1.0), 0, 0); 4]);
    for drawing in [&chart.wide, &chart.narrow] {
        let labels = texts(drawing);
        let of_x: Vec<&&str> = labels.iter().filter(|label| ["1", "2", "3", "4"].contains(*label)).collect();
        // One more is that of 1 at the other axis.
        assert_eq!(of_x.len(), 5, "{labels:?}");
    }
}

#[test]
fn the_scale_reaches_twelve_digits_below_the_largest() {
    let chart = magnitudes(&[(None, Some(1e-20), 0, 0), (None, Some(1e6), 0, 0)]);
    // From a third of 1e-6 to 3e6. Smaller values are at the bottom.
    let high = 3e12f64.ln() / 9e12f64.ln();
    for drawing in [&chart.wide, &chart.narrow] {
        assert_drawn(drawing, &circles(drawing), &[(0.0, 0.0), (1.0, high)]);
        let labels = texts(drawing);
        for label in ["1e-6", "1e-4", "0.01", "100", "10000", "1e6"] {
            assert!(labels.contains(&label), "{label} is not among {labels:?}");
        }
    }
    assert!(chart.description.contains("scale from 1.000e-20 to 1.000e6"), "{}", chart.description);
}

#[test]
fn of_values_that_share_a_place_that_with_a_nan_is_drawn_or_else_the_largest() {
    let size = |index: usize| (None, Some(index as f64 + 1.0), u64::from(index == 10), 0);
    let values: Vec<_> = (0..1_201).map(size).collect();
    let drawn = |number: usize| magnitudes(&values[..number]).hover;
    assert_eq!([600, 601, 1_200, 1_201].map(|number| drawn(number).len()), [600, 301, 600, 401]);
    let hover = drawn(601);
    let spot = |index: usize| (hover[index].text.as_str(), hover[index].place);
    assert_eq!(spot(4), ("v9: at most 10.00", 9.0 / 600.0));
    assert_eq!(spot(5), ("v10: at most 11.00, 1 NaN, 0 infinite", 10.0 / 600.0));
    assert_eq!(spot(300), ("v600: at most 601.0", 1.0));
}

#[test]
fn values_without_an_element_above_zero_have_no_chart() {
    assert_eq!(magnitude(&dump(&[])).unwrap(), None);
    assert_eq!(magnitude(&dump(&[(Some(0.0), Some(0.0), 3, 3), (None, None, 0, 1)])).unwrap(), None);
}

fn machine() -> Roofline {
    let peak = |dtype: &str, gflops_per_s| ComputePeak { dtype: dtype.to_owned(), gflops_per_s };
    let bandwidth = |bytes, gbytes_per_s| Bandwidth { bytes, gbytes_per_s };
    Roofline {
        processor: "abacus".to_owned(),
        threads: 2,
        peaks: vec![peak("float32", 100.0), peak("float64", 50.0), peak("int8", 400.0)],
        bandwidths: vec![bandwidth(1 << 10, 50.0), bandwidth(1 << 30, 10.0)],
    }
}

/// Returns an operator with these operations per byte, this rate, this share of the time, and this percentage of its
/// limit.
fn operator(name: &str, (intensity, rate): (f64, f64), percent: f64, bound: Option<f64>) -> OperatorTimes {
    let mut work = Work::default();
    (work.flops_per_byte, work.gflops_per_s) = (Some(intensity), Some(rate));
    work.dtype = Some(DType::F32);
    work.bound = bound.map(|percent| Bound { limited_by: Limit::Memory, least_ns: 1.0, percent });
    OperatorTimes { percent, ..made::operator(name, Some(work)) }
}

fn rooflines(operators: &[OperatorTimes]) -> Chart {
    roofline(&machine(), operators).unwrap().expect("their work is known")
}

#[test]
fn operators_stand_at_their_intensity_and_rate_below_the_roofs() {
    let chart = rooflines(&[operator("/a", (2.0, 5.0), 16.0, Some(25.0)), operator("/b", (0.5, 50.0), 80.0, None)]);
    // From half of a tenth to four times the ridge, which is 100 / 10: that is 800 times as much. From half of 5 to
    // twice 100: that is 80 times as much.
    let wide = |intensity: f64| (intensity / 0.05).ln() / 800.0f64.ln();
    let high = |rate: f64| (rate / 2.5).ln() / 80.0f64.ln();
    assert_near(&places(&chart), &[wide(2.0), wide(0.5)]);
    let heights: Vec<f64> = chart.hover.iter().filter_map(|spot| spot.height).collect();
    assert_near(&heights, &[high(5.0), high(50.0)]);
    assert_eq!(chart.hover[0].text, "/a: 5 GFLOP/s at 2 operations per byte, 25.00 % of the bound by memory");
    assert_eq!(chart.hover[1].text, "/b: 50 GFLOP/s at 0.5 operations per byte");
    assert_eq!(
        chart.description,
        "2 operators by arithmetic intensity and rate, on logarithmic scales. abacus reaches 100 GFLOP/s with 2 threads, and reads 10 GB/s from memory and 50 GB/s from its caches."
    );
    for (drawing, font) in [(&chart.wide, 15), (&chart.narrow, 12)] {
        // Below the plot there are two lines of letters, 18 around them, and a margin of 8.
        let bottom = drawing.height as i32 - 8 - (2 * font + 18);
        assert!((drawing.rows.end - bottom).abs() <= 1, "{:?} ends at {bottom}", drawing.rows);
        assert_drawn(drawing, &circles(drawing), &[(wide(2.0), high(5.0)), (wide(0.5), high(50.0))]);
        // An eighth of the share, at most 6, and 3.
        assert_eq!(numbers(drawing, "circle", "r"), [5.0, 9.0]);
        // 0.05 x 10 is below the bottom, and the roof bends at 100 / 10. The roof of the caches begins at 0.05 x 50 and
        // bends at 2.
        let roof = [(0.0, 0.0), (wide(10.0), high(100.0)), (1.0, high(100.0))];
        assert_drawn(drawing, &lines(drawing, "#B45309", 2)[0], &roof);
        let roof = [(0.0, 0.0), (wide(2.0), high(100.0)), (1.0, high(100.0))];
        assert_drawn(drawing, &lines(drawing, "#B45309", 1)[0], &roof);
        // A quarter of the bound is reached: 20 would be all of it.
        let stems: Vec<_> = lines(drawing, "#D9DEE6", 1).into_iter().filter(|line| line[0].0 == line[1].0).collect();
        let stem = [(wide(2.0), high(5.0)), (wide(2.0), high(20.0))];
        assert_drawn(drawing, stems.last().expect("one has a bound"), &stem);
        let labels = texts(drawing);
        assert!(["0.1", "1", "10", "10 GF/s", "100 GF/s"].iter().all(|label| labels.contains(label)), "{labels:?}");
    }
}

#[test]
fn the_plane_of_the_roofline_has_room_for_what_is_beyond_the_machine() {
    // Points beyond the ridge, above the peak, and at a millionth of the peak.
    let chart = rooflines(&[
        operator("/a", (40.0, 200.0), 1.0, None),
        operator("/b", (1e-6, 1e-9), 1.0, None),
        operator("/c", (0.01, 1e-4), 1.0, None),
    ]);
    // From half of 1e-4 to 4 x 40, and from half of 1e-4 to 2 x 200.
    let wide = |intensity: f64| (intensity / 5e-5).ln() / 3.2e6f64.ln();
    let high = |rate: f64| (rate / 5e-5).ln() / 8e6f64.ln();
    assert_near(&places(&chart), &[wide(40.0), 0.0, wide(0.01)]);
    let heights: Vec<f64> = chart.hover.iter().filter_map(|spot| spot.height).collect();
    assert_near(&heights, &[high(200.0), 0.0, high(1e-4)]);
    for drawing in [&chart.wide, &chart.narrow] {
        let points = [(wide(40.0), high(200.0)), (0.0, 0.0), (wide(0.01), high(1e-4))];
        assert_drawn(drawing, &circles(drawing), &points);
    }
}

#[test]
fn the_roof_is_the_highest_of_the_types_that_are_computed() {
    let mut int8 = operator("/b", (1.0, 1.0), 1.0, None);
    int8.work.as_mut().expect("work").dtype = Some(DType::I8);
    let text = |operators: &[OperatorTimes]| rooflines(operators).description;
    assert!(text(&[operator("/a", (1.0, 1.0), 1.0, None), int8]).contains("abacus reaches 400 GFLOP/s"));
    let mut unknown = operator("/b", (1.0, 1.0), 1.0, None);
    unknown.work.as_mut().expect("work").dtype = None;
    assert!(text(&[unknown]).contains("abacus reaches 100 GFLOP/s"));
    let many: Vec<OperatorTimes> =
        (0..301).map(|index| operator(&format!("/{index}"), (1.0, 1.0), 1.0, None)).collect();
    assert!(text(&many[..299]).starts_with("299 operators by"));
    let chart = rooflines(&many);
    assert!(chart.description.starts_with("The 300 operators that take the most time, by"));
    assert_eq!(chart.hover.len(), 300);
    let mut alone = machine();
    alone.threads = 1;
    let chart = roofline(&alone, &many[..1]).unwrap().expect("its work is known");
    assert!(chart.description.contains(" with 1 thread,"));
}

#[test]
fn operators_without_a_place_have_no_chart() {
    let wrong = [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (f64::INFINITY, 1.0), (1.0, f64::NAN)];
    let mut operators: Vec<OperatorTimes> = wrong.map(|place| operator("/a", place, 1.0, None)).to_vec();
    assert_eq!(roofline(&machine(), &operators).unwrap(), None);
    operators.push(operator("/b", (1.0, 1.0), 1.0, None));
    assert_eq!(rooflines(&operators).hover.len(), 1);
    operators[5].work = None;
    assert_eq!(roofline(&machine(), &operators).unwrap(), None);
}

#[test]
fn a_machine_of_impossible_rates_has_no_chart() {
    let operators = [operator("/a", (1.0, 1.0), 1.0, None)];
    for rate in [0.0, -1.0, f64::INFINITY, f64::NAN] {
        let (mut slow, mut weak) = (machine(), machine());
        slow.bandwidths[1].gbytes_per_s = rate;
        weak.peaks[0].gflops_per_s = rate;
        assert_eq!(roofline(&slow, &operators).unwrap(), None, "{rate} GB/s");
        assert_eq!(roofline(&weak, &operators).unwrap(), None, "{rate} GFLOP/s");
    }
}

/// Returns the position of a text on a drawing, or `None` if the text is not there.
fn place_of(drawing: &Drawing, text: &str) -> Option<(f64, f64)> {
    let at = texts(drawing).iter().position(|found| *found == text)?;
    Some((numbers(drawing, "text", "x")[at], numbers(drawing, "text", "y")[at]))
}

#[test]
fn six_operators_are_named_beside_their_points_where_no_other_name_stands() {
    let chart = rooflines(&[
        operator("/right", (2.0, 5.0), 1.0, None),
        operator("/covered", (2.1, 5.1), 1.0, None),
        operator("/left/of/the/point", (39.0, 60.0), 1.0, None),
        operator("/3", (0.1, 5.0), 1.0, None),
        operator("/4", (0.1, 12.0), 1.0, None),
        operator("/5", (0.1, 30.0), 1.0, None),
        operator("/6", (0.1, 80.0), 1.0, None),
        operator("/7", (2.0, 80.0), 1.0, None),
    ]);
    let drawing = &chart.wide;
    let written: Vec<&str> = texts(drawing).into_iter().filter(|text| text.starts_with('/')).collect();
    assert_eq!(written, ["/right", "/left/of/the/point", "/3", "/4", "/5", "/6"]);
    let circles = circles(drawing);
    // A name is 10 to the right of its point, or to its left by 9 for each letter and 10, and half of 15 + 2 above it.
    for (name, at, beside) in [("/right", 0, 10.0), ("/left/of/the/point", 2, -10.0 - 162.0), ("/6", 6, 10.0)] {
        let (x, y) = place_of(drawing, name).expect("it is named");
        let off = (x - circles[at].0 - beside, y - circles[at].1 + 8.0);
        assert!(off.0.abs() <= 1.0 && off.1.abs() <= 1.0, "{name}: {off:?}");
    }
}
