//! What an editor shows of a stop: groups of tensors, tensors with their statistics, and their elements, page by page.

use std::collections::BTreeMap;

use anyhow::{Context, Result, anyhow, bail};
use opscope::debug::expression::TensorPart;
use opscope::debug::protocol::At;
use opscope::debug::{ErrorCode, Location, Sequence, ShortNumber, TensorInfo};
use serde_json::{Value, json};

use super::breakpoints;
use super::frames::Scope;
use super::memory;
use super::messages::{OfVariable, ReadMemory, Variables as Asked};
use super::program::Program;
use crate::debug::command::{self, Command, Replacement};
use crate::debug::console::{data, modify};
use crate::debug::show;

/// How many elements are sent to an editor that does not ask for pages.
const UNPAGED: u64 = 1000;

/// How many rows a tensor's statistics have.
const ROWS: usize = 8;

/// The groups and tensors that the editor can open, by the numbers that it has for them.
#[derive(Debug, Default)]
pub struct Variables {
    known: BTreeMap<usize, Container>,
    last: usize,
}

#[derive(Debug, Clone)]
enum Container {
    Scope(Sequence, Scope),
    Tensor(Sequence, TensorPart),
}

impl Variables {
    /// Describes the groups of tensors at a stop. There are none if the run has continued: an editor may ask for those of
    /// a frame while it is on its way to the next one.
    ///
    /// # Errors
    /// Returns an error if the program is gone.
    pub fn scopes(&mut self, program: &Program, stop: Sequence) -> Result<Value> {
        let location = match program.client.location(stop) {
            Err(error) if matches!(error.code(), ErrorCode::NotStopped | ErrorCode::AlreadyContinued) => {
                return Ok(json!({ "scopes": [] }));
            }
            location => location?,
        };
        let describe = |scope: Scope| {
            let number = self.add(Container::Scope(stop, scope));
            json!({ "name": scope.name(), "variablesReference": number, "expensive": scope == Scope::Weights })
        };
        let scopes: Vec<Value> = Scope::of(&location).into_iter().map(describe).collect();
        Ok(json!({ "scopes": scopes }))
    }

    /// Describes what is in a group or a tensor.
    ///
    /// # Errors
    /// Returns an error if the run has continued, or the tensor cannot be read.
    pub fn list(&mut self, program: &Program, asked: &Asked) -> Result<Value> {
        let variables = match self.container(asked.variables_reference)? {
            Container::Scope(stop, scope) => {
                let location = program.client.location(stop)?;
                match scope {
                    Scope::Inputs => self.tensors(stop, &location.inputs),
                    Scope::Outputs => self.tensors(stop, &location.outputs),
                    Scope::Weights => self.tensors(stop, &location.weights),
                    Scope::Attributes => attributes(&location),
                }
            }
            Container::Tensor(stop, part) => {
                let mut rows = Vec::new();
                if asked.filter.as_deref() != Some("indexed") {
                    rows.extend(statistics(program, stop, &part)?);
                }
                if asked.filter.as_deref() != Some("named") {
                    let count = if asked.count > 0 { asked.count } else { UNPAGED };
                    rows.extend(elements(program, stop, &part, asked.start, count)?);
                }
                rows
            }
        };
        Ok(json!({ "variables": variables }))
    }

    /// Replaces a tensor or an element.
    ///
    /// # Errors
    /// Returns an error if the new value does not fit, or the tensor cannot be replaced there.
    pub fn set(&mut self, program: &Program, asked: &OfVariable) -> Result<Value> {
        let (stop, text) = match self.container(asked.variables_reference)? {
            Container::Tensor(stop, part) if part.slice.is_none() => (stop, format!("{part}{}", asked.name)),
            Container::Tensor(_, part) => bail!("elements of {part} are replaced in the whole tensor"),
            Container::Scope(stop, Scope::Inputs | Scope::Outputs) => (stop, asked.name.clone()),
            Container::Scope(_, scope) => bail!("{} cannot be replaced", scope.name().to_lowercase()),
        };
        let Command::Set { tensor, with } = command::parse(&format!("set {text} = {}", asked.value))? else {
            bail!("'{}' is neither a number nor an npy file", asked.value);
        };
        if let Replacement::File(path) = &with
            && !path.exists()
        {
            bail!("'{}' is neither a number nor an npy file", asked.value);
        }
        modify::replace(&program.client, stop, &tensor, &with)?;
        let page = program.client.tensor(stop, &tensor, 0, 1)?;
        let value = match page.elements {
            1 => page.element(0).map_or_else(String::new, |element| element.to_string()),
            _ => show::tensor_form(Some(page.dtype), &page.shape),
        };
        Ok(json!({ "value": value }))
    }

    /// Evaluates an expression where a run is stopped: a tensor, a part of it, or a function of it.
    ///
    /// # Errors
    /// Returns an error if it is no expression, or there is no such tensor.
    pub fn evaluate(&mut self, program: &Program, stop: Sequence, expression: &str) -> Result<Value> {
        match command::parse(&format!("print {expression}"))? {
            Command::Apply { function, tensor } => {
                let (_, text) = show::applied(function, &program.client.statistics(stop, &tensor)?);
                Ok(json!({ "result": text, "variablesReference": 0 }))
            }
            Command::Print(part) => {
                let at = At::from(stop);
                let page = program.client.tensor(at, &part, 0, data::FIRST)?;
                let form = show::tensor_form(Some(page.dtype), &page.shape);
                let (elements, text) = (page.elements, data::array(&program.client, at, &part, page)?);
                let number = self.add(Container::Tensor(stop, part));
                let memory = memory_reference(number);
                if elements == 1 {
                    return Ok(
                        json!({ "result": text, "type": form, "variablesReference": 0, "memoryReference": memory }),
                    );
                }
                Ok(json!({
                    "result": format!("{form}\n{text}"), "type": form, "variablesReference": number,
                    "namedVariables": ROWS, "indexedVariables": elements, "memoryReference": memory,
                }))
            }
            _ => {
                Err(anyhow!("'{expression}' is not a tensor; right is, for example, output[0] or max(input[1][:, 3])"))
            }
        }
    }

    /// Describes a tensor by numbers: its type, shape and statistics, and the counts of its elements by powers of two.
    ///
    /// # Errors
    /// Returns an error if there is no such tensor, or its elements are no numbers.
    pub fn describe(&mut self, program: &Program, stop: Sequence, reference: &str) -> Result<Value> {
        let part: TensorPart = reference.parse()?;
        let statistics = program.client.statistics(stop, &part)?;
        let histogram = program.client.histogram(stop, &part)?;
        let memory = memory_reference(self.add(Container::Tensor(stop, part)));
        Ok(json!({ "statistics": statistics, "histogram": histogram, "memoryReference": memory }))
    }

    /// Reads bytes of a tensor.
    ///
    /// # Errors
    /// Returns an error if the run has continued, or the bytes cannot be read.
    pub fn read_memory(&self, program: &Program, asked: &ReadMemory) -> Result<Value> {
        let reference = &asked.memory_reference;
        let number = reference.parse().with_context(|| format!("'{reference}' is not the memory of a tensor"))?;
        match self.container(number)? {
            Container::Tensor(stop, part) => memory::read(program, stop, &part, asked),
            Container::Scope(_, scope) => bail!("{} have no memory of their own", scope.name().to_lowercase()),
        }
    }

    /// Returns whether a run can be stopped when a variable is computed.
    ///
    /// # Errors
    /// Returns an error if the run has continued.
    pub fn data_breakpoint(&self, program: &Program, asked: &OfVariable) -> Result<Value> {
        let (stop, name) = match self.container(asked.variables_reference)? {
            Container::Scope(stop, Scope::Outputs) => (stop, &asked.name),
            _ => {
                let text = "a run can be stopped where an output is computed, not at an input or an element";
                return Ok(json!({ "dataId": null, "description": text }));
            }
        };
        let place = program.client.location(stop)?.place;
        Ok(json!({
            "dataId": breakpoints::data_id(place.model, place.operator),
            "description": format!("{name} of {}", place.name), "accessTypes": ["write"],
        }))
    }

    /// Forgets what belongs to a stop from which the run has continued.
    pub fn forget(&mut self, stop: Sequence) {
        self.known.retain(|_, container| match container {
            Container::Scope(of, _) | Container::Tensor(of, _) => *of != stop,
        });
    }

    fn add(&mut self, container: Container) -> usize {
        self.last += 1;
        self.known.insert(self.last, container);
        self.last
    }

    fn container(&self, number: usize) -> Result<Container> {
        self.known.get(&number).cloned().context("the run has continued since")
    }

    fn tensors(&mut self, stop: Sequence, tensors: &[TensorInfo]) -> Vec<Value> {
        let describe = |tensor: &TensorInfo| {
            let form = show::tensor_form(tensor.dtype, &tensor.shape);
            let notes = [(tensor.replaced, "replaced"), (!tensor.readable, "cannot be read here")];
            let notes: Vec<&str> = notes.into_iter().filter(|(applies, _)| *applies).map(|(_, note)| note).collect();
            let words = std::iter::once(form.as_str()).chain(tensor.value.as_deref()).chain(notes);
            let value = words.collect::<Vec<_>>().join("  ");
            let mut described =
                json!({ "name": tensor.reference, "value": value, "type": form, "variablesReference": 0 });
            if tensor.readable
                && let Ok(part) = tensor.reference.parse::<TensorPart>()
            {
                described["evaluateName"] = tensor.reference.clone().into();
                let number = self.add(Container::Tensor(stop, part));
                described["variablesReference"] = number.into();
                described["memoryReference"] = memory_reference(number).into();
                described["namedVariables"] = ROWS.into();
                described["indexedVariables"] = tensor.shape.iter().product::<usize>().into();
            }
            described
        };
        tensors.iter().map(describe).collect()
    }
}

/// Returns the reference to the bytes of a tensor.
fn memory_reference(number: usize) -> String {
    number.to_string()
}

fn attributes(location: &Location) -> Vec<Value> {
    let describe = |(name, value): &(String, String)| json!({ "name": name, "value": value, "variablesReference": 0 });
    location.attributes.iter().map(describe).collect()
}

/// Describes the statistics of a tensor, [`ROWS`] rows.
fn statistics(program: &Program, stop: Sequence, part: &TensorPart) -> Result<Vec<Value>> {
    let numbers = program.client.statistics(stop, part)?;
    let number =
        |number: Option<f64>| number.map_or_else(|| "none".to_owned(), |number| ShortNumber(number).to_string());
    let rows: [(&str, String); ROWS] = [
        ("min", number(numbers.min)),
        ("max", number(numbers.max)),
        ("mean", number(numbers.mean)),
        ("std", number(numbers.std)),
        ("l2", number(numbers.l2)),
        ("NaN", numbers.nan.to_string()),
        ("infinite", (numbers.positive_infinite + numbers.negative_infinite).to_string()),
        ("zeros", numbers.zeros.to_string()),
    ];
    let hint = json!({ "attributes": ["readOnly"], "kind": "virtual" });
    let describe =
        |(name, value)| json!({ "name": name, "value": value, "variablesReference": 0, "presentationHint": hint });
    Ok(rows.into_iter().map(describe).collect())
}

/// Describes elements of a tensor. The program may send fewer than were requested. The rest is then requested again.
fn elements(program: &Program, stop: Sequence, part: &TensorPart, start: u64, count: u64) -> Result<Vec<Value>> {
    let mut rows = Vec::new();
    while (rows.len() as u64) < count {
        let first = start + rows.len() as u64;
        let page = program.client.tensor(stop, part, first, count - rows.len() as u64)?;
        for index in 0..page.count {
            let value = page.element(index as usize).map_or_else(String::new, |element| element.to_string());
            let name = format!("{:?}", indices(&page.shape, first + index));
            let mut row = json!({ "name": name, "value": value, "variablesReference": 0 });
            if part.slice.is_none() {
                row["evaluateName"] = format!("{part}{name}").into();
            }
            rows.push(row);
        }
        if page.count == 0 || first + page.count >= page.elements {
            break;
        }
    }
    Ok(rows)
}

/// Returns the index of an element for each axis.
fn indices(shape: &[usize], mut element: u64) -> Vec<u64> {
    let mut indices: Vec<u64> = Vec::with_capacity(shape.len());
    for &size in shape.iter().rev() {
        indices.push(element % size.max(1) as u64);
        element /= size.max(1) as u64;
    }
    indices.reverse();
    indices
}
