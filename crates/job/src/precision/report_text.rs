//! The result of a search, for people.

use std::fmt::Write;
use std::path::Path;

use opscope_text::{counted, grouped, shown_number, shown_text};

use super::criterion::Criterion;
use super::low_type::LowType;
use super::report::{HeldOut, PrecisionReport};
use super::target::Target;

/// Names in a line.
const NAMED: usize = 6;

impl PrecisionReport {
    /// Returns the report for people, in a few lines.
    pub fn text(&self) -> String {
        let mut lines = Lines::default();
        match &self.target {
            Criterion::Target(target) => self.measured(*target, &mut lines),
            Criterion::Check(_) => self.checked(&mut lines),
        }
        if let (Some(written), Some(list)) = (&self.written, &self.list) {
            lines.add("written", path(written));
            let readers = "nodes_to_exclude (modelopt, onnxruntime) and node_block_list (onnxconverter-common)";
            lines.add("", format!("{} for {readers}", path(list)));
            let unlisted = self.kept.iter().filter(|kept| !kept.listed).count();
            if unlisted > 0 {
                let nodes = counted(unlisted, "node");
                lines.add(
                    "",
                    format!("{} lacks {nodes} with a line break in the name, which no line holds", path(list)),
                );
            }
        }
        lines.0
    }

    fn measured(&self, target: Target, lines: &mut Lines) {
        let metric = target.metric;
        let [one, other] = &self.noise_between;
        let noise = match &self.noise_unknown {
            None => format!("float32 by {one} and by {other}: {metric} {}", shown(self.noise)),
            Some(reason) => format!("not known: {other} does not run the model ({})", shown_text(reason)),
        };
        let Some(all_low) = &self.all_low else {
            lines.add("noise", noise);
            lines.add("", format!("the target {target} is finer than that: no choice can be told from noise"));
            return;
        };
        match self.noise_unknown {
            None => lines.add("noise", format!("{noise}; the target {target} is coarser")),
            Some(_) => lines.add("noise", noise),
        }
        lines.add(&format!("all {}", self.to), format!("{metric} {}", self.tried(all_low.value)));
        self.first_worse(lines);
        self.kept(lines);
        match self.minimal {
            true if self.kept.is_empty() => {}
            true => {
                let without = self.kept.iter().take(NAMED).map(|kept| self.tried(kept.value_without));
                let without = without.collect::<Vec<_>>().join(", ");
                lines.add("proof", format!("without any one of them the target is missed: {without}{}", self.more()));
            }
            false => lines.add("proof", CUT.to_owned()),
        }
        match &self.measured_by {
            Some(by) => {
                lines.add("measured", format!("{metric} {} by {by}{}", shown(self.value), verdict(target, self.value)));
                // What a search that was cut short has found is measured whole.
                let none = if self.interrupted && self.minimal { NOT_MEASURED } else { NO_HELD_OUT };
                let held_out = self.held_out.map(|held_out| held_out_text(target, held_out));
                lines.add("held out", held_out.unwrap_or_else(|| none.to_owned()));
            }
            None if self.written.is_some() => lines.add("measured", NOT_MEASURED.to_owned()),
            None => {}
        }
    }

    fn checked(&self, lines: &mut Lines) {
        lines.add("check", shown_text(&self.target.to_string()).into_owned());
        self.first_worse(lines);
        self.kept(lines);
        match self.minimal {
            true if self.kept.is_empty() => {}
            true => lines.add("proof", "without any one of them the check fails".to_owned()),
            false => lines.add("proof", CUT.to_owned()),
        }
    }

    /// Returns the value of a set that was tried. What a quantizer writes may not even load.
    fn tried(&self, value: Option<f64>) -> String {
        match (value, self.to) {
            (None, LowType::Int8) => "none (not finite, or the engine does not load it)".to_owned(),
            _ => shown(value),
        }
    }

    fn first_worse(&self, lines: &mut Lines) {
        let Some(all_low) = &self.all_low else { return };
        if let (Some(first), Some(cause)) = (&all_low.first, all_low.cause) {
            let first = shown_text(first);
            lines.add("", format!("first operator worse than rounding: {first} ({cause})"));
        }
    }

    fn kept(&self, lines: &mut Lines) {
        let text = match (&self.written, self.kept.is_empty()) {
            (None, _) => "nothing was found in time".to_owned(),
            (_, true) => format!("nothing: all {} operators can compute in {}", self.candidates, self.to),
            _ => {
                let of = counted(grouped(self.operators as u64), "operator");
                let names: Vec<_> = self.kept.iter().take(NAMED).map(|kept| shown_text(&kept.operator)).collect();
                let (count, share) = (self.kept.len(), self.kept_time * 100.0);
                // Operators in bodies have no times with every engine.
                let time = if self.kept_time > 0.0 { format!(", {share:.1} % of the time") } else { String::new() };
                format!("{count} of {of}{time}: {}{}", names.join(", "), self.more())
            }
        };
        lines.add("keep fp32", text);
    }

    fn more(&self) -> String {
        match self.kept.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        }
    }
}

const CUT: &str = "none: the search was cut short; the same command goes on with it";
const NOT_MEASURED: &str = "not yet: it was cut short; the same command measures again";
const NO_HELD_OUT: &str = "none: give several sets of inputs, and a part of them is kept for this";

fn held_out_text(target: Target, held_out: HeldOut) -> String {
    let interval = match (held_out.low, held_out.high) {
        (Some(low), Some(high)) => format!("{} to {}, ", number(low), number(high)),
        _ => String::new(),
    };
    let (metric, mean, sets) = (target.metric, shown(held_out.mean), counted(held_out.inputs, "set"));
    format!(
        "{metric} {mean} ({interval}{sets} of inputs that the search did not see){}",
        verdict(target, held_out.mean)
    )
}

fn verdict(target: Target, value: Option<f64>) -> &'static str {
    if target.is_met(value) { "" } else { ": MISSES the target" }
}

fn shown(value: Option<f64>) -> String {
    value.map_or_else(|| "not finite".to_owned(), number)
}

/// Returns a number so that what is missing to 1 has two digits: `0.999987`.
fn number(value: f64) -> String {
    let missing = (1.0 - value).abs();
    if missing < 1e-10 {
        return "1".to_owned();
    }
    if value > 0.9 && value <= 1.0 {
        let digits = (1.0 - missing.log10().floor()) as usize;
        return format!("{value:.*}", digits.clamp(3, 12));
    }
    if value != 0.0 && value.abs() < 1e-3 { format!("{value:.2e}") } else { shown_number(value) }
}

fn path(path: &Path) -> String {
    shown_text(&path.to_string_lossy()).into_owned()
}

/// Lines with a title each.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, title: &str, text: String) {
        let _ = writeln!(self.0, "{title:<9} {text}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_two_digits_of_what_is_missing_to_one() {
        let numbers = [0.999_987_4, 0.912, 0.9, 1.0, 0.5, 2.13e-6, 0.0, 41.26, -3.0];
        let texts = numbers.map(number);
        assert_eq!(texts, ["0.999987", "0.912", "0.900", "1", "0.500", "2.13e-6", "0.00", "41.3", "-3.00"]);
    }
}
