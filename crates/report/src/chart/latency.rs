use std::ops::Range;

use opscope_profile::carries_percentile;
use plotters::prelude::{LineSeries, PathElement, Polygon, Rectangle};
use plotters::style::Color;

use super::{AROUND, Area, Chart, DATA, Labels, MARKED, Size, Spot, chart_error, plane};
use crate::ReportError;
use crate::facts::{Latency, Step};
use crate::units::{axis_duration, count, duration};

/// Draws how many runs took how long.
pub(crate) fn distribution(latency: &Latency) -> Result<Chart, ReportError> {
    let (Some(first), Some(last)) = (latency.bars.first(), latency.bars.last()) else {
        return Err(ReportError::Chart("there is no run".into()));
    };
    let (from, to) = (first.from, last.to);
    let most = latency.bars.iter().map(|bar| bar.runs).max().unwrap_or(1).max(1);
    let hover = latency.bars.iter().map(|bar| {
        let place = ((bar.from + bar.to) / 2.0 - from) / (to - from);
        let runs = if bar.runs == 1 { "1 run".to_owned() } else { format!("{} runs", count(bar.runs)) };
        Spot::new(place, format!("{} to {}: {runs}", duration(bar.from), duration(bar.to)))
    });
    let beyond = match latency.beyond {
        0 => String::new(),
        runs => format!(" {} longer ones, up to {}, are not drawn.", count(runs), duration(latency.max)),
    };
    let runs = usize::try_from(latency.runs).unwrap_or(usize::MAX);
    let named = [("median", 50.0, latency.median), ("P90", 90.0, latency.p90), ("P99", 99.0, latency.p99)];
    let named: Vec<_> = named.into_iter().filter(|(_, percent, _)| carries_percentile(runs, *percent)).collect();
    let percentiles = named.iter().filter(|(_, percent, _)| *percent > 50.0);
    let percentiles: Vec<String> =
        percentiles.map(|(_, percent, at)| format!(", {percent} % took at most {}", duration(*at))).collect();
    let description = format!(
        "{} runs took {} to {}; the median is {}{}.{beyond}",
        count(latency.runs),
        duration(latency.min),
        duration(latency.max),
        duration(latency.median),
        percentiles.concat()
    );
    let draw = |area: &Area<'_>, size: Size| {
        let labels = Labels {
            x: &|nanos: &f64| axis_duration(*nanos),
            y: &|runs: &f64| count(*runs as u64),
            count: 5.min(most as usize + 1),
        };
        // The names of the marks are above the bars and the marks, so that none overlap.
        let above = named.len() as f64 * f64::from(size.font + 4) / f64::from(size.height - size.font - 30);
        let top = most as f64 * 1.05 / (1.0 - above);
        let mut chart = plane(area, size, from..to, 0.0..top, &labels)?;
        let bars = latency.bars.iter().filter(|bar| bar.runs > 0);
        let bars = bars.map(|bar| Rectangle::new([(bar.from, 0.0), (bar.to, bar.runs as f64)], DATA.filled()));
        chart.draw_series(bars).map_err(chart_error)?;
        let named = named.iter().map(|&(name, _, at)| (name, at)).filter(|(_, at)| (from..=to).contains(at));
        let named: Vec<(&str, f64)> = named.collect();
        let top = most as f64 * 1.05;
        let marks = named.iter().map(|&(_, at)| PathElement::new([(at, 0.0), (at, top)], MARKED.stroke_width(2)));
        chart.draw_series(marks).map_err(chart_error)?;
        let (plot, rows) = chart.plotting_area().get_pixel_range();
        let place = |nanos: f64| plot.start + ((nanos - from) / (to - from) * f64::from(plot.end - plot.start)) as i32;
        let named = named.into_iter().map(|(name, at)| (format!("{name} {}", duration(at)), place(at))).collect();
        for (name, at) in in_lines(named, &plot, size) {
            area.draw_text(&name, &size.marked(), (at.0, rows.start + at.1)).map_err(chart_error)?;
        }
        Ok((plot, rows))
    };
    Chart::draw("How long runs took", description, hover.collect(), draw)
}

/// Returns where the names of marked positions are written: to the right of the position, or to its left if there is no
/// space, each in its own line.
pub(super) fn in_lines(names: Vec<(String, i32)>, plot: &Range<i32>, size: Size) -> Vec<(String, (i32, i32))> {
    let line = |(index, (name, at)): (usize, (String, i32))| {
        let width = (name.chars().count() as u32 * size.font * 3 / 5) as i32;
        let left = if at + 5 + width > plot.end { at - 5 - width } else { at + 5 };
        (name, (left.max(plot.start), index as i32 * (size.font as i32 + 4) + 2))
    };
    names.into_iter().enumerate().map(line).collect()
}

/// Draws how long runs took in their order.
pub(crate) fn over_time(latency: &Latency) -> Result<Chart, ReportError> {
    let steps = &latency.steps;
    let middle = |step: &Step| (step.first as f64 + step.last as f64) / 2.0;
    let numbers = steps.iter().flat_map(|step| [step.first, step.last]);
    let (first, last) = numbers.fold((u64::MAX, 0), |(first, last), run| (first.min(run), last.max(run)));
    let (from, to) = (first.min(last) as f64, last.max(first.saturating_add(1)) as f64);
    let several = steps.iter().any(|step| step.runs > 1);
    let hover = steps.iter().map(|step| {
        let text = match step.runs {
            1 => format!("run {}: {}", count(step.first), duration(step.median)),
            _ => format!(
                "runs {} to {}: median {}, {} to {}",
                count(step.first),
                count(step.last),
                duration(step.median),
                duration(step.min),
                duration(step.max)
            ),
        };
        Spot::new((middle(step) - from) / (to - from), text)
    });
    let parts = if several {
        format!(
            " Each point is the median of up to {} runs; the area reaches from the shortest to the longest.",
            steps[0].runs
        )
    } else {
        String::new()
    };
    let ends = |step: Option<&Step>| step.map_or_else(String::new, |step| duration(step.median));
    let (at_first, at_last) = (ends(steps.first()), ends(steps.last()));
    let numbered = match latency.is_recorded {
        true => " Their numbers are those of the recording.",
        false => " They are numbered from 0, without those that warm up.",
    };
    let cut = if latency.max > latency.usual { " What was longer is cut off." } else { "" };
    let description = format!(
        "{} runs in their order, from {at_first} at first to {at_last} at last.{numbered}{parts}{cut}",
        count(latency.runs)
    );
    // A single delayed run would flatten all others.
    let limit = latency.usual.min(latency.max);
    let top = limit.max(latency.median * 1.1) * 1.03;
    let bottom = latency.min * 0.97;
    let draw = |area: &Area<'_>, size: Size| {
        let labels = Labels {
            x: &|run: &f64| format!("run {}", count(*run as u64)),
            y: &|nanos: &f64| axis_duration(*nanos),
            count: 5,
        };
        // A position halfway between two runs has no number.
        let size = Size { x_labels: size.x_labels.min((to - from) as usize + 1), ..size };
        let mut chart = plane(area, size, from..to, bottom..top, &labels)?;
        if several {
            let upper = steps.iter().map(|step| (middle(step), step.max.min(top)));
            let lower = steps.iter().rev().map(|step| (middle(step), step.min));
            let around = Polygon::new(upper.chain(lower).collect::<Vec<_>>(), AROUND.filled());
            chart.draw_series([around]).map_err(chart_error)?;
        }
        let medians = steps.iter().map(|step| (middle(step), step.median.min(top)));
        chart.draw_series(LineSeries::new(medians, DATA.stroke_width(2))).map_err(chart_error)?;
        let median = PathElement::new([(from, latency.median), (to, latency.median)], MARKED.stroke_width(1));
        chart.draw_series([median]).map_err(chart_error)?;
        Ok(chart.plotting_area().get_pixel_range())
    };
    Chart::draw("How long runs took, in their order", description, hover.collect(), draw)
}
