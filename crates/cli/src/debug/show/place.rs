use opscope::debug::{BreakpointInfo, Fate, Location, Moment, Target, TensorInfo};

use super::table;

/// A tensor's type and shape, as in `float32 [8, 10]`.
pub fn tensor_form(dtype: Option<&str>, shape: &[usize]) -> String {
    match dtype {
        Some(dtype) => format!("{dtype} {shape:?}"),
        None if shape.is_empty() => "of a type of the engine's own".to_owned(),
        None => format!("of a type of the engine's own, {shape:?}"),
    }
}

/// Tensors of a stop, a line for each.
pub fn tensors<'a>(tensors: impl IntoIterator<Item = &'a TensorInfo>, moment: Moment) -> String {
    table(tensors.into_iter().map(|tensor| {
        let ahead = moment == Moment::Before && tensor.reference.starts_with("output");
        let notes = [
            (tensor.constant, "weight"),
            (tensor.replaced, "replaced"),
            (ahead, "not computed yet"),
            (!tensor.readable && !ahead, "cannot be looked at"),
        ];
        let holds = tensor.holds.as_ref().map(|value| format!("holds {value} in another form"));
        let notes = notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note.to_owned());
        let notes: Vec<String> = holds.into_iter().chain(notes).collect();
        [
            format!("  {}", tensor.reference),
            tensor.value.clone().unwrap_or_else(|| "-".to_owned()),
            tensor_form(tensor.dtype.as_deref(), &tensor.shape),
            notes.join(", "),
        ]
    }))
}

/// What a stopped run is about to work on, or has made.
pub fn inputs_and_outputs(location: &Location) -> String {
    let mut text = tensors(location.inputs.iter().chain(&location.outputs), location.place.moment);
    let kernel = &location.kernel;
    let others: Vec<&str> = kernel.operators.iter().skip(1).map(|operator| operator.name.as_str()).collect();
    match others.is_empty() {
        false => {
            text.push_str(&format!("\n  the engine's step '{}' also stands for {}", kernel.op, others.join(", ")));
        }
        // It may be a part of the operator, and need not take what the operator takes.
        true if *kernel.op != *location.place.op_type => {
            text.push_str(&format!("\n  (of the engine's step '{}')", kernel.op));
        }
        true => {}
    }
    text
}

/// What became of an operator.
pub fn fate(fate: &Fate) -> String {
    match fate {
        Fate::Kernel { kernel } => format!("step {kernel}"),
        Fate::Fused { kernel, into, .. } => format!("fused into {into} (step {kernel})"),
        Fate::Removed => "nothing is executed for it".to_owned(),
        Fate::Pending => "known with the first run".to_owned(),
    }
}

/// A breakpoint in a line: where it is, and when it stops.
pub fn breakpoint(info: &BreakpointInfo) -> String {
    let spec = &info.spec;
    let mut text = format!("{} {}", info.moment, spec.target);
    if let Some(run) = spec.run {
        text.push_str(&format!(" run {run}"));
    }
    if let Some(condition) = &spec.condition {
        text.push_str(&format!(" if {condition}"));
    }
    let count = |is: fn(&Fate) -> bool| info.locations.iter().filter(|location| is(&location.fate)).count();
    let (fused, removed) =
        (count(|fate| matches!(fate, Fate::Fused { .. })), count(|fate| matches!(fate, Fate::Removed)));
    match &info.locations[..] {
        // It is at every operator.
        _ if matches!(spec.target, Target::First(_)) => return text,
        [] => text.push_str(": no operator yet"),
        [only] => text.push_str(&format!(": #{} {}, {}", only.operator, only.name, fate(&only.fate))),
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

/// Where the operators of a breakpoint went that are not executed as themselves, a line for each.
pub fn fates(info: &BreakpointInfo) -> Vec<String> {
    const MOST: usize = 8;
    if info.locations.len() < 2 || matches!(info.spec.target, Target::First(_)) {
        return Vec::new();
    }
    let elsewhere =
        info.locations.iter().filter(|location| matches!(location.fate, Fate::Fused { .. } | Fate::Removed));
    let mut lines: Vec<String> = elsewhere
        .map(|location| format!("     #{} {}, {}", location.operator, location.name, fate(&location.fate)))
        .collect();
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        lines.push(format!("     and {more} more; `info operators {}` lists them all", info.spec.target));
    }
    lines
}
