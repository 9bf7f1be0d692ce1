//! What a watch has found, as an exception.

use opscope_torch::{Finding, FindingInput, Found};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use opscope::onnx::SourceLine;
use opscope::tensor::Statistics;

/// Returns the exception `opscope.NonFinite` with the sentences about a finding, and its facts as attributes.
pub fn exception(py: Python<'_>, finding: &Finding) -> PyErr {
    let made = || -> PyResult<PyErr> {
        let class = py.import("opscope._errors")?.getattr("NonFinite")?;
        let error = class.call1((text(finding),))?;
        for (name, value) in facts(py, finding)?.iter() {
            error.setattr(name.extract::<String>()?.as_str(), value)?;
        }
        Ok(PyErr::from_value(error))
    };
    made().unwrap_or_else(|error| error)
}

/// Returns the facts about a finding.
pub fn facts<'py>(py: Python<'py>, finding: &Finding) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("operator", &finding.operator)?;
    facts.set_item("op_type", &finding.op_type)?;
    facts.set_item("step", finding.step)?;
    facts.set_item("phase", &finding.phase)?;
    facts.set_item("module", finding.module.as_ref().map(|(path, _)| path))?;
    facts.set_item("class_name", finding.module.as_ref().map(|(_, class)| class))?;
    facts.set_item("file", finding.source.as_ref().map(|(file, _, _)| file))?;
    facts.set_item("line", finding.source.as_ref().map(|(_, line, _)| line))?;
    facts.set_item("code", finding.source.as_ref().and_then(|(_, _, code)| code.as_ref()))?;
    facts.set_item("found", if finding.found == Found::Nan { "nan" } else { "infinity" })?;
    facts.set_item("came_in", finding.came_in())?;
    facts.set_item("first_infinity", &finding.first_infinity)?;
    let inputs = finding.inputs.iter().map(|input| input_facts(py, input)).collect::<PyResult<Vec<_>>>()?;
    facts.set_item("inputs", PyList::new(py, inputs)?)?;
    Ok(facts)
}

fn input_facts<'py>(py: Python<'py>, input: &FindingInput) -> PyResult<Bound<'py, PyDict>> {
    let facts = PyDict::new(py);
    facts.set_item("name", &input.name)?;
    facts.set_item("dtype", input.dtype.name())?;
    facts.set_item("shape", &input.shape)?;
    facts.set_item("written", input.is_written)?;
    facts.set_item("nan", input.statistics.nan)?;
    facts.set_item("inf", input.statistics.positive_infinite + input.statistics.negative_infinite)?;
    facts.set_item("min", input.statistics.min)?;
    facts.set_item("max", input.statistics.max)?;
    Ok(facts)
}

/// Returns the sentences about a finding.
pub fn text(finding: &Finding) -> String {
    let what = if finding.found == Found::Nan { "NaN" } else { "infinity" };
    let count = match finding.found {
        Found::Nan => finding.output.nan,
        Found::Infinity => finding.output.positive_infinite + finding.output.negative_infinite,
    };
    let mut text = format!(
        "the first {what}: {} (step {}, {}), in {count} of {} elements of its output {}\n",
        finding.operator, finding.step, finding.phase, finding.output.count, finding.slot
    );
    if let Some((path, class)) = &finding.module {
        text += &format!("  module {path}, a {class}\n");
    }
    if let Some((file, line, code)) = &finding.source {
        let source = SourceLine { file: file.clone(), line: *line, code: code.clone() };
        text += &format!("  {source}\n");
    }
    for (slot, input) in finding.inputs.iter().enumerate() {
        let name = input.name.as_deref().unwrap_or("?");
        let numbers = if input.is_written { "written by the operator".to_owned() } else { numbers(&input.statistics) };
        text += &format!("  input {slot} {name}: {} {:?}, {numbers}\n", input.dtype, input.shape);
    }
    text += match finding.came_in() {
        true => "  it came in with an input",
        false => "  no input has it: it was made here",
    };
    if let Some(operator) = &finding.first_infinity {
        text += &format!("\n  the first infinity of this step was made by {operator}");
    }
    text
}

fn numbers(statistics: &Statistics) -> String {
    let infinite = statistics.positive_infinite + statistics.negative_infinite;
    let mut parts = Vec::new();
    if let (Some(min), Some(max)) = (statistics.min, statistics.max) {
        parts.push(format!("{min} to {max}"));
    }
    if statistics.nan > 0 {
        parts.push(format!("{} NaN", statistics.nan));
    }
    if infinite > 0 {
        parts.push(format!("{infinite} infinite"));
    }
    if parts.is_empty() { "no elements".to_owned() } else { parts.join(", ") }
}
