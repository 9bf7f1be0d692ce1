//! The positions at which charts draw, computed by hand.

mod points;

use opscope_profile::{MemoryOverTime, MemoryPoint};

use super::{Chart, Drawing, WIDE, distribution, latency, memory, over_time};
use crate::facts::{Bar, Latency, Step};

/// Returns 10000 runs of 1 to 4 us, three quarters of which are above 2 us.
fn runs() -> Latency {
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

/// Returns the numbers of an attribute of all elements of a kind.
fn numbers(drawing: &Drawing, element: &str, attribute: &str) -> Vec<f64> {
    let (element, attribute) = (format!("<{element} "), format!(" {attribute}=\""));
    let number = |rest: &str| {
        let (before, _) = rest.split_once('>')?;
        // The first attribute follows the text that was cut off.
        let before = format!(" {before}");
        let (_, value) = before.split_once(&attribute)?;
        value.split('"').next()?.parse().ok()
    };
    drawing.content.split(&element).skip(1).filter_map(number).collect()
}

/// Returns the points of the lines of a colour and a width.
fn lines(drawing: &Drawing, colour: &str, width: u32) -> Vec<Vec<(f64, f64)>> {
    let style = format!("stroke=\"{colour}\" stroke-width=\"{width}\"");
    let points = |element: &str| -> Vec<(f64, f64)> {
        let points = element.split("points=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap_or("");
        let point = |point: &str| {
            let (x, y) = point.split_once(',')?;
            Some((x.parse().ok()?, y.parse().ok()?))
        };
        points.split_whitespace().filter_map(point).collect()
    };
    let elements = drawing.content.split("<polyline ").skip(1).filter_map(|rest| rest.split('>').next());
    elements.filter(|element| element.contains(&style)).map(points).collect()
}

/// Returns the texts on a drawing.
fn texts(drawing: &Drawing) -> Vec<&str> {
    let elements = drawing.content.split("<text ").skip(1);
    elements.filter_map(|rest| Some(rest.split('>').nth(1)?.split('<').next()?.trim())).collect()
}

/// Checks the pixels of points against their places on the plot, from 0 to 1, from left to right and from bottom to
/// top. A pixel is a whole number, and the last pixel of the plot is not in its range.
fn assert_drawn(drawing: &Drawing, found: &[(f64, f64)], places: &[(f64, f64)]) {
    let (plot, rows) = (&drawing.plot, &drawing.rows);
    let pixel = |&(x, y): &(f64, f64)| {
        let (width, height) = (f64::from(plot.end - plot.start), f64::from(rows.end - rows.start));
        (f64::from(plot.start) + x * width, f64::from(rows.end) - y * height)
    };
    let expected: Vec<(f64, f64)> = places.iter().map(pixel).collect();
    let is_near = |(a, b): (&(f64, f64), &(f64, f64))| (a.0 - b.0).abs() <= 2.0 && (a.1 - b.1).abs() <= 2.0;
    let are_near = found.len() == expected.len() && found.iter().zip(&expected).all(is_near);
    assert!(are_near, "{found:?}, not {expected:?}");
}

#[test]
fn marks_stand_at_their_times_and_their_names_beside_them() {
    let chart = distribution(&runs()).unwrap();
    for (drawing, font) in [(&chart.wide, 15.0), (&chart.narrow, 12.0)] {
        // A mark ends where the names of all three begin, seen from below.
        let end = 1.0 - 3.0 * (font + 4.0) / (f64::from(drawing.height) - font - 30.0);
        // 2500, 3500 and 3900 from 1000 to 4000.
        let marks = lines(drawing, "#B45309", 2);
        let places = [0.5, 2_500.0 / 3_000.0, 2_900.0 / 3_000.0];
        assert_eq!(marks.len(), 3);
        for (mark, place) in marks.iter().zip(places) {
            assert_drawn(drawing, mark, &[(place, 0.0), (place, end)]);
        }
        assert_eq!(texts(drawing)[texts(drawing).len() - 3..], ["median 2.500 µs", "P90 3.500 µs", "P99 3.900 µs"]);
        // There is room to the right of the median, and its name is 5 beside it.
        let x = numbers(drawing, "text", "x")[texts(drawing).len() - 3];
        assert!((x - marks[0][0].0 - 5.0).abs() <= 1.0, "{x}, beside {:?}", marks[0]);
    }
    assert_eq!(
        chart.description,
        "10\u{202f}000 runs took 1.000 µs to 4.000 µs; the median is 2.500 µs, 90 % took at most 3.500 µs, 99 % took at most 3.900 µs."
    );
    // A mark beyond the last bar is not drawn. The description mentions the runs beyond it.
    let mut cut = runs();
    (cut.p90, cut.p99, cut.max, cut.beyond) = (4_000.0, 5_000.0, 9_000.0, 1_234);
    let chart = distribution(&cut).unwrap();
    assert_eq!(lines(&chart.wide, "#B45309", 2).len(), 2);
    assert!(chart.description.ends_with(" 1\u{202f}234 longer ones, up to 9.000 µs, are not drawn."));
}

#[test]
fn names_stand_to_the_right_of_their_marks_and_to_the_left_where_there_is_no_room() {
    let names =
        [("abcde", 150), ("abcde", 250), ("abcde", 251), ("abcde", 120)].map(|(name, at)| (name.to_owned(), at));
    let places = |plot| -> Vec<(i32, i32)> {
        latency::in_lines(names.to_vec(), &plot, WIDE).into_iter().map(|(_, place)| place).collect()
    };
    // 5 letters of 9 are 45 wide, and 5 away from the mark; each line takes 4 more than the 15 of its letters.
    assert_eq!(places(100..300), [(155, 2), (255, 21), (201, 40), (125, 59)]);
    assert_eq!(places(100..150), [(100, 2), (200, 21), (201, 40), (100, 59)]);
}

#[test]
fn few_runs_are_counted_by_whole_numbers() {
    let mut few = runs();
    few.bars = vec![Bar { from: 1_000.0, to: 2_000.0, runs: 1 }, Bar { from: 2_000.0, to: 3_000.0, runs: 0 }];
    few.runs = 1;
    let chart = distribution(&few).unwrap();
    assert_eq!(chart.hover[0].text, "1.000 µs to 2.000 µs: 1 run");
    assert_eq!(chart.hover[1].text, "2.000 µs to 3.000 µs: 0 runs");
    let counts = |drawing: &Drawing| texts(drawing).into_iter().filter(|text| ["0", "1", "2"].contains(text)).count();
    assert_eq!((counts(&chart.wide), counts(&chart.narrow)), (2, 2));
    // A single run is not enough for a percentile, and the empty bar is not drawn.
    assert_eq!(lines(&chart.wide, "#B45309", 2).len(), 0);
    assert_eq!(chart.wide.content.matches("<rect ").count(), 1);
}

#[test]
fn bars_are_told_at_their_middles_and_leave_room_for_the_names_of_three_marks() {
    let chart = distribution(&runs()).unwrap();
    // 1500 and 3000 from 1000 to 4000.
    assert_near(&places(&chart), &[500.0 / 3_000.0, 2_000.0 / 3_000.0]);
    assert!(chart.hover[1].text.ends_with(": 7\u{202f}500 runs"), "{}", chart.hover[1].text);
    // Each of the three names takes a line of its letters and 4 more. The lines are taken from the height without the
    // letters and the 30 below. A twentieth of the highest bar is above it.
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
    let chart = over_time(&runs()).unwrap();
    // 14.5, 24.5 and 40 from 10 to 50.
    assert_near(&places(&chart), &[4.5 / 40.0, 14.5 / 40.0, 30.0 / 40.0]);
    assert!(chart.hover[2].text.starts_with("runs 30 to 50: median 2.500 µs"), "{}", chart.hover[2].text);
}

#[test]
fn runs_in_their_order_are_drawn_between_a_little_below_the_shortest_and_above_the_longest() {
    let chart = over_time(&runs()).unwrap();
    for drawing in [&chart.wide, &chart.narrow] {
        // From 0.97 x 1000 to 1.03 x 4000.
        let high = |nanos: f64| (nanos - 970.0) / 3_150.0;
        let data = lines(drawing, "#2F6FD0", 2);
        let medians = [(4.5 / 40.0, high(2_000.0)), (14.5 / 40.0, high(3_000.0)), (30.0 / 40.0, high(2_500.0))];
        assert_drawn(drawing, &data[0], &medians);
        assert_drawn(drawing, &lines(drawing, "#B45309", 1)[0], &[(0.0, high(2_500.0)), (1.0, high(2_500.0))]);
        assert_eq!(drawing.content.matches("<polygon ").count(), 1, "from the shortest to the longest of each step");
    }
    assert!(chart.description.contains("from 2.000 µs at first to 2.500 µs at last."), "{}", chart.description);
    assert!(chart.description.contains("the median of up to 10 runs;") && !chart.description.contains("cut off"));
}

#[test]
fn a_run_that_was_held_up_is_cut_off() {
    let mut held_up = runs();
    (held_up.usual, held_up.max) = (3_000.0, 1e6);
    held_up.steps.truncate(2);
    (held_up.steps[0].median, held_up.steps[0].max) = (9_000.0, 1e6);
    let chart = over_time(&held_up).unwrap();
    // The top is 1.03 x 3000, and no point is above it.
    let high = |nanos: f64| (nanos - 970.0) / (3_090.0 - 970.0);
    let data = lines(&chart.wide, "#2F6FD0", 2);
    assert_drawn(&chart.wide, &data[0], &[(4.5 / 19.0, 1.0), (14.5 / 19.0, high(3_000.0))]);
    assert!(chart.description.ends_with(" What was longer is cut off."), "{}", chart.description);
    // If nearly all runs take the same time, a tenth above the median is shown.
    let mut same = runs();
    (same.min, same.median, same.max) = (1_000.0, 1_000.0, 1_001.0);
    same.steps = vec![Step { first: 4, last: 4, runs: 1, min: 1_000.0, median: 1_000.0, max: 1_000.0 }];
    let chart = over_time(&same).unwrap();
    let high = (1_000.0 - 970.0) / (1_133.0 - 970.0);
    assert_drawn(&chart.wide, &lines(&chart.wide, "#B45309", 1)[0], &[(0.0, high), (1.0, high)]);
    assert_near(&places(&chart), &[0.0]);
    assert_eq!(chart.hover[0].text, "run 4: 1.000 µs");
    assert!(!chart.wide.content.contains("<polygon ") && !chart.description.contains("Each point is the median"));
    let labels = texts(&chart.wide).into_iter().filter(|text| text.starts_with("run "));
    assert_eq!(labels.collect::<Vec<_>>(), ["run 4", "run 5"], "no run lies between two");
}

#[test]
fn memory_is_told_where_it_changes_and_its_peak_is_within_the_plot() {
    let point = |ns: f64, bytes: u64| MemoryPoint { ns, bytes };
    let points = vec![point(0.0, 1 << 10), point(250.0, 4 << 10), point(1_000.0, 0)];
    let chart = memory(&MemoryOverTime { run: 3, peak_bytes: 4 << 10, points, operators: Vec::new() }).unwrap();
    assert_near(&places(&chart), &[0.0, 0.25, 1.0]);
    assert!(chart.description.contains("run 3,") && chart.description.contains("at most 4.0 KiB at once"));
    // 1500 is half of the way from 1000 to 2000.
    let points = vec![point(1_000.0, 1 << 10), point(1_500.0, 4 << 10), point(2_000.0, 0)];
    let later = memory(&MemoryOverTime { run: 3, peak_bytes: 4 << 10, points, operators: Vec::new() }).unwrap();
    assert_near(&places(&later), &[0.0, 0.5, 1.0]);
    assert!(later.description.contains("at once, over 1.000 µs."), "{}", later.description);
    // The line of the peak is at 1 / 1.08 of the height, which is 7.4 % below the top.
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
