use opscope::debug::{BreakpointInfo, Fate, Location, Moment, TensorInfo};

use super::table;

/// A tensor's type and shape, as in `float32 [8, 10]`.
pub fn tensor_form(dtype: Option<&str>, shape: &[usize]) -> String {
    format!("{} {shape:?}", dtype.unwrap_or("a type of the engine's own"))
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
        let notes: Vec<&str> = notes.into_iter().filter_map(|(holds, note)| holds.then_some(note)).collect();
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
    let others: Vec<&str> = location.kernel.operators.iter().skip(1).map(|operator| operator.name.as_str()).collect();
    if !others.is_empty() {
        text.push_str(&format!("\n  the engine's step '{}' also stands for {}", location.kernel.op, others.join(", ")));
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
    let live = |location: &&opscope::debug::BreakpointLocation| location.fate != Fate::Removed;
    match &info.locations[..] {
        [] => text.push_str(": no operator yet"),
        [only] => text.push_str(&format!(": #{} {}, {}", only.operator, only.name, fate(&only.fate))),
        several => match several.iter().filter(live).count() {
            count if count == several.len() => text.push_str(&format!(": {count} operators")),
            count => text.push_str(&format!(": {} operators, {count} of them executed", several.len())),
        },
    }
    text
}
