use opscope_profile::{MemoryOverTime, MemoryPoint};
use opscope_text::shown_size;
use plotters::prelude::{LineSeries, PathElement, Polygon};
use plotters::style::Color;

use super::{AROUND, Area, Chart, DATA, Labels, MARKED, Size, Spot, chart_error, plane};
use crate::ReportError;
use crate::units::{axis_duration, duration, trimmed};

/// How many points are drawn at most. If there are more, the highest of each part is drawn.
const MOST_POINTS: usize = 1_000;

/// Draws the memory that a run holds over time.
pub(crate) fn memory(memory: &MemoryOverTime) -> Result<Chart, ReportError> {
    let points = thinned(&memory.points);
    let (from, to) = match (points.first(), points.last()) {
        (Some(first), Some(last)) => (first.ns, last.ns.max(first.ns + 1.0)),
        _ => (0.0, 1.0),
    };
    let hover = points.iter().map(|point| {
        let place = (point.ns - from) / (to - from);
        Spot::new(place, format!("{} from {} on", shown_size(point.bytes), duration(point.ns)))
    });
    let description = format!(
        "Tensors of run {}, the measured one that holds the most: at most {} at once, over {}. Times are since the run began.",
        memory.run,
        shown_size(memory.peak_bytes),
        duration(to - from)
    );
    // Ticks are round numbers of the unit that labels them.
    let (unit, name) = [(1u64 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")]
        .into_iter()
        .find(|(unit, _)| memory.peak_bytes >= *unit)
        .map_or((1.0, "B"), |(unit, name)| (unit as f64, name));
    let top = memory.peak_bytes.max(1) as f64 * 1.08 / unit;
    let draw = |area: &Area<'_>, size: Size| {
        let labels = Labels {
            x: &|nanos: &f64| axis_duration(*nanos),
            y: &|size: &f64| format!("{} {name}", trimmed(*size)),
            count: 5,
        };
        let mut chart = plane(area, size, from..to, 0.0..top, &labels)?;
        // The memory stays constant until it changes.
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(points.len() * 2 + 2);
        for point in &points {
            if let Some(&(_, held)) = steps.last() {
                steps.push((point.ns, held));
            }
            steps.push((point.ns, point.bytes as f64 / unit));
        }
        let area: Vec<(f64, f64)> = [(from, 0.0)].into_iter().chain(steps.iter().copied()).chain([(to, 0.0)]).collect();
        chart.draw_series([Polygon::new(area, AROUND.filled())]).map_err(chart_error)?;
        chart.draw_series(LineSeries::new(steps, DATA.stroke_width(2))).map_err(chart_error)?;
        let peak = memory.peak_bytes as f64 / unit;
        chart
            .draw_series([PathElement::new([(from, peak), (to, peak)], MARKED.stroke_width(1))])
            .map_err(chart_error)?;
        Ok(chart.plotting_area().get_pixel_range())
    };
    Chart::draw("Memory for tensors over a run", description, hover.collect(), draw)
}

fn thinned(points: &[MemoryPoint]) -> Vec<MemoryPoint> {
    let part = points.len().div_ceil(MOST_POINTS).max(1);
    points.chunks(part).filter_map(|part| part.iter().max_by_key(|point| point.bytes).copied()).collect()
}
