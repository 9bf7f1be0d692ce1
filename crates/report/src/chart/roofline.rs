use opscope_profile::{OperatorTimes, Work};
use opscope_roofline::{Limit, Roofline};
use opscope_tensor::DType;
use plotters::prelude::{ChartBuilder, Circle, IntoLogRange, LineSeries, PathElement};
use plotters::style::Color;

use super::{Area, Chart, DATA, GRID, MARKED, Size, Spot, chart_error};
use crate::ReportError;
use crate::units::{cut, percent, trimmed};

/// How many operators are drawn at most: those that take the most time.
const MOST_OPERATORS: usize = 300;

/// How many names are written at most.
const MOST_NAMES: usize = 6;
/// How many letters a name has at most.
const MOST_LETTERS: usize = 24;

/// An operator on the roofline.
struct Point<'a> {
    operator: &'a OperatorTimes,
    intensity: f64,
    rate: f64,
    limit: Option<(Limit, f64)>,
}

/// Draws how far operators are from the machine's limits; `None` if no operator has both known operations and known
/// bytes.
pub(crate) fn roofline(machine: &Roofline, operators: &[OperatorTimes]) -> Result<Option<Chart>, ReportError> {
    let points: Vec<Point<'_>> = operators.iter().filter_map(point).take(MOST_OPERATORS).collect();
    // The roof is that of the types that operators compute in; of `float32` if none of these has a peak.
    let dtypes = points.iter().filter_map(|point| point.operator.work.as_ref()?.dtype.map(DType::name));
    let highest = machine.peaks_of(dtypes).map(|peak| peak.gflops_per_s).reduce(f64::max);
    let Some(peak) = highest.or_else(|| machine.peak("float32")) else { return Ok(None) };
    let (Some(slow), Some(fast)) = (machine.bandwidths.last(), machine.bandwidths.first()) else { return Ok(None) };
    // A recording may say anything of the machine, and an axis without end would be drawn for ever.
    let are_rates = [peak, slow.gbytes_per_s, fast.gbytes_per_s].iter().all(|rate| rate.is_finite() && *rate > 0.0);
    if points.is_empty() || !are_rates {
        return Ok(None);
    }
    let extremes = |of: fn(&Point<'_>) -> f64| {
        points.iter().map(of).fold((f64::INFINITY, 0.0f64), |(low, high), number| (low.min(number), high.max(number)))
    };
    let (least, most) = extremes(|point| point.intensity);
    let ridge = peak / slow.gbytes_per_s;
    let (from, to) = (least.clamp(1e-4, 0.1) / 2.0, most.max(ridge) * 4.0);
    let (low, high) = extremes(|point| point.rate);
    let (bottom, top) = (low.max(peak * 1e-6) / 2.0, peak.max(high) * 2.0);
    let logarithmic = |number: f64| (number.clamp(from, to).ln() - from.ln()) / (to.ln() - from.ln());
    let hover = points.iter().map(|point| {
        let limit = match point.limit {
            Some((limit, share)) => format!(", {} of the bound by {}", percent(share), limit.name()),
            None => String::new(),
        };
        let text = format!(
            "{}: {} GFLOP/s at {} operations per byte{limit}",
            point.operator.display_name(),
            trimmed(point.rate),
            trimmed(point.intensity)
        );
        let high = (point.rate.clamp(bottom, top).ln() - bottom.ln()) / (top.ln() - bottom.ln());
        Spot { height: Some(high), ..Spot::new(logarithmic(point.intensity), text) }
    });
    let description = format!(
        "{} by arithmetic intensity and rate, on logarithmic scales. {} reaches {} GFLOP/s with {}, and reads {} GB/s from memory and {} GB/s from its caches.",
        if points.len() < MOST_OPERATORS {
            format!("{} operators", points.len())
        } else {
            format!("The {MOST_OPERATORS} operators that take the most time,")
        },
        machine.processor,
        trimmed(peak),
        if machine.threads == 1 { "1 thread".to_owned() } else { format!("{} threads", machine.threads) },
        trimmed(slow.gbytes_per_s),
        trimmed(fast.gbytes_per_s)
    );
    let draw = |area: &Area<'_>, size: Size| {
        let mut chart = ChartBuilder::on(area)
            .margin(8)
            .margin_right(size.font * 2)
            .x_label_area_size(2 * size.font + 18)
            .y_label_area_size(size.left)
            .build_cartesian_2d((from..to).log_scale(), (bottom..top).log_scale())
            .map_err(chart_error)?;
        chart
            .configure_mesh()
            .light_line_style(GRID.mix(0.0))
            .bold_line_style(GRID)
            .axis_style(GRID)
            .x_labels(size.x_labels)
            .y_labels(6)
            .x_label_style(size.text())
            .y_label_style(size.text())
            .axis_desc_style(size.text())
            .x_desc("operations per byte")
            .x_label_formatter(&|intensity| trimmed(*intensity))
            .y_label_formatter(&|rate| format!("{} GF/s", trimmed(*rate)))
            .draw()
            .map_err(chart_error)?;
        for (bandwidth, width) in [(slow.gbytes_per_s, 2), (fast.gbytes_per_s, 1)] {
            let bend = (peak / bandwidth).clamp(from, to);
            let roof = [(from, (from * bandwidth).max(bottom)), (bend, (bend * bandwidth).min(peak)), (to, peak)];
            chart.draw_series(LineSeries::new(roof, MARKED.stroke_width(width))).map_err(chart_error)?;
        }
        let stems = points.iter().filter_map(|point| {
            let (_, share) = point.limit?;
            let reachable = (point.rate * 100.0 / share.max(1e-6)).clamp(bottom, top);
            Some(PathElement::new(
                [(point.intensity, point.rate.max(bottom)), (point.intensity, reachable)],
                GRID.stroke_width(1),
            ))
        });
        chart.draw_series(stems).map_err(chart_error)?;
        let circles = points.iter().map(|point| {
            let radius = 3 + (point.operator.percent / 8.0).min(6.0) as i32;
            Circle::new((point.intensity.clamp(from, to), point.rate.max(bottom)), radius, DATA.filled())
        });
        chart.draw_series(circles).map_err(chart_error)?;
        let (plot, rows) = chart.plotting_area().get_pixel_range();
        let high = |rate: f64| (rate.clamp(bottom, top).ln() - bottom.ln()) / (top.ln() - bottom.ln());
        // The points that take the most time come first, and their names do not overlap.
        let mut taken: Vec<(i32, i32, i32)> = Vec::new();
        for point in &points {
            let name = cut(point.operator.display_name(), MOST_LETTERS);
            let width = (name.chars().count() as u32 * size.font * 3 / 5) as i32;
            let x = plot.start + (logarithmic(point.intensity) * f64::from(plot.end - plot.start)) as i32;
            let y = rows.end - (high(point.rate) * f64::from(rows.end - rows.start)) as i32;
            let left = if x + 10 + width > plot.end { x - 10 - width } else { x + 10 };
            let line = size.font as i32 + 2;
            let is_free = |(a, b, at): &(i32, i32, i32)| left > *b || left + width < *a || (y - at).abs() >= line;
            if taken.len() < MOST_NAMES && left >= plot.start && y - line / 2 > rows.start && taken.iter().all(is_free)
            {
                taken.push((left, left + width, y));
                area.draw_text(&name, &size.text(), (left, y - line / 2)).map_err(chart_error)?;
            }
        }
        Ok((plot, rows))
    };
    Chart::draw("Roofline: operators below what the machine reaches", description, hover.collect(), draw).map(Some)
}

fn point(operator: &OperatorTimes) -> Option<Point<'_>> {
    let work: &Work = operator.work.as_ref()?;
    let (intensity, rate) = (work.flops_per_byte?, work.gflops_per_s?);
    let is_drawable = |number: f64| number.is_finite() && number > 0.0;
    let limit = work.bound.map(|bound| (bound.limited_by, bound.percent));
    (is_drawable(intensity) && is_drawable(rate)).then_some(Point { operator, intensity, rate, limit })
}
