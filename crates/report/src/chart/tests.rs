//! Where charts draw what they draw, by hand.

use opscope_profile::{MemoryOverTime, MemoryPoint};

use super::{Chart, Drawing, distribution, memory, over_time};
use crate::facts::{Bar, Latency, Step};

/// 10000 runs of 1 to 4 us, three quarters of them above 2 us.
fn latency() -> Latency {
    let step = |first: u64, last: u64, median: f64| Step {
        first,
        last,
        runs: last - first + 1,
        min: median - 500.0,
        median,
        max: median + 500.0,
    };
    Latency {
        runs: 10_000,
        is_recorded: true,
        interval: None,
        min: 1_000.0,
        max: 4_000.0,
        median: 2_500.0,
        p90: 3_500.0,
        p99: 3_900.0,
        usual: 7_500.0,
        bars: vec![Bar { from: 1_000.0, to: 2_000.0, runs: 2_500 }, Bar { from: 2_000.0, to: 4_000.0, runs: 7_500 }],
        beyond: 0,
        steps: vec![step(10, 19, 2_000.0), step(20, 29, 3_000.0), step(30, 50, 2_500.0)],
    }
}

fn places(chart: &Chart) -> Vec<f64> {
    chart.hover.iter().map(|spot| spot.place).collect()
}

fn assert_near(found: &[f64], expected: &[f64]) {
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(one, two)| (one - two).abs() < 1e-9), "{found:?}, not {expected:?}");
}

/// The numbers of an attribute of all elements of a kind.
fn numbers(drawing: &Drawing, element: &str, attribute: &str) -> Vec<f64> {
    let (element, attribute) = (format!("<{element} "), format!(" {attribute}=\""));
    let number = |rest: &str| {
        let (before, _) = rest.split_once('>')?;
        // The first attribute stands behind what was cut off.
        let before = format!(" {before}");
        let (_, value) = before.split_once(&attribute)?;
        value.split('"').next()?.parse().ok()
    };
    drawing.content.split(&element).skip(1).filter_map(number).collect()
}

#[test]
fn bars_are_told_at_their_middles_and_leave_room_for_the_names_of_three_marks() {
    let chart = distribution(&latency()).unwrap();
    // 1500 and 3000 from 1000 to 4000.
    assert_near(&places(&chart), &[500.0 / 3_000.0, 2_000.0 / 3_000.0]);
    assert!(chart.hover[1].text.ends_with(": 7\u{202f}500 runs"), "{}", chart.hover[1].text);
    // Each of three names takes a line of 4 more than its letters, of what the letters and 30 below leave of the
    // height. A twentieth of the highest bar is above it.
    for (drawing, font) in [(&chart.wide, 15.0), (&chart.narrow, 12.0)] {
        let names = 3.0 * (font + 4.0) / (f64::from(drawing.height) - font - 30.0);
        let plot = f64::from(drawing.rows.end - drawing.rows.start);
        let expected = plot * (1.0 - names) / 1.05;
        let highest =
            numbers(drawing, "rect", "height").into_iter().filter(|height| *height < plot).fold(0.0, f64::max);
        assert!((highest - expected).abs() <= 2.0, "{highest}, not {expected}");
    }
}

#[test]
fn runs_in_their_order_are_told_at_the_middle_of_each_step() {
    let chart = over_time(&latency()).unwrap();
    // 14.5, 24.5 and 40 from 10 to 50.
    assert_near(&places(&chart), &[4.5 / 40.0, 14.5 / 40.0, 30.0 / 40.0]);
    assert!(chart.hover[2].text.starts_with("runs 30 to 50: median 2.500 µs"), "{}", chart.hover[2].text);
}

#[test]
fn memory_is_told_where_it_changes_and_its_peak_is_within_the_plot() {
    let point = |ns: f64, bytes: u64| MemoryPoint { ns, bytes };
    let points = vec![point(0.0, 1 << 10), point(250.0, 4 << 10), point(1_000.0, 0)];
    let chart = memory(&MemoryOverTime { run: 3, peak_bytes: 4 << 10, points, operators: Vec::new() }).unwrap();
    assert_near(&places(&chart), &[0.0, 0.25, 1.0]);
    assert!(chart.description.contains("run 3,") && chart.description.contains("at most 4.0 KiB at once"));
    // The line of the peak lies at 1 / 1.08 of the height, which is 7.4 % below the top.
    for drawing in [&chart.wide, &chart.narrow] {
        let plot = f64::from(drawing.rows.end - drawing.rows.start);
        let peak = f64::from(drawing.rows.start) + plot * (1.0 - 1.0 / 1.08);
        let lines = drawing.content.split("points=\"").skip(1).filter_map(|rest| rest.split('"').next());
        let level = |line: &str| -> Option<f64> {
            let heights: Vec<f64> =
                line.split_whitespace().filter_map(|point| point.split(',').nth(1)?.parse().ok()).collect();
            (heights.len() == 2 && heights[0] == heights[1]).then(|| heights[0])
        };
        let levels: Vec<f64> = lines.filter_map(level).collect();
        assert!(levels.iter().any(|level| (level - peak).abs() <= 1.5), "{levels:?} without {peak}");
    }
}
