//! Comparisons of models and dumps, tensor by tensor.

use std::sync::Arc;

use opscope::dump::{
    Blame, CompareOptions, Comparison as Compared, Divergence, Io, Order, Outcome, Row, Tolerances, Verdict,
    differing_initializers,
};
use opscope::tensor::{DType, Difference, Tolerance};
use opscope::text::counted;
use opscope_job::compare::{Reference, compare_runs, program_inputs};
use opscope_job::inputs::{Data, Inputs};
use pyo3::prelude::*;

use crate::columns::Columns;
use crate::failure::{Failure, input};
use crate::model::Model;
use crate::stored::Dump;
use crate::table::{Table, document};
use crate::waiting::in_background;

/// How the tensors of two sides differ.
#[pyclass(module = "opscope", frozen)]
pub struct Comparison {
    compared: Arc<Compared>,
}

/// Compares the tensors of a model or a dump with those of another one.
#[pyfunction]
#[pyo3(signature = (tensors, reference, inputs, *, fidelity, reference_fidelity, seed, atol, rtol, of_max, least_sqnr))]
#[expect(clippy::too_many_arguments, reason = "they have names in Python")]
pub fn compare_tensors(
    py: Python<'_>,
    tensors: &Bound<'_, PyAny>,
    reference: &Bound<'_, PyAny>,
    inputs: Option<&Bound<'_, PyAny>>,
    fidelity: &str,
    reference_fidelity: &str,
    seed: u64,
    atol: Option<f64>,
    rtol: Option<f64>,
    of_max: Option<f64>,
    least_sqnr: Option<f64>,
) -> PyResult<Comparison> {
    let fidelities = [crate::inputs::fidelity(fidelity)?, crate::inputs::fidelity(reference_fidelity)?];
    let number = |given: Option<f64>| given.unwrap_or(0.0);
    let all = [atol, rtol, of_max].iter().any(Option::is_some).then(|| Tolerance {
        absolute: number(atol),
        relative: number(rtol),
        of_max: number(of_max),
    });
    let mut options =
        CompareOptions { tolerances: Tolerances { all, of: Vec::new() }, least_sqnr, ..CompareOptions::default() };
    let wrong = |object: &Bound<'_, PyAny>| input(format!("models and dumps can be compared, and {object} is neither"));
    let compared = match (tensors.cast::<Model>(), reference.cast::<Model>()) {
        (Ok(model), reference_model) => {
            let model = model.get();
            let given = match (inputs, reference.cast::<Dump>()) {
                (None, Ok(dump)) if dump.get().stored().is_program() => {
                    program_inputs(model.graph(), dump.get().stored()).map_err(Failure::input)?
                }
                _ => model.inputs_or(inputs, Data::Random(seed))?,
            };
            let reference = match (&reference_model, reference.cast::<Dump>()) {
                (Ok(other), _) => {
                    let other = other.get();
                    options.initializers =
                        differing_initializers(model.graph(), other.graph()).map_err(Failure::from)?;
                    Reference::Run(other.run_spec(fidelities[1]))
                }
                (Err(_), Ok(dump)) => Reference::Dump(Arc::clone(dump.get().stored())),
                (Err(_), Err(_)) => return Err(wrong(reference)),
            };
            let (run, graph) = (model.run_spec(fidelities[0]), Arc::clone(model.graph()));
            in_background(py, None, move || Ok(compare_runs(&run, &reference, &Inputs::Same(given), &graph, options)?))?
        }
        (Err(_), Ok(_)) => {
            return Err(input(
                "the first is a dump and the second a model; give the model first: what is compared, then the reference",
            ));
        }
        (Err(_), Err(_)) => {
            let tensors = Arc::clone(tensors.cast::<Dump>().map_err(|_| wrong(tensors))?.get().stored());
            let reference = Arc::clone(reference.cast::<Dump>().map_err(|_| wrong(reference))?.get().stored());
            in_background(py, None, move || Ok(Compared::of(&tensors, &reference, &options)))?
        }
    };
    if compared.rows.is_empty() {
        let side = |name: &str, count| format!("{name} has {}", counted(count, "tensor"));
        let ours = side(&compared.tensors, compared.only_in_tensors.len());
        let theirs = side(&compared.reference, compared.only_in_reference.len());
        return Err(input(format!("the two sides have no tensor in common: {ours}; {theirs}")));
    }
    Ok(Comparison { compared: Arc::new(compared) })
}

#[pymethods]
impl Comparison {
    /// Whether every tensor of both sides was compared and agrees.
    #[getter]
    fn ok(&self) -> bool {
        self.compared.verdict() == Verdict::Same
    }

    /// `same`, `different`, or `unknown` where data for the decision is missing.
    #[getter]
    fn verdict(&self) -> &'static str {
        verdict(self.compared.verdict())
    }

    /// The exit code of `opscope compare`.
    #[getter]
    fn exit_code(&self) -> u8 {
        match self.compared.verdict() {
            Verdict::Same => 0,
            Verdict::Unknown => 3,
            Verdict::Different => 4,
        }
    }

    /// The first operator whose output differs; `None` if none does.
    #[getter]
    fn first_divergence(&self) -> Option<FirstDivergence> {
        self.compared.divergence.as_ref().map(|divergence| FirstDivergence::of(&self.compared, divergence))
    }

    /// A row for each pair of tensors, in the order of the graph.
    #[getter]
    fn table(&self) -> Table {
        table(&self.compared).into()
    }

    /// What limits the comparison, a sentence each.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.compared.notes.clone()
    }

    /// What could not be read, a sentence each.
    #[getter]
    fn problems(&self) -> Vec<String> {
        self.compared.problems.clone()
    }

    /// The names of the initializers that differ.
    #[getter]
    fn initializers(&self) -> Vec<String> {
        self.compared.initializers.clone()
    }

    /// What `opscope compare` prints, with at most this many rows.
    #[pyo3(signature = (rows=20))]
    fn text(&self, rows: usize) -> String {
        self.compared.text(Order::default(), rows).trim_end().to_owned()
    }

    /// The document that `opscope compare --json` prints.
    fn json(&self) -> String {
        self.compared.json().to_string()
    }

    fn __len__(&self) -> usize {
        self.compared.rows.len()
    }

    fn __str__(&self) -> String {
        self.text(20)
    }

    fn __repr__(&self) -> String {
        format!("<opscope.Comparison: {} of {}>", self.verdict(), counted(self.compared.rows.len(), "tensor"))
    }

    fn _repr_html_(&self) -> String {
        let mut facts = vec![("verdict", self.verdict().to_owned())];
        facts.extend(self.first_divergence().map(|first| ("first divergence", first.sentence())));
        let rows: Table = table(&self.compared).into();
        document(&format!("{} and {}", self.compared.tensors, self.compared.reference), &facts, &rows.html())
    }
}

/// The first operator whose output differs.
#[pyclass(module = "opscope", frozen, get_all)]
pub struct FirstDivergence {
    /// The operator's name; `None` if it is not known.
    operator: Option<String>,
    /// The operator's type.
    op_type: Option<String>,
    /// The tensor that differs.
    tensor: String,
    /// The largest difference of an element; `None` if numbers could not be compared.
    max_absolute: Option<f64>,
    /// What the error comes from: `operator`, `inputs`, `initializers`, `either` or `unknown`.
    blame: &'static str,
    /// The line of Python that the operator comes from, if the file says so.
    source: Option<String>,
    /// The values that the operator takes, with what is known of each: `same`, `different` or `unknown`.
    inputs: Vec<(String, &'static str)>,
}

impl FirstDivergence {
    fn of(compared: &Compared, divergence: &Divergence) -> Self {
        let verdict_of = |row: Option<usize>, given: Verdict| {
            verdict(row.and_then(|row| compared.rows.get(row)).map_or(given, Row::verdict))
        };
        Self {
            operator: divergence.operator.as_ref().map(|operator| operator.name.clone()),
            op_type: divergence.operator.as_ref().and_then(|operator| operator.op_type.clone()),
            tensor: divergence.tensor.place.label(),
            max_absolute: divergence.tensor.difference().map(|difference| difference.max_absolute),
            blame: match divergence.blame {
                Blame::Operator => "operator",
                Blame::Inputs => "inputs",
                Blame::Initializers(_) => "initializers",
                Blame::Either => "either",
                Blame::Unknown => "unknown",
            },
            source: divergence.origin.as_ref().and_then(|origin| origin.source.as_ref()).map(ToString::to_string),
            inputs: divergence
                .inputs
                .iter()
                .map(|input| (input.value.clone(), verdict_of(input.row, input.given)))
                .collect(),
        }
    }
}

#[pymethods]
impl FirstDivergence {
    /// The operator with how far its output is from the reference.
    #[getter]
    fn sentence(&self) -> String {
        let operator = match (&self.operator, &self.op_type) {
            (Some(name), Some(op_type)) => format!("{name} ({op_type})"),
            (Some(name), None) => name.clone(),
            (None, _) => "an operator that is not known".to_owned(),
        };
        let apart = self.max_absolute.map(|most| format!(", {most:e} apart at most")).unwrap_or_default();
        format!("{operator} diverges first: tensor '{}'{apart}", self.tensor)
    }

    fn __repr__(&self) -> String {
        format!("<opscope.FirstDivergence: {}>", self.sentence())
    }
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "same",
        Verdict::Unknown => "unknown",
        Verdict::Different => "different",
    }
}

fn table(compared: &Compared) -> Columns {
    let rows = &compared.rows;
    let number = |of: fn(&Difference) -> f64| rows.iter().map(move |row| row.difference().map(of));
    let outcome = |row: &Row| match &row.outcome {
        Outcome::Compared { within: true, .. } => "within",
        Outcome::Compared { within: false, .. } => "different",
        Outcome::Shapes => "shapes",
        Outcome::Summarised(_) => "summarised",
        Outcome::Unreadable(_) => "unreadable",
    };
    Columns::of(rows.len())
        .integers("run", rows.iter().map(|row| row.place.run))
        .texts("operator", rows.iter().map(|row| row.place.operator.as_deref()))
        .texts("op_type", rows.iter().map(|row| row.place.op_type.as_deref()))
        .texts("io", rows.iter().map(|row| row.place.io.map(Io::name)))
        .integers("slot", rows.iter().map(|row| row.place.slot.map(|slot| slot as u64)))
        .texts("value", rows.iter().map(|row| row.place.value.as_deref()))
        .texts("reference", rows.iter().map(|row| Some(row.reference.label())))
        .texts("dtype", rows.iter().map(|row| row.dtypes.0.map(DType::name)))
        .texts("shape", rows.iter().map(|row| Some(format!("{:?}", row.shapes.0))))
        .texts("outcome", rows.iter().map(|row| Some(outcome(row))))
        .truths("within", rows.iter().map(Row::is_within))
        .numbers("cosine", rows.iter().map(|row| row.difference().and_then(|difference| difference.cosine)))
        .numbers("max_absolute", number(|difference| difference.max_absolute))
        .numbers("max_relative", number(|difference| difference.max_relative))
        .numbers("rmse", number(|difference| difference.rmse))
        .integers("max_ulp", rows.iter().map(|row| row.difference().and_then(|difference| difference.max_ulp)))
        .integers("nan_mismatches", rows.iter().map(|row| row.difference().map(|difference| difference.nan_mismatches)))
}
