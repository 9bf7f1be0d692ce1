//! The section on how long runs took.

use super::RunOnPage;
use super::html::Html;
use crate::ReportError;
use crate::chart;
use crate::facts::RunFacts;

/// Returns whether there are enough runs for a chart.
pub(super) fn is_there(run: &RunFacts) -> bool {
    const LEAST_RUNS: u64 = 3;
    run.latency.as_ref().is_some_and(|latency| latency.runs >= LEAST_RUNS)
}

pub(super) fn section(html: &mut Html, place: &RunOnPage<'_>) -> Result<(), ReportError> {
    let Some(latency) = &place.run.latency else { return Ok(()) };
    let charts = [("distribution", chart::distribution(latency)?), ("over-time", chart::over_time(latency)?)];
    html.within("div", &[("class", "charts")], |html| {
        for (id, chart) in &charts {
            html.chart(chart, &format!("{}-{id}", place.prefix));
        }
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::Latency;

    #[test]
    fn three_runs_have_charts() {
        let of =
            |runs| is_there(&RunFacts { latency: Some(Latency { runs, ..Latency::default() }), ..RunFacts::default() });
        assert_eq!([2, 3, 4].map(of), [false, true, true]);
        assert!(!is_there(&RunFacts::default()));
    }
}
