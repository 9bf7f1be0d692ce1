//! Sources: the listing of a model, a line for each operator, and the lines of the program that it was exported from.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use opscope::debug::{LoadedModel, ModelId};
use opscope::onnx::CodeOrigin;
use serde_json::{Value, json};

use super::program::Program;

/// Returns the number of a model's listing. 0 would be a file.
fn reference(model: ModelId) -> i64 {
    i64::from(model.0) + 1
}

/// Returns the model with this listing.
///
/// # Errors
/// Returns an error if no model has this listing, or the program is gone.
pub fn model_of(program: &Program, reference_given: i64) -> Result<LoadedModel> {
    let models = program.models()?;
    let found = models.into_iter().find(|model| reference(model.model) == reference_given);
    found
        .with_context(|| format!("there is no source {reference_given}; the sources are the listings of loaded models"))
}

/// Describes the listing of a model.
pub fn listing(model: &LoadedModel) -> Value {
    let file = Path::new(&model.path).file_name().map(|name| name.to_string_lossy().into_owned());
    json!({
        "name": format!("{} (operators)", file.unwrap_or_else(|| model.name.clone())),
        "sourceReference": reference(model.model), "origin": "opscope", "presentationHint": "normal",
    })
}

/// Describes the place of an operator: the line of the program that it was exported from, if that file is on this
/// machine, or else its line in the listing. The line is counted from 1.
pub fn place(model: &LoadedModel, operator: u32, origin: Option<&CodeOrigin>) -> (Value, u32) {
    let line = origin.and_then(|origin| origin.source.as_ref()).filter(|line| Path::new(&line.file).is_file());
    match line {
        Some(line) => {
            let name = Path::new(&line.file).file_name().map(|name| name.to_string_lossy().into_owned());
            (json!({ "name": name, "path": line.file }), line.line)
        }
        None => (listing(model), operator + 1),
    }
}

/// Returns the text of a model's listing.
///
/// # Errors
/// Returns an error if the program is gone, or the model is not loaded any more.
pub fn text(program: &Program, model: ModelId) -> Result<String> {
    let mut text = String::new();
    let mut next = 1;
    loop {
        let part = program.client.source(model, next, usize::MAX)?;
        text.push_str(&part.text);
        next += part.lines as usize;
        if part.lines == 0 || next as u64 > part.total {
            return Ok(text);
        }
    }
}

/// Returns the operators that come from a line of a file, or from the next line that has any, with their model and the
/// number of that line.
///
/// # Errors
/// Returns an error if no operator comes from there, or the program is gone.
pub fn operators_of_line(program: &Program, file: &Path, line: u32) -> Result<(ModelId, u32, Vec<u32>)> {
    let mut is_known = false;
    for model in program.models()? {
        let mut lines: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for row in program.operators(&model)? {
            if let Some(source) = row.origin.and_then(|origin| origin.source)
                && (Path::new(&source.file) == file || file.ends_with(&source.file))
            {
                lines.entry(source.line).or_default().push(row.index);
            }
        }
        is_known |= !lines.is_empty();
        if let Some((line, operators)) = lines.range(line..).next() {
            return Ok((model.model, *line, operators.clone()));
        }
    }
    match is_known {
        true => anyhow::bail!("no operator of the model comes from this line or a later one"),
        false => {
            anyhow::bail!("no operator of the model comes from this file; set the breakpoint in the model's listing")
        }
    }
}
