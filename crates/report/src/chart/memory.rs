use opscope_profile::{MemoryOverTime, MemoryPoint};
use opscope_text::shown_size;
use plotters::prelude::{ChartBuilder, LineSeries, PathElement, Polygon};
use plotters::style::Color;

use super::{AROUND, Area, Chart, DATA, GRID, MARKED, Size, chart_error};
use crate::ReportError;
use crate::units::{axis_duration, duration};

/// The most points that are drawn. Of more, the highest of each part is.
const MOST_POINTS: usize = 1_000;

/// Draws what a run holds in memory from moment to moment.
pub(crate) fn memory(memory: &MemoryOverTime) -> Result<Chart, ReportError> {
    let points = thinned(&memory.points);
    let (from, to) = match (points.first(), points.last()) {
        (Some(first), Some(last)) => (first.ns, last.ns.max(first.ns + 1.0)),
        _ => (0.0, 1.0),
    };
    let hover = points.iter().map(|point| {
        let place = ((point.ns - from) / (to - from) * 1e4).round() / 1e4;
        (place, format!("{} from {} on", shown_size(point.bytes), duration(point.ns)))
    });
    let description = format!(
        "Tensors of run {}, the one that holds the most: at most {} at once, over {}.",
        memory.run,
        shown_size(memory.peak_bytes),
        duration(to - from)
    );
    let top = memory.peak_bytes.max(1) as f64 * 1.08;
    let draw = |area: &Area<'_>, size: Size| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .x_label_area_size(size.font + 14)
            .y_label_area_size(size.left)
            .build_cartesian_2d(from..to, 0.0..top)
            .map_err(chart_error)?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_labels(size.x_labels)
            .y_labels(5)
            .x_label_style(size.text())
            .y_label_style(size.text())
            .x_label_formatter(&|nanos| axis_duration(*nanos))
            .y_label_formatter(&|bytes| shown_size(*bytes as u64))
            .draw()
            .map_err(chart_error)?;
        // Memory stays what it is until it changes.
        let mut steps: Vec<(f64, f64)> = Vec::with_capacity(points.len() * 2 + 2);
        for point in &points {
            if let Some(&(_, held)) = steps.last() {
                steps.push((point.ns, held));
            }
            steps.push((point.ns, point.bytes as f64));
        }
        let area: Vec<(f64, f64)> = [(from, 0.0)].into_iter().chain(steps.iter().copied()).chain([(to, 0.0)]).collect();
        chart.draw_series([Polygon::new(area, AROUND.filled())]).map_err(chart_error)?;
        chart.draw_series(LineSeries::new(steps, DATA.stroke_width(2))).map_err(chart_error)?;
        let peak = memory.peak_bytes as f64;
        chart
            .draw_series([PathElement::new([(from, peak), (to, peak)], MARKED.stroke_width(1))])
            .map_err(chart_error)?;
        let (plot, _) = chart.plotting_area().get_pixel_range();
        Ok((plot.start, plot.end))
    };
    Chart::draw("Memory for tensors over a run", description, hover.collect(), draw)
}

fn thinned(points: &[MemoryPoint]) -> Vec<MemoryPoint> {
    let part = points.len().div_ceil(MOST_POINTS).max(1);
    points.chunks(part).filter_map(|part| part.iter().max_by_key(|point| point.bytes).copied()).collect()
}
