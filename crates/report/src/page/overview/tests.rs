use opscope_profile::RunCounts;
use serde_json::json;

use super::*;
use crate::facts::{TypeRow, made};

fn written(with: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    with(&mut html);
    html.finish()
}

/// The cells of a table, row by row.
fn cells(html: &str) -> Vec<Vec<String>> {
    let body = html.split("<tbody>").nth(1).and_then(|rest| rest.split("</tbody>").next()).unwrap_or("");
    let cell =
        |rest: &str| rest.split_once('>').map_or("", |(_, text)| text).split('<').next().unwrap_or("").to_owned();
    let row = |row: &str| row.replace("<th", "<td").split("<td").skip(1).map(cell).collect();
    body.split("<tr>").skip(1).map(row).collect()
}

#[test]
fn a_bar_is_as_wide_as_its_share_and_never_wider_than_its_place() {
    let bar = |percent| written(|html| bar(html, percent, "c0"));
    let expected = |width: &str| {
        format!(
            "<svg class=\"bar\" aria-hidden=\"true\"><rect width=\"{width}%\" height=\"100%\" class=\"c0\"></rect></svg>"
        )
    };
    assert_eq!([12.5, -3.0, 120.0].map(bar), ["12.5", "0", "100"].map(expected));
}

#[test]
fn parts_of_a_run_are_shares_of_its_median() {
    let share = |median_ns: f64| Share { total_ns: median_ns, mean_ns: 0.0, median_ns, percent: median_ns / 10.0 };
    let mut shares = Shares {
        operators: share(600.0),
        added: share(0.0),
        between: share(150.0),
        profile: share(200.0),
        in_out: share(50.0),
        rest: Share { percent: 0.004, ..share(0.0) },
        dispatches_per_run: 1.0,
        between_ns_per_dispatch: 1.0,
        median_between_ns_per_dispatch: 1.0,
    };
    let html = written(|html| shares_of(html, &shares, 1_000.0));
    let expected = [
        ["Operators", "600 ns", "60.00 %", ""],
        ["Between operators", "150 ns", "15.00 %", ""],
        ["The engine&#39;s own profile", "200 ns", "20.00 %", ""],
        ["In and out", "50 ns", "5.00 %", ""],
    ];
    assert_eq!(cells(&html), expected);
    // 150 and 50 of the 800 that are left without the profile.
    assert!(
        html.contains("No operator is executed for 25.0 % of a run without the engine&#39;s own profile."),
        "{html}"
    );
    shares.rest.percent = -0.005;
    shares.added = share(10.0);
    shares.profile = share(0.0);
    let html = written(|html| shares_of(html, &shares, 1_000.0));
    let names: Vec<String> = cells(&html).into_iter().map(|mut row| row.remove(0)).collect();
    assert_eq!(names, ["Operators", ADDED, "Between operators", "In and out", REST]);
    assert!(html.contains("No operator is executed for 20.0 % of a run."), "{html}");
    let html = written(|html| shares_of(html, &shares, 0.0));
    assert_eq!(cells(&html)[0], ["Operators", "600 ns", "0.00 %", ""]);
    assert!(!html.contains("No operator is executed"));
}

#[test]
fn twelve_types_are_shown_and_the_others_take_their_time_together() {
    let row = |index: u32| TypeRow {
        op_type: format!("T{index}"),
        added: index == 1,
        operators: 1_000,
        median: 2_000.0,
        percent: f64::from(index),
    };
    let mut run = RunFacts { types: (1..=12).map(row).collect(), ..RunFacts::default() };
    let html = written(|html| types(html, &run));
    assert_eq!((cells(&html).len(), html.contains("more types")), (12, false));
    assert_eq!(cells(&html)[11], ["T12", "1\u{202f}000", "2.000 µs", "12.00 %", ""]);
    assert_eq!(html.matches("added by the engine").count(), 1);
    run.types = (1..=14).map(row).collect();
    let html = written(|html| types(html, &run));
    assert!(cells(&html).len() == 12 && html.contains("2 more types take 27.00 %."), "{html}");
    assert_eq!(written(|html| types(html, &RunFacts::default())), "");
}

#[test]
fn runs_that_do_not_count_are_said_to() {
    let of = |warm_up, failed, partial| {
        let account = made::account(RunCounts { measured: 9, warm_up, failed, partial }, Vec::new());
        excluded(&RunFacts { account: Some(account), ..RunFacts::default() })
    };
    assert_eq!(of(0, 0, 0), "");
    assert_eq!(of(1_000, 0, 2), "1\u{202f}000 warm-up, 2 partial not counted");
    assert_eq!(of(0, 1, 0), "1 failed not counted");
    assert_eq!(excluded(&RunFacts::default()), "");
    let latency = |runs, is_recorded| of_runs(&Latency { runs, is_recorded, ..Latency::default() });
    assert_eq!([latency(1, false), latency(2, true)], ["of 1 run", "of 2 recorded runs"]);
}

#[test]
fn the_tiles_have_the_percentiles_that_the_runs_carry() {
    let of = |runs| {
        let latency = Latency { runs, median: 1e6, p90: 2e6, p99: 3e6, min: 5e5, max: 4e6, ..Latency::default() };
        let run = RunFacts { latency: Some(latency), ..RunFacts::default() };
        let tile = |Tile(what, number, notes): Tile| format!("{what}: {number} ({})", notes.join("; "));
        tiles(&run).into_iter().map(tile).collect::<Vec<_>>()
    };
    let few = ["Median run: 1.000 ms (shortest 500.0 µs, longest 4.000 ms; of 9 runs)", "Runs: 9 ()"];
    assert_eq!(of(9), few);
    assert_eq!(of(10)[1], "P90: 2.000 ms (; of 10 runs)");
    assert_eq!(of(100)[1], "P99: 3.000 ms (P90 2.000 ms; of 100 runs)");
}

/// Returns a run with a summary of this many sets of shapes, whose recorded runs have this many plans.
fn run_of_shapes(sets: u64, plans: usize) -> RunFacts {
    let times = |median: u64| json!({ "max": 9.0, "median": median, "P90": 9.0, "P99": 9.0, "count": 15 });
    let shape = |median: u64| json!({ "inputs": [], "NPU_compute_time": times(median) });
    let summary = json!({
        "opscope": "opscope 0.1.0", "load_ms": 1.0, "peak_memory_bytes": 4096, "complete": true,
        "model": { "path": "made.onnx", "xxh3": "00000000deadbeef", "graph": "made", "operators": 2 },
        "engine": { "name": "paper", "version": "1", "fidelity": "optimised", "threads": 1, "concurrent_runs": 1 },
        "machine": { "cpu": "abacus", "processors": 2, "memory_bytes": 1024, "system": "linux 0" },
        "by_shape": (1..=sets).map(shape).collect::<Vec<_>>(),
    });
    RunFacts { plans, summary: Some(serde_json::from_value(summary).unwrap()), ..RunFacts::default() }
}

#[test]
fn of_many_sets_of_shapes_a_hundred_are_shown_and_the_others_are_counted() {
    let table = |sets| {
        let html = written(|html| shapes(html, &run_of_shapes(sets, 0)));
        let rows = cells(&html);
        let more = html.split(" more are not shown.").next().filter(|before| *before != html);
        let more = more.and_then(|before| before.rsplit('>').next()).map(ToOwned::to_owned);
        (rows.len(), rows.last().map(|row| row[2].clone()), more)
    };
    let last = |median: &str| Some(median.to_owned());
    assert_eq!(table(1), (0, None, None));
    assert_eq!(table(2), (2, last("2.000 ms"), None));
    assert_eq!(table(100), (100, last("100.0 ms"), None));
    assert_eq!(table(103), (100, last("100.0 ms"), last("3")));
}

#[test]
fn recorded_runs_are_said_to_be_of_several_shapes_only_if_they_have_several_plans() {
    let says = |plans| written(|html| shapes(html, &run_of_shapes(2, plans)));
    assert!(says(1).contains("The runs are of 2 sets of shapes, put together: no number above is that of one shape."));
    assert!(says(3).contains("The recorded runs are of 3 sets of shapes, put together"));
}
