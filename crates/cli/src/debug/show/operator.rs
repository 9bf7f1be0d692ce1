use opscope::debug::{BreakpointInfo, Location, Moment, OperatorMapping, Target, TensorInfo};
use opscope::tensor::DType;
use opscope::text::shown_text;

use super::table;

/// Returns a tensor's type and shape, as in `float32 [8, 10]`.
pub fn tensor_form(dtype: Option<DType>, shape: &[usize]) -> String {
    match dtype {
        Some(dtype) => format!("{dtype} {shape:?}"),
        None if shape.is_empty() => "of a type of the engine's own".to_owned(),
        None => format!("of a type of the engine's own, {shape:?}"),
    }
}

/// Shows the tensors of a stop, a line for each, and one more for a value that it holds in another form.
pub fn tensors<'a>(tensors: impl IntoIterator<Item = &'a TensorInfo>, moment: Moment) -> String {
    let tensors: Vec<&TensorInfo> = tensors.into_iter().collect();
    let rows = tensors.iter().map(|tensor| {
        let ahead = moment == Moment::Before && tensor.reference.starts_with("output");
        let notes = [
            (tensor.constant, "weight"),
            (tensor.replaced, "replaced"),
            (ahead, "not computed yet"),
            (!tensor.readable && !ahead, "cannot be looked at"),
        ];
        let notes: Vec<&str> = notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note).collect();
        [
            format!("  {}", tensor.reference),
            tensor.value.clone().unwrap_or_else(|| "-".to_owned()),
            // Of what is not computed yet, the type may not be known: of a program's tensors it never is.
            if ahead && tensor.dtype.is_none() && tensor.shape.is_empty() {
                String::new()
            } else {
                tensor_form(tensor.dtype, &tensor.shape)
            },
            notes.join(", "),
        ]
    });
    let text = table(rows);
    let lines = text.lines().zip(&tensors).flat_map(|(line, tensor)| {
        let holds = tensor.holds.as_ref().map(|value| format!("      holds {value} in another form"));
        std::iter::once(line.to_owned()).chain(holds)
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Shows the inputs and outputs of the operator at which a run is stopped.
pub fn inputs_and_outputs(location: &Location) -> String {
    let mut text = tensors(location.inputs.iter().chain(&location.outputs), location.place.moment);
    let kernel = &location.kernel;
    if let Some(kernels) = location.operator_kernels {
        let here = match location.place.moment {
            Moment::Before => "the first of",
            Moment::After => "the last of",
        };
        text.push_str(&format!(
            "\n  (the engine's kernel here is '{}', {here} {kernels} for this operator)",
            kernel.op
        ));
        return text;
    }
    let others: Vec<&str> = kernel.operators.iter().skip(1).map(|operator| operator.name.as_str()).collect();
    match others.is_empty() {
        false => {
            text.push_str(&format!("\n  the engine's kernel '{}' also stands for", kernel.op));
            wrapped(&mut text, &others);
        }
        // The kernel may be a part of the operator, with other inputs.
        true if *kernel.op != *location.place.op_type => {
            text.push_str(&format!("\n  (of the engine's kernel '{}')", kernel.op));
        }
        true => {}
    }
    text
}

/// Appends names with commas between them, on as many lines as they need.
fn wrapped(text: &mut String, names: &[&str]) {
    const WIDTH: usize = 80;
    let mut column = text.lines().last().map_or(0, |line| line.chars().count());
    for (index, name) in names.iter().enumerate() {
        let comma = if index + 1 < names.len() { "," } else { "" };
        let length = name.chars().count() + comma.len();
        if column + 1 + length > WIDTH {
            text.push_str("\n     ");
            column = 5;
        }
        text.push_str(&format!(" {name}{comma}"));
        column += 1 + length;
    }
}

/// Describes how the engine executes an operator.
pub fn mapping(mapping: &OperatorMapping) -> String {
    match mapping {
        OperatorMapping::Kernel { kernel } => format!("kernel {kernel}"),
        OperatorMapping::Fused { kernel, into, .. } => format!("fused into {into} (kernel {kernel})"),
        OperatorMapping::Removed => "nothing is executed for it".to_owned(),
        OperatorMapping::Pending => "known with the first run".to_owned(),
    }
}

/// Describes a breakpoint in a line: where it is, and when it stops.
pub fn breakpoint(info: &BreakpointInfo) -> String {
    shown_text(&described(info)).into_owned()
}

fn described(info: &BreakpointInfo) -> String {
    let spec = &info.spec;
    let mut text = format!("{} {}", info.moment, spec.target);
    if let Some(run) = spec.run {
        text.push_str(&format!(" run {run}"));
    }
    if let Some(condition) = &spec.condition {
        text.push_str(&format!(" if {condition}"));
    }
    let count =
        |is: fn(&OperatorMapping) -> bool| info.locations.iter().filter(|location| is(&location.mapping)).count();
    let (fused, removed) = (
        count(|mapping| matches!(mapping, OperatorMapping::Fused { .. })),
        count(|mapping| matches!(mapping, OperatorMapping::Removed)),
    );
    match &info.locations[..] {
        // It watches every operator.
        _ if matches!(spec.target, Target::First(_)) => return text,
        [] => text.push_str(": no operator yet"),
        [only] => text.push_str(&format!(": #{} {}, {}", only.operator, only.name, mapping(&only.mapping))),
        several => {
            text.push_str(&format!(": {} operators", several.len()));
            let parts = [(fused, "fused into others"), (removed, "not executed")];
            let parts = parts.iter().filter(|(count, _)| *count > 0);
            parts.for_each(|(count, what)| text.push_str(&format!(", {count} {what}")));
        }
    }
    if removed > 0 && removed == info.locations.len() {
        text.push_str(": it stops nowhere");
    }
    text
}

/// Describes how the engine executes those operators of a breakpoint that have no kernel of their own, one line each.
pub fn mappings(info: &BreakpointInfo) -> Vec<String> {
    const MOST: usize = 8;
    if info.locations.len() < 2 || matches!(info.spec.target, Target::First(_)) {
        return Vec::new();
    }
    let elsewhere = info
        .locations
        .iter()
        .filter(|location| matches!(location.mapping, OperatorMapping::Fused { .. } | OperatorMapping::Removed));
    let mut lines: Vec<String> = elsewhere
        .map(|location| format!("     #{} {}, {}", location.operator, location.name, mapping(&location.mapping)))
        .map(|line| shown_text(&line).into_owned())
        .collect();
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        let target = info.spec.target.to_string();
        lines.push(format!("     and {more} more; `info operators {}` lists them all", shown_text(&target)));
    }
    lines
}
